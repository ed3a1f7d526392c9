"""Tasks of several services: any number of them run side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tbeval.tasks.convert import ConvertError, convert_task
from tbeval.tasks.convert.variables import resolve
from tests.tasks.convert.conftest import read_compose

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tasks.convert.conftest import MakeSource

PREFIX = "${T_BENCH_TASK_DOCKER_NAME_PREFIX}"


def test_client_and_server_with_fixed_names_and_ports(
    make_source: MakeSource, tmp_path: Path
) -> None:
    server = {
        "build": {"context": "server", "args": {"A": "1"}},
        "image": f"{PREFIX}__server",
        "container_name": f"{PREFIX}__server",
        "ports": ["9000:9000", "127.0.0.1:9001:9001/tcp", "[::1]:53:53/udp", {"target": 80}],
        "depends_on": ["client"],
        "network_mode": "service:client",
    }
    database = {
        "image": "postgres:15",
        "container_name": "the-db",
        "ports": ["5432"],
        "networks": ["app"],
        "environment": [f"URL=http://{PREFIX}__server", "HERE=${TEST_DIR}", "OTHER=${OTHER:-x}"],
        "deploy": {"resources": {"limits": {"cpus": "${CPUS}", "memory": "${MEMORY}"}}},
    }
    source = make_source(
        client={"networks": ["app"], "depends_on": {"db": {"condition": "service_started"}}},
        services={"server": server, "db": database},
        top={
            "name": "fixed",
            "version": "3",
            "networks": {"app": {"name": f"{PREFIX}__network", "driver": "bridge"}},
            "volumes": {"data": {"name": "fixed-data"}},
        },
        files={"server/Dockerfile": "FROM debian:12\nCOPY . /srv\n", "server/app.py": "1\n"},
    )
    target = tmp_path / "some-task"
    converted = convert_task(source, target)
    compose = read_compose(target)

    assert converted.warnings == ()
    assert set(compose) == {"services", "networks", "volumes"}
    assert compose["networks"] == {"app": {"driver": "bridge"}}
    assert compose["volumes"] == {"data": {}}
    assert list(compose["services"]) == ["main", "server", "db"]
    main, new_server, new_db = compose["services"].values()
    assert main == {
        "build": {"context": "."},
        "image": "${MAIN_IMAGE_NAME}",
        "command": ["sh", "-c", "sleep infinity"],
        "environment": {"TEST_DIR": "/tests"},
        "depends_on": {"db": {"condition": "service_started"}},
        "networks": {"app": {"aliases": ["client", "some-task"]}},
    }
    assert new_server == {
        "build": {"context": "./_services/server", "dockerfile": "Dockerfile", "args": {"A": "1"}},
        "depends_on": ["main"],
        "network_mode": "service:main",
        "expose": ["9000", "9001", "53/udp", "80"],
    }
    assert new_db == {
        "image": "postgres:15",
        "environment": ["URL=http://some-task__server", "HERE=/tests", "OTHER=${OTHER:-x}"],
        "deploy": {"resources": {"limits": {"cpus": "${CPUS}", "memory": "${MEMORY}"}}},
        "expose": ["5432"],
        "networks": {"app": {"aliases": ["the-db"]}},
    }
    environment = target / "environment"
    assert (environment / "_services/server/app.py").is_file()
    ignored = (environment / ".dockerignore").read_text().split()
    assert set(ignored) == {"_services", "docker-compose.yaml", ".dockerignore"}


@pytest.mark.parametrize(
    "client",
    [
        {"tmpfs": ["/root:size=100M"]},
        {"dns": ["192.0.2.1"]},
        {"command": ["sh", "-c", "serve & sleep infinity"]},
        {"entrypoint": ["/entry.sh"]},
        {"volumes": ["/data"]},
        {"environment": ["A=${HOME}/x"]},
        {"environment": ["A=$${B}"]},
        {"build": {"context": ".", "args": {"A": "1"}}},
    ],
)
def test_what_one_container_cannot_say_keeps_a_compose_file(
    make_source: MakeSource, tmp_path: Path, client: dict[str, Any]
) -> None:
    convert_task(make_source(client=client), tmp_path / "some-task")
    main = read_compose(tmp_path / "some-task")["services"]["main"]
    for key, value in client.items():
        if key == "environment":
            [variable] = value
            assert main[key]["A"] == variable.removeprefix("A=")
        elif key != "build":
            assert main[key] == value
    assert main["build"].get("args", {"A": "1"}) == {"A": "1"}


def test_the_directory_for_logs_is_shared_by_a_volume(
    make_source: MakeSource, tmp_path: Path
) -> None:
    logs = "${T_BENCH_TASK_LOGS_PATH}"
    source = make_source(services={"web": {"image": "nginx", "volumes": [f"{logs}:/var/log"]}})
    convert_task(source, tmp_path / "some-task")
    compose = read_compose(tmp_path / "some-task")
    assert compose["services"]["main"]["volumes"] == ["task-logs:/logs"]
    assert compose["services"]["web"]["volumes"] == ["task-logs:/var/log"]
    assert "task-logs" in compose["volumes"]


def test_files_that_are_mounted_move_along(make_source: MakeSource, tmp_path: Path) -> None:
    source = make_source(
        services={"web": {"image": "nginx", "volumes": ["./site:/srv:ro"]}},
        files={"site/index.html": "hello"},
    )
    converted = convert_task(source, tmp_path / "some-task")
    environment = tmp_path / "some-task" / "environment"
    web = read_compose(tmp_path / "some-task")["services"]["web"]
    assert web["volumes"] == ["./_mounts/site:/srv:ro"]
    assert (environment / "_mounts/site/index.html").read_text() == "hello"
    assert "./site is mounted" in " ".join(converted.warnings)


@pytest.mark.parametrize(
    ("services", "top", "said"),
    [
        ({"main": {"image": "nginx"}}, {}, 'called "main"'),
        ({}, {"networks": {"lan": {"external": True}}}, "network lan .* external"),
        ({"x": {"extends": "client"}}, {}, 'service x uses "extends"'),
    ],
)
def test_refused(
    make_source: MakeSource,
    tmp_path: Path,
    services: dict[str, object],
    top: dict[str, object],
    said: str,
) -> None:
    with pytest.raises(ConvertError, match=said):
        convert_task(make_source(services=services, top=top), tmp_path / "some-task")


def test_fixed_addresses_are_told(make_source: MakeSource, tmp_path: Path) -> None:
    networks = {"lan": {"ipam": {"config": [{"subnet": "10.9.0.0/24"}]}}}
    client = {"networks": {"lan": {"ipv4_address": "10.9.0.2"}}}
    source = make_source(client=client, top={"networks": networks})
    converted = convert_task(source, tmp_path / "some-task")
    assert len([said for said in converted.warnings if "may collide" in said]) == 2


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("$T_BENCH_TEST_DIR/a", "/tests/a"),
        ("${TEST_DIR:-/elsewhere}", "/tests"),
        ("${T_BENCH_NEW:-there}", "there"),
        ("${T_BENCH_NEW+there}", ""),
        ("${TEST_DIR:+there}", "there"),
        ("$$TEST_DIR and $HOME", "$$TEST_DIR and $HOME"),
        ("${T_BENCH_TASK_DOCKER_NAME_PREFIX}__server", "a-task-v1__server"),
    ],
)
def test_variables(text: str, resolved: str) -> None:
    assert resolve({"a": [text, 1]}, "A_task.v1") == {"a": [resolved, 1]}
