from pathlib import Path

from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.checkpoints import load_checkpoints
from tbeval.settings.options import DEFAULTS, Choices, resolve, settings_rows

CHECKPOINT = Checkpoint(
    id="x", base_url="http://h", attempts=5, agent="terminus-2", headers={"X-Key": "hunter2"}
)


def test_the_command_line_goes_over_the_checkpoint_over_the_defaults() -> None:
    options, origins = resolve(Choices(attempts=2, subset="mine"), CHECKPOINT)
    assert (options.attempts, origins["attempts"]) == (2, "command line")
    assert (options.subset, origins["subset"]) == ("mine", "command line")
    assert (options.agent, origins["agent"]) == ("terminus-2", "checkpoint")
    assert (options.sandbox, origins["sandbox"]) == (DEFAULTS["sandbox"], "default")
    options, origins = resolve(Choices(), CHECKPOINT)
    assert (options.attempts, origins["attempts"]) == (5, "checkpoint")


def test_the_rows_hold_each_setting_once_with_its_origin_and_no_secret() -> None:
    rows = settings_rows(Choices(attempts=2), CHECKPOINT, given={"base_url"})
    names = [row.name for row in rows]
    assert len(names) == len(set(names))
    assert {name.partition(".")[0] for name in names} == set(Checkpoint.model_fields)
    origins = {row.name: (row.value, row.origin) for row in rows}
    assert origins["attempts"] == ("2", "command line")
    assert origins["base_url"] == ("http://h/v1", "command line")
    assert origins["agent"] == ("terminus-2", "checkpoint")
    assert origins["sampling.temperature"] == ("-", "default")
    assert origins["summarize"] == ("true", "default")
    assert "hunter2" not in str(rows)


def test_a_key_within_a_table_has_an_origin_of_its_own(tmp_path: Path) -> None:
    rows = settings_rows(Choices(), load_checkpoints(tmp_path, {}).get("smollm2"))
    origins = {row.name: row.origin for row in rows}
    assert origins["sampling.temperature"] == "checkpoint"
    assert origins["sampling.top_k"] == "default"
    assert origins["embedded.threads"] == "default"
