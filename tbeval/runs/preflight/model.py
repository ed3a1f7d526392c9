"""Checks of the model that answers; an agent that wants more of it brings its own here."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice

from tbeval.models.endpoint import Endpoint
from tbeval.runs.history import expected_seconds
from tbeval.runs.preflight.asking import Answer, ask
from tbeval.runs.preflight.finding import Finding, ModelCheck, Served, Status, Subject

_SKEW_SEC = 5.0
_FEW_TOKENS = 8
_TOKENS = 48
_MOST_AT_ONCE = 64
_COUNT = "Count from 1 to 500, separated by spaces. Write nothing else."
#: What a trial is taken to be where this checkpoint has none yet.
_TURNS, _TOKENS_A_TURN, _COMMANDS_SEC = 20, 300, 5.0
_SMALL_WINDOW = 8192
_RANK: Mapping[Status, int] = {"ok": 0, "warning": 1, "failure": 2}


async def identity(_subject: Subject, served: Served) -> Finding:
    """What is served, and how long its context is."""
    told = served.identity
    engine = f", {told.engine}" if told.engine else ""
    what = (
        f"{told.served_model} at {' and '.join(one.base_url for one in served.endpoints)}{engine}, "
        f"context window {told.context_window} tokens"
    )
    if told.context_window < _SMALL_WINDOW:
        advice = "serve a longer one: agents' prompts grow with each turn"
        return Finding("endpoint", "warning", what, advice)
    return Finding("endpoint", "ok", what)


async def completion(_subject: Subject, served: Served) -> Finding:
    """One plain answer of each replica, and its clock."""
    return await _of_each(served, _completion)


async def _completion(endpoint: Endpoint) -> Finding:
    answer = await ask(endpoint, "Say hello.", max_tokens=_TOKENS)
    what = f"answered in {answer.seconds:.1f} s, finish_reason {answer.reply.finish_reason}"
    if not answer.reply.has_usage:
        advice = "have the server tell usage: tokens are counted from it"
        return Finding("completion", "warning", f"{what}, but tells no usage", advice)
    skew = answer.skew_sec or 0.0
    if abs(skew) - answer.seconds > _SKEW_SEC:
        what = f"{what}; the server's clock is {skew:+.0f} s off this machine's"
        return Finding("completion", "warning", what, "set both clocks, or logs will not match")
    return Finding("completion", "ok", what)


async def length(_subject: Subject, served: Served) -> Finding:
    """Whether each replica keeps to max_tokens and says so."""
    return await _of_each(served, _length)


async def _length(endpoint: Endpoint) -> Finding:
    answer = await ask(endpoint, _COUNT, max_tokens=_FEW_TOKENS)
    reason, tokens = answer.reply.finish_reason, answer.reply.tokens_out
    what = f"max_tokens {_FEW_TOKENS} ended with {reason} after {tokens} tokens"
    if tokens > _FEW_TOKENS:
        advice = "the server ignores max_tokens: a reply could go on for ever"
        return Finding("length", "failure", what, advice)
    if reason != "length":
        advice = (
            "it should end with length: cut-off replies would pass for whole ones, unless this "
            "model just says so little"
        )
        return Finding("length", "warning", what, advice)
    return Finding("length", "ok", what)


async def _of_each(served: Served, look: Callable[[Endpoint], Awaitable[Finding]]) -> Finding:
    """What a check finds at all replicas: the worst of it, with what each of them said."""
    findings = {one.base_url: await look(one) for one in served.endpoints}
    worst = max(findings.values(), key=lambda finding: _RANK[finding.status])
    if len(findings) == 1:
        return worst
    said = "; ".join(f"{url}: {finding.what}" for url, finding in findings.items())
    return replace(worst, what=said)


async def throughput(subject: Subject, served: Served) -> Finding:
    """Tokens a second, alone and together, and what that makes of the run."""
    alone = await _rate(served, 1)
    most = (subject.options.model_calls or _MOST_AT_ONCE) * len(served.endpoints)
    at_once = min(subject.options.concurrency, most, _MOST_AT_ONCE)
    together = await _rate(served, at_once) if at_once > 1 else alone
    what = f"{alone:.0f} tokens/s alone, {together:.0f} with {at_once} at once"
    if not together:
        advice = "the server tells no tokens: nothing can be estimated"
        return Finding("throughput", "warning", what, advice)
    earlier = expected_seconds(subject.results_dir, served_checkpoint(subject))
    return Finding("throughput", "ok", f"{what}; {estimate(subject, together / at_once, earlier)}")


def served_checkpoint(subject: Subject) -> str:
    """The checkpoint's id."""
    return subject.checkpoint.id if subject.checkpoint is not None else ""


async def _rate(served: Served, at_once: int) -> float:
    """Tokens a second of so many calls at once, reading the prompt included."""
    began = time.monotonic()
    turns = enumerate(islice(cycle(served.endpoints), at_once))
    answers: Sequence[Answer] = await asyncio.gather(
        *(ask(endpoint, _COUNT, max_tokens=_TOKENS, seed=n) for n, endpoint in turns)
    )
    seconds = max(time.monotonic() - began, 1e-6)
    return sum(answer.reply.tokens_out for answer in answers) / seconds


def estimate(subject: Subject, rate: float, earlier: Mapping[str, float]) -> str:
    """How long the run may take, and what that assumes.

    Args:
        subject: The run.
        rate: Tokens a second of each trial, when all run at once.
        earlier: Task id -> seconds that a trial took before, where known.
    """
    options = subject.options
    turns = min(_TURNS, options.turn_limit)
    guess = turns * (_TOKENS_A_TURN / rate + _COMMANDS_SEC)
    limits = {task.id: task.agent_timeout_sec * options.time_multiplier for task in subject.tasks}
    times = [earlier.get(task, min(guess, limit)) for task, limit in limits.items()]
    if not times:
        return "no task, no estimate"
    cells = len(times) * options.attempts
    likely = _shared(times, options.attempts, options.concurrency)
    longest = _shared(list(limits.values()), options.attempts, options.concurrency)
    known = sum(task in earlier for task in limits)
    return (
        f"{cells} cells at {options.concurrency} at once take about {_minutes(likely)} "
        f"(durations of {known} of {len(times)} tasks from earlier runs, else {turns} turns of "
        f"{_TOKENS_A_TURN} tokens and {_COMMANDS_SEC:.0f} s of commands, reading longer prompts "
        f"not counted), {_minutes(longest)} if every agent runs into its limit"
    )


def _shared(seconds: Sequence[float], attempts: int, concurrency: int) -> float:
    return max(sum(seconds) * attempts / concurrency, *seconds)


def _minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"  # noqa: PLR2004


MODEL_CHECKS = (
    ModelCheck("endpoint", identity),
    ModelCheck("completion", completion),
    ModelCheck("length", length),
    ModelCheck("throughput", throughput),
)

#: What an agent wants of the model beyond that (camel: a tool call), by the agent's name.
AGENT_CHECKS: Mapping[str, tuple[ModelCheck, ...]] = {}
