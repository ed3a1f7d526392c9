"""Which of several servers of one model answers a trial."""

from collections import Counter
from collections.abc import Iterable

from tbeval.models.gateway.upstream import Upstream


class Replicas:
    """The ways to all replicas, and how many open trials each has.

    A trial stays with its replica, where the beginning of its conversation is in the cache. Each
    replica has a health of its own: trials of one that is down wait for it, new ones go elsewhere.
    """

    def __init__(self, upstreams: Iterable[Upstream]) -> None:
        self._upstreams = {upstream.name: upstream for upstream in upstreams}
        self._open: Counter[str] = Counter()

    def __getitem__(self, name: str) -> Upstream:
        return self._upstreams[name]

    def admit(self) -> str:
        """The replica for a new trial: one that is up if any is, the one with fewest trials."""
        upstreams = self._upstreams.values()
        up = [upstream for upstream in upstreams if not upstream.health.down]
        chosen = min(up or upstreams, key=lambda upstream: self._open[upstream.name]).name
        self._open[chosen] += 1
        return chosen

    def leave(self, name: str) -> None:
        """A trial of this replica is over."""
        self._open[name] -= 1

    def answers_again(self, name: str) -> None:
        """A replica answered when it was asked what it serves.

        Its trials find out for themselves whether it also generates. If it has none left, new
        ones may go there; otherwise nobody would ever ask it again.
        """
        if not self._open[name]:
            self._upstreams[name].health.give_another_chance()

    @property
    def longest_down(self) -> Upstream:
        """The replica that has been down for the longest time; any if all are up."""
        return max(self._upstreams.values(), key=lambda upstream: upstream.health.down_seconds)

    @property
    def all_down_seconds(self) -> float:
        """For how long none of them has answered; 0 if one is up."""
        return min(upstream.health.down_seconds for upstream in self._upstreams.values())
