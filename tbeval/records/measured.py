"""What a comparison needs of a run: per task what was solved, and under which settings.

It is also the form of a frozen baseline: small enough for a repository, and complete.
"""

from typing import Any

from pydantic import AwareDatetime, Field

from tbeval.records.base import Record
from tbeval.records.setting import SettingChange

SCHEMA_VERSION = 1


class TaskOutcomes(Record):
    """The scored attempts at one task, in their order.

    Attributes:
        planned: Attempts that were planned.
        solved: Of each scored attempt.
        scores: Passed over collected tests of each scored attempt.
        time_limited: Scored attempts whose agent ran out of time.
    """

    id: str
    digest: str = ""
    planned: int = Field(ge=0)
    solved: tuple[bool, ...]
    scores: tuple[float, ...]
    time_limited: int = Field(0, ge=0)


class Measured(Record):
    """A checkpoint as it was measured: by one run, or by several of the same settings.

    Attributes:
        settings: Setting → value, of those that affect a score.
        changes: Settings that were changed while it went on.
        versions: Of what ran it, for warnings.
        engine: What the server told about itself, the model's name and path left out.
    """

    schema_version: int = SCHEMA_VERSION
    checkpoint: str
    label: str = ""
    series: str = ""
    rollout: int | None = None
    runs: tuple[str, ...]
    created: AwareDatetime
    source: str
    subset: str
    attempts: int
    settings: dict[str, Any] = Field(default_factory=dict)
    changes: tuple[SettingChange, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    engine: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[TaskOutcomes, ...]

    @property
    def planned(self) -> int:
        """Number of cells."""
        return sum(task.planned for task in self.tasks)

    @property
    def scored(self) -> int:
        """Cells with a verdict."""
        return sum(len(task.solved) for task in self.tasks)

    @property
    def completeness(self) -> float:
        """Scored over planned cells, 0 to 1."""
        return self.scored / self.planned if self.planned else 0.0

    @property
    def time_limited(self) -> float:
        """Share of scored cells whose agent ran out of time, 0 to 1."""
        return sum(task.time_limited for task in self.tasks) / self.scored if self.scored else 0.0
