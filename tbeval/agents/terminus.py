"""terminus-2, as harbor has it, made fit to be measured with."""

import hashlib
from pathlib import Path
from typing import Any, override

from harbor.agents.terminus_2.terminus_2 import Command, Terminus2
from harbor.environments.base import BaseEnvironment
from harbor.llms.base import (
    ContextLengthExceededError,
    LLMResponse,
    OutputLengthExceededError,
)
from harbor.llms.chat import Chat
from harbor.models.agent.context import AgentContext
from harbor.models.trial.paths import EnvironmentPaths

from tbeval.agents.base import Progress, TimedAgent
from tbeval.agents.llm import GatewayLLM
from tbeval.agents.replies import TolerantParser
from tbeval.agents.terminal import Terminal
from tbeval.agents.versions import TERMINUS_VERSION
from tbeval.records.outcome import StopReason

#: Replies cut off one after the other before the agent gives up; harbor would go on for ever.
MAX_CUT_OFF = 3

#: Turns in a row that needed a summary of the conversation. More says that the summary itself
#: fills the window: every turn would cost four calls and lead nowhere.
MAX_SUMMARIES_IN_A_ROW = 3


def summary_threshold(context_window: int) -> int:
    """Free tokens below which terminus-2 summarises the conversation before it overflows.

    harbor's 8000 suits windows of 32k and more, and stays so there. It is more than an 8k window
    has free after the first prompt (about 1,500 tokens), so that every turn began with a summary.
    A quarter of the window leaves three quarters to work in, and at 8k (2,048 free) still holds a
    usual screen (up to 40 lines) and a usual reply. One that is larger overflows, and
    terminus-2 summarises then.
    """
    return min(8000, context_window // 4)


class Terminus2Agent(TimedAgent, Terminus2):
    """harbor's terminus-2 with the gateway's model, our terminal and our ends.

    What the model sees is harbor's: prompts, screens, summaries, error texts.

    Args:
        logs_dir: For harbor's trajectory files.
        model_name: `openai/<served model>`.
        turn_limit: See `TimedAgent`.
        api_base: The trial's `…/v1` at the gateway.
        context_window: Tokens of prompt and reply together.
        output_limit: Tokens of one reply, if limited.
        parser_name: `json` or `xml`.
        enable_summarize: Summarise a conversation that outgrows the window, or else end there.
        **kwargs: For `TimedAgent` and harbor's class.
    """

    def __init__(
        self,
        logs_dir: Path,
        model_name: str,
        *,
        turn_limit: int,
        api_base: str,
        context_window: int,
        output_limit: int | None = None,
        parser_name: str = "json",
        enable_summarize: bool = True,
        **kwargs: Any,
    ) -> None:
        self._llm: GatewayLLM
        self._context_window = context_window
        self._output_limit = output_limit
        self._terminal: Terminal | None = None
        super().__init__(
            logs_dir=logs_dir,
            model_name=model_name,
            turn_limit=turn_limit,
            max_turns=turn_limit,
            suppress_max_turns_warning=True,
            api_base=api_base,
            parser_name=parser_name,
            enable_summarize=enable_summarize,
            proactive_summarization_threshold=summary_threshold(context_window),
            record_terminal_session=False,  # asciinema is in no sandbox of ours
            **kwargs,
        )
        self._turns = self._parse_errors = 0
        self._cut_off = 0
        self._summarized = self._summaries_in_a_row = 0
        self._prompt_sha256 = ""
        self._confirmed = False

    @override
    def version(self) -> str:
        return TERMINUS_VERSION

    @override
    def _init_llm(self, *_: Any, **kwargs: Any) -> GatewayLLM:
        return GatewayLLM(
            base_url=kwargs["api_base"],
            served_model=kwargs["model_name"].removeprefix("openai/"),
            context_window=self._context_window,
            output_limit=self._output_limit,
        )

    @override
    def _get_parser(self) -> TolerantParser:
        return TolerantParser(super()._get_parser())

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Start the terminal.

        Raises:
            AgentSetupError: The sandbox has no tmux; it is not installed behind the task's back.
        """
        self._terminal = self._session = Terminal(
            session_name=self.name(),
            environment=environment,
            logging_path=EnvironmentPaths.agent_dir / "terminus_2.pane",
            local_asciinema_recording_path=None,
            remote_asciinema_recording_path=None,
            pane_width=self.options.tmux_pane_width,
            pane_height=self.options.tmux_pane_height,
            extra_env=self._extra_env,
            user=environment.default_user,
        )
        await self._terminal.start()

    @override
    async def run_agent(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        try:
            await super().run_agent(instruction, environment, context)
        finally:
            # harbor's sums leave out the replies that were cut off.
            context.n_input_tokens = self._llm.tokens_in
            context.n_output_tokens = self._llm.tokens_out
            context.n_cache_tokens = self._llm.tokens_cached
            context.metadata = {**(context.metadata or {}), "parse_errors": self._parse_errors}

    @override
    async def end_foreground(self, environment: BaseEnvironment) -> None:
        await self._llm.close()
        if self._terminal is not None:
            await self._terminal.end()

    @override
    def progress(self) -> Progress:
        commands = self._terminal.commands if self._terminal is not None else 0
        return Progress(self._turns, commands, self._prompt_sha256)

    @override
    def stop_reason(self) -> StopReason:
        if self._confirmed or self._turns < self.turn_limit:
            return StopReason.FINISHED  # it said so twice, or left its shell
        if self._parse_errors == self._turns:
            return StopReason.PARSE_ERRORS
        return StopReason.TURN_LIMIT

    @override
    async def _run_agent_loop(
        self, initial_prompt: str, chat: Chat, original_instruction: str = ""
    ) -> None:
        self._prompt_sha256 = hashlib.sha256(initial_prompt.encode()).hexdigest()
        await super()._run_agent_loop(initial_prompt, chat, original_instruction)

    @override
    async def _handle_llm_interaction(
        self,
        chat: Chat,
        prompt: str,
        original_instruction: str = "",
        session: Terminal | None = None,
    ) -> tuple[list[Command], bool, str, str, str, LLMResponse]:
        answer: tuple[list[Command], bool, str, str, str, LLMResponse]
        answer = await super()._handle_llm_interaction(chat, prompt, original_instruction, session)
        _, complete, feedback, *_ = answer
        self._turns += 1
        failed = "ERROR:" in feedback  # harbor's own test
        self._parse_errors += failed
        self._confirmed = complete and self._pending_completion and not failed
        self._bound_summaries()
        return answer

    def _bound_summaries(self) -> None:
        again = self._summarization_count > self._summarized
        self._summarized = self._summarization_count
        self._summaries_in_a_row = self._summaries_in_a_row + 1 if again else 0
        if self._summaries_in_a_row > MAX_SUMMARIES_IN_A_ROW:
            raise ContextLengthExceededError(
                f"{self._summaries_in_a_row} turns in a row needed a summary of the conversation: "
                "the window is too small for the task."
            )

    @override
    async def _query_llm(
        self,
        chat: Chat,
        prompt: str,
        original_instruction: str = "",
        session: Terminal | None = None,
    ) -> LLMResponse:
        """harbor's, without its retries; it calls itself when a reply was cut off."""
        if self._cut_off >= MAX_CUT_OFF:
            raise OutputLengthExceededError(
                f"{MAX_CUT_OFF} replies in a row were cut off at the model's output limit."
            )
        self._cut_off += 1
        try:
            once = Terminus2._query_llm.__wrapped__  # noqa: SLF001 - what tenacity wraps
            response = await once(self, chat, prompt, original_instruction, session)
        finally:
            self._cut_off -= 1
        if isinstance(response, str):  # the xml parser's salvage of a cut-off reply
            chat.messages.append({"role": "user", "content": prompt})
            chat.messages.append({"role": "assistant", "content": response})
            return LLMResponse(content=response)
        if self._llm.failure is not None:
            # harbor makes "technical difficulties" of it and goes on.
            raise self._llm.failure
        return response
