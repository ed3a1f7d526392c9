import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.reports.escape import markdown, visible

HOSTILE = "\x1b]0;title\x07 \x9b31m \r\n \u202e\u200b\u2028 \x00 \ud800"


def test_nothing_that_acts_on_a_terminal_is_left() -> None:
    shown = visible(HOSTILE)
    assert shown == r"\x1b]0;title\x07 \x9b31m \r\n \u202e\u200b\u2028 \x00 \ud800"


@given(st.text())
def test_what_is_visible_is_one_line_of_printable_text_and_stays_so(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(character)[0] for character in shown} & {"C"}
    assert len(shown.splitlines()) <= 1
    assert visible(shown) == shown
    shown.encode()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a | b", "a &#124; b"),
        ("`x` *y* _z_", r"\`x\` \*y\* \_z\_"),
        ("<img src=x onerror=alert(1)>", "&#60;img src=x onerror=alert(1)&#62;"),
        ("[click](javascript:x)", r"\[click\](javascript:x)"),
        ("&lt;", "&#38;lt;"),
        ("pass@1 by @someone", "pass@1 by &#64;someone"),
        ("two\nlines", r"two\\nlines"),
    ],
)
def test_markup_is_escaped(text: str, written: str) -> None:
    assert markdown(text) == written


@given(st.text())
def test_a_markdown_reader_gets_back_exactly_what_is_visible(text: str) -> None:
    written = markdown(text)
    assert not re.search(r"(?<!\\)[`*_\[\]~]|[<>|$]", written.replace("\\\\", ""))
    assert html.unescape(re.sub(r"\\([\\`*_\[\]~])", r"\1", written)) == visible(text)
