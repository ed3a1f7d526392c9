"""The verifier's commands against processes that the agent left."""

from pathlib import Path

import pytest

from tbeval.records.sandbox import PrivateResult
from tbeval.sandboxes.cage import Cage
from tbeval.sandboxes.limits import Limits
from tbeval.sandboxes.private import exec_private

from .conftest import MakeCage, commands, shell

pytestmark = pytest.mark.sandbox

PRIVATE = "/run/verifier-8d1"


@pytest.fixture
def tests_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "tests"
    (directory / "deep").mkdir(parents=True)
    (directory / "test.sh").write_text("echo the real test\n")
    (directory / "deep" / "data").write_text("42")
    return directory


async def verify(
    cage: Cage, tests_dir: Path, command: str, *, timeout_sec: float = 60, **env: str
) -> PrivateResult:
    return await exec_private(
        cage,
        command,
        private_dir=PRIVATE,
        uploads={"/tests": str(tests_dir)},
        env=env,
        cwd="/app",
        timeout_sec=timeout_sec,
    )


async def test_sees_its_files_and_returns_what_it_leaves(cage: Cage, tests_dir: Path) -> None:
    await shell(cage, "echo planted > /tests/conftest.py; ln -s /etc /tests/deep; echo a > made")
    command = f"bash /tests/test.sh; cat made; find /tests -type f; mkdir {PRIVATE}/d; "
    command += (
        f"echo r > {PRIVATE}/d/r; printf 'b\\0' > {PRIVATE}/b; ln -s /etc/passwd {PRIVATE}/l; "
    )
    result = await verify(cage, tests_dir, command + "echo no >&2; exit 5")
    assert result.stdout.splitlines()[:2] == ["the real test", "a"]
    assert sorted(result.stdout.splitlines()[2:]) == ["/tests/deep/data", "/tests/test.sh"]
    assert (result.return_code, result.stderr, result.timed_out) == (5, "no\n", False)
    assert result.files == {"d/r": b"r\n", "b": b"b\0"}
    assert (await shell(cage, f"ls -A {PRIVATE}")).out == ""


async def test_files_outside_are_the_sandboxes_own(cage: Cage, tests_dir: Path) -> None:
    await verify(cage, tests_dir, "echo reward > /logs/verifier/reward.txt")
    assert (await shell(cage, "cat /logs/verifier/reward.txt")).out == "reward\n"


async def test_sees_the_agents_services(cage: Cage, tests_dir: Path) -> None:
    await shell(cage, "cd /tmp; echo hello > page; /usr/bin/python3 -m http.server 8124 & disown")
    command = "until exec 3<>/dev/tcp/localhost/8124; do sleep 0.05; done 2>/dev/null; "
    command += "printf 'GET /page HTTP/1.0\\r\\n\\r\\n' >&3; tail -1 <&3; "
    command += "grep -l '[h]ttp.server' /proc/[0-9]*/cmdline | wc -l"
    result = await verify(cage, tests_dir, command, timeout_sec=20)
    assert result.stdout == "hello\n1\n"


async def test_has_no_capability_that_does_anything(cage: Cage, tests_dir: Path) -> None:
    result = await verify(
        cage, tests_dir, "grep CapEff /proc/self/status; ls /proc/self/fd | wc -l"
    )
    assert result.stdout.split() == ["CapEff:", "0000000800000000", "4"]
    result = await verify(
        cage, tests_dir, "mount -t tmpfs tmpfs /mnt || umount /tests || hostname x"
    )
    assert result.return_code != 0


SPY = """
import os, time
seen, secret, running = set(), b"geheim-8d1", False
while not os.path.exists("/app/stop"):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        for name in ("environ", "maps", "mem", "root", "cwd", "exe", "fd/1", "fd/0"):
            path = f"/proc/{pid}/{name}"
            try:
                if name in ("root", "cwd", "exe"):
                    seen.add((name, os.readlink(path)))
                    for place in ("/tests/test.sh", "/run/verifier-8d1/report"):
                        if os.path.exists(path + place):
                            seen.add(("leak", path + place))
                elif name == "mem":
                    os.close(os.open(path, os.O_RDWR))
                    seen.add(("mem", open(f"/proc/{pid}/cmdline").read()))
                else:
                    with open(path, "rb") as file:
                        if secret in file.read(100000):
                            seen.add(("leak", name))
            except OSError:
                pass
    for place in ("/tests/test.sh", "/run/verifier-8d1/report"):
        if os.path.exists(place):
            seen.add(("leak", place))
    for text in ("/tests/conftest.py", "/run/verifier-8d1/forged"):
        try:
            open(text, "w").write("planted")
        except OSError as error:
            pass
    for place in ("/tests", "/run") + ("/run/verifier-8d1",) * running:
        for act in (lambda: os.rmdir(place), lambda: os.rename(place, "/moved"),
                    lambda: os.symlink("/app", place)):
            try:
                act()
                if running:
                    seen.add(("moved", place))
            except OSError:
                pass
    open("/app/rounds", "a").write(".")
    running = os.path.exists("/app/go")  # before, it may do in its own view what it likes
print(sorted(seen), file=open("/app/spied", "w"))
"""


