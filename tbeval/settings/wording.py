"""From pydantic's errors to sentences that a user can act on."""

import difflib
import re
from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from tbeval.settings.positions import KeyPath

_EXPECTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": 'a text in "quotes"',
    "path_type": 'a path in "quotes"',
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "tuple_type": "a list in [brackets]",
    "list_type": "a list in [brackets]",
    "too_short": "a list of at least one",
    "string_pattern_mismatch": "of letters, digits, dots, dashes and underscores",
}
_KEY_NAMES = frozenset({"api_key", "apikey", "api-key", "key", "token", "openai_api_key"})
_SUBJECT = re.compile(r"^(Input|Value|Tuple|List|Dictionary|String) ")
_SHOWN = 40


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean "…"?)` for the known word most like `word`; empty if none is near."""
    folded = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return f' (did you mean "{folded[found[0]]}"?)' if found else ""


def listed(words: Iterable[str]) -> str:
    """The words, separated by commas; `none` if there are none."""
    return ", ".join(words) or "none"


def dotted(path: KeyPath) -> str:
    """A key as a user writes it: `sampling.top_p`, `tasks[3]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def explain(error: ErrorDetails, model: type[BaseModel], raw: object = None) -> str:
    """What is wrong with one key, and what was expected.

    Args:
        error: One of pydantic's errors.
        model: The model that was checked.
        raw: The value as the user wrote it, before `${…}` was replaced: what the environment
            holds is never shown.
    """
    path = error["loc"]
    key = dotted(path)
    kind = error["type"]
    if kind == "extra_forbidden":
        return _unknown_key(path, model)
    if kind == "missing":
        return f'the key "{key}" is missing'
    if kind == "value_error":
        return f"{key} {error['ctx']['error']}".lstrip()
    if kind == "literal_error":
        expected = str(error["ctx"]["expected"])
        wanted = f"should be {expected}{nearest(str(raw), _quoted(expected))}"
    elif kind in _EXPECTED:
        wanted = f"should be {_EXPECTED[kind]}"
    else:
        wanted = _SUBJECT.sub("", error["msg"])
    return f"{key} is {_shown(raw)}; it {wanted}"


def _unknown_key(path: KeyPath, model: type[BaseModel]) -> str:
    name = str(path[-1])
    if name.lower() in _KEY_NAMES:
        return (
            f'"{name}" is not a key: secrets stay in the environment; name the variable '
            'that holds it, api_key_env = "NAME"'
        )
    known = _fields(model, path[:-1])
    hint = nearest(name, known) or f"; the keys here are: {listed(known)}"
    return f'unknown key "{dotted(path)}"{hint}'


def _quoted(text: str) -> list[str]:
    """The words in single quotes in pydantic's list of allowed values."""
    return text.split("'")[1::2]


def _shown(raw: object) -> str:
    """A value as TOML shows it, shortened."""
    if isinstance(raw, bool):
        return str(raw).lower()
    text = f'"{raw}"' if isinstance(raw, str) else str(raw)
    text = text.encode("unicode_escape").decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _fields(model: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    """The keys that a model knows at a path; none where it leads to no model."""
    here: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int):
            continue  # the model of a list is that of its items
        if here is None:
            return ()
        field = here.model_fields.get(part)
        here = _model_in(field.annotation) if field else None
    return tuple(here.model_fields) if here else ()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The settings model inside an annotation such as `Embedded | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {Union, UnionType, Annotated, tuple, list}:
        for part in get_args(annotation):
            found = _model_in(part)
            if found:
                return found
    return None
