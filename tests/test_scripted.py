"""The scripted server in a process of its own, as tests of whole commands use it."""

import json
import subprocess
import sys
from pathlib import Path

import aiohttp

SCRIPT = """
from scripted import Reply, Request

def reply(request: Request) -> Reply:
    task = request.task_among({"a": "do A", "b": "do B"})
    return Reply(f"{task} {request.attempt_at(task)} {request.turn}")
"""


async def test_replies_depend_on_task_attempt_and_turn(tmp_path: Path) -> None:
    from tbeval.models.gateway.request import call_seed

    (tmp_path / "script.py").write_text(SCRIPT)
    program = Path(__file__).with_name("scripted.py")
    files = ["--script", str(tmp_path / "script.py"), "--log", str(tmp_path / "log")]
    server = subprocess.Popen(
        [sys.executable, str(program), *files], stdout=subprocess.PIPE, text=True
    )
    with server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            body = {
                "messages": [
                    {"role": "user", "content": "please do B"},
                    {"role": "assistant", "content": "ls"},
                    {"role": "user", "content": [{"type": "text", "text": "files"}]},
                ],
                "seed": call_seed(0, "b", 3, 1),
            }
            async with (
                aiohttp.ClientSession() as client,
                client.post(f"{url}/chat/completions", json=body) as response,
            ):
                answer = await response.json()
        finally:
            server.kill()
    assert answer["choices"][0]["message"]["content"] == "b 3 2"
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert json.loads(line) == {"index": 0, "body": body}
