"""Runs `tbeval` again and again without importing it anew, on a disk that is slow.

    python tests/e2e/forked.py MARKER OUTPUT

reads command lines from its input, each a list in JSON, and runs each in a process forked from
this one: a run begins within a fraction of a second. It says `PID`, and `ended` when that process
has ended. Each line of a ledger goes out in two halves with a pause between them, and a pause
before it is durable; the file MARKER is there meanwhile. Everything else is tbeval as it is.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import tbeval.agents.terminus
import tbeval.runs.session
import tbeval.sandboxes.bubblewrap
import tbeval.tasks.verifier  # noqa: F401 - imported once for all
from tbeval.cli.main import main
from tbeval.records import ledger

PAUSE_SEC = 0.15


class HalfByHalf:
    """A raw file that takes half of what it is given; `LedgerWriter` writes the rest."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        written: int = self._file.write(data[: (len(data) + 1) // 2])
        time.sleep(PAUSE_SEC if written > 100 else 0)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def slow_down(marker: Path) -> None:
    open_, append = ledger.LedgerWriter.__init__, ledger.LedgerWriter.append

    def opened(self: Any, *args: Any, **more: Any) -> None:
        open_(self, *args, **more)
        self._file = HalfByHalf(self._file)

    def appended(self: Any, record: Any) -> None:
        marker.touch()
        append(self, record)
        time.sleep(PAUSE_SEC)
        marker.unlink()

    ledger.LedgerWriter.__init__ = opened  # type: ignore[method-assign]
    ledger.LedgerWriter.append = appended  # type: ignore[method-assign]


def serve(marker: Path, output: Path) -> None:
    slow_down(marker)
    print("ready", flush=True)  # noqa: T201 - how this program answers
    for line in sys.stdin:
        marker.unlink(missing_ok=True)  # of one that was killed
        pid = os.fork()
        if pid == 0:
            run(json.loads(line), output)
        print(pid, flush=True)  # noqa: T201
        os.waitpid(pid, 0)
        print("ended", flush=True)  # noqa: T201


def run(arguments: list[str], output: Path) -> None:
    """What the forked process does until its end."""
    os.setsid()
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, source in ((0, nothing), (1, written), (2, written)):
        os.dup2(source, descriptor)
    sys.argv = ["tbeval", *arguments]
    code = 1
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
