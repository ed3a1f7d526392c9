"""Settings by their flat names, and what became of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from tbeval.records.base import Record

NOT_SET = "not set"


class SettingChange(Record):
    """A setting that two descriptions of a run do not share.

    Attributes:
        setting: Its flat name (`sampling.top_p`).
        then: Its value in the first, as text.
        now: In the second.
    """

    setting: str
    then: str
    now: str

    def __str__(self) -> str:
        return f"{self.setting}: {self.then} \N{RIGHTWARDS ARROW} {self.now}"


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings as `sampling.top_p` and value."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def changed_settings(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[SettingChange, ...]:
    """Settings that differ, by name; None is the same as not set."""
    before, after = ({k: v for k, v in flat(each) if v is not None} for each in (then, now))
    return tuple(
        SettingChange(
            setting=name,
            then=str(before.get(name, NOT_SET)),
            now=str(after.get(name, NOT_SET)),
        )
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )
