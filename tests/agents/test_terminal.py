"""The agent's end in a real sandbox: its foreground is gone, its background lives."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from harbor.agents.terminus_2.tmux_session import TmuxSession

from tbeval.agents.errors import AgentSetupError, TerminalLostError
from tbeval.agents.terminal import Terminal
from tbeval.sandboxes.bubblewrap import BubblewrapEnvironment
from tests.agents.harness import sandbox, succeeds, until

pytestmark = pytest.mark.sandbox

LOG = "/logs/agent/pane"


@pytest.fixture
async def environment(tmp_path: Path) -> AsyncIterator[BubblewrapEnvironment]:
    if not all(map(shutil.which, ("pgrep", "ps"))):
        pytest.skip("procps is missing: these tests look at processes with pgrep and ps")
    async with sandbox(tmp_path) as environment:
        yield environment


def session(environment: BubblewrapEnvironment, kind: type[TmuxSession] = Terminal) -> TmuxSession:
    return kind(
        session_name="terminus-2",
        environment=environment,
        logging_path=Path(LOG),
        local_asciinema_recording_path=None,
        remote_asciinema_recording_path=None,
    )


@pytest.fixture
async def terminal(environment: BubblewrapEnvironment) -> Terminal:
    terminal = session(environment)
    assert isinstance(terminal, Terminal)
    await terminal.start()
    return terminal


@pytest.mark.parametrize(
    ("typed", "runs"),
    [
        ("sleep 1001\n", "pgrep -x sleep -a | grep -w 1001"),
        ("while true; do sleep 0.01; date > /tmp/beat; done\n", "test -e /tmp/beat"),
        ("while :; do :; done\n", "test $(ps -o stat= -p $(pgrep -f '^bash --login')) = R+"),
        (
            "python3 -c 'import time, tty; tty.setraw(0); time.sleep(1001)'\n",
            "pgrep -f '^python3 -c'",
        ),
        ("bash -c 'sleep 1001; sleep 1001'\n", "pgrep -f '^sleep 1001'"),
        ("setsid --wait sleep 1001\n", "pgrep -f '^sleep 1001'"),
        ("bash\nsleep 1001\n", "pgrep -f '^sleep 1001'"),
        ("(trap '' INT TERM HUP; while true; do sleep 1001; done)\n", "pgrep -f '^sleep 1001'"),
        ("x=$(sleep 1001)\n", "pgrep -f '^sleep 1001'"),
        ("yes | cat > /dev/null\n", "pgrep -x yes"),
        ("script -qc 'sleep 1001' /dev/null\n", "pgrep -f '^sleep 1001'"),
        ("tmux split-window\n", "test $(pgrep -c -x bash) -ge 3"),
    ],
)
async def test_the_foreground_is_gone(
    environment: BubblewrapEnvironment, terminal: Terminal, typed: str, runs: str
) -> None:
    await terminal.send_keys(typed)
    await until(environment, runs)
    await terminal.end()
    left = await environment.exec("ps -eo tty=,stat=,args= | grep ^pts | grep -v ' Z'")
    lines = (left.stdout or "").splitlines()
    assert [line.split(maxsplit=2)[2] for line in lines] == ["sleep infinity"]
    assert await succeeds(environment, "tmux has-session -t terminus-2")


@pytest.mark.parametrize(
    "started",
    [
        "python3 -m http.server 8000 &\n",
        "nohup python3 -m http.server 8000 >/tmp/out 2>&1 &\n",
        "setsid python3 -m http.server 8000 &\n",
        "(python3 -m http.server 8000 &)\n",
        "bash\npython3 -m http.server 8000 &\n",
        "tmux new-session -d -s other 'python3 -m http.server 8000'\n",
        "tmux new-window -d 'python3 -m http.server 8000'\n",
        "python3 -m http.server 8000\nC-Z bg\n",
    ],
)
@pytest.mark.parametrize("then", ["", "sleep 1001\n"])
async def test_a_service_in_the_background_lives_and_may_write(
    environment: BubblewrapEnvironment, terminal: Terminal, started: str, then: str
) -> None:
    started, _, resumed = started.partition("C-Z ")
    answers = "python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:8000/\")'"
    await terminal.send_keys(started)
    await until(environment, answers)
    if resumed:
        await terminal.send_keys(["C-z", resumed])
        await until(environment, f"{answers} && ps -eo stat,args | grep '^S .*http.server'")
    if then:
        await terminal.send_keys(then)
        await until(environment, "pgrep -f '^sleep 1001'")
    await terminal.end()
    # Each answer writes a line to where the server's stderr goes: a lost terminal would kill it.
    for _ in range(3):
        assert await succeeds(environment, answers)
    assert not await succeeds(environment, "pgrep -f '^sleep 1001'")


async def test_a_background_job_still_writes_to_its_terminal(
    environment: BubblewrapEnvironment, terminal: Terminal
) -> None:
    await terminal.send_keys("(while sleep 0.05; do date +%N; done) &\n")
    await until(environment, f"test $(wc -l < {LOG}) -ge 4")
    await terminal.end()
    lines = int((await environment.exec(f"wc -l < {LOG}")).stdout or 0)
    await until(environment, f"test $(wc -l < {LOG}) -ge {lines + 4}")


async def test_what_was_typed_ahead_never_runs(
    environment: BubblewrapEnvironment, terminal: Terminal
) -> None:
    await terminal.send_keys("cat > /dev/null\n")
    await until(environment, "pgrep -x cat -a | grep -v /logs || pgrep -c -x cat | grep -x 2")
    await terminal.send_keys("sleep 1001\n")
    await terminal.send_keys("touch /tmp/ran\n")
    await terminal.end()
    with pytest.raises(TerminalLostError):
        await terminal.send_keys("touch /tmp/ran\n")
    await environment.exec("tmux send-keys -t terminus-2 'touch /tmp/ran' Enter")
    await environment.exec("tmux send-keys -t terminus-2 C-c 'touch /tmp/ran' Enter")
    await asyncio.sleep(0.3)  # long enough for a shell to run it, if there were one
    assert not await succeeds(environment, "test -e /tmp/ran")


async def test_the_shells_own_end_is_told_and_spares_its_services(
    environment: BubblewrapEnvironment, terminal: Terminal
) -> None:
    await terminal.get_incremental_output()
    await terminal.send_keys("(while sleep 0.05; do date +%N; done) &\n")
    assert await terminal.is_session_alive()
    await terminal.send_keys("exit\n")
    pid = (await environment.exec("tmux display-message -p '#{pane_pid}'")).stdout or ""
    await until(environment, f"grep -x sleep /proc/{pid.strip()}/comm")
    assert "logout" in await terminal.get_incremental_output()
    assert not await terminal.is_session_alive()
    lines = int((await environment.exec(f"wc -l < {LOG}")).stdout or 0)
    await until(environment, f"test $(wc -l < {LOG}) -ge {lines + 4}")
    await terminal.end()


async def test_a_killed_tmux_is_a_lost_terminal(
    environment: BubblewrapEnvironment, terminal: Terminal
) -> None:
    await environment.exec("tmux kill-server")
    with pytest.raises(TerminalLostError):
        await terminal.send_keys("ls\n")
    with pytest.raises(TerminalLostError):
        await terminal.get_incremental_output()
    await terminal.end()


async def test_no_tmux_is_one_sentence_and_no_installation(
    environment: BubblewrapEnvironment,
) -> None:
    nowhere = environment.scoped_exec_env({"PATH": "/nowhere"})
    with nowhere, pytest.raises(AgentSetupError, match="no tmux"):
        await session(environment).start()


async def settled(terminal: TmuxSession, before: str) -> None:
    """Return when the screen has changed and the shell waits at its prompt."""
    async with asyncio.timeout(30):
        while True:
            screen = await terminal.capture_pane(capture_entire=True)
            if screen != before and screen.rstrip().endswith("#"):
                return


async def test_the_model_sees_what_harbors_session_shows(tmp_path: Path) -> None:
    typed = [
        "echo SHLVL=$SHLVL $- $0\n",
        "seq 1 100\n",
        "",
        "printf 'no newline'\n",
        "clear\n",
        "seq 1 3000 | tail -n 2500\n",
        "echo 'trailing   '  \n",
        "cat <<'X'\nhere\nX\n",
        "x" * 17_000 + "\n",
        "echo \u00e9\u4e2d \U0001f600\n",
    ]
    seen: dict[type, list[str]] = {}
    for kind in (TmuxSession, Terminal):
        async with sandbox(tmp_path / kind.__name__) as environment:
            terminal = session(environment, kind)
            await terminal.start()
            await until(environment, "tmux capture-pane -p -t terminus-2 | grep -q .")
            screens = [await terminal.get_incremental_output()]
            for keys in typed:
                before = await terminal.capture_pane(capture_entire=True)
                await terminal.send_keys(keys)
                await settled(terminal, before if keys else "")
                screens.append(await terminal.get_incremental_output())
            seen[kind] = screens
    for ours, harbors in zip(seen[Terminal], seen[TmuxSession], strict=True):
        assert ours == harbors


async def test_the_first_screen_shows_the_prompt(terminal: Terminal) -> None:
    screen = await terminal.get_incremental_output()
    assert screen.startswith("Current Terminal Screen:\n")
    assert screen.rstrip().endswith("#")
