"""What a task in harbor's format asks of the embedded sandbox.

The convention: the files of `environment/` (all but the Dockerfile and compose files) are copied to
the working directory, `setup.sh` among them is run there with bash as root, and is then removed.
A Dockerfile that does the same lets a task run in either kind of sandbox:

    WORKDIR /app
    COPY . /app
    RUN bash /app/setup.sh && rm -f /app/setup.sh /app/Dockerfile
"""

import tomllib
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from tbeval.sandboxes.errors import UnsupportedTaskError

SETUP = "setup.sh"
_IMAGE_FILES = ("Dockerfile", "docker-compose*", "compose.yaml", "compose.yml", ".dockerignore")


def left_out(path: PurePosixPath) -> bool:
    """Whether a file of `environment/` is not copied: it describes an image."""
    return len(path.parts) == 1 and any(fnmatch(path.name, name) for name in _IMAGE_FILES)


def check_environment(environment_dir: Path, image: str | None) -> None:
    """See that a task can be set up without an image.

    Raises:
        UnsupportedTaskError: It comes as an image, has a Dockerfile or compose file only, or was
            converted: what it calls setup.sh is then no set-up for this sandbox.
    """
    if _made_for_docker(environment_dir.parent / "task.toml"):
        raise UnsupportedTaskError(
            f"{environment_dir.parent} was converted from a task for Docker: it needs "
            "--sandbox docker."
        )
    if (environment_dir / SETUP).is_file():
        return
    needs = [image] if image else []
    if environment_dir.is_dir():
        needs += sorted(
            p.name for p in environment_dir.iterdir() if left_out(PurePosixPath(p.name))
        )
    if needs:
        raise UnsupportedTaskError(
            f"{environment_dir} has no {SETUP}, only {needs[0]}: this task needs --sandbox docker."
        )


def wants_network(environment_dir: Path) -> bool:
    """Whether task.toml itself says `network_mode = "public"` in its `[environment]`.

    harbor cannot tell: to it, a task that says nothing has a public network. Here such a task gets
    none, since a bubblewrap sandbox with a network has the host's own, loopback included, where
    other services and the model gateway listen (the gateway's URLs hold a secret token).

    Raises:
        UnsupportedTaskError: It asks for a list of allowed hosts, which only Docker can enforce.
    """
    try:
        text = (environment_dir.parent / "task.toml").read_text(encoding="utf-8")
        found = tomllib.loads(text).get("environment")
    except (OSError, ValueError):
        return False  # harbor has its own words for a task.toml that it cannot read
    mode = found.get("network_mode") if isinstance(found, dict) else None
    if mode == "allowlist":
        raise UnsupportedTaskError(
            f"{environment_dir.parent / 'task.toml'} allows some hosts only, which bubblewrap "
            "cannot enforce: this task needs --sandbox docker."
        )
    return mode == "public"


def _made_for_docker(task_toml: Path) -> bool:
    """Whether tbeval's converter says so in `[metadata.tbeval]`."""
    try:
        metadata = tomllib.loads(task_toml.read_text(encoding="utf-8")).get("metadata")
    except (OSError, ValueError):
        return False  # harbor has its own words for it
    marks = metadata.get("tbeval") if isinstance(metadata, dict) else None
    return isinstance(marks, dict) and marks.get("sandbox") == "docker"
