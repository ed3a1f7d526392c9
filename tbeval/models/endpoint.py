"""Where a checkpoint is served, what is sent with every call, and how to reach it."""

import base64
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

import aiohttp

from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint, Sampling

#: `proxy` setting that follows HTTP(S)_PROXY and NO_PROXY.
ENVIRONMENT_PROXY = "environment"

CONNECT_SEC = 10.0
# Servers close idle connections after 5 s (uvicorn) or more; a request on a connection that is
# just being closed looks like an endpoint that went away.
KEEPALIVE_SEC = 3.0
_SHORTEST_SECRET = 8  # characters; a header value such as "1" is no secret and stands everywhere


class EndpointError(Exception):
    """The endpoint does not do what the run needs: what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Endpoint:
    """A served model and everything that goes with each request to it.

    Attributes:
        base_url: Up to and with `/v1`, without a slash at its end.
        served_model: The name that the server knows; None until `probe` has found the only one.
        context_window: Tokens of prompt and reply together; None until `probe` has read it.
        expect_model_path: Where the server must have loaded its weights from; None: anywhere.
        proxy: A proxy's URL, `environment`, or None for a direct connection: a proxy for the
            internet must not catch an endpoint next door.
    """

    base_url: str
    served_model: str | None = None
    context_window: int | None = None
    expect_model_path: str | None = None
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: Path | None = None
    proxy: str | None = field(default=None, repr=False)
    sampling: Sampling = field(default_factory=Sampling)
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def replicas_of(
        cls, checkpoint: Checkpoint, env: Mapping[str, str] = os.environ
    ) -> tuple[Self, ...]:
        """The endpoint at each address of a checkpoint; at least one.

        Raises:
            SettingsError: See `of`.
        """
        urls = checkpoint.base_urls or (_address(checkpoint),)
        return tuple(cls.of(checkpoint, env, base_url=url) for url in urls)

    @classmethod
    def of(
        cls,
        checkpoint: Checkpoint,
        env: Mapping[str, str] = os.environ,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
    ) -> Self:
        """The endpoint of a checkpoint.

        Args:
            checkpoint: Where it is served, and how it is sampled.
            env: Holds the variable that `api_key_env` names.
            base_url: Of one replica or of the embedded server; the checkpoint's first if None.
            api_key: Of the embedded server, in place of the checkpoint's.

        Raises:
            SettingsError: No address, no key in the environment, a bad CA file.
        """
        extra = dict(checkpoint.extra_body)
        if checkpoint.embedded is not None:
            extra.setdefault("cache_prompt", checkpoint.embedded.prompt_cache)
        endpoint = cls(
            base_url=base_url or _address(checkpoint),
            served_model=checkpoint.served_model,
            context_window=checkpoint.context_window,
            expect_model_path=checkpoint.expect_model_path,
            api_key=api_key if api_key is not None else _key(checkpoint, env),
            headers=checkpoint.headers,
            ca_file=checkpoint.ca_file.expanduser() if checkpoint.ca_file else None,
            proxy=checkpoint.proxy,
            sampling=checkpoint.sampling,
            chat_template_kwargs=checkpoint.chat_template_kwargs,
            extra_body=extra,
        )
        _checked_ca(checkpoint, endpoint)
        return endpoint

    def probed(self, served_model: str, context_window: int) -> Self:
        """The endpoint with what `probe` found out."""
        return replace(self, served_model=served_model, context_window=context_window)

    @property
    def root_url(self) -> str:
        """The URL without `/v1`, where servers put what OpenAI's API does not have."""
        return self.base_url.removesuffix("/v1")

    @property
    def request_headers(self) -> dict[str, str]:
        """The headers of every request, with the key."""
        key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return {**key, **self.headers}

    @property
    def proxy_url(self) -> str | None:
        """The proxy that was named by its URL."""
        return None if self.proxy == ENVIRONMENT_PROXY else self.proxy

    @property
    def trust_env(self) -> bool:
        """Whether the proxy variables of the environment count."""
        return self.proxy == ENVIRONMENT_PROXY

    @cached_property
    def secrets(self) -> tuple[bytes, ...]:
        """Byte strings that must never be written, each in the forms in which it may come back."""
        proxy = urlsplit(self.proxy_url or "")
        values = {self.api_key, proxy.password or "", *self.headers.values()}
        values |= {value.rpartition(" ")[2] for value in self.headers.values()}  # "Bearer …"
        forms: set[bytes] = set()
        for value in values:
            if len(value) >= _SHORTEST_SECRET:
                raw = value.encode()
                forms |= {raw, quote(value, safe="").encode(), base64.b64encode(raw)}
        return tuple(sorted(forms, key=len, reverse=True))

    def scrub(self, data: bytes) -> bytes:
        """The bytes with every secret of the endpoint taken out."""
        for secret in self.secrets:
            data = data.replace(secret, b"[secret]")
        return data

    def scrub_text(self, text: str) -> str:
        """The text with every secret of the endpoint taken out."""
        return self.scrub(text.encode(errors="replace")).decode(errors="replace")

    @cached_property
    def ssl_context(self) -> ssl.SSLContext:
        """The context for TLS, with the checkpoint's own CA file if it names one.

        Reading the system's certificates takes 30 ms of CPU time, and a look at the server ends
        each trial: once is enough.
        """
        return ssl.create_default_context(cafile=self.ca_file)

    def open_session(self, *, idle_sec: float, total_sec: float | None) -> aiohttp.ClientSession:
        """A client session that sends the same headers the same way, whoever asks.

        Args:
            idle_sec: Longest time without a byte from the server.
            total_sec: Longest time of a whole request; None for no limit.
        """
        return aiohttp.ClientSession(
            headers=self.request_headers,
            connector=aiohttp.TCPConnector(
                ssl=self.ssl_context, limit=0, keepalive_timeout=KEEPALIVE_SEC
            ),
            timeout=aiohttp.ClientTimeout(
                total=total_sec, sock_connect=CONNECT_SEC, sock_read=idle_sec
            ),
            proxy=self.proxy_url,
            trust_env=self.trust_env,
            cookie_jar=aiohttp.DummyCookieJar(),
        )


def _address(checkpoint: Checkpoint) -> str:
    if not checkpoint.base_urls:
        hint = "start its embedded server" if checkpoint.embedded else "give it a base_url"
        raise SettingsError(f"Checkpoint {checkpoint.id} has no address: {hint}.")
    return checkpoint.base_urls[0]


def _key(checkpoint: Checkpoint, env: Mapping[str, str]) -> str:
    name = checkpoint.api_key_env
    if name is None:
        return ""
    key = env.get(name, "").strip()
    if not key:
        raise SettingsError(
            f"Checkpoint {checkpoint.id} takes its key from ${name}, which is not set: "
            f"export {name}=…, or remove api_key_env if the server wants no key."
        )
    if not key.isprintable() or not key.isascii():
        raise SettingsError(f"${name} holds characters that cannot stand in an HTTP header.")
    return key


def _checked_ca(checkpoint: Checkpoint, endpoint: Endpoint) -> None:
    try:
        _ = endpoint.ssl_context
    except OSError as error:  # ssl.SSLError is one
        raise SettingsError(
            f"Checkpoint {checkpoint.id}: ca_file {endpoint.ca_file} cannot be used "
            f"({error.strerror or error}); it must be a readable file of PEM certificates."
        ) from error
