"""Whether the Engine can be used: looked at, and found out by running a container."""

from dataclasses import dataclass
from typing import Any

from tbeval.sandboxes.docker.engine import API_VERSION, Engine, EngineError, engine_host
from tbeval.sandboxes.errors import SandboxStartError

_GB = 1024**3


@dataclass(frozen=True)
class EngineFacts:
    """What an Engine says of itself.

    Attributes:
        version: Of the Engine.
        api: The newest version of its API.
        cpus: Of its machine.
        memory_gb: The same.
        unheld: Limits that it cannot hold.
        networks: How many there are.
    """

    version: str
    api: str
    cpus: int
    memory_gb: float
    unheld: tuple[str, ...]
    networks: int


async def look() -> EngineFacts:
    """Ask the Engine.

    Raises:
        SandboxStartError: None answers, or it is too old, or it runs no Linux containers.
    """
    async with Engine(engine_host()) as engine:
        try:
            version = await engine.get("version")
            info = await engine.get("info")
            networks = await engine.get("networks")
        except EngineError as error:
            raise SandboxStartError(
                f"The Docker Engine at {engine_host()} refuses: {error}. tbeval needs 20.10 or "
                "newer."
            ) from error
    if info.get("OSType") != "linux":
        raise SandboxStartError(
            f"The Docker Engine at {engine_host()} runs {info.get('OSType')} containers: tasks "
            "need Linux."
        )
    return _facts(version, info, len(networks))


def _facts(version: dict[str, Any], info: dict[str, Any], networks: int) -> EngineFacts:
    kinds = {"memory": "MemoryLimit", "cpu": "CpuCfsQuota", "processes": "PidsLimit"}
    return EngineFacts(
        version=str(version.get("Version", "?")),
        api=str(version.get("ApiVersion", API_VERSION)),
        cpus=int(info.get("NCPU", 0)),
        memory_gb=info.get("MemTotal", 0) / _GB,
        unheld=tuple(name for name, key in kinds.items() if not info.get(key)),
        networks=networks,
    )
