"""run.toml: every setting that matters to a run, resolved. It holds no secret."""

import hashlib
import json
import os
import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import AwareDatetime, Field, ValidationError

from tbeval.records.base import Record
from tbeval.records.sandbox import Limit
from tbeval.records.setting import SettingChange

SCHEMA_VERSION = 1
RUN_FILE = "run.toml"
LEDGER_FILE = "ledger.jsonl"

#: `source` of a run that tbeval itself ran.
OURS = "tbeval"


class RunFileError(Exception):
    """run.toml cannot be read; the message says where and what to do."""


class RunTask(Record):
    """One task of a run, as it was when the run began.

    What nobody knows of an imported run's task is None. `attempts` is given where it differs from
    the run's: other harnesses leave tasks with fewer.
    """

    id: str
    digest: str
    agent_timeout_sec: float | None = None
    verifier_timeout_sec: float | None = None
    attempts: int | None = Field(None, ge=1)


class RunRecord(Record):
    """What a run is: one checkpoint over one subset with fixed settings.

    `scoring` holds the settings that affect a score (sampling, limits, versions of harbor and the
    agent, …) and `fingerprint` is its hash together with the tasks: known before any server is
    asked, so that a finished run is found without one. `identity` is what the server told about
    the model. Runs can be pooled if both agree.

    `changes` are settings that were changed while the run went on (`--force`): it measured two
    things, and says so wherever it is shown.

    `source` is the harness that ran it; a run of another one was imported, what it did not tell is
    None, and `notes` are the oddities that the import met.
    """

    schema_version: int = SCHEMA_VERSION
    run_id: str
    source: str = OURS
    created: AwareDatetime
    checkpoint: str
    label: str = ""
    series: str = ""
    rollout: int | None = None
    baseline: str = ""
    subset: str
    agent: str
    protocol: str
    attempts: int = Field(ge=1)
    sandbox: str
    turn_limit: int | None = Field(None, ge=1)
    time_multiplier: float | None = Field(None, gt=0)
    concurrency: int | None = Field(None, ge=1)
    model_calls: int | None = Field(None, ge=1)  # at once, at each replica; None: any number
    endpoint: str = ""
    scoring: dict[str, Any] = Field(default_factory=dict)
    identity: dict[str, str] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    fingerprint: str
    notes: tuple[str, ...] = ()
    changes: tuple[SettingChange, ...] = ()
    tasks: tuple[RunTask, ...]

    @property
    def planned(self) -> int:
        """Number of cells."""
        return sum(self.attempts_at(task) for task in self.tasks)

    def attempts_at(self, task: RunTask) -> int:
        """How many attempts are planned at a task."""
        return self.attempts if task.attempts is None else task.attempts


def fingerprint(scoring: dict[str, Any], tasks: tuple[RunTask, ...]) -> str:
    """SHA-256 over what affects a score, in a canonical form."""
    dumped = [task.model_dump(mode="json") for task in tasks]
    content = {"scoring": scoring, "tasks": dumped}
    text = json.dumps(
        _without_none(content), sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(text.encode()).hexdigest()


def write_run(directory: Path, run: RunRecord) -> None:
    """Write run.toml atomically: it is there whole or not at all."""
    path = directory / RUN_FILE
    temporary = path.with_name(RUN_FILE + ".new")
    content = _without_none(run.model_dump(mode="json"))
    with temporary.open("wb") as file:
        tomli_w.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value


def read_run(directory: Path) -> RunRecord:
    """Read a run's run.toml.

    Raises:
        RunFileError: It is absent, not a run.toml of ours, of a later version, or was edited.
    """
    path = directory / RUN_FILE
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        version = content.get("schema_version")
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise RunFileError(
                f"{path} was written by a later tbeval (schema {version}; this one reads "
                f"{SCHEMA_VERSION}): update tbeval."
            )
        run = RunRecord.model_validate(content)
    except FileNotFoundError as error:
        raise RunFileError(f"{directory} is not a run: it has no {RUN_FILE}.") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RunFileError(f"{path} cannot be read: {where}: {first['msg']}.") from error
    except ValueError as error:
        raise RunFileError(f"{path} cannot be read: {error}") from error
    if run.fingerprint != fingerprint(run.scoring, run.tasks):
        raise RunFileError(
            f"{path} was edited: its settings do not fit its fingerprint. Restore it from a copy, "
            "or start another run with --new."
        )
    return run
