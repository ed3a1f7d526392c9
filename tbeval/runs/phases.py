"""The clock of a trial's phases: UTC for people, monotonic for durations."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tbeval.records.ledger import Phase


@dataclass
class PhaseClock:
    """Records when each phase began and ended; entering one ends the one before."""

    on_enter: Callable[[str], None] = lambda _name: None
    _done: list[Phase] = field(default_factory=list)
    _open: tuple[str, datetime, float] | None = None

    def enter(self, name: str) -> None:
        """Begin a phase."""
        self.leave()
        self._open = (name, datetime.now(UTC), time.monotonic())
        self.on_enter(name)

    def leave(self) -> None:
        """End the phase that is open, if any."""
        if self._open is None:
            return
        name, began, mark = self._open
        self._open = None
        seconds = time.monotonic() - mark
        self._done.append(Phase(name=name, began=began, ended=datetime.now(UTC), seconds=seconds))

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases that have ended."""
        return tuple(self._done)
