"""What a sandbox sees as its file system.

One tmpfs is the root and everything writable, so that renames work across it (but for the mount
points named below), its size is the task's storage limit, and nothing is left on the host's disk
whatever happens. On it lie read-only views of the machine's programs, and a copy of those parts of
its /etc that programs need.

The programs' directories, /etc with a few files in it and /opt are mount points, which root inside
can neither replace nor rename: a command of ours that enters with capabilities must not run a
loader, a library or a sitecustomize.py that an agent planted. So are /tests and /run, where the
verifier's private mounts go.
"""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from tbeval.sandboxes import transfer
from tbeval.sandboxes.limits import MB, SHM_MB, Limits

HOSTNAME = "sandbox"
TOOLBOX_MOUNT = "/opt/tbeval"
WORKDIR = "/app"
#: Directories that harbor writes to and downloads from.
HARBOR_DIRS = ("/logs/agent", "/logs/verifier", "/logs/artifacts", "/tests", "/solution")
#: What every command finds in its environment, beside what harbor adds.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TERM": "xterm-256color",
    # Only uid 0 exists inside: without this, root's tar fails on archives of other owners.
    "TAR_OPTIONS": "--no-same-owner",
}

_PROGRAM_DIRS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# What programs need of /etc. Never credentials or proxies: no pip.conf, wgetrc, environment.
_ETC = (
    "alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "debian_version",
    "emacs", "fonts", "gai.conf", "groff", "host.conf", "inputrc", "issue", "issue.net", "java-*",
    "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.gen", "localtime", "login.defs",
    "lsb-release", "magic", "magic.mime", "manpath.config", "mime.types", "nanorc", "netconfig",
    "networks", "os-release", "perl", "protocols", "rpc", "services", "shells", "skel",
    "ssl", "terminfo", "timezone", "vim", "xattr.conf", "xdg",
)  # fmt: skip
_NEVER = ("private",)  # of /etc/ssl
_PINNED_ETC = ("ld.so.cache", "python3*")
#: One way to the kernel for all versions of mount: since util-linux 2.39 there are two.
MOUNT = "LIBMOUNT_FORCE_MOUNT2=always mount"
# Options as mount reads them back hold a uid that does not exist inside: they are not taken up.
_REMOUNT = f"{MOUNT} --options-mode ignore -t tmpfs -o remount,nosuid,nodev,"
_DIRS = (
    ("tmp", 0o1777), ("root", 0o700), ("home", 0o755), ("mnt", 0o755), ("media", 0o755),
    ("srv", 0o755), ("run", 0o755), ("run/lock", 0o1777), ("opt", 0o755), ("var", 0o755),
    ("var/tmp", 0o1777), ("var/log", 0o755), ("var/lib", 0o755), ("var/cache", 0o755),
    ("var/spool", 0o755), ("logs", 0o755),
)  # fmt: skip

_OWN_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
    "hostname": f"{HOSTNAME}\n",
    "hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nnetworks: files\n"
    "protocols: files\nservices: files\nrpc: files\n",
    "profile": 'if [ -n "$BASH" ] && [ -f /etc/bash.bashrc ]; then . /etc/bash.bashrc; fi\n',
    "fstab": "",
}


