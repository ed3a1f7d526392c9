"""How many trials at once: a start value for `-j auto`, and the reason for it."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint

#: A trial mostly waits for its model, so a core can serve several.
TRIALS_PER_CORE = 4
#: What one trial may need: the sandbox's default memory limit, and the harness's own share.
TRIAL_MB = 2048
#: Open files of the harness itself, and of each trial that runs (pipes, logs, records).
FILES_AT_REST = 100
FILES_A_TRIAL = 30
#: Part of the free memory that is left to everything else.
SPARE = 0.25


@dataclass(frozen=True)
class Choice:
    """A number of trials at once, and why not more."""

    trials: int
    reason: str


def automatic(checkpoint: Checkpoint) -> Choice:
    """The start value for this machine and this checkpoint."""
    cores = len(os.sched_getaffinity(0))
    return choose(checkpoint, cores=cores, free_mb=free_memory_mb())


def choose(checkpoint: Checkpoint, *, cores: int, free_mb: int) -> Choice:
    """The smallest of what the cores, the memory and the model's server allow, at least 1."""
    bounds = [
        Choice(cores * TRIALS_PER_CORE, f"{cores} cores × {TRIALS_PER_CORE}"),
        Choice(
            int(free_mb * (1 - SPARE)) // TRIAL_MB,
            f"{free_mb} MB of free memory, a quarter spared, {TRIAL_MB} MB a trial",
        ),
    ]
    if checkpoint.embedded is not None and checkpoint.needs_model:
        slots = checkpoint.embedded.parallel
        bounds.append(Choice(slots, f"the embedded server answers {slots} at once"))
    least = min(bounds, key=lambda choice: choice.trials)
    return Choice(max(1, least.trials), least.reason)


def raise_file_limit(trials: int) -> None:
    """Let this process open what so many trials need at once, as far as the system allows.

    Raises:
        SettingsError: It does not allow enough.
    """
    wanted = FILES_AT_REST + trials * FILES_A_TRIAL
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise SettingsError(
            f"{trials} trials at once need {wanted} open files, and this system allows {hard}: "
            "use a smaller -j, or raise the limit (ulimit -n)."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def free_memory_mb(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Memory that programs could take without swapping, MB."""
    for line in meminfo.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) // 1024
    raise ValueError(f"{meminfo} has no MemAvailable")
