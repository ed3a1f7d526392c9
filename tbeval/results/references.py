"""Published figures that a report shows for scale: TOML that a user writes."""

import tomllib
from pathlib import Path

from pydantic import Field, ValidationError

from tbeval.records.base import Record
from tbeval.settings.base import SettingsError


class Reference(Record):
    """A figure that somebody published. Rates are from 0 to 1."""

    name: str
    pass_at_1: float = Field(ge=0, le=1)
    agent: str = ""
    tasks: int | None = Field(None, ge=1)
    source: str = ""
    date: str = ""


class _References(Record):
    reference: tuple[Reference, ...]


def read_references(path: Path) -> tuple[Reference, ...]:
    """Read a file of `[[reference]]` tables.

    Raises:
        SettingsError: It is absent, not TOML, or not such a file.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return _References.model_validate(content).reference
    except FileNotFoundError as error:
        raise SettingsError(f"there is no file {path} with references.") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{path}: {where}: {first['msg']}.") from error
    except ValueError as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from error
