"""One model call of the preflight, made as the gateway makes those of a trial."""

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from tbeval.models.endpoint import Endpoint, EndpointError
from tbeval.models.gateway.reply import BadReplyError, Reply, read_reply, shown
from tbeval.models.gateway.request import BYTES_PER_TOKEN, upstream_body

CALL_SEC = 180.0


@dataclass(frozen=True)
class Answer:
    """An answer, how long it took, and how far the server's clock is ahead (None: not told)."""

    reply: Reply
    seconds: float
    skew_sec: float | None


async def ask(endpoint: Endpoint, prompt: str, *, max_tokens: int, seed: int = 0) -> Answer:
    """Ask the model something, with the checkpoint's own settings but for the reply's length.

    Raises:
        EndpointError: It does not answer, or not as OpenAI's API does.
    """
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": prompt}]}
    body = upstream_body(asked, endpoint, seed=seed, bytes_per_token=BYTES_PER_TOKEN)
    body.pop("max_completion_tokens", None)
    body["max_tokens"] = max_tokens
    url = f"{endpoint.base_url}/chat/completions"
    began = time.monotonic()
    try:
        async with (
            endpoint.open_session(idle_sec=CALL_SEC, total_sec=CALL_SEC) as session,
            session.post(url, json=body) as response,
        ):
            raw = await response.read()
            date = response.headers.get("Date", "")
    except TimeoutError as error:
        raise EndpointError(
            f"{url} does not answer a call of {max_tokens} tokens within {CALL_SEC:.0f} s: is the "
            "server overloaded?"
        ) from error
    except aiohttp.ClientError as error:
        raise EndpointError(f"{url}: {endpoint.scrub_text(str(error))}; see the server.") from error
    told = endpoint.scrub_text(shown(raw))
    if response.status != 200:  # noqa: PLR2004 - HTTP's "OK"
        raise EndpointError(f"{url} answers HTTP {response.status}: {told}")
    try:
        reply = read_reply(raw)
    except BadReplyError as error:
        raise EndpointError(f"{url} does not answer as OpenAI's API does: {told}") from error
    return Answer(reply, time.monotonic() - began, _skew(date))


def _skew(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return None
