"""Planted keys: an endpoint shows them in all it says, and a whole run writes them nowhere."""

import asyncio
import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest
import zstandard

from tests.e2e.commands import as_json, tbeval, typed
from tests.e2e.test_faults import ARGUMENTS, ledger_of, prepare, task_of
from tests.scripted import Reply, Request, ScriptedEndpoint

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox]

KEY = "sk-planted/key+8123=="
TEAM = "team-planted-8124"
ENCODED = base64.b64encode(KEY.encode()).decode()
FORMS = [
    form.encode()
    for secret in (KEY, TEAM)
    for form in (
        secret,
        quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode(),
        json.dumps(secret)[1:-1].replace("/", "\\/"),
    )
]
SHOWN = f"Bearer {KEY} {TEAM} {quote(KEY, safe='')} {ENCODED} http://user:{quote(KEY, safe='')}@h/"


def held_by_processes(*, but: Path) -> list[str]:
    """Command lines on this machine, and environments of sandboxes, that hold a planted key."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
            environment = (process / "environ").read_bytes()
            harness = b"tbeval.cli.main" in line and (process / "cwd").resolve() == but
        except OSError:
            continue
        shown = line if harness else line + environment
        found += [repr(line)] if any(form in shown for form in FORMS) else []
    return found


def written_in(directory: Path) -> dict[str, bytes]:
    """What every file holds, taken out of its compression, with the file's name."""
    found = {}
    for path in directory.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".zst":
                with zstandard.ZstdDecompressor().stream_reader(data) as reader:
                    data = reader.read()
            found[str(path)] = data + str(path).encode()
    return found


def says(turn: int) -> Reply:
    """A model that knows the keys, and looks for them in its sandbox."""
    if turn == 1:
        said = json.loads(as_json(f"echo {KEY} {TEAM} > /app/answer.txt; cat answer.txt\n"))
        return Reply(json.dumps(said | {"analysis": SHOWN}), reasoning=SHOWN)
    if turn == 2:
        return Reply(SHOWN)
    if turn == 3:
        return Reply(as_json(typed("env; cat /proc/*/environ | tr '\\0' '\\n'")))
    return Reply(as_json(done=True))


async def test_a_hostile_endpoint_shows_the_keys_and_nothing_keeps_them(tmp_path: Path) -> None:
    held: list[str] = []
    failed: set[str] = set()

    def model(request: Request) -> Reply:
        held.extend(held_by_processes(but=tmp_path))
        task = task_of(request)
        if task == "refused" and request.turn > 1:  # a first call refused is not the agent's
            return Reply(f"Traceback (most recent call last):\n  {SHOWN}", status=400)
        if task == "fails" and task not in failed:
            failed.add(task)
            return Reply(SHOWN, status=503, headers={"X-Echo": SHOWN, "Retry-After": "0"})
        if task == "garbage" and task not in failed:
            failed.add(task)
            return Reply(raw=SHOWN.encode())
        return says(request.turn)

    async with ScriptedEndpoint(model, api_key=KEY) as endpoint:
        prepare(tmp_path, endpoint, "refused", "fails", "garbage", "says")
        with (tmp_path / "checkpoints.toml").open("a") as file:
            file.write('api_key_env = "PLANTED_KEY"\nheaders = { X-Team = "${PLANTED_TEAM}" }\n')
        secrets = {"PLANTED_KEY": KEY, "PLANTED_TEAM": TEAM}
        args = (*ARGUMENTS, "-n", 1, "-j", 4)
        done = await asyncio.to_thread(tbeval, *args, cwd=tmp_path, env=secrets)
        assert endpoint.requests[0].headers["X-Team"] == TEAM
        assert any(request.turn >= 4 for request in endpoint.requests)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len({record.task for record in ledger_of(tmp_path)}) == 4
    assert held == []
    written = written_in(tmp_path)
    assert any(name.endswith(".zst") for name in written)
    assert any(name.endswith("run.toml") for name in written)
    written["output"] = (done.stdout + done.stderr).encode()
    leaks = [(name, form) for name, data in written.items() for form in FORMS if form in data]
    assert leaks == []
