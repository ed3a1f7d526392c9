"""The scheduler: keeps a number of trials running until every cell has its result."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tbeval.records.ledger import LedgerWriter, TrialRecord
from tbeval.runs.events import RunListener
from tbeval.runs.plan import MAX_TRIES, Cell, open_cells

RunTrial = Callable[[Cell, int], Awaitable[TrialRecord]]


@dataclass
class Scheduler:
    """Runs cells, writes their records, tries unscored cells again at the end.

    Attributes:
        run_trial: Runs one trial of a cell; it returns a record whatever happens.
        next_try: The number of a cell's next try.
        ledger: Where each record goes before it is reported.
        records: What the ledger holds already; grows as trials end.
        forgiven: So many of them do not count as tries; see `open_cells`.
        alone: Ids of tasks whose trials run beside no other trial of this run, after all others.
    """

    run_trial: RunTrial
    next_try: Callable[[Cell], int]
    ledger: LedgerWriter
    listener: RunListener
    records: list[TrialRecord]
    forgiven: int = 0
    alone: frozenset[str] = frozenset()
    _running: set[asyncio.Task[TrialRecord]] = field(default_factory=set)
    _stopping: bool = False

    async def run(self, cells: Iterable[Cell], concurrency: int) -> None:
        """Run every cell that is still open.

        Cells that come out unscored are tried again after all others, at half the concurrency:
        what failed because the machine was overloaded gets room then.

        Raises:
            OSError: The ledger cannot be written; running trials are stopped first.
        """
        planned = tuple(cells)
        await self._round(open_cells(planned, self.records, self.forgiven), concurrency)
        for _ in range(MAX_TRIES - 1):
            again = open_cells(planned, self.records, self.forgiven)
            if self._stopping or not again:
                return
            self.listener.note(f"trying {len(again)} unscored cells again")
            await self._round(again, max(1, concurrency // 2))

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping

    def stop(self) -> None:
        """Start nothing more, and end the running trials as cancelled."""
        self._stopping = True
        for task in self._running:
            task.cancel()

    async def _round(self, cells: Sequence[Cell], concurrency: int) -> None:
        await self._part([cell for cell in cells if cell.task.id not in self.alone], concurrency)
        await self._part([cell for cell in cells if cell.task.id in self.alone], 1)

    async def _part(self, cells: Iterable[Cell], concurrency: int) -> None:
        queue = deque(cells)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(queue))):
                    group.create_task(self._work(queue))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None  # the others fail for the same reason

    async def _work(self, queue: deque[Cell]) -> None:
        while queue and not self._stopping:
            record = await self._one(queue.popleft())
            self.ledger.append(record)
            self.records.append(record)
            self.listener.trial_ended(record)

    async def _one(self, cell: Cell) -> TrialRecord:
        task = asyncio.ensure_future(self.run_trial(cell, self.next_try(cell)))
        self._running.add(task)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # The group is going down (the ledger failed): the trial must stop its sandbox first.
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self._running.discard(task)
