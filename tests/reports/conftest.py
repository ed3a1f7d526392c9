"""One run that has everything: retries, all kinds of ends, cells that have not run, odd text."""

from pathlib import Path

import pytest

from tbeval.records.ledger import TrialRecord
from tbeval.records.outcome import StopReason
from tbeval.records.run import RunRecord
from tbeval.records.sandbox import Limit
from tests.made_up_runs import make_run, make_trial, write_made_up


@pytest.fixture
def run() -> RunRecord:
    return make_run(
        ["all-solved", "one-of-two", "partial", "broken", "waiting"],
        3,
        label="iter 335 | `code` <script>alert(1)</script>\n# head \x1b[31m",
        endpoint="http://127.0.0.1:30335/v1",
        scoring={"sampling": {"temperature": 0.7, "seed": 0}, "budget": {}, "stop": ["a|b"]},
        identity={"served_model": "iter335", "engine": "sglang 0.5"},
        versions={"harbor": "0.26.0", "tbeval": "0.1.0"},
        limits=(Limit(name="memory", value="1024 MB", means="cgroup v2"),),
    )


@pytest.fixture
def trials() -> list[TrialRecord]:
    finished, turns = StopReason.FINISHED, StopReason.TURN_LIMIT
    tokens = {"tokens_in": 1000, "tokens_out": 100}
    return [
        make_trial("all-solved", 1, "solved", span=(0, 10), stop_reason=finished, **tokens),
        make_trial("all-solved", 2, "solved", span=(5, 20), stop_reason=finished, **tokens),
        make_trial("one-of-two", 1, "unscored:sandbox", span=(5, 6), **tokens),
        make_trial(
            "all-solved",
            3,
            "solved",
            span=(30, 40),
            stop_reason=StopReason.TIME_LIMIT,
            model_seconds=6.5,
            paused_seconds=1.5,
            **tokens,
        ),
        make_trial("one-of-two", 1, "solved", number=2, span=(35, 50), stop_reason=finished),
        make_trial("one-of-two", 2, "unsolved", passed=1, span=(50, 60), stop_reason=turns),
        make_trial("one-of-two", 3, "unscored:model-endpoint", span=(60, 61)),
        make_trial("partial", 1, "unsolved", passed=2, span=(60, 70), stop_reason=turns),
        make_trial("partial", 2, "unsolved", passed=3, span=(60, 70), stop_reason=turns),
        make_trial(
            "partial",
            3,
            "unsolved",
            span=(70, 75),
            stop_reason=StopReason.SANDBOX_DIED,
            limits_hit=("memory", "processes"),
        ),
        make_trial("broken", 1, "unscored:task", span=(100, 101)),
        make_trial("broken", 2, "unscored:task", span=(100, 101)),
        make_trial("broken", 3, "unscored:task", span=(100, 101)),
        make_trial("waiting", 1, "unsolved", span=(101, 111), stop_reason=finished),
    ]


@pytest.fixture
def directory(tmp_path: Path, run: RunRecord, trials: list[TrialRecord]) -> Path:
    return write_made_up(tmp_path / "results", run, trials)
