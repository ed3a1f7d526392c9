"""The ledger survives a cut anywhere, and believes nothing that it did not write."""

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.records.ledger import (
    LedgerError,
    LedgerWriter,
    TrialRecord,
    parse_ledger,
    read_ledger,
    repair_ledger,
)
from tbeval.records.outcome import Outcome


def record(task: str = "a", attempt: int = 1, try_number: int = 1, **more: object) -> TrialRecord:
    fields = {
        "trial_id": f"{task}.{attempt}.{try_number}-r",
        "task": task,
        "attempt": attempt,
        "try": try_number,
        "outcome": Outcome.UNSOLVED,
        **more,
    }
    return TrialRecord.model_validate(fields)


RECORDS = [record(attempt=n, error_message="ü\n\u2028 … é" * n) for n in range(1, 6)]
LINES = b"".join(r.to_line() for r in RECORDS)


@given(st.integers(0, len(LINES)))
def test_a_cut_at_any_byte_leaves_the_whole_lines_before_it(cut: int) -> None:
    ledger = parse_ledger(LINES[:cut])
    whole = LINES[:cut].count(b"\n")
    assert ledger.records == tuple(RECORDS[:whole])
    assert ledger.whole + ledger.cut_off == cut
    assert ledger.whole == sum(len(r.to_line()) for r in RECORDS[:whole])


def test_repair_cuts_the_incomplete_line_off_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(LINES[:-3])
    assert repair_ledger(path).cut_off > 0
    assert path.read_bytes() == b"".join(r.to_line() for r in RECORDS[:-1])
    assert read_ledger(path).cut_off == 0


@pytest.mark.parametrize(
    "damage",
    [b"\x00" * 40, b"{}", b"null", b'{"trial_id": "x"', b"[" * 100_000, b"\xff\xfe", b""],
    ids=["zeros", "empty object", "null", "half", "nested", "not UTF-8", "blank line"],
)
def test_a_corrupt_middle_line_is_refused_with_its_number(damage: bytes) -> None:
    lines = [r.to_line() for r in RECORDS]
    lines[2] = damage + b"\n"
    with pytest.raises(LedgerError, match=r"line 3: .*--new"):
        parse_ledger(b"".join(lines))


def test_a_trial_that_stands_twice_is_refused() -> None:
    with pytest.raises(LedgerError, match=r"line 2: trial a\.1\.1-r stands on line 1 already"):
        parse_ledger(record().to_line() * 2)


def test_an_unknown_key_is_refused() -> None:
    line = record().to_line().replace(b'"task":"a"', b'"task":"a","reward":1')
    with pytest.raises(LedgerError, match="reward"):
        parse_ledger(line)


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with LedgerWriter(path) as writer:
        for one in RECORDS[:3]:
            writer.append(one)
    with LedgerWriter(path) as writer:
        for one in RECORDS[3:]:
            writer.append(one)
    assert path.read_bytes() == LINES
    assert read_ledger(path).records == tuple(RECORDS)


def test_a_full_disk_leaves_whole_lines() -> None:
    with LedgerWriter(Path("/dev/full")) as writer, pytest.raises(OSError) as caught:
        writer.append(record())
    assert caught.value.errno == errno.ENOSPC


def test_a_ledger_that_was_deleted_takes_no_more_trials(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with LedgerWriter(path) as writer:
        writer.append(record())
        path.unlink()
        with pytest.raises(LedgerError, match="was deleted while the run was going on"):
            writer.append(record(attempt=2))


def test_an_absent_ledger_is_empty(tmp_path: Path) -> None:
    assert read_ledger(tmp_path / "none").records == ()


def test_a_line_of_a_later_version_is_told_apart_from_a_damaged_one() -> None:
    line = record().to_line().replace(b'"schema_version":1', b'"schema_version":7,"new_key":1')
    with pytest.raises(LedgerError, match=r"line 1: written by a later tbeval \(schema 7"):
        parse_ledger(line)
