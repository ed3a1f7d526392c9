"""Checks of the sandboxes, by the kind of sandbox: another kind brings its own here."""

import time
from collections.abc import Mapping

from tbeval.runs.preflight.finding import Check, Finding, Subject
from tbeval.sandboxes import programs
from tbeval.sandboxes.check import check_bubblewrap, namespace_advice
from tbeval.sandboxes.docker.check import look
from tbeval.sandboxes.docker.engine import engine_host
from tbeval.sandboxes.limits import granted_limits

_MANY_NETWORKS = 25


async def system_programs(_subject: Subject) -> Finding:
    """Whether the programs that a sandbox needs are there, tmux among them."""
    programs.check_programs()
    return Finding("programs", "ok", f"tmux, util-linux and the rest; bwrap at {programs.bwrap()}")


async def user_namespaces(_subject: Subject) -> Finding:
    """Whether the kernel lets users make name spaces."""
    if advice := namespace_advice():
        return Finding("namespaces", "failure", "the kernel forbids user name spaces", advice)
    return Finding("namespaces", "ok", "no switch of the kernel forbids user name spaces")


async def limits(_subject: Subject) -> Finding:
    """Which limits of a sandbox are held by something."""
    granted = granted_limits()
    held = ", ".join(f"{one.name} {one.value} ({one.means})" for one in granted)
    loose = [one.name for one in granted if one.name == "memory" and "prlimit" in one.means]
    if loose:
        return Finding(
            "limits",
            "warning",
            f"{held}; memory is limited for each process only",
            "run where cgroups can be made (as root, or delegated) for a limit on the whole trial",
        )
    return Finding("limits", "ok", held)


async def starts_and_stops(_subject: Subject) -> Finding:
    """Whether a sandbox starts, runs a command and stops."""
    began = time.monotonic()
    await check_bubblewrap()
    seconds = time.monotonic() - began
    return Finding("sandbox", "ok", f"one started, ran a command and stopped in {seconds:.1f} s")


async def engine(_subject: Subject) -> Finding:
    """Whether a Docker Engine answers, and which limits it cannot hold."""
    facts = await look()
    machine = f"{facts.cpus} CPUs, {facts.memory_gb:.0f} GB"
    what = f"Docker Engine {facts.version} at {engine_host()}, {machine}"
    if facts.unheld:
        unheld = ", ".join(facts.unheld)
        return Finding(
            "engine",
            "warning",
            f"{what}; it does not limit {unheld}",
            "enable the control groups that docker info warns of",
        )
    return Finding("engine", "ok", what)


async def networks(_subject: Subject) -> Finding:
    """Whether the Engine has addresses left for networks: the default pools end at about 30."""
    count = (await look()).networks
    if count > _MANY_NETWORKS:
        return Finding(
            "networks",
            "warning",
            f"{count} networks, and the Engine's default address pools end at about 30",
            "remove those that nothing uses (docker network prune), or set default-address-pools",
        )
    return Finding("networks", "ok", f"{count} networks")


SANDBOX_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "bubblewrap": (
        Check("programs", system_programs),
        Check("namespaces", user_namespaces),
        Check("limits", limits),
        Check("sandbox", starts_and_stops),
    ),
    "docker": (Check("engine", engine), Check("networks", networks)),
}
