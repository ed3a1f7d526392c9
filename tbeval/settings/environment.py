"""`${NAME}` in values: replaced from the environment when a value is used, never before."""

import re
from collections.abc import Mapping
from typing import Any

from tbeval.settings.base import SettingsError
from tbeval.settings.positions import KeyPath

_REFERENCE = re.compile(r"\$(?:\$|\{(?:([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\})?)")

#: Keys whose value is the name of a variable, or of something else that is no text to fill in.
NAMES_WANTED = frozenset({"api_key_env", "id", "like"})

#: Keys whose values are written into run.toml as they are: nothing secret may get there.
WRITTEN_OUT = frozenset({"extra_body", "chat_template_kwargs"})


class MissingVariableError(SettingsError):
    """A value refers to a variable that is not set; `path` is the key that holds it."""

    def __init__(self, path: KeyPath, problem: str) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem


def has_reference(value: object) -> bool:
    """Whether a value is or lists a text with `${…}` in it, so that it cannot be judged yet."""
    if isinstance(value, list):
        return any(has_reference(item) for item in value)
    return isinstance(value, str) and "${" in value


def expand(value: Any, environment: Mapping[str, str], path: KeyPath = ()) -> Any:
    """A TOML value with each `${NAME}` and `${NAME:-default}` in its texts replaced; `$$` is `$`.

    Raises:
        MissingVariableError: A variable is not set and has no default, `${` is malformed, or it
            stands where values are written out (`WRITTEN_OUT`).
    """
    if isinstance(value, dict):
        return {
            key: item if key in NAMES_WANTED else expand(item, environment, (*path, key))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [expand(item, environment, (*path, n)) for n, item in enumerate(value)]
    if isinstance(value, str):
        if WRITTEN_OUT.intersection(path):
            return _unexpanded(value, path)
        return _expand_text(value, environment, path)
    return value


def _unexpanded(text: str, path: KeyPath) -> str:
    if _REFERENCE.search(text) and "${" in text:
        raise MissingVariableError(
            path,
            "takes no ${…}, since run.toml and reports show it; put what is secret into headers",
        )
    return text


def _expand_text(text: str, environment: Mapping[str, str], path: KeyPath) -> str:
    def replacement(match: re.Match[str]) -> str:
        name, has_default, default = match.groups()
        if match[0] == "$$":
            return "$"
        if name is None:
            raise MissingVariableError(
                path, "has a malformed ${…}; write ${NAME} or ${NAME:-default}, and $$ for a dollar"
            )
        found = environment.get(name)
        if has_default and not found:
            return str(default)
        if found is None:
            raise MissingVariableError(
                path, f"needs the environment variable {name}, which is not set; export it"
            )
        return found

    return _REFERENCE.sub(replacement, text)
