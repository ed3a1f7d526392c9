"""Figures say what was measured, on what, and whether a bound held."""

from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure, markdown, read, show, write
from benchmarks.harness import Measured, Span
from benchmarks.makespan import misleading
from benchmarks.memory import slope

HELD = Figure("cpu", "nop trial", 0.8, "×", bound=1.0, note="40 | 50 ms", load=1.5)
MISSED = Figure("resume", "a finished run", 2.5, "s", bound=2.0)
FREE = Figure("memory", "after it", 312.4, "MB")


def test_a_bound_is_held_or_missed_or_absent() -> None:
    assert [figure.verdict for figure in (HELD, MISSED, FREE)] == ["held", "missed", ""]
    assert show([MISSED]) == "resume: a finished run: 2.50 s (bound 2: missed); load 0"


def test_the_page_names_date_machine_and_versions() -> None:
    page = markdown([HELD, MISSED, FREE], quick=False, now=datetime(2026, 3, 1, tzinfo=UTC))
    assert "2026-03-01 00:00 UTC, in full" in page
    assert "cores" in page
    assert "harbor 0.26.0" in page
    assert "| cpu | nop trial | 0.80 × | ≤ 1 | held | 40 \\| 50 ms | 1.5 |" in page
    assert "| memory | after it | 312 MB |  |  |  | 0 |" in page


def test_figures_come_back_from_their_file(tmp_path: Path) -> None:
    write(tmp_path / "out", [HELD, FREE])
    assert read(tmp_path / "out") == [HELD, FREE]


def test_the_lower_bound_is_the_longest_trial_or_the_share_of_all() -> None:
    spans = (Span("a", 0, 10), Span("b", 0, 4), Span("c", 4, 12))
    measured = Measured(13, 1, 2, (), spans, 0)
    assert measured.makespan == 12
    assert measured.lower_bound(2) == 11
    assert measured.lower_bound(8) == 10


def test_the_slope_is_that_of_the_fitted_line() -> None:
    assert slope((5.0, 5.0, 5.0)) == 0
    assert slope((1.0, 1.5, 2.0, 2.5)) == 0.5
    assert slope((7.0,)) == 0


def test_a_misleading_history_has_everything_the_wrong_way_round() -> None:
    assert misleading({"a": 1, "b": 5, "c": 2}) == {"a": 5, "c": 2, "b": 1}
