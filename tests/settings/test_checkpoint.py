import pytest
from pydantic import ValidationError

from tbeval.settings.checkpoint import Checkpoint, normal_base_url, without_userinfo


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("http://127.0.0.1:30000", "http://127.0.0.1:30000/v1"),
        ("http://127.0.0.1:30000/", "http://127.0.0.1:30000/v1"),
        ("http://h/v1", "http://h/v1"),
        ("http://h/v1/", "http://h/v1"),
        ("https://h/v1/chat/completions", "https://h/v1"),
        ("https://h/v1/models", "https://h/v1"),
        ("https://h/openai/v1?x=1#y", "https://h/openai/v1"),
        (" http://[::1]:8000 ", "http://[::1]:8000/v1"),
    ],
)
def test_a_base_url_is_taken_in_the_forms_that_people_paste(written: str, normal: str) -> None:
    assert normal_base_url(written) == normal
    assert normal_base_url(normal) == normal


@pytest.mark.parametrize(
    "url", ["", "h:80", "ftp://h/v1", "http://", "http://h:x/v1", "http://[::1"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="should be a URL such as"):
        normal_base_url(url)


@pytest.mark.parametrize(
    "written",
    [["http://a", "http://b/v1/"], "http://a,http://b", ("http://a/v1,http://b", "http://a")],
)
def test_replicas_are_listed_or_separated_by_commas(written: object) -> None:
    checkpoint = Checkpoint.model_validate({"id": "x", "base_url": written})
    assert checkpoint.base_urls == checkpoint.base_url == ("http://a/v1", "http://b/v1")
    assert checkpoint.public()["base_url"] == ["http://a/v1", "http://b/v1"]


def test_a_list_of_one_is_that_one() -> None:
    checkpoint = Checkpoint.model_validate({"id": "x", "base_url": ["http://a"]})
    assert (checkpoint.base_url, checkpoint.base_urls) == ("http://a/v1", ("http://a/v1",))


@pytest.mark.parametrize("written", [[], 3, ["http://a", 3], ["http://a", ""]])
def test_what_is_no_list_of_urls_is_refused(written: object) -> None:
    with pytest.raises(ValidationError, match="should be a URL such as"):
        Checkpoint.model_validate({"id": "x", "base_url": written})


def test_secrets_are_in_no_text_that_shows_a_checkpoint() -> None:
    checkpoint = Checkpoint(
        id="x",
        base_url="http://h:1/v1",
        proxy="http://me:hunter2@proxy:3128",
        headers={"X-Team": "hunter3"},
        api_key_env="KEY",
    )
    secrets = checkpoint.secret_values({"KEY": "hunter4", "OTHER": "no secret"})
    assert secrets == {"hunter2", "hunter3", "hunter4"}
    shown = str(checkpoint.public())
    assert "hunter" not in shown
    assert checkpoint.public()["proxy"] == "http://proxy:3128"
    assert checkpoint.public()["headers"] == ["X-Team"]
    for text in (repr(checkpoint), str(checkpoint)):
        assert "hunter" not in text


def test_a_password_in_a_base_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="holds a user name or password") as caught:
        normal_base_url("http://me:hunter1@h:1/v1")
    assert "hunter" not in str(caught.value)


def test_a_key_in_place_of_its_name_is_refused() -> None:
    with pytest.raises(ValidationError, match="the NAME of an environment variable"):
        Checkpoint(id="x", api_key_env="sk-live-1")


def test_userinfo_is_taken_out_and_all_else_stays() -> None:
    assert without_userinfo("http://u:p@h:1/v1?q=a@b") == "http://h:1/v1?q=a@b"
    assert without_userinfo("http://h:1/v1") == "http://h:1/v1"
