"""The folder of a report: pages, Markdown, data and figures, each written whole or not at all."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tbeval.reports.page.content import Content, file_name
from tbeval.reports.page.data import report_data
from tbeval.reports.page.in_markdown import report_markdown
from tbeval.reports.page.render import index_html
from tbeval.reports.page.trial import key_of, page_of

_HEAD = 2048


@dataclass(frozen=True)
class Written:
    """What was written: the page, and how many trial pages there are and were made anew."""

    index: Path
    trial_pages: int
    renewed: int


def write_folder(
    content: Content, directory: Path, *, trials: bool = True, figures: bool = True
) -> Written:
    """Write a report into a folder; what is there under the same names is replaced.

    Args:
        content: What it shows.
        directory: The folder; made if absent.
        trials: Whether each trial gets its page. A page whose trial did not change is left alone.
        figures: Whether to draw pictures, too.

    Raises:
        OSError: It cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    pages = renewed = 0
    for made in _trial_pages(content, directory) if trials else ():
        pages += 1
        renewed += made
    pictures: tuple[str, ...] = ()
    if figures:
        from tbeval.reports.page.figures import write_figures  # noqa: PLC0415 - slow to import

        pictures = write_figures(content, directory)
    data = json.dumps(report_data(content), indent=1, ensure_ascii=False, default=str)
    _write(directory / "report.json", data.encode(errors="replace"))
    _write(directory / "report.md", report_markdown(content, pictures).encode(errors="replace"))
    _write(directory / "index.html", index_html(content, linked=trials).encode(errors="replace"))
    return Written(directory / "index.html", pages, renewed)


def _trial_pages(content: Content, directory: Path) -> Iterator[bool]:
    """Per trial, whether its page was made anew."""
    for shown in content.shown:
        folder = directory / shown.folder
        folder.mkdir(parents=True, exist_ok=True)
        for trial in shown.results.trials:
            path = directory / shown.page_of(trial.trial_id)
            key = key_of(content, shown, trial)
            if _key_in(path) == key:
                yield False
                continue
            html, archive = page_of(content, shown, trial, key)
            if archive:
                _write(folder / f"{file_name(trial.trial_id)}.zip", archive)
            _write(path, html.encode(errors="replace"))
            yield True


def _key_in(path: Path) -> str:
    """The key that a page was made with; empty if there is no such page."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).decode(errors="replace")
    except OSError:
        return ""
    _, _, rest = head.partition('<meta name="tbeval-key" content="')
    return rest.partition('"')[0]


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
