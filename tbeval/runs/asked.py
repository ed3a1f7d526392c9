"""What a request asks for: checked, described, and the run found that it leads to.

Nothing that runs trials is imported here: a run that is finished is told of without it.
"""

from tbeval.runs.describe import describe_run
from tbeval.runs.finding import Finding, Request
from tbeval.runs.finding import find as find_run
from tbeval.runs.store import check_writable
from tbeval.sandboxes.docker import tasks as docker_tasks
from tbeval.sandboxes.errors import UnsupportedTaskError
from tbeval.sandboxes.limits import granted_limits
from tbeval.sandboxes.tasks import check_environment, wants_network
from tbeval.settings.base import SettingsError


def find(request: Request) -> Finding:
    """The run that a request leads to; see `tbeval.runs.finding`.

    Raises:
        SettingsError: The results directory cannot be written, a task needs another sandbox, or an
            unfinished run has other settings.
        LedgerError: The run's ledger was changed by something else.
    """
    check_writable(request.results_dir, "--results-dir")
    _check_tasks(request)
    limits = granted_limits() if request.options.sandbox == "bubblewrap" else ()
    run = describe_run(request.checkpoint, request.options, request.subset, request.tasks, limits)
    return find_run(request, run)


def _check_tasks(request: Request) -> None:
    """Refuse tasks that the sandbox cannot set up, before any of them runs."""
    for task in request.tasks:
        environment = task.path / "environment"
        try:
            if request.options.sandbox == "docker":
                docker_tasks.check_environment(environment, docker_tasks.image_of(task.path))
                continue
            check_environment(environment, None)
            wants_network(environment)
        except UnsupportedTaskError as error:
            raise SettingsError(str(error)) from error
