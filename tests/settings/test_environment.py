from typing import Any

import pytest

from tbeval.settings.environment import MissingVariableError, expand

ENVIRONMENT = {"HOST": "10.0.0.1", "EMPTY": "", "TRICK": "${HOST}"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("http://${HOST}:1/v1", "http://10.0.0.1:1/v1"),
        ("${HOST}${HOST}", "10.0.0.110.0.0.1"),
        ("${NONE:-there}", "there"),
        ("${NONE:-}", ""),
        ("${EMPTY:-there}", "there"),
        ("[${EMPTY}]", "[]"),
        ("$${HOST} costs $$5 and $6", "${HOST} costs $5 and $6"),
        ("${TRICK}", "${HOST}"),
        ({"a": ["${HOST}", 1, {"b": "${HOST}"}]}, {"a": ["10.0.0.1", 1, {"b": "10.0.0.1"}]}),
        ({"api_key_env": "${HOST}", "like": "$$"}, {"api_key_env": "${HOST}", "like": "$$"}),
    ],
)
def test_references_are_replaced_once(value: Any, expected: Any) -> None:
    assert expand(value, ENVIRONMENT) == expected


def test_a_variable_that_is_not_set_is_named_with_its_key() -> None:
    with pytest.raises(MissingVariableError, match="variable NONE, which is not set") as caught:
        expand({"headers": {"X-Team": ["a", "${NONE}"]}}, ENVIRONMENT)
    assert caught.value.path == ("headers", "X-Team", 1)


@pytest.mark.parametrize("text", ["${", "${}", "${a b}", "${HOST", "${1}"])
def test_a_malformed_reference_is_refused(text: str) -> None:
    with pytest.raises(MissingVariableError, match=r"write \$\{NAME\}"):
        expand(text, ENVIRONMENT)


@pytest.mark.parametrize("key", ["extra_body", "chat_template_kwargs"])
def test_what_run_toml_shows_takes_nothing_from_the_environment(key: str) -> None:
    secret = {"TEAM_TOKEN": "sk-planted"}
    with pytest.raises(MissingVariableError) as caught:
        expand({key: {"deep": [{"user": "${TEAM_TOKEN}"}]}}, secret)
    assert caught.value.path == (key, "deep", 0, "user")
    assert "headers" in caught.value.problem
    grammar = {key: {"grammar": 'root ::= "$" [0-9]+ "$$"'}}
    assert expand(grammar, secret) == grammar
