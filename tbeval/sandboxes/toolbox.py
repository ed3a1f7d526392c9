"""A python with pytest for the verifier, the same at the same place in every sandbox.

It is made of what the machine has (its own python3) and of what tbeval itself is installed with
(pytest and its few pure-python dependencies), so nothing is downloaded. Its layout is a virtual
environment's: `bin/python` finds pytest without any variable that its children would inherit.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from tbeval.records.process import ProcessId, process_id
from tbeval.sandboxes.errors import SandboxStartError
from tbeval.sandboxes.rootfs import TOOLBOX_MOUNT
from tbeval.sandboxes.state import state_dir

_PYTHON = "/usr/bin/python3"
_OLDEST = (3, 11)
_DISTRIBUTIONS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
# -s: not what a user installed in his home; -P: not what lies in the working directory. PYTHONPATH
# counts: the verifier's plugin comes that way.
_WRAPPER = f"""#!/bin/sh
exec {TOOLBOX_MOUNT}/bin/python -s -P %s"$@"
"""


@dataclass(frozen=True)
class Toolbox:
    """A toolbox on this machine.

    Attributes:
        path: Its directory on the host.
        digest: Of what it is made of: the versions of python and pytest, and this recipe.
    """

    path: Path
    digest: str


def ensure_toolbox() -> Toolbox:
    """The toolbox of this machine, made if it is not there.

    Raises:
        SandboxStartError: The machine has no python3 that will do.
    """
    python = _python_version()
    parts = {name: metadata.version(name) for name in _DISTRIBUTIONS}
    recipe = json.dumps([python, parts, _WRAPPER], sort_keys=True)
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    parent = state_dir() / "toolbox"
    path = parent / digest
    if not path.is_dir():
        parent.mkdir(exist_ok=True)
        parent.chmod(0o755)
        _build(parent, path, python)
    return Toolbox(path, digest)


def _python_version() -> str:
    """The machine's python, as "3.11"."""
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [_PYTHON, "-I", "-S", "-c", script], capture_output=True, check=True, text=True, env={}
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise SandboxStartError(
            f"{_PYTHON} does not run; install it (apt install python3)."
        ) from error
    version = done.stdout.strip()
    if tuple(int(word) for word in version.split(".")) < _OLDEST:
        raise SandboxStartError(f"{_PYTHON} is {version}; the verifier needs 3.11 or newer.")
    return version


def _build(parent: Path, path: Path, python: str) -> None:
    _remove_unfinished(parent)
    builder = process_id(os.getpid())
    made = Path(tempfile.mkdtemp(dir=parent, prefix=f".{builder.pid}.{builder.started}."))
    try:
        packages = made / "lib" / f"python{python}" / "site-packages"
        packages.mkdir(parents=True)
        for name in _DISTRIBUTIONS:
            _copy(name, packages)
        (made / "bin").mkdir()
        (made / "bin" / "python").symlink_to(_PYTHON)
        for name, options in (("python3", ""), ("pytest", "-m pytest ")):
            script = made / "bin" / name
            script.write_text(_WRAPPER % options, encoding="ascii")
            script.chmod(0o755)
        (made / "pyvenv.cfg").write_text(
            "home = /usr/bin\ninclude-system-site-packages = true\n", encoding="ascii"
        )
        compiler = [_PYTHON, "-I", "-m", "compileall", "-q"]
        subprocess.run(
            [*compiler, "--invalidation-mode", "unchecked-hash", str(made / "lib")],
            check=False,  # without compiled files it is slower, not wrong
            capture_output=True,
            env={},
        )
        _make_readable(made)
        made.rename(path)
    except OSError:
        if not path.is_dir():  # otherwise another process was quicker
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _remove_unfinished(parent: Path) -> None:
    """Remove what a process that was killed left half made."""
    for path in parent.glob(".*.*.*"):
        pid, started = path.name.split(".")[1:3]
        if not ProcessId(pid=int(pid), started=int(started)).alive:
            shutil.rmtree(path, ignore_errors=True)


def _copy(name: str, target: Path) -> None:
    distribution = metadata.distribution(name)
    for file in distribution.files or ():
        relative = PurePosixPath(file)
        if ".." in relative.parts or relative.suffix == ".pyc":
            continue  # console scripts, and files compiled for another python
        place = target / relative
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(distribution.locate_file(file)), place)


def _make_readable(root: Path) -> None:
    for directory, _, files in os.walk(root):
        Path(directory).chmod(0o755)
        for name in files:
            path = Path(directory, name)
            if not path.is_symlink() and name not in {"python3", "pytest"}:
                path.chmod(0o644)
