"""`tbeval checkpoints`: list what can be evaluated, and which servers answer."""

import asyncio
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
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
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tbeval.reports.escape import visible
    from tbeval.settings.checkpoints import load_checkpoints

    catalogue = load_checkpoints()
    names = catalogue.matching(pattern)
    columns = ["checkpoint", "label", "agent", "subset", "endpoint"] + ["answers"] * probe
    rows = [_row(catalogue, name) for name in names]
    if probe:
        answers = asyncio.run(_probe_all([_readable(catalogue, name) for name in names]))
        rows = [(*row, answer) for row, answer in zip(rows, answers, strict=True)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in {"checkpoint", "endpoint"})
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(table)


def _row(catalogue: "Catalogue", name: str) -> tuple[str, ...]:
    from tbeval.settings.base import SettingsError

    try:
        checkpoint = catalogue.get(name)
    except SettingsError as error:  # a variable that is not set must not hide the others
        return name, str(error), "", "", ""
    public = checkpoint.public()
    endpoint = public["base_url"] or (_NO_MODEL if checkpoint.embedded is None else "embedded")
    return name, checkpoint.label, checkpoint.agent, checkpoint.subset or "-", endpoint


def _readable(catalogue: "Catalogue", name: str) -> "Checkpoint | None":
    from tbeval.settings.base import SettingsError

    try:
        return catalogue.get(name)
    except SettingsError:
        return None


async def _probe_all(checkpoints: "list[Checkpoint | None]") -> list[str]:
    return list(await asyncio.gather(*(_answer(one) for one in checkpoints)))


async def _answer(checkpoint: "Checkpoint | None") -> str:
    from tbeval.models.endpoint import Endpoint, EndpointError
    from tbeval.models.probe import probe
    from tbeval.settings.base import SettingsError

    if checkpoint is None:
        return "not asked"
    if checkpoint.base_url is None:
        return "started when needed" if checkpoint.embedded else _NO_MODEL
    try:
        async with asyncio.timeout(_PROBE_SEC):
            identity = await probe(Endpoint.of(checkpoint))
    except TimeoutError:
        return f"no: nothing within {_PROBE_SEC:.0f} s"
    except (SettingsError, EndpointError) as error:
        return f"no: {error}"
    return f"yes: {identity.served_model}, context {identity.context_window}"