async def test_what_the_agent_left_neither_sees_nor_plants(cage: Cage, tests_dir: Path) -> None:
    spy = tests_dir.parent / "spy.py"
    spy.write_text(SPY)
    await shell(cage, f"cat > spy.py <<'EOF'\n{SPY}\nEOF\n/usr/bin/python3 spy.py & disown")
    command = f"""echo x > {PRIVATE}/report; touch /app/go; : > /app/rounds
until [ $(stat -c %s /app/rounds) -ge 20 ]; do sleep 0.02; done
find /tests {PRIVATE} -type f | sort; touch /app/stop
until [ -s /app/spied ]; do sleep 0.02; done"""
    result = await verify(cage, tests_dir, command, timeout_sec=60, SECRET="geheim-8d1")
    assert result.return_code == 0, result
    assert result.stdout.split() == [
        f"{PRIVATE}/report", "/tests/deep/data", "/tests/test.sh",
    ]  # fmt: skip
    assert result.files == {"report": b"x\n"}
    spied = (await shell(cage, "cat spied")).out
    assert "leak" not in spied, spied
    assert "moved" not in spied, spied
    assert "('mem', 'bash" not in spied, spied


async def test_planted_links_do_not_lead_it_astray(cage: Cage, tests_dir: Path) -> None:
    await shell(
        cage, f"rmdir /tests; mkdir evil; ln -s /app/evil /tests; ln -s /app/evil {PRIVATE}"
    )
    result = await verify(cage, tests_dir, f"cat /tests/test.sh; echo 1 > {PRIVATE}/r")
    assert result.stdout == "echo the real test\n"
    assert result.files == {"r": b"1\n"}
    assert (await shell(cage, "ls -A evil")).out == ""


async def test_a_loader_trick_gains_nothing(cage: Cage, tests_dir: Path) -> None:
    """Commands that enter with capabilities run nothing that the agent could have changed."""
    script = """
for f in /etc/ld.so.preload /etc/ld.so.cache /usr/bin/setpriv /bin/bash /lib64/ld-linux-x86-64.so.2
do echo /app/evil.so > $f; mv $f /app/; ln -sf /app/evil $f; done
mv /lib64 /app/; mv /bin /app; mv /lib /app; mkdir -p /etc/python3.11
echo 'print("planted")' > /etc/python3.11/sitecustomize.py
user=~/.local/lib/python3.11/site-packages; mkdir -p $user
echo 'print("planted")' | tee $user/usercustomize.py > sitecustomize.py
echo 'print("planted")' > pytest.py
echo 'echo planted' | tee ~/.bashrc ~/.profile ~/.bash_profile ~/.bash_env
"""
    await shell(cage, script, BASH_ENV="/root/.bash_env")
    result = await verify(
        cage,
        tests_dir,
        "/opt/tbeval/bin/python3 -c 'import pytest'; /opt/tbeval/bin/pytest --version",
    )
    assert "planted" not in result.stdout + result.stderr
    assert result.stdout.startswith("pytest ")


async def test_pythonpath_reaches_the_toolbox(cage: Cage, tests_dir: Path) -> None:
    (tests_dir / "plugin_of_ours.py").write_text("print('plugged in')")
    command = "/opt/tbeval/bin/pytest -p plugin_of_ours --collect-only /tests"
    result = await verify(cage, tests_dir, command, PYTHONPATH="/tests")
    assert "plugged in" in result.stdout


async def test_runs_in_a_full_sandbox(make_cage: MakeCage, tests_dir: Path) -> None:
    cage = await make_cage(Limits(storage_mb=32))
    await shell(
        cage, "cat /dev/zero > /tmp/big; i=0; while : > /tmp/f$((i++)); do :; done 2>/dev/null"
    )
    result = await verify(cage, tests_dir, f"cat /tests/test.sh > {PRIVATE}/x && echo ok > /tmp/ok")
    assert result.return_code == 0, result
    assert result.files == {"x": b"echo the real test\n"}
    assert cage.report().limits_hit == ("storage",)


async def test_who_keeps_the_tests_out_has_killed_them(cage: Cage, tests_dir: Path) -> None:
    code = f"""import os
open("/app/up", "w")
while True:
    try: os.rmdir("{PRIVATE}")
    except OSError: pass
"""
    await shell(cage, f"/usr/bin/python3 -c '{code}' & until [ -e up ]; do sleep 0.01; done")
    result = await verify(cage, tests_dir, "cat /tests/test.sh")
    if result.stdout:  # it was too slow this time
        assert result.return_code == 0
    else:
        assert result.return_code == 137
        assert "keep the tests from being put in place" in result.stderr


async def test_runs_beside_a_fork_bomb(make_cage: MakeCage, tests_dir: Path) -> None:
    cage = await make_cage(Limits(processes=64))
    code = "import os, time\nwhile True:\n if not os.fork(): time.sleep(1010)"
    await shell(cage, f"/usr/bin/python3 -c '{code}'")
    result = await verify(
        cage, tests_dir, "for i in 1 2 3; do sleep 0 & done; wait; bash /tests/test.sh"
    )
    assert result.stdout == "echo the real test\n".removeprefix("echo "), result
    assert "processes" in cage.report().limits_hit


async def test_out_of_time(cage: Cage, tests_dir: Path) -> None:
    result = await verify(cage, tests_dir, "setsid -w sleep 1008", timeout_sec=0.5)
    assert result.timed_out
    assert await commands(cage) == ["sleep infinity"]


async def test_being_killed_is_told(cage: Cage, tests_dir: Path) -> None:
    look = "case $(tr '\\0' ' ' < $p/cmdline) in victim*) kill -9 ${p#/proc/};; esac"
    loop = f"while sleep 0.05; do for p in /proc/[0-9]*; do {look}; done; done 2>/dev/null"
    await shell(cage, f"{loop} & disown")
    result = await verify(cage, tests_dir, "exec -a victim sleep 20", timeout_sec=30)
    assert (result.return_code, result.timed_out) == (137, False)
