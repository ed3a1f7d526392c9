"""Ask an endpoint what it serves, before anything is measured with it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from tbeval.models.endpoint import Endpoint, EndpointError
from tbeval.models.identity import Identity, Look, differences

__all__ = ["EndpointError", "Identity", "OtherModelError", "look", "probe", "probe_replicas"]

_MODELS_SEC = 10.0
_EXTRA_SEC = 3.0
#: Where engines tell more than OpenAI's API does; those that do not know a path answer 404.
_EXTRAS = ("props", "get_model_info", "server_info", "get_server_info", "version")
_ENGINES = {"llamacpp": "llama.cpp", "vllm": "vllm", "sglang": "sglang"}
#: Of the many settings that servers tell (their key among them), those that change replies.
FLAGS = ("dtype", "quantization", "kv_cache_dtype", "tool_call_parser", "reasoning_parser")
_NO_ANSWER = frozenset({408, 425, 429})  # and every 5xx: the server did not get to the question


class OtherModelError(EndpointError):
    """The endpoint answers, and serves something else than it should."""


async def probe(endpoint: Endpoint) -> Identity:
    """What the endpoint serves.

    Raises:
        EndpointError: It does not answer, does not serve the checkpoint's model, or nobody knows
            how long its context is. The message says what to do.
    """
    return (await look(endpoint)).identity


async def look(endpoint: Endpoint) -> Look:
    """What the endpoint serves, and which of the questions it did not answer.

    Raises:
        OtherModelError: It serves something else than the checkpoint's model.
        EndpointError: See `probe`.
    """
    models, answers = await asyncio.gather(_models(endpoint), _extras(endpoint))
    model = _chosen(endpoint, models)
    silent = frozenset(path for path, told in answers.items() if told is None)
    extras = [told for told in answers.values() if told]
    flags = {flag: _first_text(extras, flag) for flag in FLAGS}
    identity = Identity(
        served_model=model["id"],
        context_window=_window(endpoint, model, extras),
        model_path=_first_text(extras, "model_path") or _text(model.get("root")),
        engine=_ENGINES.get(str(model.get("owned_by"))),
        engine_version=_first_text(extras, "build_info", "version"),
        weight_version=_first_text(extras, "weight_version"),
        flags={flag: value for flag, value in flags.items() if value},
    )
    _expected_path(endpoint, identity, silent)
    return Look(identity, silent)


async def probe_replicas(endpoints: Sequence[Endpoint]) -> tuple[tuple[Look, ...], Identity]:
    """What each replica of a model tells, and what all of them serve.

    Raises:
        EndpointError: See `probe`; or they do not serve the same.
    """
    looks = tuple(await asyncio.gather(*(look(endpoint) for endpoint in endpoints)))
    first = looks[0].identity
    for endpoint, other in zip(endpoints[1:], looks[1:], strict=True):
        if different := differences(first, other.identity):
            raise OtherModelError(
                f"{endpoints[0].base_url} and {endpoint.base_url} are no replicas of one model "
                f"({different}): serve the same with both, or leave one out of base_url."
            )
    return looks, first


def _expected_path(endpoint: Endpoint, identity: Identity, silent: frozenset[str]) -> None:
    wanted, found = endpoint.expect_model_path, identity.model_path
    if wanted is None or (found or "").rstrip("/") == wanted.rstrip("/"):
        return
    if found is None:
        kind = EndpointError if silent else OtherModelError
        raise kind(
            f"{endpoint.base_url} does not tell where its weights come from, so that "
            f"expect_model_path = {wanted} cannot be checked: remove it, or serve with sglang, "
            "vLLM or llama.cpp."
        )
    raise OtherModelError(
        f"{endpoint.base_url} serves the weights of {found}, not of {wanted}: start the right "
        "server, or correct expect_model_path."
    )


async def _models(endpoint: Endpoint) -> list[dict[str, Any]]:
    import openai  # noqa: PLC0415 - most of a second, which a finished run need not spend

    url = endpoint.base_url
    http = openai.DefaultAsyncHttpxClient(
        proxy=endpoint.proxy_url, trust_env=endpoint.trust_env, verify=endpoint.ssl_context
    )
    keyless = (
        {} if endpoint.request_headers.get("Authorization") else {"Authorization": openai.Omit()}
    )
    async with openai.AsyncOpenAI(
        base_url=url,
        api_key=endpoint.api_key or "none",
        default_headers=endpoint.headers,
        http_client=http,
        max_retries=0,
        timeout=_MODELS_SEC,
    ) as client:
        try:
            raw = await client.models.with_raw_response.list(extra_headers=keyless)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise EndpointError(
                f"{url} refuses the key (HTTP {error.status_code}): put the right one into the "
                "environment and name its variable in the checkpoint's api_key_env."
            ) from error
        except openai.APIStatusError as error:
            hint = (
                "base_url should end in /v1"
                if error.status_code == 404  # noqa: PLR2004 - HTTP's "not found"
                else "look at the server's log, or wait until it has loaded its model"
            )
            raise EndpointError(
                f"{url}/models answers HTTP {error.status_code}: {hint}."
            ) from error
        except openai.APIConnectionError as error:  # time-outs too
            reason = endpoint.scrub_text(str(error.__cause__ or error))
            raise EndpointError(
                f"Nothing answers at {url} ({reason}): start the model's server, or correct "
                "base_url."
            ) from error
    listed = _object(raw.http_response.content).get("data")
    if not isinstance(listed, list):
        raise EndpointError(
            f"{url}/models does not answer as OpenAI's API does: base_url should be that of the "
            "model's server, up to and with /v1."
        )
    return [model for model in listed if isinstance(model, dict) and _text(model.get("id"))]


def _chosen(endpoint: Endpoint, models: list[dict[str, Any]]) -> dict[str, Any]:
    wanted = endpoint.served_model
    kind = OtherModelError if models else EndpointError  # none at all: it may still be loading
    names = ", ".join(model["id"] for model in models) or "nothing"
    if wanted is None:
        if len(models) != 1:
            raise kind(f"{endpoint.base_url} serves {names}: name one of them as served_model.")
        return models[0]
    for model in models:
        if model["id"] == wanted:
            return model
    raise kind(
        f"{wanted} is not served at {endpoint.base_url}; it serves: {names}. Correct served_model, "
        "or start the right server."
    )


def _window(endpoint: Endpoint, model: Mapping[str, Any], extras: list[dict[str, Any]]) -> int:
    told = [model.get("max_model_len")]
    for extra in extras:
        settings = extra.get("default_generation_settings")
        told += [
            settings.get("n_ctx") if isinstance(settings, dict) else None,
            extra.get("max_model_len"),
            extra.get("context_length"),
        ]
    served = next((n for n in told if isinstance(n, int) and n > 0), None)
    known = [n for n in (served, endpoint.context_window) if n is not None]
    if not known:
        raise EndpointError(
            f"{endpoint.base_url} does not tell how long a context it serves: write "
            "context_window = … into the checkpoint (in tokens; it is not guessed)."
        )
    return min(known)  # a checkpoint may use less than the server has


async def _extras(endpoint: Endpoint) -> dict[str, dict[str, Any] | None]:
    async with endpoint.open_session(idle_sec=_EXTRA_SEC, total_sec=_EXTRA_SEC) as session:
        told = await asyncio.gather(
            *(_extra(session, f"{endpoint.root_url}/{path}") for path in _EXTRAS)
        )
    return dict(zip(_EXTRAS, told, strict=True))


async def _extra(session: aiohttp.ClientSession, url: str) -> dict[str, Any] | None:
    """What the server says there, which is nothing where it does not know the path.

    None: it did not get to answering.
    """
    try:
        async with session.get(url, allow_redirects=False) as response:
            body = await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError):
        return None
    if response.status in _NO_ANSWER or response.status >= 500:  # noqa: PLR2004 - HTTP's 5xx
        return None
    return _object(body) if response.ok else {}


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _first_text(extras: list[dict[str, Any]], *names: str) -> str | None:
    found = (_text(extra.get(name)) for extra in extras for name in names)
    return next((text for text in found if text), None)
