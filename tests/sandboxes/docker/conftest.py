"""A real Engine for tests; each leaves no container behind, or its test fails."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from harbor.models.task.config import EnvironmentConfig as TaskEnvironment
from harbor.models.task.config import NetworkMode, NetworkPolicy
from harbor.models.trial.paths import TrialPaths

from tbeval.sandboxes.docker import labels
from tbeval.sandboxes.docker.check import look
from tbeval.sandboxes.docker.engine import (
    Engine,
    close_engines,
    engine_host,
    shared_engine,
)
from tbeval.sandboxes.docker.environment import DockerEnvironment
from tbeval.sandboxes.errors import SandboxStartError

#: What scripts/docker/images.sh demo makes, and any machine with a registry can pull.
BASE = "debian:12-slim"

type Make = Callable[..., DockerEnvironment]


@pytest.fixture(scope="session")
def host() -> str:
    try:
        asyncio.run(look())
    except SandboxStartError as error:
        pytest.skip(f"no Docker Engine: {error}")
    return engine_host()


@pytest.fixture
async def engine(host: str) -> AsyncIterator[Engine]:
    assert host
    yield shared_engine()
    await close_engines()


@pytest.fixture
async def make(engine: Engine, tmp_path: Path) -> AsyncIterator[Make]:
    made: list[DockerEnvironment] = []

    def environment(dockerfile: str = "", **settings: object) -> DockerEnvironment:
        number = len(made)
        directory = tmp_path / f"task-{number}" / "environment"
        directory.mkdir(parents=True)
        paths = TrialPaths(tmp_path / f"trial-{number}")
        paths.mkdir()
        network = NetworkMode(str(settings.pop("network_mode", "no-network")))
        if dockerfile:
            (directory / "Dockerfile").write_text(dockerfile)
        else:
            settings.setdefault("docker_image", BASE)
        made.append(
            DockerEnvironment(
                environment_dir=directory,
                environment_name=f"test-{tmp_path.name}",
                session_id=f"{tmp_path.parent.name}-{tmp_path.name}-{number}",
                trial_paths=paths,
                task_env_config=TaskEnvironment.model_validate(settings),
                network_policy=NetworkPolicy(network_mode=network),
                logger=logging.getLogger("tests"),
                run_id=tmp_path.name,
            )
        )
        return made[-1]

    yield environment
    for one in made:
        await one.stop(delete=True)
    left = await engine.get(
        "containers/json",
        params={"all": "true", "filters": f'{{"label":["{labels.RUN}={tmp_path.name}"]}}'},
    )
    assert left == []


@pytest.fixture
async def environment(make: Make) -> DockerEnvironment:
    one = make(memory_mb=256, cpus=1)
    await one.start(force_build=False)
    return one
