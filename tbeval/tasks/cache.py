"""Fetched tasks on this machine: where they lie, which are there, and that they are unchanged.

    <cache>/lock                                who holds it may write
    <cache>/index/<source>.json                 id -> where its task lies, and its digests
    <cache>/sources/<source>/<id>/              as fetched from git, to be converted again
    <cache>/tasks/<digest>-<converter>/<id>/    as tbeval runs it; the digest is the source's
    <cache>/tasks/<digest>-<converter>/.<id>    its own digest, and the converter's warnings
    <cache>/new/                                what is being made; a killed fetch leaves it

Everything is made under `new/` and renamed into its place: what has a name there is whole.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from tbeval.records.base import Record
from tbeval.settings.base import SettingsError
from tbeval.settings.subset import TaskSource
from tbeval.tasks.digest import task_digest

#: The "converter" of tasks that were in harbor's format already.
COPIED = "copied"


class Made(Record):
    """What came of a conversion; it lies beside the task directory.

    Attributes:
        digest: Of the directory's content.
        warnings: What the converter had to say, one sentence each.
    """

    digest: str
    warnings: tuple[str, ...] = ()


class CachedTask(Made):
    """One task of the cache.

    Attributes:
        path: Its directory, relative to the cache.
        source_digest: Of what it was converted from.
        converter: The version of the converter, or `COPIED`.
        origin: `git`, or the directory that it was taken from.
    """

    path: str
    source_digest: str
    converter: str
    origin: str


class Index(Record):
    """The tasks of one source that are in the cache, by id."""

    tasks: dict[str, CachedTask] = Field(default_factory=dict)


def cache_directory(environment: Mapping[str, str] | None = None) -> Path:
    """`$XDG_CACHE_HOME/tbeval`, by default `~/.cache/tbeval`.

    Raises:
        SettingsError: This user has no home directory, and no cache is named.
    """
    environment = os.environ if environment is None else environment
    cache = environment.get("XDG_CACHE_HOME", "")
    if cache.startswith("/"):  # the specification wants relative ones ignored
        return Path(cache) / "tbeval"
    home = environment.get("HOME", "")
    if not home:
        raise SettingsError("HOME is not set: set XDG_CACHE_HOME to a directory for fetched tasks.")
    return Path(home) / ".cache" / "tbeval"


@dataclass(frozen=True)
class Cache:
    """What was fetched from one source.

    Attributes:
        root: The cache's directory, shared by all sources.
        key: Names the source in it.
    """

    root: Path
    key: str

    @classmethod
    def of(cls, source: TaskSource) -> "Cache":
        """The cache of a source, whether anything is in it or not."""
        what = (source.kind, source.url or "", source.commit or "", source.directory or "")
        key = hashlib.sha256("\0".join(what).encode()).hexdigest()[:16]
        return cls(cache_directory(), key)

    @property
    def sources(self) -> Path:
        """What git gave out, a directory for each task."""
        return self.root / "sources" / self.key

    def index(self) -> Index:
        """What is there; nothing if the index is missing or damaged, which a fetch mends."""
        try:
            return Index.model_validate_json(self._index_file.read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValidationError):
            return Index()

    def write_index(self, index: Index) -> None:
        """Replace the index. The lock must be held."""
        self._index_file.parent.mkdir(parents=True, exist_ok=True)
        with self.making() as directory:
            temporary = directory / "index.json"
            with temporary.open("w", encoding="utf-8") as file:
                file.write(index.model_dump_json(indent=1))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._index_file)

    def is_intact(self, task: CachedTask) -> bool:
        """Whether a task lies where the index says, with the content it had when it was made."""
        try:
            return task_digest(self.root / task.path) == task.digest
        except OSError:
            return False

    @contextmanager
    def locked(self, note: Callable[[str], None]) -> Iterator[None]:
        """Hold the whole cache for writing, and clear away what a killed fetch left.

        Args:
            note: Told if another process has to be waited for.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("a", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                note("another fetch is going on: waiting for it")
                fcntl.flock(file, fcntl.LOCK_EX)
            shutil.rmtree(self._new, ignore_errors=True)
            yield

    @contextmanager
    def making(self) -> Iterator[Path]:
        """An empty directory on the cache's file system, gone at the end but for what was moved."""
        self._new.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(dir=self._new))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def put(self, made: Path, place: Path) -> None:
        """Move a directory that was made to its place, instead of what may stand there."""
        place.parent.mkdir(parents=True, exist_ok=True)
        with self.making() as away:
            with contextlib.suppress(FileNotFoundError):
                place.rename(away / "old")
            made.rename(place)

    @property
    def _index_file(self) -> Path:
        return self.root / "index" / f"{self.key}.json"

    @property
    def _new(self) -> Path:
        return self.root / "new"
