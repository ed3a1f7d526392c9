"""What every record has in common: frozen, strict about keys, one line of JSON."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable value that one part of tbeval writes and another reads."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
    )
