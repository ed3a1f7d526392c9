"""A trial's container: what it is made of, and how it ended."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tbeval.records.sandbox import Limit, SandboxDeath, SandboxReport
from tbeval.sandboxes.docker import labels
from tbeval.sandboxes.docker.engine import Engine, EngineError
from tbeval.sandboxes.limits import MB, OUTPUT_BYTES

#: Processes and threads of a sandbox; terminal-bench sets no limit, a fork bomb needs one.
MOST_PROCESSES = 4096
#: One network for all trials with a network: address pools end at about 30 networks. Its
#: containers cannot reach one another.
NETWORK = "tbeval"

_CONFLICT, _MISSING = 409, 404


@dataclass(frozen=True)
class ContainerLimits:
    """What a container may use; None: as much as there is."""

    memory_mb: int | None
    cpus: float | None
    network: bool

    def granted(self) -> tuple[Limit, ...]:
        """The limits for the ledger; the Engine holds them with control groups."""
        memory = f"{self.memory_mb} MB" if self.memory_mb else "all"
        return (
            Limit(name="memory", value=memory, means="docker" if self.memory_mb else "none"),
            Limit(name="processes", value=str(MOST_PROCESSES), means="docker"),
            Limit(
                name="cpu",
                value=f"{self.cpus:g}" if self.cpus else "all",
                means="docker" if self.cpus else "none",
            ),
            Limit(name="storage", value="the Engine's disk", means="none"),
            Limit(name="output", value=f"{OUTPUT_BYTES // 1024} KB a stream", means="harness"),
            Limit(
                name="network",
                value="a bridge" if self.network else "none",
                means="none" if self.network else "network namespace",
            ),
        )


def configuration(
    image: str, limits: ContainerLimits, env: Mapping[str, str], marks: Mapping[str, str]
) -> dict[str, Any]:
    """The body of the Engine's "create a container"."""
    host: dict[str, Any] = {
        # a first process that reaps, and that ends at once on SIGTERM
        "Init": True,
        "PidsLimit": MOST_PROCESSES,
        "NetworkMode": NETWORK if limits.network else "none",
    }
    if limits.memory_mb:
        host["Memory"] = host["MemorySwap"] = limits.memory_mb * MB
    if limits.cpus:
        host["NanoCpus"] = round(limits.cpus * 1e9)
    return {
        "Image": image,
        "Cmd": ["sh", "-c", "sleep infinity"],
        "Env": [f"{key}={value}" for key, value in env.items()],
        "Labels": dict(marks),
        "HostConfig": host,
    }


async def ensure_network(engine: Engine) -> None:
    """Make the network of all trials, if it is not there."""
    try:
        await engine.get(f"networks/{NETWORK}")
    except EngineError as error:
        if error.status != _MISSING:
            raise
    else:
        return
    body = {
        "Name": NETWORK,
        "CheckDuplicate": True,
        "Driver": "bridge",
        "Options": {"com.docker.network.bridge.enable_icc": "false"},
        "Labels": {labels.KIND: "network"},
    }
    try:
        await engine.post("networks/create", body)
    except EngineError as error:
        if error.status != _CONFLICT:  # another trial was quicker
            raise


async def fate(engine: Engine, container: str, limits: ContainerLimits) -> SandboxReport:
    """How a container fares now.

    Out of memory is the trial's doing, and so is a first process that ended without the Engine
    having been told to end it.
    """
    granted = limits.granted()
    try:
        state = (await engine.get(f"containers/{container}/json"))["State"]
    except EngineError as error:
        if error.status != _MISSING:
            raise
        return SandboxReport(
            limits=granted, death=SandboxDeath.HOST, message="somebody removed the container"
        )
    hit = ("memory",) if state.get("OOMKilled") else ()
    if state["Running"]:
        return SandboxReport(limits=granted, limits_hit=hit)
    if not hit and await _was_killed(engine, container, state):
        death, why = SandboxDeath.HOST, "the container was stopped from outside"
    else:
        death = SandboxDeath.TRIAL
        why = "the container ran out of memory" if hit else "its first process was ended inside"
    return SandboxReport(
        limits=granted, limits_hit=hit, death=death, message=f"{why} (code {state['ExitCode']})"
    )


async def _was_killed(engine: Engine, container: str, state: dict[str, Any]) -> bool:
    """Whether the Engine was told to end it, or ended itself; it keeps the latest events only."""
    if state.get("Error"):
        return True
    # by the Engine's clock, which need not be ours
    now = datetime.fromisoformat((await engine.get("info"))["SystemTime"][:19] + "+00:00")
    filters = json.dumps({"container": [container], "event": ["kill"]})
    parameters = {"since": "0", "until": str(int(now.timestamp()) + 1), "filters": filters}
    async with engine.send("GET", "events", params=parameters) as response:
        return bool((await response.read()).strip())
