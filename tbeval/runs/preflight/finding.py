"""The frame: a check looks at a subject and gives a finding."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from tbeval.models.endpoint import Endpoint, EndpointError
from tbeval.models.probe import Identity
from tbeval.sandboxes.errors import SandboxStartError
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import RunOptions
from tbeval.tasks.load import TaskInfo

Status = Literal["ok", "warning", "failure"]


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        name: Of the check: short, and the same every time.
        what: What is the case; it may hold text of a server or a model, as it came.
        advice: What to do about it; empty where nothing is to be done.
    """

    name: str
    status: Status
    what: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        """The finding as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Subject:
    """What is examined: this machine, and the run that is to be.

    Attributes:
        checkpoint: None: no run in particular, only the machine.
        tasks: Of the run; none if there is none in particular.
    """

    checkpoint: Checkpoint | None
    options: RunOptions
    tasks: Sequence[TaskInfo]
    results_dir: Path


@dataclass(frozen=True)
class Served:
    """The model that answers.

    Attributes:
        endpoints: Each of its replicas; at least one.
        identity: What all of them tell.
    """

    endpoints: tuple[Endpoint, ...]
    identity: Identity

    @property
    def endpoint(self) -> Endpoint:
        """The first of them, for what one answer tells."""
        return self.endpoints[0]


@dataclass(frozen=True)
class Check:
    """A check of the machine or its sandboxes."""

    name: str
    look: Callable[[Subject], Awaitable[Finding]]


@dataclass(frozen=True)
class ModelCheck:
    """A check of the model that answers."""

    name: str
    look: Callable[[Subject, Served], Awaitable[Finding]]


async def found(name: str, looking: Awaitable[Finding]) -> Finding:
    """The finding of a check; an error of the machine or the endpoint is a failure."""
    try:
        return await looking
    except (SettingsError, EndpointError, SandboxStartError) as error:
        return Finding(name, "failure", str(error))
    except OSError as error:  # time-outs too
        why = str(error) or type(error).__name__
        return Finding(name, "failure", why, "see that this machine lets tbeval do it")
