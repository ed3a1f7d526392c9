"""The checkpoints that are known: shipped ones and the user's, by id."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import Field

from tbeval.settings.base import Settings, SettingsError
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.places import CHECKPOINTS_FILE, checkpoint_files
from tbeval.settings.toml import Document, Layer, check, check_unexpanded, read_document
from tbeval.settings.wording import listed, nearest

_TABLE = "checkpoints"
#: They name one checkpoint only.
_OWN_KEYS = frozenset({"id", "label", "served_model", "expect_model_path", "rollout"})


class _File(Settings):
    """The outer form of a checkpoints.toml."""

    checkpoints: dict[str, dict[str, Any]] = Field(default_factory=dict)


class _Entry(Checkpoint):
    """A checkpoint as it stands in a file."""

    like: str | None = None


@dataclass(frozen=True)
class Catalogue:
    """Every known checkpoint.

    An entry of a nearer file replaces the one of the same id in a farther file; with
    `like = "<id>"` it starts from that checkpoint instead of from nothing (from the farther
    entry, if it names its own id). `${NAME}` is replaced when a checkpoint is asked for, so that
    a variable that is not set hinders only those who need it.

    Attributes:
        layers: Of each id the tables that hold it, the nearest first.
        environment: Where `${NAME}` is looked up.
    """

    layers: Mapping[str, tuple[Layer, ...]]
    environment: Mapping[str, str]

    def ids(self) -> tuple[str, ...]:
        """All ids, shipped ones first, in the order of the files."""
        return tuple(self.layers)

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The ids that an id or a pattern (`iter*`) names, in the order of the files.

        Raises:
            SettingsError: None is known by that name.
        """
        if pattern in self.layers:
            return (pattern,)
        found = tuple(name for name in self.layers if fnmatchcase(name, pattern))
        if not found:
            raise self._unknown(pattern)
        return found

    def find(self, pattern: str) -> tuple[Checkpoint, ...]:
        """The checkpoints that an id or a pattern names, in the order of the files.

        Raises:
            SettingsError: None is known by that name, or one cannot be read.
        """
        return tuple(self.get(name) for name in self.matching(pattern))

    def get(self, name: str) -> Checkpoint:
        """The checkpoint of this id.

        Raises:
            SettingsError: It is not known, or its entry cannot be read.
        """
        if name not in self.layers:
            raise self._unknown(name)
        return self._checked(self._merged(name), self._tables(name))

    def file_of(self, name: str) -> Path:
        """The file whose entry counts."""
        return self.layers[name][0].document.path

    def with_overrides(
        self,
        name: str,
        *,
        base_url: str | Sequence[str] | None = None,
        served_model: str | None = None,
        like: str | None = None,
    ) -> Checkpoint:
        """A checkpoint that no file need hold: the command line names its server.

        Args:
            name: Its id. If a file knows it, and `like` is not given, its entry is the start.
            base_url: Its endpoint, or those of its replicas; replaces an embedded model.
            served_model: The name under which the server knows it; its id if not given.
            like: The checkpoint whose other settings it takes.

        Raises:
            SettingsError: `like` is not known, a value is not right, or there is no server.
        """
        start = like or (name if name in self.layers else None)
        if start is not None and start not in self.layers:
            raise self._unknown(start)
        urls = base_url if base_url is None or isinstance(base_url, str) else tuple(base_url)
        given = {"id": name, "base_url": urls or None, "served_model": served_model}
        given = {key: value for key, value in given.items() if value is not None}
        data = self._merged(start, name) if start else {}
        if "base_url" in given:
            data.pop("embedded", None)
        data |= given
        if "base_url" in data:
            data.setdefault("served_model", name)
        line = Document(Path("command line"), dict(given), {(key,): 0 for key in given})
        return self._checked(data, (Layer(line), *(self._tables(start) if start else ())))

    def _checked(self, data: dict[str, Any], tables: tuple[Layer, ...]) -> Checkpoint:
        checkpoint = check(data, Checkpoint, tables, self.environment)
        if checkpoint.needs_model and not checkpoint.base_url and not checkpoint.embedded:
            raise SettingsError(
                f"{tables[0].where(())}: checkpoint {checkpoint.id} names no server; give it a "
                "base_url (--base-url), or an embedded model."
            )
        return checkpoint

    def _tables(self, name: str) -> tuple[Layer, ...]:
        return tuple(table for table, _ in self._chain(name))

    def _merged(self, start: str, name: str | None = None) -> dict[str, Any]:
        """The tables of `start` on top of each other, as the data of checkpoint `name`."""
        name = name or start
        merged: dict[str, Any] = {}
        below = None
        for table, owner in [(None, name), *self._chain(start)][::-1]:
            if owner != below:
                merged = {key: value for key, value in merged.items() if key not in _OWN_KEYS}
            if table is not None:
                merged = _over(_anchored(table), merged)
            below = owner
        merged["id"] = name
        if "base_url" in merged:
            merged.setdefault("served_model", name)
        return merged

    def _chain(self, name: str) -> Iterator[tuple[Layer, str]]:
        """The tables that make up a checkpoint, its own first, then those that it is like."""
        depth = dict.fromkeys(self.layers, 0)
        while True:
            layer = self.layers[name][depth[name]]
            depth[name] += 1
            yield layer, name
            like = layer.value(("like",))
            if like is None:
                return
            if like not in self.layers:
                raise SettingsError(
                    f'{layer.where(("like",))}: like names the unknown checkpoint "{like}"'
                    f"{nearest(like, self.layers)}."
                )
            if depth[like] >= len(self.layers[like]):
                raise SettingsError(
                    f'{layer.where(("like",))}: like = "{like}" leads back to where it began.'
                )
            name = like

    def _unknown(self, name: str) -> SettingsError:
        return SettingsError(
            f'unknown checkpoint "{name}"{nearest(name, self.layers)}; known: '
            f"{listed(self.layers)}. Add it to ./{CHECKPOINTS_FILE}, or give --base-url and "
            "--served-model."
        )


