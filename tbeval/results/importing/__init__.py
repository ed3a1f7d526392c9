"""Results of other harnesses, taken in as runs of ours: harbor jobs and terminal-bench runs.

files     which files under a directory hold results, read whatever state they are in
foreign   one trial as another harness tells it, and the oddities met on the way
harbor    from harbor's result.json
terminal_bench   from terminal-bench's results.json, of a trial or of a whole run
assemble  trials → cells → run.toml and ledger
"""
