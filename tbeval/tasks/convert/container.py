"""Tasks that are one container: what their compose file says goes to task.toml."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tbeval.tasks.convert.service import build_of, environment_of, only_sleeps
from tbeval.tasks.convert.source import Source
from tbeval.tasks.convert.variables import (
    AGENT_LOGS_VOLUME,
    LOGS_VOLUME,
    TESTS_DIR,
    has_variable,
    unescaped,
)

#: `ports` and `expose`: there is nobody to reach them. tmux makes terminals of its own.
_EXPRESSIBLE = frozenset(
    {
        "build",
        "command",
        "container_name",
        "environment",
        "expose",
        "image",
        "init",
        "platform",
        "ports",
        "stdin_open",
        "tty",
        "volumes",
        "working_dir",
    }
)
_TOP_LEVEL = frozenset({"services", "version", "name"})
_WHOLE_VARIABLE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)(?::?-(?P<default>[^}]*))?\}?")
_FROM = re.compile(
    r"^(\s*FROM\s+)(?!--platform)(\S+)(?P<stage>\s+AS\s+(\S+))?", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True)
class Container:
    """A task of one container.

    Attributes:
        env: The container's variables, in harbor's notation.
        image: A ready image, if it is not built.
        platform: Such as linux/amd64, for the Dockerfile's base images.
        workdir: Where commands run, if not where the image says.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    platform: str | None = None
    workdir: str | None = None


def single_container(source: Source) -> Container | None:
    """The container of a task that needs no compose file, or None."""
    service = source.services[source.main]
    if (
        len(source.services) != 1
        or not _TOP_LEVEL.issuperset(source.compose)
        or not _EXPRESSIBLE.issuperset(service)
        or not only_sleeps(service)
        or any(not is_log_mount(volume) for volume in service.get("volumes") or [])
    ):
        return None
    build = build_of(service)
    image = service.get("image") if build is None else None
    if (build is None and not image) or (build is not None and build.rest):
        return None
    env = {"TEST_DIR": TESTS_DIR}
    for name, value in environment_of(service).items():
        said = _harbor_value(name, value)
        if said is None:
            return None
        env[name] = said
    return Container(
        env=env,
        image=image,
        platform=service.get("platform"),
        workdir=service.get("working_dir"),
    )


def is_log_mount(volume: object) -> bool:
    """Whether a volume is one of terminal-bench's directories for logs, which harbor has too."""
    return isinstance(volume, str) and volume.split(":")[0] in {LOGS_VOLUME, AGENT_LOGS_VOLUME}


def with_platform(dockerfile: str, platform: str) -> str:
    """A Dockerfile whose base images are those of a platform, where it names none itself."""
    stages: set[str] = {"scratch"}

    def named(found: re.Match[str]) -> str:
        base = found[2]
        is_stage = base.lower() in stages
        if found[4]:
            stages.add(found[4].lower())
        if is_stage:
            return found[0]
        return f"{found[1]}--platform={platform} {base}{found['stage'] or ''}"

    return _FROM.sub(named, dockerfile)


def _harbor_value(name: str, value: str | None) -> str | None:
    """A variable's value for task.toml; None where harbor's notation cannot say it."""
    if value is None:  # taken from the environment, if it is there
        return f"${{{name}:-}}"
    if not has_variable(value):
        text = unescaped(value)
        return None if text.startswith("${") and text.endswith("}") else text
    found = _WHOLE_VARIABLE.fullmatch(value)
    return f"${{{found['name']}:-{found['default'] or ''}}}" if found else None


def environment_table(container: Container) -> dict[str, Any]:
    """The fields of harbor's `EnvironmentConfig`."""
    table = {
        "docker_image": container.image,
        "env": dict(container.env),
        "workdir": container.workdir,
    }
    return {key: value for key, value in table.items() if value}
