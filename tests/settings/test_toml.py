from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from tbeval.settings.base import Settings, SettingsError
from tbeval.settings.toml import read_settings


class Inner(Settings):
    top_p: float | None = Field(None, gt=0, le=1)
    name: str = ""


class Outer(Settings):
    count: int = Field(1, ge=1)
    flag: bool = False
    kind: Literal["json", "xml"] = "json"
    where: Path | None = None
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    words: tuple[str, ...] = ()


NO_KEY = (
    ', line 1: "api_key" is not a key: secrets stay in the environment; '
    'name the variable that holds it, api_key_env = "NAME".'
)


def mistake(tmp_path: Path, text: str | bytes, environment: dict[str, str] | None = None) -> str:
    path = tmp_path / "x.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingsError) as caught:
        read_settings(path, Outer, environment)
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    return sentence.removeprefix(str(path))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("count = 1\ncuont = 2", ', line 2: unknown key "cuont" (did you mean "count"?).'),
        (
            "\n[inner]\ntop_k = 1",
            ', line 3: unknown key "inner.top_k" (did you mean "top_p"?).',
        ),
        (
            "zzz = 1",
            ', line 1: unknown key "zzz"; the keys here are: '
            + ", ".join(Outer.model_fields)
            + ".",
        ),
        (
            "[[many]]\n[[many]]\nnmae = 1",
            ', line 3: unknown key "many[1].nmae" (did you mean "name"?).',
        ),
        ('count = "three"', ', line 1: count is "three"; it should be a whole number.'),
        ("count = 1.5", ", line 1: count is 1.5; it should be a whole number."),
        ("count = 0", ", line 1: count is 0; it should be greater than or equal to 1."),
        ("flag = 7", ", line 1: flag is 7; it should be true or false."),
        ("[inner]\ntop_p = nan", ", line 2: inner.top_p is nan; it should be a finite number."),
        ("inner.name = 3", ', line 1: inner.name is 3; it should be a text in "quotes".'),
        ("inner = 3", ", line 1: inner is 3; it should be a table of keys and values."),
        ('words = "a"', ', line 1: words is "a"; it should be a list in [brackets].'),
        ("where = 1", ', line 1: where is 1; it should be a path in "quotes".'),
        (
            'kind = "jsn"',
            """, line 1: kind is "jsn"; it should be 'json' or 'xml' (did you mean "json"?).""",
        ),
        ("count = 1\ncount = 2", ", line 2: not valid TOML: cannot overwrite a value."),
        ("a = [\n1,", ", line 2: not valid TOML: invalid value."),
        ("\n\na = ", ", line 3: not valid TOML: invalid value."),
        (b"a = '\xff'", " is not UTF-8 text; save it as such."),
        ("a = " + "[" * 9999, " is nested too deeply to be settings."),
        (
            'api_key = "sk-123"',
            NO_KEY,
        ),
    ],
)
def test_each_mistake_is_one_sentence_with_its_line(
    tmp_path: Path, text: str | bytes, sentence: str
) -> None:
    assert mistake(tmp_path, text) == sentence


def test_a_value_from_the_environment_is_never_shown(tmp_path: Path) -> None:
    sentence = mistake(tmp_path, 'count = "${SECRET}"', {"SECRET": "hunter2"})
    assert sentence == ', line 1: count is "${SECRET}"; it should be a whole number.'


def test_a_variable_that_is_not_set_is_told_with_key_and_line(tmp_path: Path) -> None:
    sentence = mistake(tmp_path, '\n[inner]\nname = "${NOT_SET}"', {})
    assert sentence == (
        ", line 3: inner.name needs the environment variable NOT_SET, which is not set; export it."
    )


def test_a_long_or_odd_value_is_shown_short_and_harmless(tmp_path: Path) -> None:
    sentence = mistake(tmp_path, 'count = "\\u001b[31m' + "x" * 500 + '"')
    assert r"\x1b[31m" in sentence
    assert len(sentence) < 120


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml cannot be read: No such file"):
        read_settings(tmp_path / "none.toml", Outer)


def test_a_good_file_is_read_byte_order_mark_or_not(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('\ufeffcount = "${N}"\nkind = "xml"\n[inner]\ntop_p = 0.5')
    assert read_settings(path, Outer, {"N": "7"}) == Outer(
        count=7, kind="xml", inner=Inner(top_p=0.5)
    )
