"""What ends a run before its last cell: an interrupt, another model, a server that is gone."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from tbeval.models.endpoint import EndpointError
from tbeval.models.watch import IdentityWatch, ModelChangedError
from tbeval.runs.events import RunListener
from tbeval.runs.scheduler import Scheduler

#: All replicas have been down for so long: the run is stopped, and no cell loses a try by it.
DOWN_SEC = 300.0
#: From when on it is said that trials wait.
NOTED_SEC = 30.0
_LOOK_SEC = 2.0


class Availability(Protocol):
    """What the gateway knows about its endpoints."""

    @property
    def all_down_seconds(self) -> float:
        """For how long none of the endpoints has answered; 0 if one does."""
        ...

    @property
    def down_reason(self) -> str:
        """What the last call that found one down was told."""
        ...


@dataclass
class Interrupts:
    """What an interrupt does: before there is a scheduler, it ends the whole evaluation.

    Attributes:
        scheduler: To be stopped in order, once it runs.
    """

    scheduler: Scheduler | None = None


@contextmanager
def interrupts(
    listener: RunListener, before_exit: Callable[[], None] = lambda: None
) -> Iterator[Interrupts]:
    """First interrupt: stop in order. Second: at once; the sandboxes die with this process.

    Args:
        listener: Told of the first one.
        before_exit: Puts the terminal right when the process ends at once; must not wait.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    interrupts = Interrupts()
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        if interrupted:
            before_exit()
            os._exit(130)
        interrupted = True
        if interrupts.scheduler is not None:
            listener.note("stopping: running trials end as cancelled (again to stop at once)")
            interrupts.scheduler.stop()
        elif task is not None:
            task.cancel()

    for number in signals:
        loop.add_signal_handler(number, interrupt)
    try:
        yield interrupts
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


@asynccontextmanager
async def while_same_model(watch: IdentityWatch, scheduler: Scheduler) -> AsyncIterator[None]:
    """Stop the run as soon as its endpoint serves something else.

    Raises:
        ModelChangedError: That happened; every trial that it may have touched is cancelled.
    """

    async def stop_on_change() -> None:
        await watch.until_changed()
        scheduler.stop()

    async with _beside(stop_on_change()):
        yield
    if watch.change:
        raise ModelChangedError(
            f"{watch.change} The run was stopped: trials that ended before the change was found "
            "had been confirmed, those that ran are cancelled. Serve what the run began with and "
            "run the same command again, or start another run with --new."
        )


@asynccontextmanager
async def while_answering(
    endpoints: Availability,
    scheduler: Scheduler,
    listener: RunListener,
    *,
    down_sec: float = DOWN_SEC,
    noted_sec: float = NOTED_SEC,
    look_sec: float = _LOOK_SEC,
) -> AsyncIterator[None]:
    """Say when no endpoint answers, and stop the run when that lasts.

    Its cells could only wait and fail one after the other until each has used up its tries.

    Raises:
        EndpointError: It lasted; running trials are cancelled, which costs them no try.
    """
    given_up = ""

    async def look() -> None:
        nonlocal given_up
        noted = False
        while True:
            await asyncio.sleep(look_sec)
            seconds = endpoints.all_down_seconds
            if not noted and seconds > noted_sec:
                listener.note(
                    f"the model's endpoint is down ({endpoints.down_reason}): trials wait"
                )
                noted = True
            elif noted and not seconds:
                listener.note("the model's endpoint answers again")
                noted = False
            if seconds > down_sec:
                given_up = f"{seconds:.0f} s: {endpoints.down_reason}"
                scheduler.stop()
                return

    async with _beside(look()):
        yield
    if given_up:
        raise EndpointError(
            f"The model's endpoint has been down for {given_up}. The run was stopped and its "
            "running trials were cancelled: serve the model again and run the same command."
        )


@asynccontextmanager
async def _beside(watcher: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run something beside the context; its own fault does not pass in silence."""
    task = asyncio.create_task(watcher)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.result()
