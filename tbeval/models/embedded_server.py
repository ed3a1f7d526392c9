"""The child process that serves a GGUF file: `python -m tbeval.models.embedded_server`.

Its settings come as one JSON object in the environment variable TBEVAL_EMBEDDED, its standard
input is a pipe that its parent never writes to. When the pipe ends, the parent is gone.
"""

import ctypes
import json
import os
import signal
import sys
import threading
from dataclasses import asdict, dataclass

SETTINGS_VARIABLE = "TBEVAL_EMBEDDED"
READY = "tbeval: listening on "
_PR_SET_PDEATHSIG = 1
_SPARE_CACHE_MIB = 256  # prompts without a slot; the default is 8 GB


@dataclass(frozen=True)
class ServerSettings:
    """What the child is told. The key is there so that no other local user can ask the model."""

    gguf: str
    name: str
    port: int
    context_window: int
    parallel: int
    threads: int
    api_key: str
    parent: int

    def to_json(self) -> str:
        """The settings as the environment carries them."""
        return json.dumps(asdict(self))


def main() -> None:
    """Serve until the parent ends or a signal comes."""
    settings = ServerSettings(**json.loads(os.environ.pop(SETTINGS_VARIABLE)))
    _die_with_parent(settings.parent)
    try:
        server = _start(settings)
    except RuntimeError as error:
        sys.exit(f"llama.cpp: {error}")
    sys.stdout.write(f"{READY}{server.listening_address}\n")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody reads on: a full pipe would block
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    os._exit(0)  # the server's own end waits for the requests in hand


def _die_with_parent(parent: int) -> None:
    """End at once when the parent ends, even by SIGKILL, even while the model loads.

    The kernel's signal works while C++ holds the interpreter; it is sent when the *thread* ends
    that started this process, and not at all if that was over before. The pipe covers the rest.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _start(settings: ServerSettings) -> "xllamacpp.Server":  # type: ignore[name-defined]  # noqa: F821
    import xllamacpp  # noqa: PLC0415 - the parent reads this module for its settings only

    params = xllamacpp.CommonParams()
    params.model.path = settings.gguf
    params.model_alias = {settings.name}
    params.hostnames = ["127.0.0.1"]
    params.port = settings.port
    params.api_keys = [settings.api_key] if settings.api_key else []
    params.n_parallel = settings.parallel
    # One cache for all slots, with room for each slot's whole window: without `per_slot` two long
    # requests run out of it together (HTTP 500), without `unified` the window is divided.
    params.n_ctx = settings.context_window * settings.parallel
    params.kv_unified = True
    params.kv_unified_per_slot = settings.context_window
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = _SPARE_CACHE_MIB
    params.cors_origins = ""  # no web page has business here
    params.ui = False
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
