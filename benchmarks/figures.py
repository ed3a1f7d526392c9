"""What a benchmark found, and on which machine; as lines for a screen and as a Markdown table."""

import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from tbeval import __version__


@dataclass(frozen=True)
class Figure:
    """One number, and what it should be.

    Attributes:
        benchmark: The module that measured it.
        name: What it is.
        value: As measured.
        unit: `×` for ratios.
        bound: It should not be above this; None where there is no bound.
        note: What it was made of.
        load: The machine's load (mean number of runnable processes over the last minute) right
            after; what is well above the benchmark's own says that others were at work.
    """

    benchmark: str
    name: str
    value: float
    unit: str
    bound: float | None = None
    note: str = ""
    load: float = 0.0

    @classmethod
    def now(
        cls,
        benchmark: str,
        name: str,
        value: float,
        unit: str,
        *,
        bound: float | None = None,
        note: str = "",
    ) -> Self:
        """A figure with the load as it is."""
        return cls(benchmark, name, value, unit, bound, note, round(os.getloadavg()[0], 1))

    @property
    def verdict(self) -> str:
        """`held`, `missed`, or nothing without a bound."""
        if self.bound is None:
            return ""
        return "held" if self.value <= self.bound else "missed"

    @property
    def shown(self) -> str:
        """The value with its unit."""
        digits = 2 if abs(self.value) < 100 else 0  # noqa: PLR2004 - three figures say enough
        return f"{self.value:.{digits}f} {self.unit}"


def write(path: Path, figures: Iterable[Figure]) -> None:
    """Keep figures as JSON lines."""
    path.write_text("".join(json.dumps(asdict(figure)) + "\n" for figure in figures))


def read(path: Path) -> list[Figure]:
    """The figures that `write` kept."""
    return [Figure(**json.loads(line)) for line in path.read_text().splitlines()]


def show(figures: Iterable[Figure]) -> str:
    """Lines for a screen."""
    return "\n".join(
        f"{figure.benchmark}: {figure.name}: {figure.shown}"
        + (f" (bound {figure.bound:g}: {figure.verdict})" if figure.bound is not None else "")
        + (f"; {figure.note}" if figure.note else "")
        + f"; load {figure.load:g}"
        for figure in figures
    )


def markdown(figures: Sequence[Figure], *, quick: bool, now: datetime | None = None) -> str:
    """A page with all figures, the date, the machine and the versions."""
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("harbor", "litellm", "aiohttp")
    )
    moment = now or datetime.now(UTC)
    head = (
        "# What `make bench` measured\n\n"
        f"{moment:%Y-%m-%d %H:%M} UTC, {'quick' if quick else 'in full'}; "
        f"{os.cpu_count()} cores, {_memory_gb():.0f} GB, Linux {platform.release()}; "
        f"Python {platform.python_version()}, tbeval {__version__}, {versions}. "
        "docs/benchmarks.md says what each figure is.\n\n"
        "| benchmark | what | value | bound | | made of | load |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    return head + "".join(_row(figure) for figure in figures)


def _row(figure: Figure) -> str:
    bound = "" if figure.bound is None else f"≤ {figure.bound:g}"
    cells = (
        figure.benchmark,
        figure.name,
        figure.shown,
        bound,
        figure.verdict,
        figure.note,
        f"{figure.load:g}",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
