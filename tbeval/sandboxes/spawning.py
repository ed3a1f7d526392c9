"""Starting bwrap."""

import asyncio
import contextlib
import io
import os
from typing import IO

from tbeval.sandboxes import programs, rootfs
from tbeval.sandboxes.entering import is_root
from tbeval.sandboxes.limits import Limits
from tbeval.sandboxes.toolbox import Toolbox


def memory_file(data: bytes) -> IO[bytes]:
    """A file in memory, at its beginning."""
    file = io.FileIO(os.memfd_create("tbeval"), "r+")
    file.write(data)
    file.seek(0)
    return file


async def spawn(
    limits: Limits, toolbox: Toolbox, number: int
) -> tuple[asyncio.subprocess.Process, int]:
    """Start bwrap; returns it and the file descriptor that tells its child's pid.

    bwrap's own path may lie where the sandbox's uid cannot go, so it is run by descriptor; and its
    options come by descriptor too, or the host's paths would stand on a command line.
    """
    info, info_write = os.pipe()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, info_write)
        binary = os.open(programs.bwrap(), os.O_RDONLY)
        stack.callback(os.close, binary)
        empty = os.open(os.devnull, os.O_RDONLY)
        stack.callback(os.close, empty)
        args = rootfs.bwrap_args(limits, toolbox.path, empty)
        options = stack.enter_context(memory_file("\0".join(args).encode() + b"\0"))
        argv: list[str] = []
        if is_root():
            argv += [programs.SETPRIV, f"--reuid={number}", f"--regid={number}", "--clear-groups"]
            argv += ["--"]
        argv += [f"/proc/self/fd/{binary}", "--args", str(options.fileno())]
        argv += ["--info-fd", str(info_write), "--", programs.SH, "-c"]
        # Ignored by the first process, SIGCHLD makes the kernel reap orphans itself.
        argv += ["echo ready; exec env --ignore-signal=CHLD sleep infinity >/dev/null 2>&1"]
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={"PATH": rootfs.ENVIRONMENT["PATH"]},
                pass_fds=(binary, empty, options.fileno(), info_write),
                start_new_session=True,
            )
        except BaseException:
            os.close(info)
            raise
    return process, info
