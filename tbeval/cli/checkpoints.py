"""`tbeval checkpoints`: list what can be evaluated, and which servers answer."""

from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tbeval.settings.base import SettingsError
    from tbeval.settings.checkpoint import Checkpoint
    from tbeval.settings.checkpoints import Catalogue

_PROBE_SEC = 20.0  # a server that needs longer to list its models does not answer
_NO_MODEL = "no model"


@click.command("checkpoints")
@click.argument("pattern", default="*")
@click.option("--probe", is_flag=True, help="Ask each server whether it serves the model.")
def command(pattern: str, *, probe: bool) -> None:
    """List the known checkpoints, or those that match PATTERN.

    They come with tbeval, from ~/.config/tbeval/checkpoints.toml and from ./checkpoints.toml.
    """
    import asyncio

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tbeval.reports.escape import visible
    from tbeval.settings.checkpoints import load_checkpoints

    catalogue = load_checkpoints()
    found = {name: _usable(catalogue, name) for name in catalogue.matching(pattern)}
    columns: tuple[str, ...] = ("checkpoint", "label", "agent", "subset", "endpoint")
    rows = [_row(name, one) for name, one in found.items()]
    if probe:
        answers = asyncio.run(_answers(found.values()))
        columns = ("checkpoint", "endpoint", "answers")
        listed = zip(found.items(), answers, strict=True)
        rows = [(name, _endpoint(one), answer) for (name, one), answer in listed]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in {"checkpoint", "endpoint"})
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(table)


def _usable(catalogue: "Catalogue", name: str) -> "Checkpoint | SettingsError":
    """The checkpoint, or why it cannot be used now: that must not hide the others."""
    from tbeval.settings.base import SettingsError

    try:
        return catalogue.get(name)
    except SettingsError as error:
        return error


def _row(name: str, one: "Checkpoint | SettingsError") -> tuple[str, ...]:
    if isinstance(one, Exception):
        return name, str(one), "", "", ""
    return name, one.label, one.agent, one.subset or "-", _endpoint(one)


def _endpoint(one: "Checkpoint | SettingsError") -> str:
    if isinstance(one, Exception):
        return "-"
    return "embedded" if one.embedded else ", ".join(one.base_urls) or _NO_MODEL


async def _answers(found: "Iterable[Checkpoint | SettingsError]") -> list[str]:
    import asyncio

    return list(await asyncio.gather(*(_answer(one) for one in found)))


async def _answer(one: "Checkpoint | SettingsError") -> str:
    if isinstance(one, Exception):
        return str(one)
    answer = "no" if not one.base_urls else await _asked(one)
    if not answer.startswith("yes") and one.embedded is not None:
        return "started when needed"
    return _NO_MODEL if not one.base_urls else answer


async def _asked(one: "Checkpoint") -> str:
    import asyncio

    from tbeval.models.endpoint import Endpoint, EndpointError
    from tbeval.models.probe import probe_replicas
    from tbeval.settings.base import SettingsError

    try:
        async with asyncio.timeout(_PROBE_SEC):
            _, identity = await probe_replicas(Endpoint.replicas_of(one))
    except TimeoutError:
        return f"no: nothing came within {_PROBE_SEC:.0f} s"
    except (SettingsError, EndpointError) as error:
        return f"no: {error}"
    engine = f", {identity.engine}" if identity.engine else ""
    return f"yes: {identity.served_model}, context {identity.context_window}{engine}"
