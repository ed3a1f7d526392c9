"""What a checkpoint's endpoint is, and what never gets out of it."""

import base64
from pathlib import Path
from urllib.parse import quote

import pytest

from tbeval.models.endpoint import Endpoint
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint, Embedded

KEY = "sk-planted/key+4711"


def checkpoint(**settings: object) -> Checkpoint:
    return Checkpoint.model_validate({"id": "c", "base_url": "http://host:1/v1/", **settings})


def test_key_comes_from_the_environment_and_goes_into_the_headers() -> None:
    endpoint = Endpoint.of(checkpoint(api_key_env="KEY"), {"KEY": f" {KEY}\n"})
    assert endpoint.base_url == "http://host:1/v1"
    assert endpoint.root_url == "http://host:1"
    assert endpoint.request_headers == {"Authorization": f"Bearer {KEY}"}


def test_no_secret_shows_in_the_text_of_an_endpoint() -> None:
    settings = {
        "api_key_env": "KEY",
        "headers": {"X-Key": "header-secret"},
        "proxy": "http://user:proxy-secret@proxy:1",
    }
    endpoint = Endpoint.of(checkpoint(**settings), {"KEY": KEY})
    for secret in (KEY, "header-secret", "proxy-secret"):
        assert secret not in repr(endpoint)
        assert secret not in endpoint.scrub_text(f"<{secret}>")
    for form in (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()):
        assert endpoint.scrub_text(f"a {form} b") == "a [secret] b"


def test_own_authorization_header_wins_over_the_key() -> None:
    headers = {"Authorization": "Basic c2VjcmV0LXBhc3N3b3Jk"}
    endpoint = Endpoint.of(checkpoint(headers=headers), {})
    assert endpoint.request_headers == headers
    assert endpoint.scrub_text("c2VjcmV0LXBhc3N3b3Jk") == "[secret]"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"api_key_env": "ABSENT"}, r"\$ABSENT, which is not set"),
        ({"base_url": None}, "has no address: give it a base_url"),
        ({"ca_file": "/nowhere/ca.pem"}, "ca_file /nowhere/ca.pem cannot be used"),
    ],
)
def test_mistakes_get_a_sentence(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        Endpoint.of(checkpoint(**settings), {})


def test_ca_file_that_holds_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing\n")
    with pytest.raises(SettingsError, match="PEM certificates"):
        Endpoint.of(checkpoint(ca_file=tmp_path / "ca.pem"), {})


def test_key_that_cannot_be_sent() -> None:
    with pytest.raises(SettingsError, match="cannot stand in an HTTP header"):
        Endpoint.of(checkpoint(api_key_env="KEY"), {"KEY": "geheim\nnis"})


def test_embedded_checkpoint_takes_the_servers_address_and_says_how_it_caches() -> None:
    embedded = Checkpoint(id="c", embedded=Embedded(gguf="x", prompt_cache=True))
    with pytest.raises(SettingsError, match="start its embedded server"):
        Endpoint.of(embedded, {})
    endpoint = Endpoint.of(embedded, {}, base_url="http://127.0.0.1:1/v1", api_key="k")
    assert endpoint.extra_body == {"cache_prompt": True}
    assert endpoint.api_key == "k"
