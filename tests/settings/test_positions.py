import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from tbeval.settings.positions import KeyPath, key_lines

TEXT = '''\
# [not.a.table]
top = "a # b" # c = 1
dotted . "quoted.key" = 1

[table]
multi = """
fake = 1
[fake]
\\""" still inside""" # the end
literal = \'\'\'
x = 'y'\'\'\'\'
after = [ # comment, [
  1, "]",
  { inner = { deep = 2 } },
]

[ table . sub ]
key = 1979-05-27 07:32:00

[[list]]
name = "first"
[list.child]
of = "first"
[[list]]
name = "second"
[[list.nested]]
x = 1
'''


def test_each_key_of_a_hard_text_is_found_on_its_line() -> None:
    assert key_lines(TEXT) == {
        ("top",): 2,
        ("dotted",): 3,
        ("dotted", "quoted.key"): 3,
        ("table",): 5,
        ("table", "multi"): 6,
        ("table", "literal"): 10,
        ("table", "after"): 12,
        ("table", "after", 0): 13,
        ("table", "after", 1): 13,
        ("table", "after", 2): 14,
        ("table", "after", 2, "inner"): 14,
        ("table", "after", 2, "inner", "deep"): 14,
        ("table", "sub"): 17,
        ("table", "sub", "key"): 18,
        ("list",): 20,
        ("list", 0): 20,
        ("list", 0, "name"): 21,
        ("list", 0, "child"): 22,
        ("list", 0, "child", "of"): 23,
        ("list", 1): 24,
        ("list", 1, "name"): 25,
        ("list", 1, "nested"): 26,
        ("list", 1, "nested", 0): 26,
        ("list", 1, "nested", 0, "x"): 27,
    }


def test_windows_line_ends_change_nothing() -> None:
    assert key_lines(TEXT.replace("\n", "\r\n")) == key_lines(TEXT)


scalars = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"))
    | st.datetimes()
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)
tables = st.dictionaries(st.text(st.characters(codec="utf-8")), values, max_size=4)


def paths(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return {(*path, key) for key, _ in items}.union(
        *(paths(item, (*path, key)) for key, item in items)
    )


@pytest.mark.parametrize("multiline", [False, True])
@given(table=tables)
def test_whatever_a_writer_writes_every_key_and_no_other_is_found(
    *, multiline: bool, table: dict[str, Any]
) -> None:
    text = tomli_w.dumps(table, multiline_strings=multiline)
    lines = key_lines(text)
    assert set(lines) == paths(tomllib.loads(text))
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())
