"""Make sure that a checkpoint's endpoint answers, starting the embedded server if need be."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tbeval.models.embedded import EmbeddedServer
from tbeval.models.endpoint import Endpoint, EndpointError
from tbeval.models.probe import Identity, probe_replicas
from tbeval.models.watch import Watched
from tbeval.runs.events import RunListener
from tbeval.settings.checkpoint import Checkpoint


@dataclass(frozen=True)
class ServedModel:
    """A checkpoint's model, answering.

    Attributes:
        endpoints: Of each replica, with the model's name and its window.
        identity: What all of them tell.
        watched: By address, what has to stay the same while the run goes on.
    """

    endpoints: tuple[Endpoint, ...]
    identity: Identity
    watched: Mapping[str, Watched]


@asynccontextmanager
async def serving_replicas(
    checkpoint: Checkpoint, log: Path, listener: RunListener
) -> AsyncIterator[ServedModel]:
    """The endpoints of a checkpoint, its model and window known, and what they tell.

    An embedded checkpoint is served by a child process unless its address answers already
    (`tbeval serve`); the child ends with the context, or with this process.

    Raises:
        EndpointError: One does not answer, or serves something else.
    """
    if checkpoint.embedded is None:
        yield await _probed(Endpoint.replicas_of(checkpoint))
        return
    if checkpoint.base_urls:
        try:
            served = await _probed(Endpoint.replicas_of(checkpoint))
        except EndpointError:
            pass
        else:
            where = " and ".join(checkpoint.base_urls)
            listener.note(f"{checkpoint.id} is served at {where} already: using that")
            yield served
            return
    listener.note(f"starting the embedded server for {checkpoint.id}")
    async with EmbeddedServer(checkpoint, log=log) as server:
        yield await _probed((server.endpoint,))


@asynccontextmanager
async def serving(
    checkpoint: Checkpoint, log: Path, listener: RunListener
) -> AsyncIterator[tuple[Endpoint, Identity]]:
    """The first of a checkpoint's endpoints, and what all of them tell (`serving_replicas`)."""
    async with serving_replicas(checkpoint, log, listener) as served:
        yield served.endpoints[0], served.identity


async def _probed(endpoints: Sequence[Endpoint]) -> ServedModel:
    looks, identity = await probe_replicas(endpoints)
    name, window = identity.served_model, identity.context_window
    return ServedModel(
        tuple(endpoint.probed(name, window) for endpoint in endpoints),
        identity,
        {
            endpoint.base_url: Watched(replace(endpoint, served_model=name), first)
            for endpoint, first in zip(endpoints, looks, strict=True)
        },
    )
