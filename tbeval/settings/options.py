"""Everything that decides a run, resolved: command line over checkpoint over defaults."""

from collections.abc import Collection, Iterator
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

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
    "builds": 2,
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
    model_calls: int | None = Field(None, ge=1)  # at once, at each replica; None: any number
    builds: int = Field(2, ge=1)  # sandboxes that are built or set up at once


class Choices(Settings):
    """What the command line said; None where it said nothing."""

    subset: str | None = None
    agent: AgentName | None = None
    attempts: int | None = None
    sandbox: SandboxName | None = None
    turn_limit: int | None = None
    time_multiplier: float | None = None
    concurrency: int | None = None
    model_calls: int | None = None
    builds: int | None = None


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


class Row(NamedTuple):
    """One setting, for people."""

    name: str
    value: str
    origin: Origin


def settings_rows(
    choices: Choices, checkpoint: Checkpoint, given: Collection[str] = ()
) -> tuple[Row, ...]:
    """Every setting of a run, its value and where it came from; secrets left out.

    Args:
        choices: What the command line said about the run.
        checkpoint: The checkpoint.
        given: Keys of the checkpoint that the command line gave (`base_url`, …).
    """
    options, origins = resolve(choices, checkpoint)
    rows = [Row(name, _text(value), origins[name]) for name, value in options if name in origins]
    for name, value in checkpoint.public().items():
        if name not in RunOptions.model_fields:
            given_here = name in given
            rows += [
                Row(key, _text(item), "command line" if given_here else _origin(checkpoint, key))
                for key, item in _flat(name, value)
            ]
    return tuple(rows)


def _origin(checkpoint: Checkpoint, key: str) -> Origin:
    """Whether the checkpoint itself says a key such as `sampling.top_p`."""
    here: object = checkpoint
    for part in key.split("."):
        if not isinstance(here, BaseModel):
            break  # a free table, said as a whole
        if part not in here.model_fields_set:
            return "default"
        here = getattr(here, part)
    return "checkpoint"


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(f"{name}.{key}", item)
    else:
        yield name, value


def _text(value: object) -> str:
    if value is None or value in ("", {}, []):
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
