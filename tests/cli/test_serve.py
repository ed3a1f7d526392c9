import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from tbeval.cli.serve import command
from tbeval.settings.base import SettingsError

WAIT_SEC = 120


def test_only_an_embedded_checkpoint_is_served() -> None:
    with pytest.raises(SettingsError, match="iter335 is not embedded: its server runs elsewhere"):
        CliRunner().invoke(command, ["iter335"], catch_exceptions=False)


@pytest.mark.embedded
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_model_is_served_until_the_command_ends(tmp_path: Path, ending: signal.Signals) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    call = "from tbeval.cli.main import main; main()"
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", call, "serve", "smollm2", "--port", str(port)],
            stderr=log, stdout=log, cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)},
        )  # fmt: skip
    try:
        assert _models(port, process) == ["smollm2"]
        process.send_signal(ending)
        process.wait(WAIT_SEC)
        _wait_until_closed(port)
    finally:
        process.kill()


def _models(port: int, process: subprocess.Popen[bytes]) -> list[str]:
    deadline = time.monotonic() + WAIT_SEC
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models") as answer:
                return [model["id"] for model in json.load(answer)["data"]]
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    return []


def _wait_until_closed(port: int) -> None:
    deadline = time.monotonic() + WAIT_SEC
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.05)
    pytest.fail("the model's server outlives the command")
