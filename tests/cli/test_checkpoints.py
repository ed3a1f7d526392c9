from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tbeval.cli.checkpoints import command
from tbeval.settings.base import SettingsError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
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
