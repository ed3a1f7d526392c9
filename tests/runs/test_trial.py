"""What a trial leaves may be anything: it becomes a record all the same."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harbor.trial.trial import Trial

from tbeval.models.gateway.trial import TrialUsage
from tbeval.records.agent_report import AgentReport
from tbeval.records.ledger import TrialRecord
from tbeval.records.outcome import Outcome, StopReason
from tbeval.records.verdict import TestCounts, VerifierReport, VerifierStatus
from tbeval.runs.plan import Cell
from tbeval.runs.trial import TrialRunner
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import RunOptions
from tests.made_up_runs import make_task


async def run(directory: Path, model: Any = None) -> TrialRecord:
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
        model=model,
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


class EndedTrial:
    """A trial of harbor's whose agent has stopped and whose verifier began."""

    stop_reason = StopReason.FINISHED
    task = None

    @property
    def _result(self) -> object:
        metadata = AgentReport(stop_reason=self.stop_reason).as_metadata()
        return SimpleNamespace(
            agent_result=SimpleNamespace(metadata=metadata), verifier=object(), exception_info=None
        )

    def add_hook(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("left", [Path.mkdir, lambda path: path.write_text('{"status": 1}')])
async def test_a_report_that_is_none_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: Callable[[Path], Any]
) -> None:
    class Ended(EndedTrial):
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


@pytest.mark.parametrize(
    ("ping", "outcome"), [("", Outcome.UNSOLVED), ("HTTP 503", Outcome.MODEL_ENDPOINT)]
)
async def test_time_that_ran_out_in_a_call_nobody_answered_is_the_models_if_the_endpoint_is_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ping: str, outcome: Outcome
) -> None:
    async def returns(value: object) -> Any:
        return value

    class Ended(EndedTrial):
        stop_reason = StopReason.TIME_LIMIT

        async def run(self) -> None:
            path = tmp_path / "trials" / "a.1.1-r" / "verifier" / "tests.json"
            path.parent.mkdir(parents=True)
            counts = TestCounts(passed=1, failed=1, total=2)
            report = VerifierReport(status=VerifierStatus.OK, counts=counts)
            path.write_text(report.model_dump_json())

    usage = TrialUsage(calls=2, unanswered_seconds=50, finish_reasons={"stop": 1}, replica="u")
    gateway = SimpleNamespace(
        open_trial=lambda *_, **__: "http://u/v1",
        close_trial=lambda _name: returns(usage),
        ping=lambda replica: returns(f"{replica}: {ping}" if ping else ""),
    )
    watch = SimpleNamespace(confirm=lambda _replica, _since: returns(""), change="")
    model = SimpleNamespace(gateway=gateway, watch=watch, served_model="m", context_window=9)
    monkeypatch.setattr(Trial, "create", lambda _config: returns(Ended()))
    record = await run(tmp_path, model)
    assert record.outcome is outcome
    assert ("answered nobody for 50 s" in record.error_message) is bool(ping)


def test_harbor_knows_every_error_of_ours() -> None:
    """An error that harbor does not know counts as a valid result of the model there."""
    from tbeval.agents.errors import ERROR_POLICY_OVERRIDES
    from tbeval.runs.trial import _ERROR_POLICY
    from tbeval.tasks.verifier import ERRORS

    ours = set(ERROR_POLICY_OVERRIDES) | {error.__name__ for error in ERRORS.values()}
    assert ours <= set(_ERROR_POLICY)
    for error in ERRORS.values():
        assert _ERROR_POLICY[error.__name__].has_valid_reward is False
