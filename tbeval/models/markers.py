"""Words by which an agent recognises an answer of the gateway that ends it.

They stand in the `message` of an error body (HTTP 401 for a spent budget and a refused trial, 503
for an endpoint that failed). They only tell the agent to stop: why the trial stopped is decided
from the gateway's own `TrialUsage`, which a model's text cannot touch.
"""

from typing import Literal

BudgetHit = Literal["calls", "output tokens", "total tokens"]

#: Followed by a space and a `BudgetHit`.
BUDGET_MARKER = "tbeval-budget:"
ENDPOINT_MARKER = "tbeval-endpoint:"
REFUSED_MARKER = "tbeval-refused:"

_HITS: tuple[BudgetHit, ...] = ("calls", "output tokens", "total tokens")


def budget_hit(text: str) -> BudgetHit | None:
    """Which part of the budget an error text of the gateway names; None if it names none."""
    _, found, after = text.partition(BUDGET_MARKER)
    if not found:
        return None
    return next((hit for hit in _HITS if after.lstrip().startswith(hit)), None)
