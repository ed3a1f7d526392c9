import resource
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LC_ALL": "C.UTF-8",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
REPOSITORY = Path("/app/fares")
TIP = "d8a0b16264021aedccb32895d2e8cf365825ec57"  # of main, as it was given
FIRST_BAD = "0c8c385548a44fa1ade4c5a46e266c341f1dabe4"
TARIFF = "zone 1: 170\nzone 2: 210\nzone 3: 250\n"
README = "Fares of the bus company.\nRun sh check.sh before you commit.\nPrices change in January.\n"


class Done(NamedTuple):
    stdout: str
    stderr: str
    returncode: int


def limit_files() -> None:
    """Neither the output nor any other file of the program grows beyond 1 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))


def run(*arguments: str, folder: Path = REPOSITORY) -> Done:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = subprocess.run(
            arguments,
            check=False,
            cwd=folder,
            env=ENVIRONMENT,
            preexec_fn=limit_files,
            stderr=err,
            stdin=subprocess.DEVNULL,
            stdout=out,
            timeout=10,
        ).returncode
        out.seek(0)
        err.seek(0)
        return Done(out.read().decode(errors="replace"), err.read().decode(errors="replace"), code)


def git(*arguments: str) -> str:
    done = run("git", "-c", "safe.directory=*", *arguments)
    assert done.returncode == 0, done.stderr[-300:]
    return done.stdout


def committed(name: str) -> str:
    """The content of a file at the tip of main, whatever lies in the working tree."""
    return git("show", f"main:{name}")


def fare(folder: Path, *arguments: str) -> str:
    (folder / "fare.sh").write_text(committed("fare.sh"))
    return run("sh", "fare.sh", *arguments, folder=folder).stdout.strip()


def test_first_bad_commit():
    assert Path("/app/first_bad.txt").read_text().strip() == FIRST_BAD


def test_author():
    assert Path("/app/author.txt").read_text().strip() == "Dana Roth"


def test_fares_are_right(tmp_path: Path):
    assert [fare(tmp_path, zones) for zones in ("1", "2", "3", "7")] == ["185", "230", "275", "455"]


def test_child_fares_still_work(tmp_path: Path):
    assert [fare(tmp_path, zones, "child") for zones in ("1", "3")] == ["92", "137"]


def test_commit_is_undone_as_a_whole():
    assert committed("README") == README


def test_tariff_is_back():
    assert committed("tariff-2021.txt") == TARIFF


def test_history_is_kept_and_goes_on():
    commits = git("rev-list", "main").split()
    assert TIP in commits[1:]


def test_main_is_checked_out_and_clean():
    assert git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert git("rev-parse", "main").strip() != TIP
    assert git("status", "--porcelain") == ""
