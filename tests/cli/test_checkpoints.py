import asyncio
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tbeval.cli.checkpoints import command
from tbeval.settings.base import SettingsError
from tests.scripted import WINDOW, ScriptedEndpoint


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_shipped_and_own_checkpoints_are_listed_with_their_endpoints(project: Path) -> None:
    (project / "checkpoints.toml").write_text(
        '[checkpoints.mine]\nlabel = "[red]\\u001b[31mMine"\nbase_url = "http://gpu:1"\n'
    )
    lines = [line.rstrip() for line in run().output.splitlines()]
    rows = {line.split()[0]: line for line in lines}
    assert list(rows)[:4] == ["checkpoint", "smollm2", "oracle", "nop"]
    assert rows["smollm2"].endswith("embedded")
    assert rows["oracle"].endswith("no model")
    assert rows["iter335"].split()[-2:] == ["tb-v0.1.x-66", "http://127.0.0.1:30335/v1"]
    assert r"[red]\x1b[31mMine" in rows["mine"]
    assert rows["mine"].endswith("http://gpu:1/v1")


def test_a_pattern_narrows_the_list(project: Path) -> None:
    names = [line.split()[0] for line in run("iter3*").output.splitlines()]
    assert names == ["checkpoint", "iter335", "iter351", "iter367"]
    with pytest.raises(SettingsError, match='unknown checkpoint "itre3"'):
        run("itre3")


def test_an_entry_that_cannot_be_used_now_says_why_and_hides_no_other(project: Path) -> None:
    (project / "checkpoints.toml").write_text('[checkpoints.mine]\nbase_url = "${NOT_SET_URL}"\n')
    output = run().output
    assert "NOT_SET_URL, which is not set" in output
    assert "iter215" in output


async def test_a_probe_tells_which_servers_answer_and_with_what(project: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]  # bound and not listening: nothing answers there
        async with ScriptedEndpoint() as endpoint:
            (project / "checkpoints.toml").write_text(
                f"""
                [checkpoints.my-good]
                base_url = "{endpoint.base_url}"
                served_model = "scripted"
                [checkpoints.my-stale]
                base_url = "{endpoint.base_url}"
                [checkpoints.my-down]
                base_url = "http://127.0.0.1:{closed}"
                [checkpoints.my-unset]
                base_url = "${{NOT_SET_URL}}"
                [checkpoints.my-keyless]
                base_url = "{endpoint.base_url}"
                api_key_env = "NOT_SET_KEY"
                [checkpoints.my-embedded]
                like = "smollm2"
                [checkpoints.my-nop]
                like = "nop"
                """
            )
            result = await asyncio.to_thread(run, "my-*", "--probe")
    answers = {
        line.split()[0]: line.rstrip().split("  ")[-1].strip()
        for line in result.output.splitlines()
    }
    assert answers["my-good"] == f"yes: scripted, context {WINDOW}"
    assert answers["my-stale"].startswith("no: my-stale is not served at")
    assert "it serves: scripted" in answers["my-stale"]
    assert answers["my-down"].startswith("no: Nothing answers at")
    assert "NOT_SET_URL, which is not set" in answers["my-unset"]
    assert answers["my-keyless"].startswith("no: Checkpoint my-keyless takes its key from")
    assert answers["my-embedded"] == "started when needed"
    assert answers["my-nop"] == "no model"
