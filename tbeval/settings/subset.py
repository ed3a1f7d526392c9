"""A subset: which tasks, and where they come from."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from tbeval.settings.base import Settings


class TaskSource(Settings):
    """Where the tasks of a subset come from.

    Attributes:
        kind: `directory` (task directories in harbor's format under `path`); `git` and `harbor`
            are declared here for the subsets that need them.
        path: Of a `directory`, relative to the subset file.
        url: Of the git repository.
        branch: The branch that holds `commit`, for servers that give no single commit out.
        commit: All 40 digits: what a task is must not change with a branch.
        directory: Where the task directories lie in the repository.
    """

    kind: Literal["directory", "git", "harbor"] = "directory"
    path: Path | None = None
    url: str | None = None
    branch: str | None = None
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")
    directory: str | None = None


class Subset(Settings):
    """A named list of task ids."""

    name: str
    description: str = ""
    tasks: tuple[str, ...] = Field(min_length=1)
    alone: tuple[str, ...] = ()  # of the tasks: those whose trials must run beside no other
    source: TaskSource
    digest: str | None = None  # of all task digests; see tbeval.tasks.digest
    notes: str = ""
    file: Path | None = None  # the file that it was read from
