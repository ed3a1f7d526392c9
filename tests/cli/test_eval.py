"""`tbeval eval`: what it refuses before it looks for anything."""

import pytest
from click.testing import CliRunner

from tbeval.cli.eval import command
from tbeval.settings.base import SettingsError


@pytest.mark.parametrize("factor", ["inf", "nan", "0", "-1"])
def test_a_time_multiplier_is_a_number_above_0(factor: str) -> None:
    asked = ["nop", "--show-settings", f"--time-multiplier={factor}"]
    error = CliRunner().invoke(command, asked).exception
    assert isinstance(error, SettingsError)
    assert "--time-multiplier is" in str(error)
    assert "above 0" in str(error)


def test_a_limit_on_model_calls_is_a_positive_number_and_shown() -> None:
    asked = ["smollm2", "--show-settings", "--model-calls"]
    error = CliRunner().invoke(command, [*asked, "0"]).exception
    assert isinstance(error, SettingsError)
    assert "--model-calls is 0" in str(error)
    rows = CliRunner().invoke(command, [*asked, "3"]).output.splitlines()
    (row,) = [row for row in rows if "model_calls" in row]
    assert "3" in row
    assert "command line" in row


def test_a_limit_on_builds_is_a_positive_number() -> None:
    asked = ["smollm2", "--show-settings", "--builds", "0"]
    error = CliRunner().invoke(command, asked).exception
    assert isinstance(error, SettingsError)
    assert "--builds is 0" in str(error)