def bwrap_args(limits: Limits, toolbox: Path, empty_fd: int) -> list[str]:
    """Bwrap's options for a sandbox, command not included.

    Args:
        limits: Network or not; sizes are set once it runs (`setup_script`).
        toolbox: Mounted at `TOOLBOX_MOUNT`.
        empty_fd: A file descriptor that reads as nothing, for /etc/ld.so.preload.
    """
    args = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"]
    args += ["--unshare-cgroup-try"]
    if not limits.network:
        args += ["--unshare-net"]
    args += ["--uid", "0", "--gid", "0", "--hostname", HOSTNAME, "--clearenv"]
    for name, value in ENVIRONMENT.items():
        args += ["--setenv", name, value]
    # The first process keeps one harmless capability: the kernel lets no process without it look
    # into or trace one that has it. As the first, it cannot be killed from inside either.
    args += ["--die-with-parent", "--new-session", "--as-pid-1", "--cap-add", "CAP_WAKE_ALARM"]
    args += ["--ro-bind", "/usr", "/usr"]
    for name in _PROGRAM_DIRS:
        host = Path("/", name)
        if host.is_dir():
            args += ["--ro-bind", str(host.resolve()), f"/{name}"]
    args += ["--proc", "/proc", "--dev", "/dev"]
    args += ["--size", str(SHM_MB * MB), "--perms", "1777", "--tmpfs", "/dev/shm"]  # noqa: S108 - inside
    args += ["--dir", "/etc", "--ro-bind-data", str(empty_fd), "/etc/ld.so.preload"]
    for path in _matching(_PINNED_ETC):
        args += ["--ro-bind", str(path), str(path)]
    return [*args, "--ro-bind", str(toolbox), TOOLBOX_MOUNT, "--chdir", "/"]


def remount_root(limits: Limits) -> str:
    """The line of shell that sets the root's size."""
    return f"{_REMOUNT}size={limits.storage_mb * MB},nr_inodes={limits.inodes} tmpfs /\n"


def setup_script(limits: Limits, workdir: str) -> str:
    """What is run inside with capabilities before anything else; it reads a tar stream."""
    return f"""set -e
{remount_root(limits)}
{_REMOUNT}size={MB},nr_inodes=1024 tmpfs /dev
{_REMOUNT}size={SHM_MB * MB},nr_inodes=4096 tmpfs /dev/shm
# No name spaces below this one: mounts of their own would escape the size limit.
echo 0 > /proc/sys/user/max_user_namespaces
echo {SHM_MB * MB // 4096} > /proc/sys/kernel/shmall || :
tar -x -C / --no-same-owner -p
for pinned in /etc /opt /tests /run; do {MOUNT} --rbind $pinned $pinned; done
mkdir -p "{workdir}"
"""


def _matching(names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        yield from sorted(Path("/etc").glob(name))


@cache
def skeleton(*, network: bool) -> bytes:
    """A tar stream of what a new sandbox's root holds, beside its mounts."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, mode in _DIRS:
            transfer.add_directory(archive, name, mode)
        for name in HARBOR_DIRS:
            transfer.add_directory(archive, name.lstrip("/"), 0o777)
        for path in _matching(_ETC):
            _add_public(archive, path)
        for name, text in _OWN_ETC.items():
            transfer.add_file(archive, f"etc/{name}", text.encode())
        resolver = _read(Path("/etc/resolv.conf")) if network else b""
        transfer.add_file(archive, "etc/resolv.conf", resolver)
        if network:
            transfer.add_file(archive, "etc/hosts", _read(Path("/etc/hosts")))
    return buffer.getvalue()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _add_public(archive: tarfile.TarFile, path: Path) -> None:
    """Add a path with what is below it, as far as everybody may read it."""
    for directory, folders, files in os.walk(path) if _is_dir(path) else [(str(path), [], [""])]:
        folders[:] = sorted(name for name in folders if name not in _NEVER)
        links = [name for name in folders if Path(directory, name).is_symlink()]
        if files != [""]:
            transfer.add_directory(archive, directory.lstrip("/"))
        for name in sorted(files) + links:
            _add_one(archive, Path(directory, name) if name else path)


def _is_dir(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _add_one(archive: tarfile.TarFile, path: Path) -> None:
    found = path.lstat()
    name = str(PurePosixPath(path)).lstrip("/")
    if stat.S_ISLNK(found.st_mode):
        member = tarfile.TarInfo(name)
        member.type = tarfile.SYMTYPE
        member.linkname = str(path.readlink())
        archive.addfile(member)
    elif stat.S_ISREG(found.st_mode) and found.st_mode & stat.S_IROTH:
        transfer.add_file(archive, name, _read(path), stat.S_IMODE(found.st_mode) & 0o755)
