"""The `tbeval` command: finds the subcommand, turns a user's mistake into one line and exit 2."""

import errno
import importlib
import io
import os
import sys
from typing import override

import rich_click as click
from click.exceptions import Exit

from tbeval import __version__

#: Subcommand -> the module that holds it as `command`, in the order of the help page.
_COMMANDS = {
    "eval": "tbeval.cli.eval",
    "show": "tbeval.cli.show",
    "report": "tbeval.cli.report",
    "status": "tbeval.cli.status",
    "runs": "tbeval.cli.runs",
    "checkpoints": "tbeval.cli.checkpoints",
    "tasks": "tbeval.cli.tasks",
    "serve": "tbeval.cli.serve",
    "doctor": "tbeval.cli.doctor",
    "clean": "tbeval.cli.clean",
    "import": "tbeval.cli.import_",
    "export": "tbeval.cli.export",
    "freeze": "tbeval.cli.freeze",
    "power": "tbeval.cli.power",
    "compare": "tbeval.cli.compare",
    "gate": "tbeval.cli.gate",
}

#: Commands that are announced but not there yet: they say so and exit with 2.
_LATER = ("protocols",)


class LazyGroup(click.RichGroup):
    """Imports a subcommand's module only when it is asked for."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _LATER:
            raise click.UsageError(f"tbeval {cmd_name} comes with a later version.")
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name]).command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tbeval")
def cli() -> None:
    """Find out whether a checkpoint of a terminal agent really got better.

    Start with `tbeval eval smollm2`; `tbeval checkpoints` lists what can be evaluated.
    """


def main() -> None:
    """Run the command line; the process ends here.

    Exit codes: 0 done, 1 an error of ours, 2 a mistake in what was asked, 130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an ASCII log gets \xd7 for ×
    try:
        code = cli.main(standalone_mode=False)
    except Exit as exit_:
        code = exit_.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        # The reader went away (`tbeval show | head`): not an error, and nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        click.echo(f"tbeval: {sentence}", err=True)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def _sentence(error: Exception) -> str | None:
    """What to tell a user about an error that is theirs to mend; None if it is ours."""
    from tbeval.records.ledger import LedgerError
    from tbeval.records.run import RunFileError
    from tbeval.reports.escape import visible
    from tbeval.settings.base import SettingsError

    kinds: list[type[Exception]] = [SettingsError, LedgerError, RunFileError]
    # The following are raised only where their modules are loaded already.
    for module, name in (
        ("tbeval.models.endpoint", "EndpointError"),
        ("tbeval.sandboxes.errors", "SandboxStartError"),
    ):
        if module in sys.modules:
            kinds.append(getattr(sys.modules[module], name))
    if isinstance(error, tuple(kinds)):
        return visible(str(error))
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        where = f" ({error.filename})" if error.filename else ""
        return (
            f"the disk is full{where}. Everything before is intact: free space and run the same "
            "command again."
        )
    if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        where = visible(str(error.filename or "a file"))
        return f"{where} cannot be used ({error.strerror}): mend its permissions or its owner."
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return "the working directory is gone: change into one that exists."
    if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
        return (
            "too many files are open for so many trials at once: use a smaller -j, or raise the "
            "limit (ulimit -n). Everything before is intact."
        )
    return None
