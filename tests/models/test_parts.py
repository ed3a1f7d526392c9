"""The gateway's small parts."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tbeval.models.gateway.health import (
    LONGEST_DELAY_SEC,
    LONGEST_WITHOUT_PROBE_SEC,
    Health,
    backoff,
)
from tbeval.models.gateway.reply import BadReplyError, read_reply, read_stream, shown
from tbeval.models.gateway.trial import PauseClock
from tbeval.models.gateway.upstream import _retry_after
from tbeval.models.markers import budget_hit


def test_backoff_grows_to_a_limit_and_obeys_the_server() -> None:
    delays = [backoff(n) for n in range(1, 40)]
    assert 0.25 <= delays[0] <= 0.5
    assert all(delay <= LONGEST_DELAY_SEC for delay in delays)
    assert delays[-1] >= LONGEST_DELAY_SEC / 2
    assert backoff(1, retry_after=7) == 7


@pytest.mark.parametrize(
    ("header", "seconds"), [(None, None), ("3", 3), ("-1", 0), ("nan", 0), ("soon", None)]
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert _retry_after(header) == seconds


def test_retry_after_as_a_date() -> None:
    found = _retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True))
    assert found is not None
    assert 85 < found <= 90


def test_calls_that_wait_at_the_same_time_count_once() -> None:
    clock = PauseClock()
    clock.add(10, 20)
    clock.add(15, 25)
    clock.add(16, 17)
    clock.add(30, 31)
    assert clock.seconds == 16
    assert not clock.waiting
    with clock.stopped(), clock.stopped():
        assert clock.waiting
    assert not clock.waiting
    assert 16 <= clock.seconds < 17


@pytest.mark.parametrize("asked", [86_400.0, float("inf")])
async def test_no_answer_can_hold_up_all_calls_for_long(asked: float) -> None:
    health = Health()
    ticket = health.try_admit()
    assert ticket is not None
    health.failed(ticket, "HTTP 429", asked)
    assert health.try_admit() is None
    with pytest.MonkeyPatch.context() as patch:
        later = time.monotonic() + LONGEST_WITHOUT_PROBE_SEC + 1
        patch.setattr(time, "monotonic", lambda: later)
        probe = health.try_admit()
    assert probe is not None
    assert probe.probe


async def test_down_endpoint_is_tried_by_one_call_after_the_other() -> None:
    health = Health()
    first, old = health.try_admit(), health.try_admit()
    assert first is not None
    assert old is not None
    health.failed(first, "refused", None)
    assert health.down
    assert not health.holds(old)
    assert health.try_admit() is None
    health.succeeded(old)  # it had begun before the endpoint went down: it tells nothing
    assert health.down
    began = time.monotonic()
    await health.wait(10)
    assert 0.2 < time.monotonic() - began < 2
    probe = health.try_admit()
    assert probe is not None
    assert probe.probe
    assert health.try_admit() is None
    waiting = asyncio.create_task(health.wait(10))
    await asyncio.sleep(0)
    health.succeeded(probe)
    await waiting
    ticket = health.try_admit()
    assert ticket is not None
    assert not ticket.probe


STREAM_FAULTS = {
    "nothing": b"",
    "not SSE": b"<html>",
    "not JSON": b"data: {\n\n",
    "an error event": b'data: {"error": {"message": "engine died"}}\n\n',
    "a choice of two without end": (
        b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
        b'data: {"choices": [{"index": 1, "delta": {}, "finish_reason": null}]}\n\n'
    ),
    "malformed choice": b'data: {"choices": [3]}\n\n',
}


@pytest.mark.parametrize("name", STREAM_FAULTS)
def test_bad_streams(name: str) -> None:
    with pytest.raises(BadReplyError):
        read_stream(STREAM_FAULTS[name])


def test_stream_with_comments_and_other_line_ends() -> None:
    body = (
        b": ping\r\n\r\nevent: x\r\ndata:"
        b'{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}'
        b'\r\n\r\ndata: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":-2}}\r\n\r\n'
    )
    reply = read_stream(body)
    assert (reply.finish_reason, reply.tokens_in, reply.tokens_out) == ("stop", 4, 0)


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": [{"finish_reason": "stop"}]}',
        b'{"choices": [{"finish_reason": 3, "message": {}}]}',
        b'{"choices": ["x"]}',
        b'{"choices": {}}',
        b'{"choices": [{"finish_reason": "stop", "message": {"content": 7}}]}',
        b'{"choices": [{"finish_reason": "stop", "message": {"content": ["x"]}}]}',
    ],
)
def test_bad_replies(body: bytes) -> None:
    with pytest.raises(BadReplyError):
        read_reply(body)


def test_bad_bodies_are_shown_on_one_harmless_line() -> None:
    line = shown(b"\x1b[31mred\n\n<b>" + b"x" * 10_000)
    assert line.startswith("[31mred <b>x")
    assert len(line) < 200


def test_budget_marker() -> None:
    assert budget_hit("Error: tbeval-budget: output tokens") == "output tokens"
    assert budget_hit("tbeval-budget: money") is None
    assert budget_hit("something else") is None