def load_checkpoints(
    directory: Path | None = None, environment: Mapping[str, str] | None = None
) -> Catalogue:
    """Read the shipped checkpoints, the user's, and those of a directory.

    Args:
        directory: Where the project's own `checkpoints.toml` may lie; the working directory if
            not given.
        environment: For HOME, XDG_CONFIG_HOME and `${NAME}` in values; this process' if not given.

    Raises:
        SettingsError: The first mistake in a file, with its line.
    """
    directory = Path.cwd() if directory is None else directory
    environment = os.environ if environment is None else environment
    layers: dict[str, tuple[Layer, ...]] = {}
    for path in checkpoint_files(directory, environment):
        document = read_document(path)
        for name, table in check(document.data, _File, (Layer(document),)).checkpoints.items():
            layer = Layer(document, (_TABLE, name))
            if "id" in table:
                raise SettingsError(f"{layer.where(('id',))}: the table's name is the id; drop it.")
            check_unexpanded({"id": name, **table}, _Entry, layer)
            layers[name] = (layer, *layers.get(name, ()))
    return Catalogue(layers, environment)


def _over(near: Mapping[str, Any], far: Mapping[str, Any]) -> dict[str, Any]:
    """The nearer table on top of the farther one; tables in them likewise, key by key."""
    merged = dict(far)
    for key, value in near.items():
        below = merged.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = _over(value, below)
        else:
            merged[key] = value
    return merged


def _anchored(layer: Layer) -> dict[str, Any]:
    """The table's own keys; relative paths count from the file that names them."""
    directory = layer.document.path.parent
    table = {key: value for key, value in layer.value(()).items() if key != "like"}
    if "ca_file" in table:
        table["ca_file"] = _absolute(table["ca_file"], directory)
    gguf = table.get("embedded", {}).get("gguf", "package:")
    if not gguf.startswith("package:"):
        table["embedded"] = {**table["embedded"], "gguf": _absolute(gguf, directory)}
    return table


def _absolute(path: str, directory: Path) -> str:
    if path.startswith("${"):
        return path  # whoever puts a path into a variable writes an absolute one
    return str((directory / Path(path).expanduser()).absolute())
