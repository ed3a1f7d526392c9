"""A checkpoint: a served model, and how it is to be evaluated."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, field_validator

from tbeval.settings.base import Settings, SettingsError

AgentName = Literal["terminus-2", "camel", "oracle", "nop"]
SandboxName = Literal["bubblewrap", "docker"]

#: Agents that ask no model.
MODEL_FREE_AGENTS: frozenset[str] = frozenset({"oracle", "nop"})


#: What a checkpoint may be called: its results lie in a directory of this name.
ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def check_id(checkpoint: str) -> None:
    """Refuse an id that no checkpoint can have.

    Raises:
        SettingsError: It is one.
    """
    if not re.fullmatch(ID_PATTERN, checkpoint):
        raise SettingsError(
            f'"{checkpoint}" cannot be a checkpoint\'s id: take letters, digits, dots, dashes and '
            "underscores, at most 64, a letter or digit first."
        )


class Sampling(Settings):
    """What is sent with every model call, whatever the agent would send.

    None leaves a parameter to the server. `seed` is the run's seed: each call gets one derived
    from it, the task, the attempt and the number of the call.
    """

    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=-1)
    max_tokens: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0, lt=2**31)


class Budget(Settings):
    """What one trial may ask of the model. None: no limit."""

    calls: int | None = Field(None, ge=1)
    output_tokens: int | None = Field(None, ge=1)
    total_tokens: int | None = Field(None, ge=1)


class Embedded(Settings):
    """A model that tbeval serves itself, with llama.cpp's server.

    Attributes:
        gguf: A path to a GGUF file (relative to the file that names it, or `~`), or
            `package:NAME`, the one GGUF file that an installed package carries.
        context_window: Tokens of context for each slot.
        threads: 1 unless the machine is idle: two threads on busy cores are far slower.
        parallel: How many requests are served at once.
        prompt_cache: Reuse the longest common prefix; faster, but a hit may change an answer.
    """

    gguf: str
    context_window: int = Field(8192, ge=512)
    threads: int = Field(1, ge=1)
    parallel: int = Field(2, ge=1)
    prompt_cache: bool = False


class Checkpoint(Settings):
    """One served model and its defaults.

    `None` means "not said here": the run's own defaults apply (`RunOptions`).
    """

    id: str = Field(pattern=ID_PATTERN)
    label: str = ""

    # the endpoint
    base_url: str | tuple[str, ...] | None = None  # several: replicas of one model
    served_model: str | None = None
    expect_model_path: str | None = None  # where the server must have loaded its weights from
    api_key_env: str | None = None
    headers: dict[str, str] = Field(default_factory=dict, repr=False)  # values are secrets
    ca_file: Path | None = None
    proxy: str | None = Field(
        None, repr=False
    )  # a URL; "environment" follows HTTP(S)_PROXY and NO_PROXY
    #: Longest time in which a call gets no byte: it may queue, and a reply that is not streamed
    #: comes in one piece at its end. Longer silence is the endpoint's failure.
    silence_limit_sec: float = Field(1800.0, gt=0)
    embedded: Embedded | None = None

    # the model
    sampling: Sampling = Sampling()
    context_window: int | None = Field(None, ge=512)
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    extra_body: dict[str, Any] = Field(default_factory=dict)
    budget: Budget = Budget()

    # how it is evaluated
    agent: AgentName = "terminus-2"
    parser: Literal["json", "xml"] = "json"  # terminus-2's reply format
    protocol: str | None = None  # a protocol profile, for camel
    summarize: bool = True  # terminus-2's context summaries
    thinking_in_history: bool = False  # later turns show the model what it thought in earlier ones
    subset: str | None = None
    attempts: int | None = Field(None, ge=1)
    sandbox: SandboxName | None = None
    turn_limit: int | None = Field(None, ge=1)
    time_multiplier: float | None = Field(None, gt=0)
    concurrency: int | None = Field(None, ge=1)
    model_calls: int | None = Field(None, ge=1)  # at once, at each replica
    builds: int | None = Field(None, ge=1)  # at once

    # where it belongs
    series: str | None = None
    rollout: int | None = Field(None, ge=0)
    baseline: str | None = None

    @property
    def needs_model(self) -> bool:
        """Whether its agent asks a model."""
        return self.agent not in MODEL_FREE_AGENTS

    @property
    def base_urls(self) -> tuple[str, ...]:
        """Every address at which the model is served; none where it has none."""
        if self.base_url is None:
            return ()
        return (self.base_url,) if isinstance(self.base_url, str) else self.base_url

    @field_validator("base_url", mode="before")
    @classmethod
    def _normal_base_url(cls, written: object) -> str | tuple[str, ...] | None:
        if written is None:
            return None
        urls = normal_base_urls(written)
        return urls[0] if len(urls) == 1 else urls

    @field_validator("api_key_env")
    @classmethod
    def _name_of_variable(cls, name: str | None) -> str | None:
        if name is not None and not _VARIABLE.fullmatch(name):
            raise ValueError(
                "should be the NAME of an environment variable that holds the key, "
                "not the key itself and not ${NAME}"
            )
        return name

    def secret_values(self, environment: Mapping[str, str]) -> frozenset[str]:
        """Every text that must not be written anywhere: key, header values, proxy's password.

        What writes files or messages replaces these.
        """
        password = urlsplit(self.proxy or "").password or ""
        key = environment.get(self.api_key_env, "") if self.api_key_env else ""
        return frozenset({key, password, *self.headers.values()} - {""})

    def public(self) -> dict[str, Any]:
        """All settings as plain data, secrets left out: for run.toml and for showing.

        Headers keep their names only, the proxy loses user and password.
        """
        data = self.model_dump(mode="json", exclude={"headers"})
        data["headers"] = sorted(self.headers)
        if self.proxy:
            data["proxy"] = without_userinfo(self.proxy)
        return data


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WANTED = "should be a URL such as http://127.0.0.1:30000/v1"
_CALLS = ("/chat/completions", "/completions", "/models")


def normal_base_url(url: str) -> str:
    """A base URL as OpenAI's clients want it: `http://host:port` becomes `http://host:port/v1`.

    Raises:
        ValueError: It is no http(s) URL, or it holds a user name or password.
    """
    parts = _split(url)
    if parts.username or parts.password:
        raise ValueError(
            "holds a user name or password; put them into the environment and name the variable "
            "in api_key_env or headers"
        )
    path = parts.path.rstrip("/")
    for call in _CALLS:
        path = path.removesuffix(call)
    return parts._replace(path=path or "/v1", query="", fragment="").geturl()


def normal_base_urls(written: object) -> tuple[str, ...]:
    """One base URL, several with commas between them, or a list of such texts; each one once.

    Raises:
        ValueError: It is something else, or one of them is no base URL.
    """
    texts = [written] if isinstance(written, str) else written
    if not isinstance(texts, list | tuple) or not texts:
        raise ValueError(f"{_WANTED}, or a list of such URLs")
    urls: dict[str, None] = {}
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"{_WANTED}, or a list of such URLs")  # noqa: TRY004 - pydantic's
        urls |= dict.fromkeys(normal_base_url(part) for part in text.split(","))
    return tuple(urls)


def without_userinfo(url: str) -> str:
    """A URL without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018 - a bad port raises only when it is looked at
    except ValueError as error:
        raise ValueError(_WANTED) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(_WANTED)
    return parts
