"""One evaluation: begin the run or go on, keep the model served, run its cells, leave it whole."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from tbeval.models.gateway import Gateway
from tbeval.models.watch import IdentityWatch
from tbeval.records.ledger import LedgerWriter, TrialRecord, repair_ledger
from tbeval.records.run import write_run
from tbeval.records.scratch import scratch_directory
from tbeval.runs.cleaning import clean
from tbeval.runs.concurrency import raise_file_limit
from tbeval.runs.finding import Finding, Request
from tbeval.runs.following import calls_at, following, longest_limits
from tbeval.runs.history import verified_before
from tbeval.runs.lock import RunLock, run_lock
from tbeval.runs.logs import run_log
from tbeval.runs.plan import Cell, next_try
from tbeval.runs.preflight import Subject, before_run
from tbeval.runs.progress import PlainProgress
from tbeval.runs.sandboxes import check_sandbox, release_sandboxes
from tbeval.runs.scheduler import Scheduler
from tbeval.runs.serving import serving_replicas
from tbeval.runs.stopping import (
    DOWN_SEC,
    Interrupts,
    interrupts,
    while_answering,
    while_same_model,
)
from tbeval.runs.store import create_run, ledger_path
from tbeval.runs.trial import Model, TrialRunner
from tbeval.sandboxes.building import builds_at_once
from tbeval.settings.base import SettingsError

#: How long a trial waits for an endpoint that is down before it becomes unscored; by then the run
#: has been stopped, unless other replicas answer.
PATIENCE_SEC = 2 * DOWN_SEC
#: Between two checks that the endpoint still serves the same model.
IDENTITY_SEC = 180.0


async def evaluate(request: Request, finding: Finding, listener: PlainProgress) -> Path:
    """Run the open cells of a finding; returns the run's directory.

    An interrupt (SIGINT, SIGTERM) ends running trials as cancelled and returns early; a second
    one ends the process at once. One that comes before the trials begin ends the evaluation.

    Raises:
        ModelChangedError: The endpoint serves another model than before.
        SettingsError: The endpoint, the sandbox or the run's lock is not available.
        OSError: The disk is full; everything before is intact.
        KeyboardInterrupt: An interrupt came before the trials began; nothing is left behind.
    """
    with (
        interrupts(listener, listener.abandon) as stop,
        builds_at_once(request.options.builds),
    ):
        try:
            return await _evaluate(request, finding, listener, stop)
        finally:
            await release_sandboxes(request.options.sandbox)


async def _evaluate(
    request: Request, finding: Finding, listener: PlainProgress, stop: Interrupts
) -> Path:
    if request.preflight:
        subject = Subject(request.checkpoint, request.options, request.tasks, request.results_dir)
        await before_run(subject, listener)
    clean()
    await check_sandbox(request.options.sandbox)
    raise_file_limit(request.options.concurrency)
    if not request.checkpoint.model_copy(update={"agent": request.options.agent}).needs_model:
        return await _without_model(request, finding, listener, stop)
    with scratch_directory() as scratch:
        server_log = scratch / "server.log"
        async with serving_replicas(request.checkpoint, server_log, listener) as served:
            told = served.identity.as_dict()
            directory = _directory(request, finding, told)
            with run_lock(directory, listener.note) as lock, run_log(directory):
                async with Gateway(
                    served.endpoints,
                    record_dir=directory / "model",
                    run_seed=request.checkpoint.sampling.seed,
                    concurrency=request.options.model_calls,
                    patience_sec=PATIENCE_SEC,
                    idle_sec=request.checkpoint.silence_limit_sec,
                ) as gateway:
                    watch = IdentityWatch(served.watched, gateway.answers_again, IDENTITY_SEC)
                    name, window = served.identity.served_model, served.identity.context_window
                    model = Model(gateway, name, window, watch)
                    scrub = served.endpoints[0].scrub_text
                    runner = _runner(request, finding, directory, model, scrub)
                    await _run_cells(request, finding, runner, listener, lock=lock, stop=stop)
    return directory


async def _without_model(
    request: Request, finding: Finding, listener: PlainProgress, stop: Interrupts
) -> Path:
    directory = _directory(request, finding, {})
    with run_lock(directory, listener.note) as lock, run_log(directory):
        runner = _runner(request, finding, directory, None, lambda text: text)
        await _run_cells(request, finding, runner, listener, lock=lock, stop=stop)
    return directory


def _directory(request: Request, finding: Finding, identity: dict[str, str]) -> Path:
    """The run's directory, made now if it is new.

    Raises:
        SettingsError: The endpoint now serves another model than the run began with.
    """
    if finding.directory is None:
        run = finding.run.model_copy(update={"identity": identity})
        return create_run(request.results_dir, run)
    before = finding.run.identity
    changed = [key for key in sorted(before | identity) if before.get(key) != identity.get(key)]
    if changed:
        what = ", ".join(
            f"{key} was {before.get(key, 'not told')}, is {identity.get(key, 'not told')}"
            for key in changed
        )
        raise SettingsError(
            f"The endpoint of {request.checkpoint.id} has changed since run "
            f"{finding.run.run_id} began ({what}): serve what it began with, or start another "
            "run with --new."
        )
    return finding.directory


def _runner(
    request: Request,
    finding: Finding,
    directory: Path,
    model: Model | None,
    scrub: Callable[[str], str],
) -> TrialRunner:
    return TrialRunner(
        run_id=finding.run.run_id,
        directory=directory,
        checkpoint=request.checkpoint,
        options=request.options,
        model=model,
        verifies_in_time=lambda digest, limit: verified_before(request.results_dir, digest, limit),
        scrub=scrub,
    )


async def _run_cells(
    request: Request,
    finding: Finding,
    runner: TrialRunner,
    listener: PlainProgress,
    *,
    lock: RunLock,
    stop: Interrupts,
) -> None:
    directory = runner.directory
    if lock.taken_over:
        listener.note(f"the run is taken over from {lock.taken_over}, which is not heard of")
    if finding.changes:
        write_run(directory, finding.run)
    path = ledger_path(directory)
    ledger = repair_ledger(path)
    if ledger.cut_off:
        listener.note("the ledger's last line was cut off: that trial runs again")
    for record in ledger.records:
        listener.tally.add(record)
    records = list(ledger.records)

    async def run_trial(cell: Cell, try_number: int) -> TrialRecord:
        follower.trial_started(runner.name_of(cell, try_number), *cell.key, try_number)
        return await runner.run(cell, try_number, follower.trial_phase)

    followed = following(
        directory,
        listener,
        concurrency=request.options.concurrency,
        calls=calls_at(runner.model.gateway if runner.model else None),
        limits=longest_limits(request.tasks, request.options.time_multiplier),
    )
    with LedgerWriter(path, guard=lock.check) as writer:
        async with followed as follower:
            scheduler = Scheduler(
                run_trial=run_trial,
                next_try=lambda cell: next_try(cell, records, directory / "trials"),
                ledger=writer,
                listener=follower,
                records=records,
                forgiven=len(records) if request.retry_unscored else 0,
                alone=frozenset(request.subset.alone),
            )
            stop.scheduler = scheduler
            async with contextlib.AsyncExitStack() as watchers:
                if runner.model is not None:
                    for watcher in (
                        while_same_model(runner.model.watch, scheduler),
                        while_answering(runner.model.gateway, scheduler, listener),
                    ):
                        await watchers.enter_async_context(watcher)
                await scheduler.run(finding.cells, request.options.concurrency)
