"""A command in a sandbox that the agent's leftover processes cannot touch: the verifier's.

The agent's processes are root inside, share the file system, and may be waiting. What keeps them
out:

- The tests and the private directory are tmpfs mounts in a mount name space of the command's own.
- Their mount points, with each directory on the way, are first made mount points for everybody:
  otherwise an agent that removes or renames the directory below would unmount them.
- The command keeps one harmless capability that no process of the agent's can have. The kernel
  then refuses them its memory, environment, descriptors, root and tracing.
- The mounting is done by a shell that has all capabilities, from programs and libraries that root
  inside cannot replace (`rootfs`).

What remains to them is to kill it, which is no verdict in their favour.
"""

import shlex
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import IO

from tbeval.records.sandbox import PrivateResult
from tbeval.sandboxes import rootfs, transfer
from tbeval.sandboxes.cage import KILLED_CODE, Cage
from tbeval.sandboxes.copying import TOO_SLOW, TRANSFER_SEC
from tbeval.sandboxes.entering import Door, in_directory, split_environment
from tbeval.sandboxes.limits import MB, OUTPUT_BYTES
from tbeval.sandboxes.processes import Capture, Spool, Stream
from tbeval.sandboxes.programs import BASH, SH, UNSHARE

_SIZE = 256 * MB
_RESERVE_MB = 64
_KEPT = "wake_alarm"

# Arguments: absolute directories. Makes each of them, and all above, real and immovable.
_PIN_SCRIPT = """set -fu
pinned() {
    while read -r _ _ _ _ where _; do
        if [ "$where" = "$1" ]; then return 0; fi
    done < /proc/self/mountinfo
    return 1
}
for target; do
    path=
    rest=${target#/}/
    while [ -n "$rest" ]; do
        path=$path/${rest%%/*}
        rest=${rest#*/}
        tries=0
        until pinned "$path"; do
            tries=$((tries + 1))
            if [ $tries -gt 20 ]; then echo "$path cannot be made a directory"; exit 1; fi
            if [ -L "$path" ] || [ ! -d "$path" ]; then rm -f -- "$path"; fi
            mkdir -p -- "$path" && LIBMOUNT_FORCE_MOUNT2=always mount --rbind "$path" "$path"
        done
    done
done >&2
"""


def pack_uploads(target: IO[bytes], uploads: dict[str, str]) -> None:
    """Write one tar stream with the contents of host directories at their places inside."""
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        for inside, directory in uploads.items():
            transfer.add(archive, Path(directory), prefix=inside.strip("/"))


def pin_line(door: Door, targets: tuple[str, ...]) -> list[str]:
    """The host's command line that makes the targets mount points.

    It also gives the root some room: a full one must not keep the tests from running.
    """
    reserve = replace(door.limits, storage_mb=door.limits.storage_mb + _RESERVE_MB)
    script = rootfs.remount_root(reserve) + _PIN_SCRIPT
    return door.trusted([SH, "-c", script, "sh", *targets])


def command_line(
    door: Door,
    command: str,
    targets: tuple[str, ...],
    *,
    cwd: str,
    late_env: dict[str, str],
    results: int,
) -> list[str]:
    """The host's command line that runs a command out of the agent's reach.

    Args:
        door: Of the sandbox; the targets have been pinned in it.
        command: For `bash -c`.
        targets: Where private file systems go; the last is the directory that is returned.
        cwd: The command's working directory.
        late_env: See `split_environment`.
        results: File descriptor that gets the last target's files as a tar stream; the uploads
            come on standard input.
    """
    inner = [
        *door.drop(harness=True, keep=_KEPT),
        *in_directory(cwd, late_env),
        BASH,
        "-c",
        command,
    ]
    lines = ["set -e"]
    for target in dict.fromkeys(targets):
        where = shlex.quote(target)
        lines.append(f"mkdir -p -- {where}")
        options = f"nosuid,nodev,size={_SIZE},mode=755"
        lines.append(f"{rootfs.MOUNT} -t tmpfs -o {options} tmpfs {where}")
    lines += ["tar -x -p --no-same-owner -C /", "set +e"]
    # An agent that removed the working directory, or put a file there, gets its verdict.
    where = shlex.quote(cwd)
    lines.append(f"[ -d {where} ] || {{ rm -f -- {where}; mkdir -p -- {where}; }}")
    lines.append(f"{shlex.join(inner)} </dev/null {results}>&-")
    lines.append("code=$?")
    lines.append(f"tar -c -C {shlex.quote(targets[-1])} . >&{results} 2>/dev/null")
    lines.append("exit $code")
    enter = [UNSHARE, "--mount", "--propagation", "private", "--", BASH, "-c", "\n".join(lines)]
    return door.trusted(enter)


async def exec_private(
    cage: Cage,
    command: str,
    *,
    private_dir: str,
    uploads: dict[str, str],
    env: dict[str, str],
    cwd: str,
    timeout_sec: float,
) -> PrivateResult:
    """See `tbeval.records.sandbox.RunsPrivately`."""
    door = cage.open_door()
    early, late = split_environment(rootfs.ENVIRONMENT | env)
    stdout, stderr = Capture(OUTPUT_BYTES), Capture(OUTPUT_BYTES)
    targets = (*uploads, private_dir)
    pinned = await cage.run(pin_line(door, targets), stdout, stderr, timeout_sec=TRANSFER_SEC)
    if pinned.return_code != 0:
        # The root has room and these are its own directories: only processes that the agent
        # left can be in the way. It is as if they had killed the command.
        why = TOO_SLOW if pinned.timed_out else stderr.text().strip()
        said = f"The agent's processes keep the tests from being put in place: {why}"
        return PrivateResult(
            return_code=KILLED_CODE, stdout="", stderr=said, timed_out=False, files={}
        )
    with tempfile.TemporaryFile() as files, tempfile.TemporaryFile() as results:
        pack_uploads(files, uploads)
        files.seek(0)
        stream = Stream(Spool(results, transfer.MOST_DOWNLOAD))
        done = await cage.run(
            command_line(door, command, targets, cwd=cwd, late_env=late, results=stream.write),
            stdout,
            stderr,
            env=early,
            timeout_sec=timeout_sec,
            stdin=files,
            extra=(stream,),
        )
        cage.notice(done, stdout, stderr)
        results.seek(0)
        found = transfer.read_files(results)
    return PrivateResult(
        return_code=done.return_code,
        stdout=stdout.text(),
        stderr=stderr.text(),
        timed_out=done.timed_out,
        files=found,
    )
