"""terminus-2's terminal: harbor's tmux session, with an end that spares background jobs."""

import shlex
import uuid
from pathlib import Path
from typing import Any, override

from harbor.agents.terminus_2.tmux_session import TmuxSession
from harbor.environments.base import BaseEnvironment, ExecResult

from tbeval.agents.errors import AgentSetupError, TerminalLostError

_END_FOREGROUND = Path(__file__).with_name("end_foreground.sh")

#: Seconds for the shell to print its prompt, so that the first screen does not depend on luck.
_FIRST_SCREEN_SEC = 5

_END_LIMIT_SEC = 10


class Terminal(TmuxSession):
    """One pane, whose shell runs under a holder.

    The pane's process is not the shell but a holder that waits for it. When the shell is killed
    at the agent's end, the holder keeps the terminal open and tmux drains it, so that background
    jobs neither get SIGHUP nor fail when they write. When the shell ends by itself, the holder
    stays too, but says so: the agent ends as with harbor's session, its services live on.

    Attributes:
        commands: Batches of keystrokes that reached the pane.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = 0
        self._previous_buffer: str | None = None
        self._holder = ""
        self._alive = True
        self._closed = False
        token = uuid.uuid4().hex
        self._border = f"--{token}--"
        self._over = f"/tmp/.terminal-{token}"  # noqa: S108 - in the sandbox, a name nobody guesses

    @property
    def _hold(self) -> str:
        # SHLVL is as in a pane without a holder.
        return f"SHLVL=$((SHLVL - 1)) bash --login; : >{self._over}; exec sleep infinity </dev/null"

    @property
    @override
    def _tmux_start_session(self) -> str:
        harbors: str = super()._tmux_start_session
        return harbors.replace("'bash --login'", shlex.quote(self._hold))

    @override
    async def start(self) -> None:
        """Start tmux and wait for the shell's first prompt.

        Raises:
            AgentSetupError: There is no tmux, or it does not start.
        """
        name = shlex.quote(self._session_name)
        result = await self._exec(
            "command -v tmux >/dev/null || exit 127\n"
            f"({self._tmux_start_session}) || exit\n"
            # After the session, as harbor does: the pane keeps tmux's own limit.
            "tmux set-option -g history-limit 10000000\n"
            f"end=$((SECONDS + {_FIRST_SCREEN_SEC}))\n"
            f"until tmux capture-pane -p -t {name} | grep -q . || [ $SECONDS -ge $end ]; do\n"
            "sleep 0.05; done\n"
            f"tmux display-message -p -t {name} '#{{pane_pid}}'"
        )
        if result.return_code == 127:  # noqa: PLR2004 - what a shell says of a missing command
            raise AgentSetupError(
                "The sandbox has no tmux, which terminus-2 types into: put it into the image."
            )
        self._holder = (result.stdout or "").strip().rpartition("\n")[2]
        if result.return_code != 0 or not self._holder.isdecimal():
            raise AgentSetupError(f"tmux does not start in the sandbox: {_said(result)}")

    @override
    async def is_session_alive(self) -> bool:
        """Whether the shell lived when the screen was last read."""
        return self._alive

    @override
    async def send_keys(
        self,
        keys: str | list[str],
        block: bool = False,
        min_timeout_sec: float = 0.0,
        max_timeout_sec: float = 180.0,
    ) -> None:
        """Type; see harbor. NUL, which no terminal takes from tmux, is left out."""
        batch = [keys] if isinstance(keys, str) else keys
        batch = [key.replace("\0", "") for key in batch]
        await super().send_keys(batch, block, min_timeout_sec, max_timeout_sec)
        self.commands += any(batch)

    @override
    async def get_incremental_output(self) -> str:
        """harbor's, with both captures and the shell's state in one call of the sandbox."""
        captures = [self._tmux_capture_pane(capture_entire=whole) for whole in (True, False)]
        border = f"printf %s {self._border}"
        result = await self._exec(
            f"{captures[0]} && {border} && {captures[1]} && {border} && "
            f"if [ -e {self._over} ]; then printf over; fi"
        )
        parts = (result.stdout or "").split(self._border)
        if len(parts) != 3:  # noqa: PLR2004 - whole buffer, screen, state
            self._alive = False
            raise TerminalLostError(f"The terminal is gone: {_said(result)}")
        whole, screen, state = parts
        self._alive = not state
        known, self._previous_buffer = self._previous_buffer, whole
        if known is None:
            return f"Current Terminal Screen:\n{screen}"
        new = self._new_content(known, whole)
        if new is not None and new.strip():
            return f"New Terminal Output:\n{new}"
        return f"Current Terminal Screen:\n{screen}"

    @staticmethod
    def _new_content(known: str, whole: str) -> str | None:
        # As harbor does it, to the letter: it is what the model sees.
        known = known.strip()
        if known not in whole:
            return None
        start = known.rfind("\n") if "\n" in known else whole.index(known)
        return whole[start:]

    @override
    def _send_keys_error(self, action: str, command: str, result: ExecResult) -> RuntimeError:
        # Typed RuntimeError by harbor; what it is raised as, is what matters.
        raise TerminalLostError(f"The terminal takes no keys: {_said(result)}")

    async def end(self) -> None:
        """Kill the shell, its foreground job and what that started; background jobs live on.

        Nothing can be typed afterwards.
        """
        self._closed = True
        if not self._holder:
            return
        name = shlex.quote(self._session_name)
        pane = await self._sandbox.exec(
            f"tmux display-message -p -t {name} '#{{pane_pid}}'",
            user=self._user,
            timeout_sec=_END_LIMIT_SEC,
        )
        typed_into = (pane.stdout or "").strip()
        script = shlex.quote(_END_FOREGROUND.read_text())
        await self._sandbox.exec(
            f"bash -c {script} end_foreground {self._holder} "
            f"{typed_into if typed_into.isdecimal() else ''}",
            user="root",
            timeout_sec=_END_LIMIT_SEC,
        )

    async def _exec(self, command: str) -> ExecResult:
        return await self.environment.exec(command=command, user=self._user)

    @property
    def environment(self) -> BaseEnvironment:
        """The sandbox; closed to the agent once its time is over."""
        if self._closed:
            raise TerminalLostError("The agent's time is over: nothing is typed any more.")
        return self._sandbox

    @environment.setter
    def environment(self, sandbox: BaseEnvironment) -> None:
        self._sandbox = sandbox


def _said(result: ExecResult) -> str:
    return (result.stderr or result.stdout or f"exit code {result.return_code}").strip()[:300]
