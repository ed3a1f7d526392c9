"""From a checkpoint and the resolved options to harbor's AgentConfig."""

from typing import Any

from harbor.models.trial.config import AgentConfig

from tbeval.agents.versions import REFERENCE_VERSION, TERMINUS_VERSION
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import AgentName, Checkpoint

_IMPORT_PATHS: dict[str, str] = {
    "terminus-2": "tbeval.agents.terminus:Terminus2Agent",
    "oracle": "tbeval.agents.reference:OracleAgent",
    "nop": "tbeval.agents.reference:NopAgent",
}

_VERSIONS: dict[str, str] = {
    "terminus-2": TERMINUS_VERSION,
    "oracle": REFERENCE_VERSION,
    "nop": REFERENCE_VERSION,
}

#: harbor's own limit cannot pause: it lies so far above ours that no outage reaches it.
_BACKSTOP_SEC = 24 * 3600.0


def agent_config(
    *,
    checkpoint: Checkpoint,
    agent: AgentName,
    served_model: str | None,
    base_url: str | None,
    context_window: int | None,
    time_limit_sec: float,
    turn_limit: int,
) -> AgentConfig:
    """Harbor's description of an agent for one trial.

    Args:
        checkpoint: Its sampling, parser and summaries count.
        agent: Which one; the checkpoint's own is not asked.
        served_model: As the endpoint names it; for agents that ask a model.
        base_url: The trial's `http://127.0.0.1:PORT/<token>/t/<trial>/v1`; likewise.
        context_window: Tokens; likewise.
        time_limit_sec: Seconds on the agent's clock.
        turn_limit: Replies of the model that the agent acts on.

    Raises:
        SettingsError: The agent comes later, or lacks its model.
    """
    kwargs: dict[str, Any] = {"time_limit_sec": time_limit_sec, "turn_limit": turn_limit}
    model_name = None
    if _import_path(agent) == _IMPORT_PATHS["terminus-2"]:
        if served_model is None or base_url is None:
            raise SettingsError(
                f"The agent {agent} asks a model, and checkpoint {checkpoint.id} serves none: "
                "give it a base_url and a served_model, or take --agent oracle or nop."
            )
        if context_window is None:
            raise SettingsError(
                f"The server of checkpoint {checkpoint.id} does not tell its context window: "
                "set context_window in checkpoints.toml."
            )
        model_name = f"openai/{served_model}"
        kwargs |= {
            "clock_url": base_url.removesuffix("/v1") + "/clock",
            "api_base": base_url,
            "context_window": context_window,
            "output_limit": checkpoint.sampling.max_tokens,
            "parser_name": checkpoint.parser,
            "enable_summarize": checkpoint.summarize,
            "interleaved_thinking": checkpoint.thinking_in_history,
        }
    return AgentConfig(
        import_path=_import_path(agent),
        model_name=model_name,
        skip_model_parsing=model_name is not None,
        override_timeout_sec=time_limit_sec + _BACKSTOP_SEC,
        kwargs=kwargs,
    )


def protocol_name(checkpoint: Checkpoint, agent: AgentName) -> str:
    """What the model sees on the wire, in a word.

    Raises:
        SettingsError: The agent comes later.
    """
    _import_path(agent)
    return f"{agent}/{checkpoint.parser}" if agent == "terminus-2" else agent


def agent_version(agent: AgentName) -> str:
    """The version of an agent, as harbor's results have it too.

    Raises:
        SettingsError: The agent comes later.
    """
    _import_path(agent)
    return _VERSIONS[agent]


def _import_path(agent: AgentName) -> str:
    path = _IMPORT_PATHS.get(agent)
    if path is None:
        raise SettingsError(f"The agent {agent} comes with a later version: take terminus-2.")
    return path
