"""Tasks of several services: a compose file of which any number can run side by side.

What is fixed on the engine goes: container names become aliases on the project's own network, host
ports become exposed ones, names of networks and volumes become the project's.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tbeval.tasks.convert.container import is_log_mount
from tbeval.tasks.convert.context import copy_context, ignore_in_builds, inside
from tbeval.tasks.convert.service import build_of, environment_of, exposed_ports, only_sleeps
from tbeval.tasks.convert.source import ConvertError, Source
from tbeval.tasks.convert.variables import AGENT_LOGS_VOLUME, LOGS_VOLUME, TESTS_DIR

COMPOSE_FILE = "docker-compose.yaml"
MAIN = "main"
_SERVICES, _MOUNTS = "_services", "_mounts"
#: These bring files or tables along that this converter does not know how to move.
_REFUSED = frozenset({"env_file", "extends", "secrets", "configs"})
_REFUSED_ON_TOP = frozenset({"include", "secrets", "configs"})
_FIXED = ("build", "container_name", "networks", "ports", "expose", "volumes", "version")
_SLEEP = ["sh", "-c", "sleep infinity"]


class _Rewriter:
    """Rewrites one task's compose file and gathers what is worth knowing."""

    def __init__(self, source: Source, target: Path) -> None:
        self.source = source
        self.target = target
        self.warnings: list[str] = []
        self.added: set[str] = {COMPOSE_FILE}
        self.shares_logs = any(
            is_log_mount(volume)
            for name, service in source.services.items()
            if name != source.main
            for volume in service.get("volumes") or []
        )

    def compose(self) -> dict[str, Any]:
        """The whole file."""
        said = self.source.compose
        self._refuse(said, _REFUSED_ON_TOP, "it")
        services = {
            self._renamed(name): self._service(name, service)
            for name, service in self.source.services.items()
        }
        result: dict[str, Any] = {"services": {MAIN: services.pop(MAIN), **services}}
        for key in ("networks", "volumes"):
            if tables := self._own(key, said.get(key) or {}):
                result[key] = tables
        if self.shares_logs:
            logs: dict[str, Any] = {LOGS_VOLUME: {}, AGENT_LOGS_VOLUME: {}}
            result["volumes"] = {**logs, **result.get("volumes", {})}
        known = {"services", "version", "name", "networks", "volumes"}
        result |= {key: value for key, value in said.items() if key not in known}
        return result

    def _service(self, name: str, said: Mapping[str, Any]) -> dict[str, Any]:
        self._refuse(said, _REFUSED, f"service {name}")
        service = {key: self._references(key, v) for key, v in said.items() if key not in _FIXED}
        if name == self.source.main:
            self._main(service, said)
        elif (build := build_of(said)) is not None:
            # An image's name would be the engine's; compose gives it the project's.
            service.pop("image", None)
            into = f"{_SERVICES}/{name}"
            self.warnings += copy_context(self.source.path, build, self.target / into)
            self.added.add(_SERVICES)
            context = {"context": f"./{into}", "dockerfile": build.dockerfile}
            service["build"] = {**context, **build.rest}
        if ports := exposed_ports(said):
            service["expose"] = ports
        if volumes := [self._volume(v) for v in self._volumes(name, said)]:
            service["volumes"] = volumes
        if "network_mode" not in said:
            service["networks"] = self._networks(name, said)
            if not service["networks"]:
                del service["networks"]
        elif said["network_mode"] == "host":
            self.warnings.append(
                f"service {name} uses the engine's own network; attempts at once share its ports"
            )
        return service

    def _main(self, service: dict[str, Any], said: Mapping[str, Any]) -> None:
        build = build_of(said)
        if build is not None:
            service["build"] = {"context": ".", **build.rest}
            service["image"] = "${MAIN_IMAGE_NAME}"
        if only_sleeps(said):
            service["command"] = _SLEEP
        variables = {"TEST_DIR": TESTS_DIR, **environment_of(said)}
        service["environment"] = variables

    def _networks(self, name: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """The service's networks, with the names that others may know it by."""
        aliases = []
        if name == self.source.main and name != MAIN:
            aliases.append(name)
        if said.get("container_name"):
            aliases.append(str(said["container_name"]))
        networks = said.get("networks") or (["default"] if aliases else [])
        tables = networks if isinstance(networks, Mapping) else dict.fromkeys(networks)
        result: dict[str, Any] = {}
        for network, table in tables.items():
            own = dict(table or {})
            if {"ipv4_address", "ipv6_address"} & own.keys():
                self.warnings.append(
                    f"service {name} has a fixed address; attempts at once may collide"
                )
            every = list(dict.fromkeys([*(own.get("aliases") or []), *aliases]))
            result[network] = {**own, "aliases": every} if every else (own or None)
        return result

    def _volumes(self, name: str, said: Mapping[str, Any]) -> list[Any]:
        volumes = said.get("volumes") or []
        if self.shares_logs or name != self.source.main:
            return list(volumes)
        return [volume for volume in volumes if not is_log_mount(volume)]

    def _volume(self, volume: Any) -> Any:
        """A volume; a file or directory of the task that is mounted moves along with it."""
        if isinstance(volume, Mapping):
            if volume.get("type") != "bind":
                return dict(volume)
            return {**volume, "source": self._mount(str(volume.get("source")))}
        host, colon, rest = str(volume).partition(":")
        if not colon or host[:1] not in {".", "/", "~", "$"}:
            return volume
        return f"{self._mount(host)}:{rest}"

    def _mount(self, host: str) -> str:
        task = self.source.path
        if not host.startswith("."):
            raise ConvertError(
                f"task {task.name}: its compose file mounts {host} of the machine it runs on, "
                "which tbeval does not allow."
            )
        path = inside(task, task / host)
        into = Path(_MOUNTS, path.relative_to(task.resolve()))
        if not (self.target / into).exists():
            (self.target / into).parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, self.target / into, symlinks=True)
            elif path.is_file():
                shutil.copy2(path, self.target / into)
            else:
                raise ConvertError(f"task {task.name}: there is no {path} to mount.")
        self.added.add(_MOUNTS)
        self.warnings.append(
            f"{host} is mounted from the task's files: all attempts share it, and the engine must "
            "see this machine's files"
        )
        return f"./{into.as_posix()}"

    def _own(self, kind: str, tables: Mapping[str, Any]) -> dict[str, Any]:
        """Networks or volumes, the project's own instead of the engine's."""
        result: dict[str, Any] = {}
        for name, table in tables.items():
            if (table or {}).get("external"):
                raise ConvertError(
                    f"task {self.source.path.name}: {kind[:-1]} {name} of its compose file is "
                    "external; let the file make it."
                )
            if (table or {}).get("ipam"):
                self.warnings.append(
                    f"network {name} has fixed addresses; attempts at once may collide"
                )
            result[name] = {k: v for k, v in (table or {}).items() if k != "name"}
        return result

    def _renamed(self, name: str) -> str:
        if name == self.source.main:
            return MAIN
        if name == MAIN:
            raise ConvertError(
                f'task {self.source.path.name}: a service beside "{self.source.main}" is called '
                f'"{MAIN}", the name of the agent\'s own; give it another.'
            )
        return name

    def _references(self, key: str, value: Any) -> Any:
        """What one service says of another, under its new name."""
        if key in {"depends_on", "volumes_from", "links"}:
            if isinstance(value, Mapping):
                return {self._renamed(str(name)): condition for name, condition in value.items()}
            return [self._reference(str(entry), keep=key == "links") for entry in value]
        if key in {"network_mode", "ipc", "pid"} and str(value).startswith("service:"):
            return f"service:{self._reference(str(value).removeprefix('service:'))}"
        return value

    def _reference(self, entry: str, *, keep: bool = False) -> str:
        """A service's name with what follows it; a link keeps its old name as an alias."""
        name, colon, rest = entry.partition(":")
        if name != self.source.main:
            return entry
        return f"{MAIN}:{rest or name}" if keep else f"{MAIN}{colon}{rest}"

    def _refuse(self, said: Mapping[str, Any], keys: frozenset[str], who: str) -> None:
        if found := sorted(keys & said.keys()):
            raise ConvertError(
                f'task {self.source.path.name}: {who} uses "{found[0]}" in the compose file, '
                "which tbeval cannot convert; say the same without it."
            )


def convert_compose(source: Source, target: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The compose file for `environment/`, and the files of services beside the main one.

    Args:
        source: The task.
        target: `environment/`, with the main service's own files in it already.

    Returns:
        The file's content and what is worth knowing, one sentence each.

    Raises:
        ConvertError: It uses what cannot be converted.
    """
    rewriter = _Rewriter(source, target)
    compose = rewriter.compose()
    ignore_in_builds(target, sorted(rewriter.added))
    return compose, tuple(dict.fromkeys(rewriter.warnings))
