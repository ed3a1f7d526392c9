"""Files into a sandbox and out of it, by tar inside: it follows no link that the agent planted."""

import tempfile
from typing import IO

from tbeval.sandboxes import programs, transfer
from tbeval.sandboxes.cage import Cage
from tbeval.sandboxes.errors import TransferError
from tbeval.sandboxes.processes import Capture, Spool

#: What the agent left could stop our tar.
TRANSFER_SEC = 120.0
TOO_SLOW = f"it took more than {TRANSFER_SEC:g} seconds"


async def put(cage: Cage, fill: IO[bytes], target: str) -> None:
    """Extract a tar stream in a directory inside.

    Raises:
        TransferError: tar failed inside: the storage is full, the target is a file, …
        SandboxDiedError: The sandbox is gone.
    """
    output = Capture(4096)
    script = 'mkdir -p -- "$1" && exec tar -x --no-same-owner -C "$1"'
    door = cage.open_door()
    argv = door.plain([programs.SH, "-c", script, "sh", target])
    done = await cage.run(argv, output, output, stdin=fill, timeout_sec=TRANSFER_SEC)
    cage.notice(done, output, output)
    if done.return_code != 0:
        why = TOO_SLOW if done.timed_out else output.text().strip()
        raise TransferError(f"Copying to {target} failed: {why}")


async def get(cage: Cage, script: str, *arguments: str) -> tuple[IO[bytes], str]:
    """Run a script of ours inside that writes a tar stream; the caller closes the file.

    Returns:
        The stream, cut off at `MOST_DOWNLOAD` bytes, and what went wrong ("" if nothing).
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        spool, errors = Spool(file, transfer.MOST_DOWNLOAD), Capture(4096)
        argv = cage.open_door().plain([programs.SH, "-c", script, "sh", *arguments])
        done = await cage.run(argv, spool, errors, timeout_sec=TRANSFER_SEC)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    if spool.full:
        cage.hit("output")
        return file, f"it is larger than {transfer.MOST_DOWNLOAD} bytes"
    if done.timed_out:
        return file, TOO_SLOW
    return file, errors.text().strip() if done.return_code else ""
