"""Running a command on the host's side: bounded output, a time limit that ends the whole tree.

Nothing here uses a thread to start a process: a sandbox dies with the thread that started it.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import termios
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

_DRAIN_SEC = 0.01  # for a background child that holds the pipe without writing
_DRAIN_MOST_SEC = 0.5  # for one that writes for ever
_FREEZE_ROUNDS = 20
# Reading costs us time that other trials need, so a stream without end is slowed down.
_FULL_SPEED = 64 * 1024 * 1024  # bytes of a running command
_STEP = 1024 * 1024
_PAUSE_SEC = 0.01  # after each step beyond: at most 100 MB a second
_DROPPED_PAUSE_SEC = 0.1  # the same for what comes from the background, and is not kept


class Capture:
    """Keeps the beginning and the end of a stream, and counts what was cut between them."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            while self._tail_size - len(self._tail[0]) >= self._half:
                self._tail_size -= len(self._tail.popleft())

    def starts_with(self, data: bytes) -> bool:
        """Whether the stream began so."""
        return self._head.startswith(data)

    @property
    def cut(self) -> int:
        """How many bytes are missing."""
        return max(self.total - len(self._head) - self._half, 0)

    def data(self) -> bytes:
        """What was kept, with a line that says how much is missing."""
        tail = b"".join(self._tail)
        if not self.cut:
            return bytes(self._head) + tail
        note = f"\n[... {self.cut} bytes cut by tbeval ...]\n".encode()
        return bytes(self._head) + note + tail[-self._half :]

    def text(self) -> str:
        """The same as text; what is not UTF-8 is replaced."""
        return self.data().decode("utf-8", errors="replace")


class Spool:
    """Writes a stream to a file, up to a number of bytes; `full` is set beyond it."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._left = most
        self.full = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes; what is too much is dropped."""
        if len(data) > self._left:
            self.full = True
            data = data[: self._left]
        self._left -= len(data)
        self._file.write(data)


type Sink = Capture | Spool


class _Reader(asyncio.Protocol):
    """Feeds a pipe into a sink until it is told to drop what comes."""

    def __init__(self, sink: Sink) -> None:
        self._sink: Sink | None = sink
        self._transport: asyncio.ReadTransport | None = None
        self._free = _FULL_SPEED
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._free -= len(data)
        if self._sink is not None:
            self._sink.feed(data)
        if self._free < 0 and self._transport is not None:
            self._transport.pause_reading()
            pause = _PAUSE_SEC if self._sink is not None else _DROPPED_PAUSE_SEC
            asyncio.get_running_loop().call_later(pause, self._resume)

    def _resume(self) -> None:
        self._free = _STEP
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def drop(self) -> None:
        """Keep nothing more of what comes."""
        self._sink = None
        self._free = min(self._free, _STEP)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self.ended.set()


@dataclass
class Pipes:
    """Pipes that background processes still hold after their command has ended.

    They are read and dropped until the sandbox stops: a service whose output goes nowhere must
    not die of a broken pipe.
    """

    _open: set[asyncio.ReadTransport] = field(default_factory=set)

    def keep(self, transport: asyncio.ReadTransport) -> None:
        """Go on reading this one; forget those that have ended meanwhile."""
        self._open = {kept for kept in self._open if not kept.is_closing()} | {transport}

    def close(self) -> None:
        """Stop reading."""
        for transport in self._open:
            transport.close()
        self._open.clear()


@dataclass(frozen=True)
class Finished:
    """How a command ended: its exit code, or 128 + signal; or that its time ran out."""

    return_code: int
    timed_out: bool


class Stream:
    """One output stream of a command: a pipe of ours, read by the event loop.

    `write` is the command's end, until it has been started.
    """

    def __init__(self, sink: Sink) -> None:
        self._read, self.write = os.pipe()
        self._reader = _Reader(sink)
        self._transport: asyncio.ReadTransport | None = None

    async def connect(self) -> None:
        """Begin to read; the command has its end by now."""
        os.close(self.write)
        self.write = -1
        file = os.fdopen(self._read, "rb", buffering=0)
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(lambda: self._reader, file)

    def abandon(self) -> None:
        """Close both ends: there was no command."""
        for end in (self._read, self.write):
            os.close(end)

    async def finish(self, pipes: Pipes) -> None:
        """Read what the ended command had written; leave the pipe to `pipes` if it stays open."""
        transport = cast("asyncio.ReadTransport", self._transport)
        loop = asyncio.get_running_loop()
        last = loop.time() + _DRAIN_MOST_SEC
        while loop.time() < last:  # it may be full of what the ended command wrote
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._reader.ended.wait(), _DRAIN_SEC)
            if self._reader.ended.is_set():
                return
            if not self._waiting():
                break
        self._reader.drop()
        pipes.keep(transport)

    def _waiting(self) -> int:
        return cast(
            "int", struct.unpack("i", fcntl.ioctl(self._read, termios.FIONREAD, b"\0" * 4))[0]
        )

    def close(self) -> None:
        """Stop reading."""
        if self._transport is not None:
            self._transport.close()


async def run(
    argv: list[str],
    *,
    stdout: Sink,
    stderr: Sink,
    pipes: Pipes,
    stdin: IO[bytes] | int = asyncio.subprocess.DEVNULL,
    env: dict[str, str] | None = None,
    timeout_sec: float | None = None,
    pass_fds: tuple[int, ...] = (),
    extra: tuple[Stream, ...] = (),
) -> Finished:
    """Run a command to its end, or to the end of its time; then its whole tree is killed.

    It ends when the command itself has ended, whatever it left in the background. `extra` are
    more streams, which the command writes to by the number that their `write` has.

    Raises:
        OSError: It could not be started.
        asyncio.CancelledError: As always; the tree is killed first.
    """
    out, err = Stream(stdout), Stream(stderr)
    streams = (out, err, *extra)
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=stdin,
            stdout=out.write,
            stderr=err.write,
            env=env if env is not None else {},
            pass_fds=(*pass_fds, *(stream.write for stream in extra)),
            start_new_session=True,
        )
    except BaseException:
        for stream in streams:
            stream.abandon()
        raise
    timed_out = False
    try:
        for stream in streams:
            await stream.connect()
        try:
            async with asyncio.timeout(timeout_sec):
                await process.wait()
        except TimeoutError:
            timed_out = True
            await end(process)
        await asyncio.gather(*(stream.finish(pipes) for stream in streams))
    except BaseException:
        kill_tree(process.pid)
        for stream in streams:
            stream.close()
        with contextlib.suppress(asyncio.CancelledError):
            await process.wait()
        raise
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Finished(128 - code if code < 0 else code, timed_out)


async def end(process: asyncio.subprocess.Process) -> None:
    """Kill a command with its children and wait until it is gone."""
    if process.returncode is None:
        kill_tree(process.pid)
        await process.wait()


def kill_tree(root: int) -> None:
    """Kill a process, its group and all its descendants, also those with a session of their own.

    They are stopped first, so that none can start another unseen. What has already been handed
    over to the sandbox's first process (a service started in the background) is nobody's child
    here and lives on, unless it still is in the command's group.
    """
    stopped: set[int] = set()
    for _ in range(_FREEZE_ROUNDS):
        found = {root, *_descendants(root)} - stopped
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= found
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(root, signal.SIGKILL)
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _descendants(root: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                text = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
                parent = int(text.rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: set[int] = set()
    todo = [root]
    while todo:
        for child in children.get(todo.pop(), ()):
            if child not in found:
                found.add(child)
                todo.append(child)
    return found
