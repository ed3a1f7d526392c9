"""How many sandboxes are built at once: images, and the set-up of tasks.

Building wants the cores and the disk, trials mostly wait for a model: it has a limit of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

_slots: ContextVar[asyncio.Semaphore | None] = ContextVar("build_slots", default=None)


@contextmanager
def builds_at_once(number: int) -> Iterator[None]:
    """Limit the builds of everything that is started within the context, by whatever task."""
    token = _slots.set(asyncio.Semaphore(number))
    try:
        yield
    finally:
        _slots.reset(token)


@asynccontextmanager
async def build_slot() -> AsyncIterator[None]:
    """Wait for a turn to build, and keep it for the context; at once where nothing limits it."""
    slots = _slots.get()
    if slots is None:
        yield
        return
    async with slots:
        yield
