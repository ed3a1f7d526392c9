"""What every settings model has in common: frozen, and unknown keys are errors."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """An immutable value that a user wrote."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class SettingsError(Exception):
    """A user's mistake, in one sentence: what is wrong, where, and what to do."""
