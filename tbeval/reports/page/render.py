"""From content to HTML: everything foreign becomes visible text, and nothing else."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tbeval.records.setting import flat
from tbeval.reports.comparing import points
from tbeval.reports.comparison_views import HEADS, METHOD, row_cells
from tbeval.reports.escape import visible, visible_lines
from tbeval.reports.page import endings, forest, heatmap, leaderboard, verdicts
from tbeval.reports.page.content import Content
from tbeval.reports.page.method import MEANINGS
from tbeval.reports.page.reading import capped
from tbeval.reports.words import counts

_FOLDER = "templates/page"


def index_html(content: Content, *, linked: bool = True) -> str:
    """The page of a report.

    Args:
        content: What it shows.
        linked: Whether there are trial pages to link to.
    """
    return _render(
        "index.html.j2",
        content=content,
        linked=linked,
        verdicts=verdicts.verdicts(content),
        warnings=verdicts.warnings(content),
        completeness_heads=verdicts.COMPLETENESS_HEADS,
        completeness=[verdicts.completeness(shown) for shown in content.shown],
        lines=leaderboard.lines(content),
        scale=leaderboard.scale(content),
        forest=forest.forest(content.comparison),
        comparison_heads=HEADS,
        comparison_rows=[row_cells(row) for row in content.comparison.rows]
        if content.comparison
        else [],
        comparison_method=METHOD,
        rows=heatmap.rows(content),
        endings=endings.endings(content),
        reach=endings.reach(endings.endings(content)),
        stop_reasons=endings.reasons(each.stops for each in endings.endings(content)),
        unscored_reasons=endings.reasons(each.unscored for each in endings.endings(content)),
        meanings=MEANINGS,
        settings=[(shown, sorted(flat(shown.results.run.scoring))) for shown in content.shown],
    )


def trial_html(**values: Any) -> str:
    """The page of a trial; see its template for the values."""
    return _render("trial.html.j2", **values)


@cache
def template_digest() -> str:
    """A checksum of all templates: pages made from others are made anew."""
    folder = files("tbeval.reports") / _FOLDER
    parts = sorted((item.name, item.read_bytes()) for item in folder.iterdir() if item.is_file())
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _render(name: str, **values: Any) -> str:
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tbeval.reports", _FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style, script = (_source(name) for name in ("style.css", "script.js"))
    environment.globals.update(
        # these two are ours, and hold no `</`: a test looks
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=(
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
        interval_text=leaderboard.interval_text,
    )
    environment.filters.update(
        rate=leaderboard.rate,
        counts=counts,
        points=points,
        lines=_lines,
        kind=_kind,
    )
    return environment


def _shown(value: Any) -> Any:
    """One line of text; a name or a message of megabytes is cut in its middle."""
    if isinstance(value, Markup):
        return value
    return visible(capped(str(value), 2000, 500))


def _lines(text: str) -> Markup:
    """Text of several lines, for `<pre>`: its ends of lines stay, all else is made visible."""
    return Markup.escape(visible_lines(capped(text, 20_000, 10_000)))


def _kind(reason: str) -> str:
    """The class that colours a stop reason."""
    known = {
        "finished": "finished",
        "turn limit": "turns",
        "time limit": "time",
        "context limit": "context",
        "output limit": "context",
    }
    return known.get(reason, "other")


def _source(name: str) -> str:
    return (files("tbeval.reports") / _FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
