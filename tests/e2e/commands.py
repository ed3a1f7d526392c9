"""Whole commands, and a scripted model that answers as terminus-2 wants it."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.scripted import Reply, Request

REPOSITORY = Path(__file__).parents[2]
DEMO = REPOSITORY / "task_subsets" / "demo"


def tbeval(
    *args: object, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 280
) -> subprocess.CompletedProcess[str]:
    """Run `tbeval` to its end, as a user would."""
    return subprocess.run(
        command(*args),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def command(*args: object) -> list[str]:
    """The command line of `tbeval` with this interpreter."""
    code = "from tbeval.cli.main import main; main()"
    return [sys.executable, "-c", code, *map(str, args)]


def figures(cwd: Path, run: str | None = None) -> dict[str, Any]:
    """What `tbeval show --json` prints."""
    done = tbeval("show", *([run] if run else []), "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def instructions(directory: Path = DEMO) -> dict[str, str]:
    """Task id -> its instruction, by which a scripted model knows what it is asked."""
    return {
        path.parent.name: path.read_text().strip() for path in directory.glob("*/instruction.md")
    }


def typed(script: str) -> str:
    """Keystrokes that run a script, whatever quotes it holds."""
    packed = base64.b64encode(script.encode()).decode()
    return f"echo {packed} | base64 -d > /tmp/typed.sh && bash /tmp/typed.sh\n"


def as_json(keystrokes: str = "", *, done: bool = False, seconds: float = 0.5) -> str:
    """A reply in terminus-2's JSON form."""
    commands = [{"keystrokes": keystrokes, "duration": seconds}] if keystrokes else []
    return json.dumps({"analysis": "…", "plan": "…", "commands": commands, "task_complete": done})


def as_xml(keystrokes: str = "", *, done: bool = False, seconds: float = 0.5) -> str:
    """A reply in terminus-2's XML form, which wants the keystrokes as they are."""
    keys = f'<keystrokes duration="{seconds}">{keystrokes}</keystrokes>'
    return (
        "<response>\n<analysis>…</analysis>\n<plan>…</plan>\n"
        f"<commands>\n{keys if keystrokes else ''}\n</commands>\n"
        f"<task_complete>{str(done).lower()}</task_complete>\n</response>"
    )


FORMS = {"json": as_json, "xml": as_xml}


class Scripted:
    """A model that runs one script per task, after a wrong command and a malformed reply."""

    def __init__(
        self,
        scripts: Mapping[str, str],
        *,
        known: Mapping[str, str],
        parser: str = "json",
        straight: bool = False,
        delay_sec: float = 0.0,
        seconds: float = 1.0,
    ) -> None:
        self.scripts = scripts
        self.known = known
        self.form = FORMS[parser]
        self.straight = straight
        self.delay_sec = delay_sec
        self.seconds = seconds
        self.seen: list[tuple[str, int]] = []

    def __call__(self, request: Request) -> Reply:
        task = request.task_among(self.known)
        assert task is not None, "a call for no task that is known here"
        turn = request.turn + (2 if self.straight else 0)
        self.seen.append((task, turn))
        return Reply(self._say(task, turn), delay_sec=self.delay_sec)

    def _say(self, task: str, turn: int) -> str:
        match turn:
            case 1:
                return self.form("cat /no/such/file\n")
            case 2:
                return "I would rather talk about it: {<commands> [\x1b[31m"
            case 3:
                return self.form(typed(self.scripts[task]), seconds=self.seconds)
            case _:
                return self.form(done=True)
