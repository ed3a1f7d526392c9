"""One OpenAI-compatible reverse proxy between all agents and the served model."""

from tbeval.models.gateway.server import Gateway
from tbeval.models.gateway.trial import TrialUsage

__all__ = ["Gateway", "TrialUsage"]
