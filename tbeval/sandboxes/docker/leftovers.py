"""What killed runs left on the Engine: found by label, and removed. Images of others are not ours.

Synchronous, with Docker's own library: it runs before any trial, and in `tbeval clean`.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from docker import APIClient
from docker.errors import APIError, DockerException, NotFound

from tbeval.sandboxes.docker import labels
from tbeval.sandboxes.docker.engine import engine_host

_TIMEOUT_SEC = 20


@dataclass(frozen=True)
class EngineLeftover:
    """Something on the Engine that belongs to a process that is dead.

    Attributes:
        what: Kind and name, for people.
        remove: Removes it; tells whether it is gone.
    """

    what: str
    remove: Callable[[], bool]


def find_leftovers() -> Iterator[EngineLeftover]:
    """Containers and volumes of dead runs, and the trials' network where there are no trials.

    Nothing, where no Engine answers.
    """
    where = urlsplit(engine_host())
    if where.scheme == "unix" and not Path(where.path).is_socket():
        return
    try:
        client = APIClient(base_url=engine_host(), timeout=_TIMEOUT_SEC)
    except DockerException:
        return
    with closing(client):
        try:
            found = list(_containers(client)) + list(_volumes(client)) + list(_networks(client))
        except (DockerException, OSError):
            return
    yield from found


def remove_leftovers() -> int:
    """Remove them all; returns how many."""
    return sum(leftover.remove() for leftover in find_leftovers())


def _containers(client: APIClient) -> Iterator[EngineLeftover]:
    for one in client.containers(all=True, filters={"label": labels.OWNER}):
        if labels.owner_is_dead(one["Labels"]):
            name = one["Names"][0].strip("/") if one["Names"] else one["Id"][:12]
            what = f"container {name} of run {one['Labels'].get(labels.RUN, '')}"
            yield EngineLeftover(what, partial(_remove, "containers", one["Id"]))


def _volumes(client: APIClient) -> Iterator[EngineLeftover]:
    for one in client.volumes(filters={"label": labels.OWNER})["Volumes"] or ():
        if labels.owner_is_dead(one["Labels"]):
            yield EngineLeftover(f"volume {one['Name']}", partial(_remove, "volumes", one["Name"]))


def _networks(client: APIClient) -> Iterator[EngineLeftover]:
    if client.containers(all=True, filters={"label": labels.OWNER}):
        return  # a trial wants it, now or soon
    for one in client.networks(filters={"label": labels.KIND}):
        yield EngineLeftover(f"network {one['Name']}", partial(_remove, "networks", one["Id"]))


def _remove(kind: str, name: str) -> bool:
    try:
        with closing(APIClient(base_url=engine_host(), timeout=_TIMEOUT_SEC)) as client:
            match kind:
                case "containers":
                    client.remove_container(name, v=True, force=True)
                case "volumes":
                    client.remove_volume(name, force=True)
                case _:
                    client.remove_network(name)
    except NotFound:
        return True
    except (APIError, DockerException, OSError):
        return False
    return True
