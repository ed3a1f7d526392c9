"""Whether the demo tasks keep the conventions of docs/demo-tasks.md; nothing is run here."""

import os
import re
import tomllib
from pathlib import Path

import pytest
from harbor.models.task.config import NetworkMode, TaskConfig
from harbor.models.task.task import Task

from tbeval.settings.subsets import load_subset

REPOSITORY = Path(__file__).parents[2]
DEMO = REPOSITORY / "task_subsets" / "demo"
SUBSET = load_subset("demo", REPOSITORY)
ALL_TASKS = pytest.mark.parametrize("task", SUBSET.tasks)

PATH_IN_SANDBOX = re.compile(r"/app/[\w./-]*\w")
NEEDS_NETWORK = re.compile(
    r"\b(curl|wget|pip3? install|apt(-get)?|git (clone|fetch|pull)|https?://\S+)"
)
COUNTS = re.compile(r"(\d+)/(\d+)")


def texts(task: str, *folders: str) -> dict[Path, str]:
    files = [path for folder in folders for path in (DEMO / task / folder).rglob("*")]
    return {path: path.read_text() for path in files if path.is_file()}


def number_of_tests(task: str) -> int:
    return len(
        re.findall(r"^def test_", (DEMO / task / "tests/test_outputs.py").read_text(), re.MULTILINE)
    )


def test_subset_and_folders_name_the_same_twelve_tasks() -> None:
    folders = {path.parent.name for path in DEMO.glob("*/task.toml")}
    assert set(SUBSET.tasks) == folders
    assert len(SUBSET.tasks) == 12
    assert SUBSET.file is not None
    assert SUBSET.source.path is not None
    assert (SUBSET.file.parent / SUBSET.source.path).resolve() == DEMO


def test_difficulty_is_spread() -> None:
    configs = [
        TaskConfig.model_validate_toml(path.read_text()) for path in DEMO.glob("*/task.toml")
    ]
    metadata = [config.metadata for config in configs]
    difficulties = [entry["difficulty"] for entry in metadata]
    assert {level: difficulties.count(level) for level in ("easy", "medium", "hard")} == {
        "easy": 3,
        "medium": 5,
        "hard": 4,
    }
    assert len({entry["category"] for entry in metadata}) >= 10


@ALL_TASKS
def test_harbor_loads_it(task: str) -> None:
    """Warnings are errors here, so a deprecated key fails too."""
    loaded = Task(DEMO / task)
    config = loaded.config
    assert config.schema_version == TaskConfig().schema_version
    assert loaded.instruction.strip()
    assert config.metadata["author_name"]
    assert config.metadata["tags"]
    assert config.environment.network_mode is NetworkMode.NO_NETWORK
    assert config.environment.memory_mb <= 512
    assert config.environment.storage_mb <= 256
    assert 240 <= config.agent.timeout_sec <= 300
    assert config.verifier.timeout_sec == 60


@ALL_TASKS
def test_files_are_there_and_scripts_executable(task: str) -> None:
    folder = DEMO / task
    assert (folder / "environment/Dockerfile").is_file()
    scripts = ["environment/setup.sh", "tests/test.sh", "solution/solve.sh"]
    wrong = sorted((folder / "wrong").glob("*.sh"))
    assert len(wrong) >= 2
    for script in [*(folder / name for name in scripts), *wrong]:
        assert os.access(script, os.X_OK), script
        assert script.read_text().startswith("#!/bin/bash\n"), script


@ALL_TASKS
def test_three_to_eight_tests(task: str) -> None:
    assert 3 <= number_of_tests(task) <= 8


@ALL_TASKS
def test_wrong_solutions_lie_between_none_and_all(task: str) -> None:
    folder = DEMO / task / "wrong"
    expected = tomllib.loads((folder / "expected.toml").read_text())
    assert set(expected) == {path.stem for path in folder.glob("*.sh")}
    for name, counts in expected.items():
        found = COUNTS.fullmatch(counts)
        assert found, f"{name}: {counts}"
        assert 0 < int(found[1]) < int(found[2]) == number_of_tests(task)


def test_untouched_scores_solve_nothing() -> None:
    untouched = tomllib.loads((DEMO / "untouched.toml").read_text())
    assert list(untouched) == list(SUBSET.tasks)
    for task, counts in untouched.items():
        found = COUNTS.fullmatch(counts)
        assert found, f"{task}: {counts}"
        # what merely was not destroyed may pass: one test, no more
        assert int(found[1]) <= 1 < int(found[2]) == number_of_tests(task)


@ALL_TASKS
def test_instruction_names_every_path_that_is_tested(task: str) -> None:
    instruction = (DEMO / task / "instruction.md").read_text()
    for path, text in texts(task, "tests").items():
        for name in PATH_IN_SANDBOX.findall(text):
            assert name in instruction, f"{path} uses {name}"


@ALL_TASKS
def test_instruction_tells_nothing_of_tests_or_solution(task: str) -> None:
    instruction = (DEMO / task / "instruction.md").read_text()
    for place in ("/tests", "/solution", "/logs/verifier", "pytest", "tbeval"):
        assert place not in instruction


@ALL_TASKS
def test_nothing_needs_a_network(task: str) -> None:
    for path, text in texts(task, "environment", "tests", "solution", "wrong").items():
        if path.name != "Dockerfile":  # an image is built beforehand
            assert not NEEDS_NETWORK.search(text), path


@pytest.mark.parametrize("name", ["environment/Dockerfile", "tests/test.sh"])
def test_same_in_every_task(name: str) -> None:
    assert len({(DEMO / task / name).read_text() for task in SUBSET.tasks}) == 1


def test_dockerfile_prepares_the_folder_as_the_other_sandbox_does() -> None:
    lines = (DEMO / SUBSET.tasks[0] / "environment/Dockerfile").read_text().splitlines()
    assert lines[-3:] == [
        "WORKDIR /app",
        "COPY . /app/",
        "RUN bash /app/setup.sh && rm -f /app/setup.sh /app/Dockerfile",
    ]


def test_ring_buffer_brings_the_header_that_it_gives() -> None:
    folder = DEMO / "ring-buffer"
    assert (folder / "tests/ring.h").read_text() == (folder / "environment/ring.h").read_text()


def test_table_of_the_documentation_tells_the_truth() -> None:
    untouched = tomllib.loads((DEMO / "untouched.toml").read_text())
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (REPOSITORY / "docs/demo-tasks.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    assert [[row[0].strip("`"), *row[2:]] for row in rows] == [
        [
            task,
            Task(DEMO / task).config.metadata["difficulty"],
            str(number_of_tests(task)),
            untouched[task],
        ]
        for task in SUBSET.tasks
    ]
