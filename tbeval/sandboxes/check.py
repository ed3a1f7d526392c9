"""Whether this machine can run the embedded sandbox: found out by running one."""

from pathlib import Path

from tbeval.sandboxes import programs
from tbeval.sandboxes.cage import Cage
from tbeval.sandboxes.errors import SandboxStartError
from tbeval.sandboxes.limits import Limits
from tbeval.sandboxes.rootfs import WORKDIR
from tbeval.sandboxes.state import reap
from tbeval.sandboxes.toolbox import ensure_toolbox

_SWITCHES = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)


async def check_bubblewrap() -> None:
    """Start a sandbox, run a command in it and stop it; what dead runs left is removed first.

    Raises:
        SandboxStartError: One sentence on what is missing and what to do.
    """
    programs.check_programs()
    reap()
    toolbox = ensure_toolbox()
    try:
        cage = await Cage.start(Limits(), toolbox, run_id="check", workdir=WORKDIR)
    except SandboxStartError as error:
        if advice := namespace_advice():
            raise SandboxStartError(f"{error} {advice}") from error
        raise
    try:
        command = "/opt/tbeval/bin/python3 -c 'import pytest'"
        done, _, stderr = await cage.exec(command, cwd=WORKDIR, env={}, timeout_sec=60)
        if done.return_code != 0:
            raise SandboxStartError(
                f"The verifier's python does not work in a sandbox: {stderr.text().strip()}. "
                f"Remove {toolbox.path} and try again."
            )
    finally:
        await cage.stop()


def namespace_advice(root: Path = Path("/")) -> str:
    """What to set where the kernel keeps users from making name spaces; empty if it does not.

    Args:
        root: Where /proc is looked for.
    """
    for path, refusing, setting in _SWITCHES:
        file = root / path.lstrip("/")
        if file.is_file() and file.read_text(encoding="ascii").strip() == refusing:
            return f"This machine forbids user name spaces: as root, sysctl -w {setting}"
    return ""
