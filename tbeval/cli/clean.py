"""`tbeval clean`: remove what killed runs left on this machine."""

import rich_click as click


@click.command("clean")
@click.option("--dry-run", is_flag=True, help="Say what would be removed; remove nothing.")
def command(*, dry_run: bool) -> None:
    """Remove what runs that were killed left behind: sandboxes and scratch directories.

    Results and reports stay, and so does everything of runs that are going on. The next run
    cleans up, too.
    """
    from tbeval.reports.escape import visible
    from tbeval.runs.cleaning import leftovers

    found = leftovers()
    for leftover in found:
        done = "would remove" if dry_run else "removed" if leftover.remove() else "cannot remove"
        click.echo(visible(f"{done}: {leftover.what}"))
    if not found:
        click.echo("nothing is left of any run that was killed")
