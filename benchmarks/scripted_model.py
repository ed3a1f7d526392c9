"""The scripted model of the benchmarks: tests/scripted.py serves it in a process of its own.

It takes as long, and as many calls, as the work says (the file that BENCH_WORK names). Which
attempt a conversation belongs to it tells by counting the first calls of each task, and says so in
its first reply, which comes back with every later call: so it serves any harness.
"""

import json
import os
import re
from collections import Counter
from pathlib import Path

from scripted import Reply, Request  # type: ignore[import-not-found] # tests/scripted.py is it

_WORK = json.loads(Path(os.environ["BENCH_WORK"]).read_text())
_SECONDS, _CALLS = _WORK["seconds"], _WORK["calls"]
_TASK = re.compile(r"Task id: ([\w-]+)\.")
_ATTEMPT = re.compile(r"conversation (\d+) of this task")
_begun: Counter[str] = Counter()

#: As much as models usually say.
_TALK = "The screen shows what the last command printed. Nothing looks wrong so far. " * 5


def reply(request: Request) -> Reply:
    """Commands, and in the last two calls that the task is done."""
    found = _TASK.search(request.first)
    if found is None:
        return Reply("no task of the benchmarks")
    task, turn = found[1], request.turn
    if turn == 1:
        _begun[task] += 1
        attempt = _begun[task]
    else:
        attempt = _attempt(request)
    times = _SECONDS.get(task, [0.0])
    seconds = times[(attempt - 1) % len(times)]
    done = turn >= _CALLS - 1
    commands = [] if done else [{"keystrokes": f"seq {turn} {turn + 15}\n", "duration": 0.05}]
    said = {
        "analysis": f"This is conversation {attempt} of this task. {_TALK}",
        "plan": _TALK,
        "commands": commands,
        "task_complete": done,
    }
    return Reply(json.dumps(said), delay_sec=seconds / _CALLS)


def _attempt(request: Request) -> int:
    for message in request.messages:
        if message.get("role") == "assistant":
            found = _ATTEMPT.search(str(message["content"]))
            return int(found[1]) if found else 1
    return 1
