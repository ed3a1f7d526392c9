"""-j auto: the tightest of cores, memory and the model's server, and it says which."""

import resource
from pathlib import Path

import pytest

from tbeval.runs.concurrency import choose, free_memory_mb, raise_file_limit
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint, Embedded

SERVED = Checkpoint(id="iter335", base_url="http://127.0.0.1:1/v1")
EMBEDDED = Checkpoint(id="small", embedded=Embedded(gguf="x.gguf", parallel=3))


@pytest.mark.parametrize(
    ("checkpoint", "cores", "free_mb", "trials", "word"),
    [
        (SERVED, 2, 64_000, 8, "2 cores"),
        (SERVED, 64, 16_384, 6, "memory"),
        (SERVED, 2, 100, 1, "memory"),
        (EMBEDDED, 16, 64_000, 3, "embedded"),
        (EMBEDDED.model_copy(update={"agent": "nop"}), 16, 640_000, 64, "16 cores"),
    ],
)
def test_the_tightest_bound(
    checkpoint: Checkpoint, cores: int, free_mb: int, trials: int, word: str
) -> None:
    choice = choose(checkpoint, cores=cores, free_mb=free_mb)
    assert choice.trials == trials
    assert word in choice.reason


def test_free_memory_of_this_machine_and_of_a_strange_one(tmp_path: Path) -> None:
    assert free_memory_mb() > 0
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\n")
    with pytest.raises(ValueError, match="MemAvailable"):
        free_memory_mb(tmp_path / "meminfo")


def test_more_trials_than_the_system_has_files_for_are_refused() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
        raise_file_limit(4)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64
        with pytest.raises(SettingsError, match="use a smaller -j"):
            raise_file_limit(10**9)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
