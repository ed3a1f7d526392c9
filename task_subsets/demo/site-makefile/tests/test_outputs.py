import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8"}
MAKEFILE = Path("/app/site/Makefile")
# Both leave a line for each call, so that the tests can tell what was built.
RENDER = 'echo "render $1" >> calls.log\ncat header.txt "$1" > "$2"\n'
JOIN = 'echo join >> calls.log\nindex=$1\nshift\necho "$@" | tr " " "\\n" | sort > "$index"\n'
PAGES = ["about", "boats", "how-to-find-us"]


class Done(NamedTuple):
    stdout: str
    stderr: str
    returncode: int


def limit_files() -> None:
    """Neither the output nor any other file of the program grows beyond 1 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))


def run(arguments: list[str], folder: Path) -> Done:
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
            timeout=6,
        ).returncode
        out.seek(0)
        err.seek(0)
        return Done(out.read().decode(errors="replace"), err.read().decode(errors="replace"), code)


class Site:
    """A site of the tests' own, with the Makefile that was written."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "pages").mkdir(parents=True)
        shutil.copy(MAKEFILE, folder / "Makefile")
        (folder / "render.sh").write_text(RENDER)
        (folder / "join.sh").write_text(JOIN)
        (folder / "header.txt").write_text("head\n")
        for page in PAGES:
            self.write(page)
        self.age(2000)

    def write(self, page: str) -> None:
        (self.folder / "pages" / f"{page}.txt").write_text(f"text of {page}\n")

    def age(self, seconds: float) -> None:
        """Make everything look that old, so that a later change is seen as one."""
        then = time.time() - seconds
        for path in self.folder.rglob("*"):
            os.utime(path, (then, then))

    def make(self, *targets: str) -> list[str]:
        """What the scripts were called for, sorted."""
        log = self.folder / "calls.log"
        log.write_text("")
        done = run(["make", "--no-print-directory", *targets], self.folder)
        assert done.returncode == 0, (done.stdout + done.stderr)[-500:]
        return sorted(log.read_text().splitlines())

    def built(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in (self.folder / "out").iterdir()}


def expected(pages: list[str]) -> dict[str, str]:
    files = {f"{page}.html": f"head\ntext of {page}\n" for page in pages}
    index = "".join(f"out/{page}.html\n" for page in sorted(pages))
    return {**files, "index.html": index}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "elsewhere")


@pytest.fixture
def built(site: Site) -> Site:
    """A site that was built a while ago."""
    site.make()
    assert site.built() == expected(PAGES)
    outputs = [site.folder / "out" / name for name in expected(PAGES)]
    for age, path in enumerate([site.folder / "out" / "index.html", *outputs[:-1]]):
        then = time.time() - 1000 - age
        os.utime(path, (then, then))
    return site


def test_builds_everything(site: Site):
    site.make()
    assert site.built() == expected(PAGES)


def test_second_run_does_nothing(built: Site):
    assert built.make() == []


def test_changed_page(built: Site):
    (built.folder / "pages" / "boats.txt").write_text("other text\n")
    assert built.make() == ["join", "render pages/boats.txt"]
    assert built.built()["boats.html"] == "head\nother text\n"


def test_changed_header(built: Site):
    (built.folder / "header.txt").write_text("other head\n")
    assert built.make() == ["join", *(f"render pages/{page}.txt" for page in PAGES)]
    assert built.built()["about.html"] == "other head\ntext of about\n"


def test_added_page(built: Site):
    built.write("new-boat")
    built.make()
    assert built.built() == expected([*PAGES, "new-boat"])


def test_clean(built: Site):
    (built.folder / "notes.html").write_text("keep me\n")
    before = {path for path in built.folder.rglob("*") if "out" not in path.parts}
    built.make("clean")
    assert not (built.folder / "out").exists()
    assert {path for path in built.folder.rglob("*")} == before
