import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.models.thinking import split_thinking


@pytest.mark.parametrize(
    ("text", "thinking", "content"),
    [
        ("<think>a\nb</think>\n\n{}", "a\nb", "{}"),
        ("\n <think>\n\n</think>\n\n{}", "", "{}"),
        ("<think>cut off by len", "cut off by len", ""),
        ("begun by the template</think>\n{}", "begun by the template", "{}"),
        ("all of it</think>", "all of it", ""),
        ("</think>\r\n{}", "", "{}"),
        ('{"keystrokes": "echo </think>\\n"}', "", '{"keystrokes": "echo </think>\\n"}'),
        ("say <think> and </think>\n", "", "say <think> and </think>\n"),
        ("{}", "", "{}"),
        ("", "", ""),
    ],
)
def test_thinking_is_taken_off_the_beginning(text: str, thinking: str, content: str) -> None:
    found = split_thinking(text)
    assert (found.thinking, found.content) == (thinking, content)


@given(st.text(), st.text().filter(lambda text: text == text.lstrip()))
def test_what_was_put_together_comes_apart(thinking: str, content: str) -> None:
    if "</think>" not in thinking:
        found = split_thinking(f"<think>{thinking}</think>\n{content}")
        assert (found.thinking, found.content) == (thinking.strip(), content)
