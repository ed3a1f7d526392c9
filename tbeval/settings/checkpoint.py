"""A checkpoint: a served model, and how it is to be evaluated."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tbeval.settings.base import Settings

AgentName = Literal["terminus-2", "camel", "oracle", "nop"]
SandboxName = Literal["bubblewrap", "docker"]

#: Agents that ask no model.
MODEL_FREE_AGENTS: frozenset[str] = frozenset({"oracle", "nop"})


class Sampling(Settings):
    """What is sent with every model call, whatever the agent would send.

    None leaves a parameter to the server. `seed` is the run's seed: each call gets one derived
    from it, the task, the attempt and the number of the call.
    """

    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=-1)
    max_tokens: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0, lt=2**31)


class Budget(Settings):
    """What one trial may ask of the model. None: no limit."""

    calls: int | None = Field(None, ge=1)
    output_tokens: int | None = Field(None, ge=1)
    total_tokens: int | None = Field(None, ge=1)


class Embedded(Settings):
    """A model that tbeval serves itself, with llama.cpp's server.

    Attributes:
        gguf: A path to a GGUF file (relative to the file that names it, or `~`), or
            `package:NAME`, the one GGUF file that an installed package carries.
        context_window: Tokens of context for each slot.
        threads: 1 unless the machine is idle: two threads on busy cores are far slower.
        parallel: How many requests are served at once.
        prompt_cache: Reuse the longest common prefix; faster, but a hit may change an answer.
    """

    gguf: str
    context_window: int = Field(8192, ge=512)
    threads: int = Field(1, ge=1)
    parallel: int = Field(2, ge=1)
    prompt_cache: bool = False


class Checkpoint(Settings):
    """One served model and its defaults.

    `None` means "not said here": the run's own defaults apply (`RunOptions`).
    """

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    label: str = ""

    # the endpoint
    base_url: str | None = None
    served_model: str | None = None
    api_key_env: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    ca_file: Path | None = None
    proxy: str | None = None  # a URL; "environment" follows HTTP(S)_PROXY and NO_PROXY
    embedded: Embedded | None = None

    # the model
    sampling: Sampling = Sampling()
    context_window: int | None = Field(None, ge=512)
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    extra_body: dict[str, Any] = Field(default_factory=dict)
    budget: Budget = Budget()

    # how it is evaluated
    agent: AgentName = "terminus-2"
    parser: Literal["json", "xml"] = "json"  # terminus-2's reply format
    protocol: str | None = None  # a protocol profile, for camel
    summarize: bool = True  # terminus-2's context summaries
    subset: str | None = None
    attempts: int | None = Field(None, ge=1)
    sandbox: SandboxName | None = None
    turn_limit: int | None = Field(None, ge=1)
    time_multiplier: float | None = Field(None, gt=0)
    concurrency: int | None = Field(None, ge=1)

    # where it belongs
    series: str | None = None
    rollout: int | None = Field(None, ge=0)
    baseline: str | None = None

    @property
    def needs_model(self) -> bool:
        """Whether its agent asks a model."""
        return self.agent not in MODEL_FREE_AGENTS
