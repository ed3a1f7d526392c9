"""One command in a container: its way there, its output, and its end when its time is over."""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from tbeval.sandboxes.docker.engine import Engine, EngineError
from tbeval.sandboxes.errors import CommandTimeoutError, SandboxStartError
from tbeval.sandboxes.limits import OUTPUT_BYTES
from tbeval.sandboxes.processes import Capture

#: Says its process number first, so that it can be killed: the Engine has no call for that.
#: $1 is the working directory, $2 whether it must be there.
_WRAPPER = (
    'echo $$; cd -- "$1" 2>/dev/null || if [ "$2" ]; then echo "$1: no such directory" >&2; '
    'exit 1; else cd /; fi; shift 2; exec "$@"'
)
#: Kills a session and all that descends from it. The Engine starts each command in a session of
#: its own; pure shell, since an image may lack ps and pkill.
_KILL = """main=$1
marked=" $main "
for round in 1 2 3; do
    for file in /proc/[0-9]*/stat; do
        read -r line < "$file" || continue
        pid=${line%% *}
        set -- ${line##*) }
        case "$marked" in *" $2 "*) own=1 ;; *) own= ;; esac
        if [ "$4" = "$main" ] || [ "$own" ]; then marked="$marked$pid "; kill -STOP "$pid"; fi
    done
done 2>/dev/null
kill -KILL $marked 2>/dev/null
exit 0
"""
_KILL_SEC = 15.0
_PID_LINE = 32


@dataclass(frozen=True)
class Ended:
    """What came of a command."""

    code: int
    stdout: str
    stderr: str


class _Output:
    """Standard output, with the process number in its first line taken off."""

    def __init__(self) -> None:
        self.kept = Capture(OUTPUT_BYTES)
        self.pid: int | None = None
        self._first: bytearray | None = bytearray()

    def feed(self, data: bytes) -> None:
        if self._first is None:
            self.kept.feed(data)
            return
        self._first += data
        line, newline, rest = bytes(self._first).partition(b"\n")
        if newline or len(self._first) > _PID_LINE:
            self._first = None
            if line.isdigit():
                self.pid = int(line)
                if rest:
                    self.kept.feed(rest)
            else:  # not the shell's: the Engine tells why it could not start it
                self.kept.feed(line + newline + rest)


async def run(
    engine: Engine,
    container: str,
    argv: list[str],
    *,
    cwd: str,
    insist: bool,
    env: Mapping[str, str],
    user: str,
    timeout_sec: float | None,
) -> Ended:
    """Run a command; when its time is over or the caller is cancelled, it is killed.

    Args:
        engine: Where.
        container: Id.
        argv: The command.
        cwd: Its working directory.
        insist: Whether it fails where that is not there, or begins in `/`.
        env: Added to the container's.
        user: Name or number; empty for the image's.
        timeout_sec: None: no limit.

    Raises:
        CommandTimeoutError: Its time was over; it and its children are dead.
        EngineError: The container is not there or does not run.
    """
    out, err = _Output(), Capture(OUTPUT_BYTES)
    command = {
        "Cmd": ["/bin/sh", "-c", _WRAPPER, "sh", cwd, "1" if insist else "", *argv],
        "Env": [f"{key}={value}" for key, value in env.items()],
        "User": user,
    }
    try:
        async with asyncio.timeout(timeout_sec) as limit:
            code = await engine.execute(container, command, out.feed, err.feed)
    except TimeoutError:
        await _kill(engine, container, out.pid)
        if limit.expired():
            raise CommandTimeoutError(timeout_sec or 0) from None
        raise
    except asyncio.CancelledError:
        await asyncio.shield(_kill(engine, container, out.pid))
        raise
    return Ended(code, out.kept.text(), err.text())


async def _kill(engine: Engine, container: str, pid: int | None) -> None:
    if pid is None:
        return
    command = {"Cmd": ["/bin/sh", "-c", _KILL, "sh", str(pid)], "User": "0"}
    with contextlib.suppress(EngineError, SandboxStartError, TimeoutError):
        async with asyncio.timeout(_KILL_SEC):
            await engine.execute(container, command, lambda _: None, lambda _: None)
