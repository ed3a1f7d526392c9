"""The parts that need no sandbox: captures, limits, control groups, state, toolbox, tar streams."""

import io
import os
import subprocess
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from tbeval.records.process import process_id
from tbeval.sandboxes import cgroups as groups
from tbeval.sandboxes import check, limits, programs, rootfs, state, toolbox, transfer
from tbeval.sandboxes.entering import split_environment
from tbeval.sandboxes.errors import SandboxStartError
from tbeval.sandboxes.processes import Capture


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_a_capture_keeps_both_ends(pieces: int) -> None:
    data = bytes(n % 251 for n in range(1000))
    capture = Capture(100)
    for start in range(0, 1000, pieces):
        capture.feed(data[start : start + pieces])
    note = b"\n[... 900 bytes cut by tbeval ...]\n"
    assert capture.data() == data[:50] + note + data[-50:]
    assert capture.cut == 900


@pytest.mark.parametrize("size", [0, 1, 50, 51, 99, 100])
def test_a_capture_with_room_keeps_all(size: int) -> None:
    capture = Capture(100)
    for _ in range(size):
        capture.feed(b"x")
    assert capture.data() == b"x" * size
    assert capture.cut == 0


def test_loader_variables_are_set_late() -> None:
    early, late = split_environment({"A": "1", "LD_PRELOAD": "x", "BASH_ENV": "y", "PATH": "p"})
    assert early == {"A": "1", "PATH": "p"}
    assert late == {"LD_PRELOAD": "x", "BASH_ENV": "y"}


def test_storage_stays_within_the_machine() -> None:
    asked = limits.limits_for(memory_mb=10**9, storage_mb=10**9, cpus=None, network=False)
    assert asked.memory_mb == limits.machine_memory_mb()
    assert asked.storage_mb <= limits.machine_memory_mb() // 4


def test_granted_limits_name_who_holds_them() -> None:
    means = {limit.name: limit.means for limit in limits.granted_limits()}
    assert means["storage"] == "tmpfs size"
    if groups.hierarchy() is None:
        assert means["memory"] == "prlimit, each process"
        assert means["processes"] == "prlimit"


def test_groups_of_version_2(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    where = groups.find_hierarchy(tmp_path)
    assert where is not None
    assert (where.version, set(where.parents)) == (2, {"memory", "pids", "cpu"})
    group = tmp_path / "tbeval" / "7"
    group.mkdir()
    (group / "memory.swap.max").touch()
    made = groups.create(where, "7", memory_bytes=1 << 20, processes=9, cpus=1.5)
    assert made.inside == (group / "inside" / "cgroup.procs",)
    assert made.harness == (group / "harness" / "cgroup.procs",)
    assert (group / "memory.max").read_text() == str(1 << 20)
    assert (group / "memory.swap.max").read_text() == "0"
    assert (group / "cpu.max").read_text() == "150000 100000"
    assert (group / "inside" / "pids.max").read_text() == "9"
    assert (group / "cgroup.subtree_control").read_text() == "+pids"
    assert groups.directories(where, "7") == (group / "inside", group / "harness", group)
    (group / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    (group / "inside" / "pids.events").write_text("max 4\n")
    assert (made.memory_kills(), made.refused_forks()) == (2, 4)


def test_groups_of_version_1(tmp_path: Path) -> None:
    for name in ("memory", "pids"):
        (tmp_path / name).mkdir()
    where = groups.find_hierarchy(tmp_path)
    assert where is not None
    assert (where.version, set(where.parents)) == (1, {"memory", "pids"})
    made = groups.create(where, "7", memory_bytes=1 << 20, processes=9, cpus=1)
    memory, pids = tmp_path / "memory/tbeval/7", tmp_path / "pids/tbeval/7"
    assert made.inside == (memory / "cgroup.procs", pids / "inside" / "cgroup.procs")
    assert (memory / "memory.limit_in_bytes").read_text() == str(1 << 20)


def test_no_groups_where_none_can_be_made(tmp_path: Path) -> None:
    assert groups.find_hierarchy(tmp_path) is None


def test_the_state_directory_is_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.STATE_DIR_VARIABLE, str(tmp_path / "a" / "b"))
    assert state.state_dir().stat().st_mode & 0o777 == 0o711
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for bad in (tmp_path / "link", Path("/proc/version"), Path("/proc/none/x")):
        monkeypatch.setenv(state.STATE_DIR_VARIABLE, str(bad))
        with pytest.raises(SandboxStartError, match=r"TBEVAL_STATE_DIR"):
            state.state_dir()


def test_the_state_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path("/usr")
    if os.getuid() == 0:
        place = tmp_path
        os.chown(place, 60_001, 60_001)
    monkeypatch.setenv(state.STATE_DIR_VARIABLE, str(place))
    with pytest.raises(SandboxStartError, match="not a directory owned by this user"):
        state.state_dir()


def test_reaping_touches_only_what_dead_runs_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(state.STATE_DIR_VARIABLE, str(tmp_path))
    mine = state.claim("mine")
    with subprocess.Popen(["sleep", "60"]) as left, subprocess.Popen(["sleep", "60"]) as other:
        stays = process_id(other.pid)
        dead = process_id(os.getpid()).model_copy(update={"started": 1})
        group = tmp_path / "group"
        group.mkdir()
        orphan = state.claim("theirs").model_copy(
            update={
                "owner": dead,
                "processes": (
                    process_id(left.pid),
                    stays.model_copy(update={"started": stays.started - 1}),  # a number used again
                ),
                "cgroups": (str(group),),
            }
        )
        state.update(orphan)
        elsewhere = state.claim("in a container").model_copy(
            update={"owner": dead, "pid_namespace": 1}
        )
        state.update(elsewhere)
        (tmp_path / "sandboxes" / "1.json").write_text("{")
        assert state.reap() == 1
        assert left.wait(10) == -9
        assert other.poll() is None
        other.kill()
    assert not group.exists()
    names = {path.stem for path in (tmp_path / "sandboxes").glob("*.json")}
    assert names == {str(mine.number), str(elsewhere.number), "1"}


def test_the_toolbox_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.STATE_DIR_VARIABLE, str(tmp_path))
    unfinished = tmp_path / "toolbox" / f".{os.getpid()}.1.abc"
    unfinished.mkdir(parents=True)
    first = toolbox.ensure_toolbox()
    made = first.path.stat().st_ino
    assert toolbox.ensure_toolbox() == first
    assert first.path.stat().st_ino == made
    assert [path.name for path in first.path.parent.iterdir()] == [first.digest]
    assert all(path.is_symlink() or path.stat().st_mode & 0o004 for path in first.path.rglob("*"))


