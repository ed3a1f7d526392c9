"""From a checkpoint to harbor's AgentConfig."""

from pathlib import Path

import pytest
from harbor.agents.factory import AgentFactory
from harbor.models.trial.config import AgentConfig

from tbeval.agents.config import agent_config, agent_version, protocol_name
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import AgentName, Checkpoint, Sampling

BASE = "http://127.0.0.1:1234/token/t/trial/v1"


def config(
    agent: AgentName,
    *,
    checkpoint: Checkpoint | None = None,
    served_model: str | None = "org/model",
    base_url: str | None = BASE,
    context_window: int | None = 32768,
) -> AgentConfig:
    return agent_config(
        checkpoint=checkpoint or Checkpoint(id="c"),
        agent=agent,
        served_model=served_model,
        base_url=base_url,
        context_window=context_window,
        time_limit_sec=60.0,
        turn_limit=7,
    )


@pytest.mark.parametrize("agent", ["terminus-2", "oracle", "nop"])
def test_harbor_builds_the_agent_from_what_its_config_file_keeps(
    agent: AgentName, tmp_path: Path
) -> None:
    kept = AgentConfig.model_validate_json(config(agent).model_dump_json())
    built = AgentFactory.create_agent_from_config(kept, logs_dir=tmp_path)
    assert type(built).__module__.startswith("tbeval.agents.")
    assert (built.name(), built.version()) == (agent, agent_version(agent))
    assert (built.time_limit_sec, built.turn_limit) == (60.0, 7)
    assert built.to_agent_info().version == agent_version(agent)


def test_harbors_limit_is_far_above_ours() -> None:
    assert (config("nop").override_timeout_sec or 0) >= 60 + 86400


def test_the_checkpoint_decides_parser_summaries_and_reply_length() -> None:
    checkpoint = Checkpoint(
        id="c", parser="xml", summarize=False, sampling=Sampling(max_tokens=500)
    )
    kwargs = config("terminus-2", checkpoint=checkpoint).kwargs
    assert kwargs["parser_name"] == "xml"
    assert kwargs["enable_summarize"] is False
    assert kwargs["output_limit"] == 500
    assert kwargs["clock_url"] == "http://127.0.0.1:1234/token/t/trial/clock"
    assert protocol_name(checkpoint, "terminus-2") == "terminus-2/xml"
    assert protocol_name(checkpoint, "oracle") == "oracle"


def test_what_is_missing_is_said() -> None:
    with pytest.raises(SettingsError, match=r"context_window in checkpoints\.toml"):
        config("terminus-2", context_window=None)
    with pytest.raises(SettingsError, match="serves none"):
        config("terminus-2", base_url=None)
    for ask in (
        lambda: config("camel"),
        lambda: protocol_name(Checkpoint(id="c"), "camel"),
        lambda: agent_version("camel"),
    ):
        with pytest.raises(SettingsError, match="comes with a later version"):
            ask()
