import stat
from pathlib import Path

OFFICE = Path("/app/office")
CONTENTS = {
    "door.key": "key 4711\n",
    "letters/first.txt": "Dear Sir,\n",
    "letters/old/third.txt": "To whom it may concern,\n",
    "letters/second letter.txt": "Dear Madam,\n",
    "tools/close up.sh": "#!/bin/sh\necho closed\n",
    "tools/open.sh": "#!/bin/sh\necho open\n",
}
DIRECTORIES = ["", "letters", "letters/old", "tools"]


def modes(names: list[str]) -> dict[str, str]:
    """The octal mode of each, itself and not what a link points to."""
    found = {}
    for name in names:
        status = (OFFICE / name).lstat()
        assert not stat.S_ISLNK(status.st_mode), f"{name} became a link"
        found[name] = f"{stat.S_IMODE(status.st_mode):03o}"
    return found


def test_key():
    assert modes(["door.key"]) == {"door.key": "600"}


def test_scripts():
    names = [name for name in CONTENTS if name.endswith(".sh")]
    assert modes(names) == dict.fromkeys(names, "755")


def test_texts():
    names = [name for name in CONTENTS if name.endswith(".txt")]
    assert modes(names) == dict.fromkeys(names, "644")


def test_directories():
    assert modes(DIRECTORIES) == dict.fromkeys(DIRECTORIES, "755")


def test_contents_are_kept():
    files = [path for path in OFFICE.rglob("*") if path.is_file()]
    assert {str(path.relative_to(OFFICE)): path.read_text() for path in files} == CONTENTS
