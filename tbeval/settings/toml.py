"""Read TOML into settings; every mistake is one sentence with its file and line."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tbeval.settings.base import Settings, SettingsError
from tbeval.settings.environment import MissingVariableError, expand, has_reference
from tbeval.settings.positions import KeyPath, key_lines
from tbeval.settings.wording import explain

_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True)
class Document:
    """A TOML file: its data, and where in the text each key stands."""

    path: Path
    data: dict[str, Any]
    lines: Mapping[KeyPath, int]

    def has(self, path: KeyPath) -> bool:
        """Whether the file itself holds this key."""
        return path in self.lines

    def value(self, path: KeyPath) -> Any:
        """What the file says under a key, as written; None if nothing."""
        here: Any = self.data
        for part in path:
            try:
                here = here[part]
            except (KeyError, IndexError, TypeError):
                return None
        return here

    def where(self, path: KeyPath) -> str:
        """`file, line n` for a key, or for the nearest table around it."""
        while path and path not in self.lines:
            path = path[:-1]
        line = self.lines.get(path)
        return f"{self.path}, line {line}" if line else str(self.path)


def read_document(path: Path) -> Document:
    """Read a TOML file.

    Raises:
        SettingsError: It is absent, not readable, not UTF-8 or not TOML.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text; save it as such.") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(_syntax_error(path, text, error)) from error
    except RecursionError as error:
        raise SettingsError(f"{path} is nested too deeply to be settings.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    return Document(path, data, key_lines(text))


def read_settings[S: Settings](
    path: Path, model: type[S], environment: Mapping[str, str] | None = None
) -> S:
    """Read a TOML file into a settings model.

    Args:
        path: The file.
        model: What it should hold.
        environment: Where `${NAME}` in values is looked up; None leaves values as they are.

    Raises:
        SettingsError: The first mistake in the file.
    """
    document = read_document(path)
    return check(document.data, model, (Layer(document),), environment)


@dataclass(frozen=True)
class Layer:
    """Where data came from: a document and the table in it."""

    document: Document
    table: KeyPath = ()

    def where(self, path: KeyPath) -> str:
        """`file, line n` for a key of the table."""
        return self.document.where((*self.table, *path))

    def has(self, path: KeyPath) -> bool:
        """Whether the key stands in this table of this document."""
        return self.document.has((*self.table, *path))

    def value(self, path: KeyPath) -> Any:
        """The key's value as written."""
        return self.document.value((*self.table, *path))


def check[S: Settings](
    data: dict[str, Any],
    model: type[S],
    layers: tuple[Layer, ...],
    environment: Mapping[str, str] | None = None,
) -> S:
    """Make a settings model of a table.

    Args:
        data: The table, perhaps merged from several layers.
        model: What it should be.
        layers: Where its keys may stand, the first to be asked first; for the error's place.
        environment: Where `${NAME}` is looked up; None leaves values as they are.

    Raises:
        SettingsError: The first mistake, with its place.
    """
    try:
        filled = data if environment is None else expand(data, environment)
        return model.model_validate(filled)
    except MissingVariableError as error:
        place = _layer_of(error.path, layers).where(error.path)
        key = ".".join(str(part) for part in error.path)
        raise SettingsError(f"{place}: {key} {error.problem}.") from error
    except ValidationError as error:
        # without the cause: its text would show values that came from the environment
        raise SettingsError(_first_mistake(error, model, layers)) from None


def check_unexpanded(data: dict[str, Any], model: type[Settings], layer: Layer) -> None:
    """Find the mistakes that show before any `${NAME}` is replaced.

    Raises:
        SettingsError: The first one.
    """
    try:
        model.model_validate(data)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            if not has_reference(details["input"]):
                raise SettingsError(_sentence(details["loc"], details, model, (layer,))) from None


def _first_mistake(error: ValidationError, model: type[Settings], layers: tuple[Layer, ...]) -> str:
    details = error.errors(include_url=False)[0]
    return _sentence(details["loc"], details, model, layers)


def _sentence(path: KeyPath, details: Any, model: type[Settings], layers: tuple[Layer, ...]) -> str:
    layer = _layer_of(path, layers)
    # an id is the name of its table and so stands under no key
    raw = details["input"] if path == ("id",) else layer.value(path)
    return f"{layer.where(path)}: {explain(details, model, raw)}."


def _layer_of(path: KeyPath, layers: tuple[Layer, ...]) -> Layer:
    """The layer that holds a key, or the nearest table around it."""
    for length in range(len(path), 0, -1):
        for layer in layers:
            if layer.has(path[:length]):
                return layer
    return layers[0]


def _syntax_error(path: Path, text: str, error: tomllib.TOMLDecodeError) -> str:
    message = str(error)
    found = _POSITION.search(message)
    line = found[1] if found and found[1] else str(text.rstrip("\n").count("\n") + 1)
    problem = _POSITION.sub("", message)
    return f"{path}, line {line}: not valid TOML: {problem[:1].lower()}{problem[1:]}."