def test_a_machine_without_python_or_tmux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbox, "_PYTHON", "/usr/bin/no-python3")
    with pytest.raises(SandboxStartError, match="apt install python3"):
        toolbox.ensure_toolbox()
    monkeypatch.setitem(programs._PACKAGES, "/usr/bin/no-tmux", "tmux")
    with pytest.raises(SandboxStartError, match=r"/usr/bin/no-tmux .*apt install tmux$"):
        programs.check_programs()


async def test_the_check_of_a_good_machine_says_nothing(state: Path) -> None:
    await check.check_bubblewrap()


def test_advice_for_a_machine_that_forbids_name_spaces(tmp_path: Path) -> None:
    assert check.namespace_advice(tmp_path) == ""
    switch = tmp_path / "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
    switch.parent.mkdir(parents=True)
    switch.write_text("1\n")
    assert "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" in check.namespace_advice(
        tmp_path
    )


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for member, data in members:
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    buffer.seek(0)
    return buffer


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def test_bad_members_are_left_out_and_the_others_kept(tmp_path: Path) -> None:
    target = tmp_path / "target"
    stream = archive(
        (member("./good"), b"1"),
        (member("/absolute"), b"x"),
        (member("../up"), b"x"),
        (member("a/../../up"), b"x"),
        (member("out", tarfile.SYMTYPE, ".."), b""),
        (member("out/up"), b"x"),
        (member("device", tarfile.CHRTYPE), b""),
        (member("fifo", tarfile.FIFOTYPE), b""),
        (member("hard", tarfile.LNKTYPE, "/etc/passwd"), b""),
        (member("good/below-a-file"), b"x"),
        (member("n" * 300), b"x"),
        (member("./d/last"), b"2"),
    )
    assert transfer.unpack(stream, target) == 9
    found = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert found == {"target/good", "target/out/up", "target/d/last"}


def test_a_damaged_stream_gives_what_came_before(tmp_path: Path) -> None:
    whole = archive((member("a"), b"1" * 600), (member("b"), b"2" * 9000)).getvalue()
    assert transfer.unpack(io.BytesIO(whole[:3000]), tmp_path) == 1
    assert (tmp_path / "a").read_bytes() == b"1" * 600
    assert transfer.unpack(io.BytesIO(b"no tar at all" * 100), tmp_path) == 1
    assert transfer.read_files(io.BytesIO(whole[:3000])) == {"a": b"1" * 600}


def test_what_is_packed_belongs_to_root(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "Dockerfile").touch()
    buffer = io.BytesIO()
    transfer.pack(buffer, tmp_path, skip=lambda path: path == PurePosixPath("Dockerfile"))
    buffer.seek(0)
    with tarfile.open(fileobj=buffer) as packed:
        assert sorted(packed.getnames()) == [".", "./sub", "./sub/Dockerfile"]
        assert {each.uid for each in packed} == {0}


def test_no_credentials_in_the_skeleton() -> None:
    with tarfile.open(fileobj=io.BytesIO(rootfs.skeleton(network=False))) as packed:
        names = packed.getnames()
    assert "etc/ssl/openssl.cnf" in names
    assert not [name for name in names if "private" in name or "shadow" in name]
