import json
from pathlib import Path

from click.testing import CliRunner

from tbeval.cli.power import command
from tbeval.settings.base import SettingsError
from tests.made_up_runs import make_run, make_trial, write_made_up


def ask(*words: str) -> str:
    done = CliRunner().invoke(command, list(words), catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_a_design_says_what_it_sees() -> None:
    words = ("--tasks", "30", "--attempts", "2", "--pass", "0.2")
    found = json.loads(ask(*words, "--json"))
    assert 0.05 < found["smallest_delta"] < 0.25
    said = f"30 tasks × 2 attempts sees a rise of {100 * found['smallest_delta']:.1f} points"
    assert said in ask(*words)


def test_a_rise_past_everything_is_a_mistake() -> None:
    error = CliRunner().invoke(command, ["--pass", "0.5", "--delta", "0.6"]).exception
    assert isinstance(error, SettingsError)


def test_rate_and_spread_come_from_a_run(tmp_path: Path) -> None:
    trials = [make_trial("a", n, "solved") for n in (1, 2)]
    trials += [make_trial("b", n, "unsolved") for n in (1, 2)]
    write_made_up(tmp_path, make_run(["a", "b"], 2), trials)
    words = ("--like", "iter335", "--results-dir", str(tmp_path), "--tasks", "20", "--json")
    found = json.loads(ask(*words))
    assert (found["pass"], found["together"]) == (0.5, 0.95)
