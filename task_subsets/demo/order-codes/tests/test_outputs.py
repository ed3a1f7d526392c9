import json
import subprocess
import sys
from pathlib import Path

PATTERN = Path("/app/pattern.txt")
# The pattern is matched in a process of its own, so that a slow one costs a test and no more.
MATCH = """
import json, re, sys
pattern, texts = json.load(sys.stdin)
json.dump([bool(re.fullmatch(pattern, text)) for text in texts], sys.stdout)
"""


def pattern() -> str:
    lines = PATTERN.read_text(encoding="utf-8").split("\n")
    assert lines[0].strip(), "the first line is empty"
    assert len(lines) == 1 or lines[1:] == [""], "more than one line"
    return lines[0]


def matched(texts: list[str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", MATCH],
        capture_output=True,
        check=False,
        input=json.dumps([pattern(), texts]),
        text=True,
        timeout=5,
    )
    assert done.returncode == 0, done.stderr[-300:]
    return [text for text, hit in zip(texts, json.loads(done.stdout), strict=True) if hit]


def assert_rejected(texts: list[str]) -> None:
    """None of them matches, and not because hardly anything does."""
    codes = ["AB-1234", "QX-5050", "ZA-9876"]
    assert matched([*codes, *texts]) == codes


def test_accepts_codes():
    codes = ["AB-1234", "ZA-1000", "AZ-9999", "QX-5050"]
    assert matched(codes) == codes


def test_accepts_three_letters():
    codes = ["ABC-1234", "ZZZ-9000"]
    assert matched(codes) == codes


def test_accepts_each_month():
    codes = [f"AB-1234/{month:02d}" for month in range(1, 13)]
    assert matched(codes) == codes


def test_rejects_other_letters():
    assert_rejected(["ab-1234", "A-1234", "ABCD-1234", "Ab-1234", "ÄB-1234", "A1-1234", "-1234"])


def test_rejects_other_numbers():
    assert_rejected(["AB-0123", "AB-123", "AB-12345", "AB-", "AB-12a4", "AB_1234", "AB1234"])


def test_rejects_other_digits():
    assert_rejected(["AB-1٢٣٤", "AB-१२३४", "AB-123４"])


def test_rejects_other_months():
    texts = [f"AB-1234/{month:02d}" for month in (0, 13, 19, 20, 99)]
    assert_rejected([*texts, "AB-1234/1", "AB-1234/", "AB-1234/123", "AB-1234/01/02"])


def test_rejects_text_around():
    assert_rejected([" AB-1234", "AB-1234 ", "AB-1234\n", "xAB-1234", "AB-1234x", "AB-1234 AB-1234"])
