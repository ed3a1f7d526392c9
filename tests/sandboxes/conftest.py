"""Real sandboxes for tests; each leaves no process behind, or its test fails."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from tbeval.sandboxes.cage import Cage
from tbeval.sandboxes.limits import Limits
from tbeval.sandboxes.state import STATE_DIR_VARIABLE
from tbeval.sandboxes.toolbox import Toolbox, ensure_toolbox

type MakeCage = Callable[..., Awaitable[Cage]]
type NameSpace = Callable[[int], int]


class Said:
    """What a command inside left."""

    def __init__(self, code: int, out: str, err: str, *, timed_out: bool) -> None:
        self.code, self.out, self.err, self.timed_out = code, out, err, timed_out

    def __repr__(self) -> str:
        return (
            f"code {self.code}, timed out {self.timed_out}: {self.out[-2000:]} {self.err[-2000:]}"
        )


async def shell(cage: Cage, command: str, *, timeout_sec: float = 60, **env: str) -> Said:
    done, out, err = await cage.exec(command, cwd="/app", env=env, timeout_sec=timeout_sec)
    return Said(done.return_code, out.text(), err.text(), timed_out=done.timed_out)


# Not ps or pgrep: procps is not among the packages that tbeval asks for.
LIST = """for p in /proc/[0-9]*; do tr '\\0\\n' '  ' < $p/cmdline && echo; done 2>/dev/null"""
STATES = "cat /proc/[0-9]*/stat 2>/dev/null"


async def commands(cage: Cage) -> list[str]:
    """The command lines of all processes inside but the one that asks."""
    said = await shell(cage, LIST)
    return sorted(line.strip() for line in said.out.splitlines() if line and LIST not in line)


async def zombies(cage: Cage) -> int:
    said = await shell(cage, STATES)
    return sum(line.rpartition(")")[2].split()[0] == "Z" for line in said.out.splitlines())


def processes_in(space: int) -> list[int]:
    """All processes of the machine that are in a pid name space, given by descriptor."""
    found = []
    inode = os.stat(space).st_ino
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if Path(f"{entry.path}/ns/pid").stat().st_ino == inode:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.fixture(scope="session", autouse=True)
def state() -> Iterator[Path]:
    """A state directory of the tests' own, where a sandbox's uid can go."""
    path = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="tbeval-test-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE_DIR_VARIABLE, str(path))
        yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def toolbox(state: Path) -> Toolbox:
    return ensure_toolbox()


@pytest.fixture
def name_space() -> Iterator[NameSpace]:
    """Opens the pid name space of a process.

    As long as it is open, no other sandbox of the machine gets its number.
    """
    opened: list[int] = []

    def open_it(pid: int) -> int:
        opened.append(os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY))
        return opened[-1]

    yield open_it
    for space in opened:
        os.close(space)


@pytest.fixture
async def make_cage(
    toolbox: Toolbox, state: Path, name_space: NameSpace
) -> AsyncIterator[MakeCage]:
    cages: list[tuple[Cage, int]] = []

    async def make(limits: Limits | None = None) -> Cage:
        cage = await Cage.start(limits or Limits(), toolbox, run_id="tests", workdir="/app")
        cages.append((cage, name_space(cage.pid)))
        return cage

    yield make
    for cage, space in cages:
        await cage.stop()
        assert processes_in(space) == []
    assert list((state / "sandboxes").glob("*.json")) == []


@pytest.fixture
async def cage(make_cage: MakeCage) -> Cage:
    return await make_cage()
