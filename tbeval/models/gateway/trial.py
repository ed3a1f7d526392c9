"""What the gateway knows of one trial: its use of the model, its budget, its clock."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from tbeval.models.gateway.record import RecordWriter
from tbeval.models.gateway.reply import Reply
from tbeval.models.gateway.request import BYTES_PER_TOKEN, MOST_BYTES_PER_TOKEN
from tbeval.models.markers import BudgetHit
from tbeval.settings.checkpoint import Budget


@dataclass(frozen=True)
class TrialUsage:
    """What one trial asked of the model, and what became of it.

    Attributes:
        calls: Calls of the agent that went to the endpoint, tries of the gateway not counted.
        tokens_in: Tokens of all prompts, as the server counted them.
        tokens_out: Tokens generated, reasoning included.
        reasoning_tokens: Those of them that the server called reasoning; None if it never told.
        reasoning_chars: Characters of reasoning in all answers.
        model_seconds: Time in which the endpoint worked on calls that it answered.
        paused_seconds: Time lost to an endpoint that was down, or to our own limit on calls at
            once: the agent's clock stands still.
        queue_seconds: The part of it that was spent waiting for our own limit.
        endpoint_failure: Why the endpoint failed for good; empty if it did not. A trial with one
            has no verdict, whatever its agent made of it.
        budget_hit: The part of the budget that is spent and was asked for again; empty if none.
        finish_reasons: How often each came.
        bad_requests: Calls that the server refused as malformed or too long.
        calls_without_usage: Answers in which the server told no tokens; they count 0.
        record_failure: Why the record is not complete (disk full); empty if it is.
        replica: The address that its calls went to, all of them.
        unanswered_seconds: For how long its endpoint had answered nobody when its last call was
            ended; 0 if it answered somebody after that had begun, and not long before its end.
        last_call_ended: By the monotonic clock; None if there was none.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    reasoning_tokens: int | None = None
    reasoning_chars: int = 0
    model_seconds: float = 0.0
    paused_seconds: float = 0.0
    queue_seconds: float = 0.0
    endpoint_failure: str = ""
    budget_hit: BudgetHit | Literal[""] = ""
    finish_reasons: dict[str, int] = field(default_factory=dict)
    bad_requests: int = 0
    calls_without_usage: int = 0
    record_failure: str = ""
    replica: str = ""
    unanswered_seconds: float = 0.0
    last_call_ended: float | None = None


@dataclass
class PauseClock:
    """Adds up the time in which a trial waited for something that is not the model's doing.

    Calls that wait at the same time count once.
    """

    _spans: list[tuple[float, float]] = field(default_factory=list)
    _open: list[float] = field(default_factory=list)

    @property
    def waiting(self) -> bool:
        """Whether a call waits right now."""
        return bool(self._open)

    @property
    def seconds(self) -> float:
        """Time waited so far."""
        now = time.monotonic()
        total = end = 0.0
        for start, stop in sorted([*self._spans, *((start, now) for start in self._open)]):
            total += max(0.0, stop - max(start, end))
            end = max(end, stop)
        return total

    def add(self, start: float, stop: float) -> None:
        """Time that turned out to be lost, such as a call that failed after a minute."""
        self._spans.append((start, stop))

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The clock stands still inside."""
        start = time.monotonic()
        self._open.append(start)
        try:
            yield
        finally:
            self._open.remove(start)
            self.add(start, time.monotonic())


@dataclass
class Trial:
    """One open trial."""

    trial_id: str
    task: str
    attempt: int
    budget: Budget
    record: RecordWriter
    replica: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    clock: PauseClock = field(default_factory=PauseClock)
    queue: PauseClock = field(default_factory=PauseClock)
    running: set[asyncio.Task[object]] = field(default_factory=set)
    refused: bool = False
    endpoint_failure: str = ""
    record_failure: str = ""
    budget_hit: BudgetHit | Literal[""] = ""
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    reasoning_tokens: int | None = None
    reasoning_chars: int = 0
    unanswered_seconds: float = 0.0
    last_call_ended: float | None = None
    model_seconds: float = 0.0
    bad_requests: int = 0
    calls_without_usage: int = 0
    bytes_per_token: float = BYTES_PER_TOKEN
    finish_reasons: Counter[str] = field(default_factory=Counter)

    def usage(self) -> TrialUsage:
        """The state of things now."""
        return TrialUsage(
            calls=self.calls,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            reasoning_tokens=self.reasoning_tokens,
            reasoning_chars=self.reasoning_chars,
            model_seconds=self.model_seconds,
            paused_seconds=self.clock.seconds,
            queue_seconds=self.queue.seconds,
            endpoint_failure=self.endpoint_failure,
            budget_hit=self.budget_hit,
            finish_reasons=dict(self.finish_reasons),
            bad_requests=self.bad_requests,
            calls_without_usage=self.calls_without_usage,
            record_failure=self.record_failure,
            replica=self.replica,
            unanswered_seconds=self.unanswered_seconds,
            last_call_ended=self.last_call_ended,
        )

    def spent(self) -> BudgetHit | None:
        """The part of the budget that allows no further call, if any."""
        budget = self.budget
        if budget.calls is not None and self.calls >= budget.calls:
            return "calls"
        if budget.output_tokens is not None and self.tokens_out >= budget.output_tokens:
            return "output tokens"
        if (
            budget.total_tokens is not None
            and self.tokens_in + self.tokens_out >= budget.total_tokens
        ):
            return "total tokens"
        return None

    def answered(self, reply: Reply, seconds: float, prompt_bytes: int) -> None:
        """Count an answer."""
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        if reply.reasoning_tokens is not None:
            self.reasoning_tokens = (self.reasoning_tokens or 0) + reply.reasoning_tokens
        self.reasoning_chars += reply.reasoning_chars
        self.model_seconds += seconds
        self.finish_reasons[reply.finish_reason] += 1
        self.calls_without_usage += not reply.has_usage
        if reply.tokens_in:
            measured = prompt_bytes / reply.tokens_in
            self.bytes_per_token = min(max(measured, 1.0), MOST_BYTES_PER_TOKEN)

    def write(self, entry: bytes) -> None:
        """Append to the record; a full disk is remembered and does not stop the call."""
        try:
            self.record.write(entry)
        except OSError as error:
            self.record_failure = self.record_failure or f"the record cannot be written: {error}"

    def refuse(self) -> None:
        """Refuse further calls and end those that run."""
        self.refused = True
        for task in self.running:
            task.cancel()
