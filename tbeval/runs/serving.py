"""Make sure that a checkpoint's endpoint answers, starting the embedded server if need be."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tbeval.models.embedded import EmbeddedServer
from tbeval.models.endpoint import Endpoint, EndpointError
from tbeval.models.probe import Identity, probe
from tbeval.runs.events import RunListener
from tbeval.settings.checkpoint import Checkpoint


@asynccontextmanager
async def serving(
    checkpoint: Checkpoint, log: Path, listener: RunListener
) -> AsyncIterator[tuple[Endpoint, Identity]]:
    """The endpoint of a checkpoint, its model and window known, and what it tells of itself.

    An embedded checkpoint is served by a child process unless its address answers already
    (`tbeval serve`); the child ends with the context, or with this process.

    Raises:
        EndpointError: Nothing answers, or it serves something else.
    """
    if checkpoint.embedded is None:
        yield await _probed(Endpoint.of(checkpoint))
        return
    if checkpoint.base_url is not None:
        try:
            probed = await _probed(Endpoint.of(checkpoint))
        except EndpointError:
            pass
        else:
            listener.note(f"{checkpoint.id} is served at {checkpoint.base_url} already: using that")
            yield probed
            return
    listener.note(f"starting the embedded server for {checkpoint.id}")
    async with EmbeddedServer(checkpoint, log=log) as server:
        yield await _probed(server.endpoint)


async def _probed(endpoint: Endpoint) -> tuple[Endpoint, Identity]:
    identity = await probe(endpoint)
    known = dataclasses.replace(
        endpoint, served_model=identity.served_model, context_window=identity.context_window
    )
    return known, identity
