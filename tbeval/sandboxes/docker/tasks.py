"""Which tasks in harbor's format can be run in Docker: those of one container."""

import tomllib
from pathlib import Path

from tbeval.sandboxes.errors import UnsupportedTaskError

DOCKERFILE = "Dockerfile"
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")


def check_environment(directory: Path, image: str | None) -> None:
    """See that a task is one container with an image or a Dockerfile.

    Args:
        directory: The task's `environment/`.
        image: The image that it names, if any.

    Raises:
        UnsupportedTaskError: It has several containers, or nothing to make one of.
    """
    compose = [name for name in _COMPOSE if (directory / name).exists()]
    if compose:
        raise UnsupportedTaskError(
            f"{directory} has a {compose[0]}: tasks of several containers come with a later "
            "version; leave it out with --exclude."
        )
    if not image and not (directory / DOCKERFILE).is_file():
        raise UnsupportedTaskError(
            f"{directory} has no {DOCKERFILE}: this task needs --sandbox bubblewrap."
        )


def image_of(task: Path) -> str | None:
    """The ready image that a task names in its task.toml; None if it names none."""
    try:
        text = (task / "task.toml").read_text(encoding="utf-8")
        said = tomllib.loads(text).get("environment", {}).get("docker_image")
    except (OSError, ValueError, AttributeError):
        return None  # harbor has its own words for a task.toml that it cannot read
    return said if isinstance(said, str) and said else None
