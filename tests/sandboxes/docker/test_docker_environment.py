"""The environment as harbor drives it: commands, files, limits and ends, on a real Engine."""

import asyncio
import time
from pathlib import Path

import pytest

from tbeval.records.sandbox import Enterable, ReportsSandbox, SandboxDeath, SandboxDiedError
from tbeval.sandboxes.docker import labels
from tbeval.sandboxes.docker.engine import Engine
from tbeval.sandboxes.docker.environment import DockerEnvironment
from tbeval.sandboxes.errors import CommandTimeoutError, TransferError, UnsupportedTaskError
from tests.sandboxes.docker.conftest import BASE, Make

pytestmark = pytest.mark.sandbox


async def test_exec(environment: DockerEnvironment) -> None:
    result = await environment.exec(
        "echo $A; pwd; echo no >&2; exit 2", cwd="/tmp", env={"A": "b c"}, user="root"
    )
    assert (result.stdout, result.stderr, result.return_code) == ("b c\n/tmp\n", "no\n", 2)
    assert (await environment.exec("true", cwd="/nowhere")).return_code != 0
    assert (await environment.exec("id -un", user="nobody")).stdout == "nobody\n"
    assert (await environment.exec("printf ''")).stdout == ""
    assert isinstance(environment, ReportsSandbox)
    assert isinstance(environment, Enterable)


async def test_a_command_whose_time_is_over_dies_with_its_children(
    environment: DockerEnvironment,
) -> None:
    began = time.monotonic()
    with pytest.raises(CommandTimeoutError, match="Command timed out after 1 seconds"):
        await environment.exec("sleep 61 & setsid sleep 62 & sleep 63", timeout_sec=1)
    assert time.monotonic() - began < 10
    commands = await environment.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "sleep infinity" in (commands.stdout or "")
    assert "sleep 6" not in (commands.stdout or "")


async def test_a_cancelled_command_dies(environment: DockerEnvironment) -> None:
    running = asyncio.create_task(environment.exec("touch /begun; sleep 64"))
    while (await environment.exec("test -e /begun")).return_code:
        pass
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    commands = await environment.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "sleep 64" not in (commands.stdout or "")


async def test_large_output_is_cut_in_the_middle(environment: DockerEnvironment) -> None:
    result = await environment.exec("echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo last")
    assert (result.stdout or "").startswith("first\n")
    assert (result.stdout or "").endswith("last\n")
    assert len(result.stdout or "") < 1_100_000


async def test_files_in_and_out(environment: DockerEnvironment, tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "program").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "in" / "sub" / "program").chmod(0o755)
    await environment.upload_dir(tmp_path / "in", "/new/place")
    await environment.upload_file(tmp_path / "in" / "sub" / "program", "/other/name")
    ran = await environment.exec("/new/place/sub/program; cat /other/name; stat -c %U:%a /new")
    assert ran.stdout == "ran\n#!/bin/sh\necho ran\nroot:755\n"
    await environment.exec(
        "mkdir -p /out/a; echo data > /out/a/b; ln -s /etc /out/link; mkfifo /out/pipe;"
        " ln -s /etc/passwd /out/file-link"
    )
    await environment.download_dir("/out", tmp_path / "out")
    found = sorted(
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*")
    )
    assert found == ["a", "a/b"]
    await environment.download_file("/out/a/b", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "data\n"
    with pytest.raises(TransferError, match="/nowhere"):
        await environment.download_dir("/nowhere", tmp_path / "none")
    with pytest.raises(TransferError, match="plain file"):
        await environment.download_file("/out/link", tmp_path / "none")


async def test_limits_hold_and_are_reported(environment: DockerEnvironment) -> None:
    names = {one.name: one.value for one in environment.sandbox_report().limits}
    assert (names["memory"], names["cpu"], names["network"]) == ("256 MB", "1", "none")
    assert (await environment.exec("ls /sys/class/net")).stdout == "lo\n"
    hog = await environment.exec("head -c 400000000 /dev/zero | tail; exit 5")
    assert hog.return_code == 5  # the shell outlives the hog
    await environment.stop(delete=True)
    report = environment.sandbox_report()
    assert report.limits_hit == ("memory",)
    assert report.death is None
    with pytest.raises(SandboxDiedError):
        await environment.exec("true")


async def test_who_ends_the_first_process_inside_has_broken_it(
    environment: DockerEnvironment,
) -> None:
    with pytest.raises(SandboxDiedError, match="ended inside"):
        await environment.exec("kill $(pgrep -x sleep); exec sleep 9")
    assert environment.sandbox_report().death is SandboxDeath.TRIAL


async def test_what_is_stopped_from_outside_is_the_hosts_doing(
    environment: DockerEnvironment, engine: Engine
) -> None:
    await engine.post(f"containers/{environment.container}/kill")
    with pytest.raises(SandboxDiedError, match="from outside"):
        await environment.exec("true")
    assert environment.sandbox_report().death is SandboxDeath.HOST


async def test_labels_name_run_trial_and_owner(
    environment: DockerEnvironment, engine: Engine
) -> None:
    found = (await engine.get(f"containers/{environment.container}/json"))["Config"]["Labels"]
    assert found[labels.RUN]
    assert found[labels.TRIAL] == environment.session_id
    assert not labels.owner_is_dead(found)


async def test_containers_with_a_network_cannot_reach_one_another(make: Make) -> None:
    one, two = make(network_mode="public"), make(network_mode="public")
    await asyncio.gather(one.start(force_build=False), two.start(force_build=False))
    address = (await one.exec("hostname -I")).stdout or ""
    assert address.strip()
    serve = "python3 -m http.server 8000 >/dev/null 2>&1 & for i in 1 2 3 4 5 6 7 8 9; do"
    serve += " (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null && exit; sleep 0.2; done; exit 1"
    assert (await one.exec(serve)).return_code == 0
    reach = f"timeout 1 bash -c 'exec 3<>/dev/tcp/{address.strip()}/8000'"
    assert (await one.exec(reach)).return_code == 0
    assert (await two.exec(reach)).return_code != 0


async def test_a_task_of_several_containers_is_refused(make: Make, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedTaskError, match="no Dockerfile"):
        make(docker_image=None)
    directory = tmp_path / "task-0" / "environment"
    assert directory.is_dir()
    assert BASE
