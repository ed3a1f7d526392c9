import signal
import subprocess
import time
from pathlib import Path

import pytest

from tbeval.cli.side_by_side import groups_of
from tbeval.settings.checkpoint import Checkpoint
from tests.e2e.commands import command, tbeval


def at(name: str, *urls: str) -> Checkpoint:
    return Checkpoint(id=name, base_url=urls or None)


def test_who_shares_an_endpoint_goes_one_after_the_other() -> None:
    a, b, c = "http://a/v1", "http://b/v1", "http://c/v1"
    groups = groups_of([at("1", a), at("2", b), at("3", a), at("4"), at("5"), at("6", b, c)])
    assert groups == [["1", "3"], ["4"], ["5"], ["2", "6"]]
    assert groups_of([at("1", a), at("2", b), at("3", b, a)]) == [["2", "1", "3"]]


@pytest.mark.e2e
@pytest.mark.sandbox
def test_two_at_once_each_with_its_run_and_its_lines(tmp_path: Path) -> None:
    asked = ("eval", "oracle", "nop", "--side-by-side", "-j", 2, "--tasks", "write-motto", "-n", 1)
    done = tbeval(*asked, "--no-preflight", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, solved in (("oracle", "1"), ("nop", "0")):
        lines = [line for line in done.stdout.splitlines() if line.startswith(f"[{name}] ")]
        assert any(line.split()[1:4] == ["solved", "trials", solved] for line in lines)
        assert len(list((tmp_path / "results" / name).iterdir())) == 1
    assert all(line.startswith(("[oracle] ", "[nop] ")) for line in done.stdout.splitlines())
    refused = tbeval(*asked[:4], "-j", 1, cwd=tmp_path)
    assert refused.returncode == 2
    assert "at least 2 here" in refused.stderr


@pytest.mark.e2e
@pytest.mark.sandbox
def test_an_interrupt_ends_all_of_them_in_order(tmp_path: Path) -> None:
    asked = ("eval", "oracle", "nop", "--side-by-side", "--no-preflight", "-n", 20)
    with subprocess.Popen(
        command(*asked), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + 120
        while len(list(tmp_path.glob("results/*/*/ledger.jsonl"))) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert "[oracle] stopping" in output
    assert "[nop] stopping" in output
