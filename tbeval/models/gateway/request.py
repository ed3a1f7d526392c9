"""What goes to the endpoint in place of what the agent sent."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tbeval.models.endpoint import Endpoint

_SAMPLED = ("temperature", "top_p", "top_k", "max_tokens")
#: Bytes of JSON per token until a reply of the trial has told; English prose has about four.
BYTES_PER_TOKEN = 3.0
MOST_BYTES_PER_TOKEN = 4.0  # a short first prompt, mostly braces, may measure far more
_MARGIN = 1.05  # over the estimate: later turns may hold denser text than the earlier ones
#: A reply is never clamped below this: if not even so much fits, the server's own overflow
#: answer is the truth that the agent should get.
SMALLEST_REPLY = 256


def call_seed(run_seed: int, task: str, attempt: int, call: int) -> int:
    """The seed of one model call: 31 bits of SHA-256 over what identifies the call."""
    identity = json.dumps([run_seed, task, attempt, call]).encode()
    return int.from_bytes(hashlib.sha256(identity).digest()[:4]) >> 1


def upstream_body(
    agent_body: Mapping[str, Any], endpoint: Endpoint, *, seed: int, bytes_per_token: float
) -> dict[str, Any]:
    """The body of a call: the agent's, with the checkpoint's settings in force.

    Args:
        agent_body: What the agent sent.
        endpoint: Its sampling, template arguments and extra body override the agent's.
        seed: Of this call.
        bytes_per_token: Measured on the trial's earlier calls; see `BYTES_PER_TOKEN`.
    """
    body = dict(agent_body)
    sampling = {
        name: value for name in _SAMPLED if (value := getattr(endpoint.sampling, name)) is not None
    }
    if "max_tokens" in sampling:
        body.pop("max_completion_tokens", None)  # the same thing under its newer name
    body |= sampling
    if endpoint.chat_template_kwargs:
        own = body.get("chat_template_kwargs")
        body["chat_template_kwargs"] = {
            **(own if isinstance(own, dict) else {}),
            **endpoint.chat_template_kwargs,
        }
    body |= endpoint.extra_body
    body |= {"model": endpoint.served_model, "seed": seed}
    if body.get("stream"):
        # Without it a stream tells no tokens. The agent is shown only what it asked for.
        options = body.get("stream_options")
        body["stream_options"] = {
            **(options if isinstance(options, dict) else {}),
            "include_usage": True,
        }
    _clamp(body, endpoint.context_window, bytes_per_token)
    return body


def prompt_bytes(body: Mapping[str, Any]) -> int:
    """The size of a call's prompt with its tools, as JSON."""
    prompt = [body.get(name) for name in ("messages", "prompt", "tools")]
    return len(json.dumps(prompt, ensure_ascii=False).encode(errors="replace"))


def _clamp(body: dict[str, Any], window: int | None, bytes_per_token: float) -> None:
    name = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
    wanted = body.get(name)
    if window is None or not isinstance(wanted, int) or wanted <= SMALLEST_REPLY:
        return
    room = window - int(prompt_bytes(body) / bytes_per_token * _MARGIN)
    body[name] = max(min(wanted, room), SMALLEST_REPLY)
