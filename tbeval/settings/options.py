"""Everything that decides a run, resolved: command line over checkpoint over defaults."""

from typing import Literal

from pydantic import Field

from tbeval.settings.base import Settings
from tbeval.settings.checkpoint import AgentName, Checkpoint, SandboxName

Origin = Literal["command line", "checkpoint", "default"]

DEFAULTS: dict[str, object] = {
    "subset": "demo",
    "attempts": 3,
    "sandbox": "bubblewrap",
    "turn_limit": 50,
    "time_multiplier": 1.0,
    "concurrency": 4,
}


class RunOptions(Settings):
    """The resolved options of one run."""

    subset: str
    agent: AgentName
    attempts: int = Field(ge=1)
    sandbox: SandboxName
    turn_limit: int = Field(ge=1)
    time_multiplier: float = Field(gt=0)
    concurrency: int = Field(ge=1)


class Choices(Settings):
    """What the command line said; None where it said nothing."""

    subset: str | None = None
    agent: AgentName | None = None
    attempts: int | None = None
    sandbox: SandboxName | None = None
    turn_limit: int | None = None
    time_multiplier: float | None = None
    concurrency: int | None = None


def resolve(choices: Choices, checkpoint: Checkpoint) -> tuple[RunOptions, dict[str, Origin]]:
    """The options of a run, and where each came from."""
    values: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    for name in RunOptions.model_fields:
        said = getattr(choices, name)
        own = getattr(checkpoint, name)
        if said is not None:
            values[name], origins[name] = said, "command line"
        elif own is not None and name in checkpoint.model_fields_set:
            values[name], origins[name] = own, "checkpoint"
        else:
            values[name], origins[name] = DEFAULTS.get(name, own), "default"
    return RunOptions.model_validate(values), origins
