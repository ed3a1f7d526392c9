"""What a service of a compose file says, whichever of compose's notations it uses."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_SLEEPS = ("sh", "-c", "sleep infinity")
_PORT = re.compile(r"(?P<ports>\d+(?:-\d+)?)(?P<protocol>/\w+)?$")


@dataclass(frozen=True)
class Build:
    """A service's `build`.

    Attributes:
        context: Its directory, relative to the compose file.
        dockerfile: Relative to the context.
        rest: What else it says: arguments, the stage.
    """

    context: str = "."
    dockerfile: str = "Dockerfile"
    rest: Mapping[str, Any] = field(default_factory=dict)


def build_of(service: Mapping[str, Any]) -> Build | None:
    """How its image is built; None if it names a ready one."""
    said = service.get("build")
    if said is None:
        return None
    if isinstance(said, str):
        return Build(context=said)
    rest = {key: value for key, value in said.items() if key not in {"context", "dockerfile"}}
    return Build(
        context=str(said.get("context", ".")),
        dockerfile=str(said.get("dockerfile", "Dockerfile")),
        rest=rest,
    )


def environment_of(service: Mapping[str, Any]) -> dict[str, str | None]:
    """Its variables, text as compose has it; None: taken from where compose runs."""
    said = service.get("environment") or {}
    if isinstance(said, Mapping):
        return {str(key): _text(value) for key, value in said.items()}
    variables: dict[str, str | None] = {}
    for entry in said:
        name, equals, value = str(entry).partition("=")
        variables[name] = value if equals else None
    return variables


def only_sleeps(service: Mapping[str, Any]) -> bool:
    """Whether its command is none, or the one that every sandbox has anyway."""
    command = service.get("command")
    if command is None:
        return True
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError:
            return False
    return tuple(command) in {_SLEEPS, ("sleep", "infinity")}


def exposed_ports(service: Mapping[str, Any]) -> list[str]:
    """The ports inside, of `ports` and `expose`; what they are on the host is left out."""
    found = [str(port) for port in service.get("expose") or []]
    for port in service.get("ports") or []:
        if isinstance(port, Mapping):
            protocol = port.get("protocol")
            found.append(str(port["target"]) + (f"/{protocol}" if protocol else ""))
        elif match := _PORT.search(str(port)):
            found.append(match[0].removesuffix("/tcp"))
    return list(dict.fromkeys(found))


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
