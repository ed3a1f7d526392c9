"""What a server tells of the model that it serves, and whether that is still the same."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Identity:
    """What an endpoint tells of the model that it serves; None where it tells nothing.

    Attributes:
        served_model: The name under which it answers.
        context_window: Tokens of prompt and reply together.
        model_path: Where the server loaded the weights from.
        weight_version: Of weights that are swapped in place under one name.
        flags: How it was started, as far as that changes replies (`FLAGS` of the probe).
    """

    served_model: str
    context_window: int
    model_path: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    weight_version: str | None = None
    flags: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, str]:
        """What is known, for run.toml."""
        told = {**asdict(self), **self.flags}
        del told["flags"]
        return {name: str(value) for name, value in told.items() if value is not None}


@dataclass(frozen=True)
class Look:
    """One look at a server.

    Attributes:
        identity: What it told.
        silent: The questions that it did not answer at all (time-out, overload): what they would
            have told is not known, which is something else than its being gone.
    """

    identity: Identity
    silent: frozenset[str] = frozenset()


def differences(before: Identity, after: Identity) -> str:
    """What two servers, or one at two times, tell differently, in words; empty if nothing."""
    return _differences(before.as_dict(), after.as_dict())


def changes(before: Look, after: Look) -> str:
    """What is certain to have changed between two looks at one server; empty if nothing.

    What a question would have told that was answered before and is not now does not count.
    """
    told, now = before.identity.as_dict(), after.identity.as_dict()
    if after.silent:
        # The window falls back to the checkpoint's own where the server is silent.
        both = (told.keys() & now.keys()) - {"context_window"}
        told, now = {n: told[n] for n in both}, {n: now[n] for n in both}
    return _differences(told, now)


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    return ", ".join(
        f"{name} {before.get(name, 'not told')} against {after.get(name, 'not told')}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )
