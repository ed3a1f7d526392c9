from pathlib import Path

MOTTO = Path("/app/motto.txt")
SENTENCE = "Measure twice, cut once."


def text() -> str:
    assert MOTTO.is_file(), f"{MOTTO} is not a file"
    return MOTTO.read_bytes()[:10_000].decode(errors="replace")


def test_file_has_text():
    assert text().strip()


def test_file_has_one_line():
    assert len(text().splitlines()) == 1


def test_file_contains_the_sentence():
    assert SENTENCE in text()


def test_file_is_exact():
    assert text() == SENTENCE + "\n"
