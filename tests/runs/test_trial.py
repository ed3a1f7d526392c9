"""What a trial leaves may be anything: it becomes a record all the same."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harbor.trial.trial import Trial

from tbeval.records.agent_report import AgentReport
from tbeval.records.ledger import TrialRecord
from tbeval.records.outcome import Outcome, StopReason
from tbeval.runs.plan import Cell
from tbeval.runs.trial import TrialRunner
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import RunOptions
from tests.made_up_runs import make_task


async def run(directory: Path) -> TrialRecord:
    runner = TrialRunner(
        run_id="r",
        directory=directory,
        checkpoint=Checkpoint(id="nop", agent="nop"),
        options=RunOptions(
            subset="demo",
            agent="nop",
            attempts=1,
            sandbox="bubblewrap",
            turn_limit=1,
            time_multiplier=1,
            concurrency=1,
        ),
        model=None,
    )
    return await runner.run(Cell(make_task("a"), 1), 1, lambda _trial, _phase: None)


async def test_an_error_that_is_no_text_becomes_a_line_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_config: object) -> Trial:
        raise RuntimeError("a file named \udcff")

    monkeypatch.setattr(Trial, "create", fail)
    record = await run(tmp_path)
    assert record.error_message == "a file named \\udcff"
    assert TrialRecord.model_validate_json(record.to_line()) == record


@pytest.mark.parametrize("left", [Path.mkdir, lambda path: path.write_text('{"status": 1}')])
async def test_a_report_that_is_none_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: Callable[[Path], Any]
) -> None:
    class Ended:
        """A trial of harbor's whose agent finished and whose verifier began."""

        _result = SimpleNamespace(
            agent_result=SimpleNamespace(
                metadata=AgentReport(stop_reason=StopReason.FINISHED).as_metadata()
            ),
            verifier=object(),
            exception_info=None,
        )

        def add_hook(self, *_: object) -> None:
            pass

        async def run(self) -> None:
            report = tmp_path / "trials" / "a.1.1-r" / "verifier" / "tests.json"
            report.parent.mkdir(parents=True)
            left(report)

    async def create(_config: object) -> Ended:
        return Ended()

    monkeypatch.setattr(Trial, "create", create)
    record = await run(tmp_path)
    assert record.outcome is Outcome.VERIFIER
    assert record.score is None
    assert "tests.json" in record.error_message


def test_harbor_knows_every_error_of_ours() -> None:
    """An error that harbor does not know counts as a valid result of the model there."""
    from tbeval.agents.errors import ERROR_POLICY_OVERRIDES
    from tbeval.runs.trial import _ERROR_POLICY
    from tbeval.tasks.verifier import ERRORS

    ours = set(ERROR_POLICY_OVERRIDES) | {error.__name__ for error in ERRORS.values()}
    assert ours <= set(_ERROR_POLICY)
    for error in ERRORS.values():
        assert _ERROR_POLICY[error.__name__].has_valid_reward is False
