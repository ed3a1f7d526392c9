"""What the gateway adds to a call: against the same call straight to the endpoint."""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

import aiohttp

from benchmarks.figures import Figure
from benchmarks.measuring import BenchmarkError, endpoint, run_benchmark
from benchmarks.usage import rss_mb
from benchmarks.work import Work
from tbeval.models.endpoint import Endpoint
from tbeval.models.gateway import Gateway
from tbeval.settings.checkpoint import Checkpoint

ADDED_MS = 2.0
STREAMS = 64
#: A conversation of ten turns, 1,000 characters each.
_TURN = "The quick brown fox jumps over the lazy dog. " * 22
_MESSAGES = [{"role": "user", "content": "Task id: bench-000. " + _TURN}] + [
    {"role": role, "content": _TURN} for _ in range(5) for role in ("assistant", "user")
]


def run(quick: bool) -> list[Figure]:  # noqa: FBT001 - what every benchmark is called with
    """Alone, and with many streams at once."""
    with tempfile.TemporaryDirectory(prefix="tbeval-bench-") as temporary:
        directory = Path(temporary)
        work_file = directory / "work.json"
        Work(("bench-000",), directory, 1, 1, "terminus-2").save(work_file)
        with endpoint(work_file) as base_url:
            return asyncio.run(_compare(base_url, directory, 50 if quick else 400))


async def _compare(base_url: str, directory: Path, calls: int) -> list[Figure]:
    checkpoint = Checkpoint(id="bench", base_url=base_url, served_model="scripted")
    towards = Endpoint.of(checkpoint).probed("scripted", 32768)
    async with (
        Gateway(towards, record_dir=directory / "model", run_seed=0) as gateway,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client,
    ):
        trial = gateway.open_trial("bench-000.1.1-r", task="bench-000", attempt=1)
        return [
            await _alone(client, base_url, trial, calls),
            await _at_once(client, base_url, trial, calls // 40 or 1),
        ]


async def _alone(client: aiohttp.ClientSession, direct: str, trial: str, calls: int) -> Figure:
    took: dict[str, list[float]] = {direct: [], trial: []}
    for _ in range(calls):
        for base, times in took.items():
            began = time.perf_counter()
            await _call(client, base, stream=False)
            times.append((time.perf_counter() - began) * 1000)
    straight, through = (median(times) for times in took.values())
    note = f"{through:.2f} ms against {straight:.2f} ms, medians of {calls} calls, taken in turns"
    return Figure.now(
        "gateway", "added to a call, alone", through - straight, "ms", bound=ADDED_MS, note=note
    )


async def _at_once(client: aiohttp.ClientSession, direct: str, trial: str, rounds: int) -> Figure:
    before = rss_mb()
    took: dict[str, list[float]] = {direct: [], trial: []}
    for _ in range(rounds + 1):
        for base, times in took.items():
            began = time.perf_counter()
            await asyncio.gather(*(_call(client, base, stream=True) for _ in range(STREAMS)))
            times.append(time.perf_counter() - began)
    straight, through = (STREAMS / median(times[1:]) for times in took.values())
    note = (
        f"{through:.0f} calls/s against {straight:.0f}, medians of {rounds} rounds; memory grew by "
        f"{rss_mb() - before:.1f} MB"
    )
    what = f"time of {STREAMS} streams at once, to direct"
    return Figure.now("gateway", what, straight / through, "×", note=note)


async def _call(client: aiohttp.ClientSession, base: str, *, stream: bool) -> None:
    body = {"model": "scripted", "messages": _MESSAGES, "stream": stream}
    async with client.post(f"{base}/chat/completions", json=body) as response:
        answer = await response.read()
    if response.status != 200 or not answer:  # noqa: PLR2004 - HTTP's OK
        raise BenchmarkError(f"{base} answered {response.status}: {answer[:200]!r}")


if __name__ == "__main__":
    run_benchmark(run, __doc__)
