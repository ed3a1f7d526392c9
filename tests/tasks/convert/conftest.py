"""Small tasks of terminal-bench's format, written on the spot."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

CLIENT = {
    "build": {"dockerfile": "Dockerfile"},
    "image": "${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}",
    "container_name": "${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}",
    "command": ["sh", "-c", "sleep infinity"],
    "environment": ["TEST_DIR=${T_BENCH_TEST_DIR}"],
    "volumes": ["${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}"],
}
RUN_TESTS = "source $TEST_DIR/prepare.sh\npytest $TEST_DIR/test_outputs.py -rA\n"

#: Arguments: `client` is added to the client's service, `services` stand beside it, `top` beside
#: them, `config` in task.yaml, `files` in the directory.
MakeSource = Callable[..., Path]


@pytest.fixture
def make_source(tmp_path: Path) -> MakeSource:
    """Write a task directory of terminal-bench."""

    def make(
        *,
        client: dict[str, Any] | None = None,
        services: dict[str, Any] | None = None,
        top: dict[str, Any] | None = None,
        config: dict[str, Any] | None = None,
        files: dict[str, str] | None = None,
    ) -> Path:
        source = tmp_path / "original" / "some-task"
        settings = {"instruction": "Do it.", "difficulty": "easy", **(config or {})}
        compose = {"services": {"client": CLIENT | (client or {}), **(services or {})}}
        contents = {
            "task.yaml": yaml.safe_dump(settings),
            "docker-compose.yaml": yaml.safe_dump(compose | (top or {}), sort_keys=False),
            "Dockerfile": "FROM debian:12\nWORKDIR /app\n",
            "run-tests.sh": RUN_TESTS,
            "solution.sh": "echo solved > it\n",
            "tests/test_outputs.py": "def test_it(): pass\n",
            "tests/prepare.sh": "export PREPARED=yes\n",
            **(files or {}),
        }
        for name, content in contents.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return source

    return make


def read_compose(target: Path) -> dict[str, Any]:
    """The compose file of a converted task."""
    text = (target / "environment" / "docker-compose.yaml").read_text()
    content: dict[str, Any] = yaml.safe_load(text)
    return content
