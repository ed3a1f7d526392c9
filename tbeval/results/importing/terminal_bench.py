"""terminal-bench's `tb run` directories: results.json of a trial, and of a whole run."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tbeval.records.outcome import Outcome, StopReason
from tbeval.records.verdict import TestCounts
from tbeval.results.importing.files import ResultFile
from tbeval.results.importing.foreign import (
    ForeignTrial,
    Oddities,
    count,
    mapping,
    phase,
    text,
)

SOURCE = "terminal-bench"
METADATA = "run_metadata.json"

#: Failure modes that end the agent by its own doing: the verdict stands.
_STOPS: Mapping[str, StopReason | None] = {
    "unset": None,
    "none": None,
    "": None,
    "agent_timeout": StopReason.TIME_LIMIT,
    "context_length_exceeded": StopReason.CONTEXT_LIMIT,
    "output_length_exceeded": StopReason.OUTPUT_LIMIT,
    "fatal_llm_parse_error": StopReason.PARSE_ERRORS,
}

#: Failure modes of everything else: no verdict, whatever `is_resolved` says.
_FAULTS: Mapping[str, Outcome] = {
    "agent_installation_failed": Outcome.AGENT_SETUP,
    "parse_error": Outcome.VERIFIER,
    "test_timeout": Outcome.VERIFIER,
}

_NUMBER = re.compile(r"\.(\d+)-of-\d+(?:\.|$)")


def is_ours(content: Mapping[str, Any]) -> bool:
    """Whether an object is one of terminal-bench's."""
    return isinstance(content.get("results"), list) or (
        "task_id" in content and "is_resolved" in content
    )


def trials_in(file: ResultFile, oddities: Oddities) -> Iterator[ForeignTrial]:
    """The trials that a file tells of."""
    entries = file.content.get("results")
    own_file = not isinstance(entries, list)
    run = _run_name(file.path, whole_run=not own_file)
    for entry in entries if isinstance(entries, list) else [file.content]:
        if not isinstance(entry, dict) or not text(entry.get("task_id")):
            oddities.note("an entry of a results file is no trial and is left out", file.path)
            continue
        yield _trial(entry, file.path, run, oddities, own_file=own_file)


def _run_name(path: Path, *, whole_run: bool) -> str:
    """`RUN/task/trial/results.json`, `RUN/results.json`, or `RUN_results.json` by itself."""
    if path.name != "results.json":
        return path.name.removesuffix("_results.json")
    return str(path.parent if whole_run else path.parents[min(2, len(path.parents) - 1)])


def _trial(
    entry: Mapping[str, Any], path: Path, run: str, oddities: Oddities, *, own_file: bool
) -> ForeignTrial:
    name = text(entry.get("trial_name")) or text(entry["task_id"])
    mode = text(entry.get("failure_mode")).lower()
    resolved = entry.get("is_resolved")
    if resolved is not None and not isinstance(resolved, bool):
        oddities.note("is_resolved is neither true, false nor null; it is taken as null", name)
        resolved = None
    outcome = _outcome(resolved, mode, name, oddities)
    tests = _tests(entry.get("parser_results"))
    number = _NUMBER.search(name)
    phases = (
        phase("agent", entry.get("agent_started_at"), entry.get("agent_ended_at")),
        phase("verifier", entry.get("test_started_at"), entry.get("test_ended_at")),
    )
    started = text(entry.get("trial_started_at"))
    return ForeignTrial(
        source=SOURCE,
        key=text(entry.get("id")) or text(entry.get("uuid")) or f"{run} {name} {started}",
        own_file=own_file,
        path=path,
        run=run,
        task=text(entry["task_id"]),
        name=name,
        number=int(number[1]) if number else None,
        outcome=outcome,
        score=_score(outcome, tests, name, oddities),
        tests=tests,
        published=resolved,
        stop_reason=_STOPS.get(mode),
        error_class=mode if mode in _FAULTS or mode not in _STOPS else "",
        tokens_in=count(entry.get("total_input_tokens")),
        tokens_out=count(entry.get("total_output_tokens")),
        phases=tuple(each for each in phases if each is not None),
        task_digest=text(entry.get("instruction"))
        if text(entry.get("instruction")).startswith("sha256:")
        else "",
    )


def _outcome(resolved: bool | None, mode: str, name: str, oddities: Oddities) -> Outcome:  # noqa: FBT001 - a value that was read, not a switch
    if mode in _STOPS:
        if resolved is None:
            oddities.note("no verdict and no failure either; unscored", name)
            return Outcome.VERIFIER
        return Outcome.SOLVED if resolved else Outcome.UNSOLVED
    if resolved is not None:
        said = "solved" if resolved else "not solved"
        oddities.note(f'counted as {said} in spite of "{mode}"; unscored here', name)
    return _FAULTS.get(mode, Outcome.HARNESS)


def _tests(results: object) -> TestCounts:
    states = [str(state).lower() for state in mapping(results).values()]
    passed = sum(state in {"passed", "xfailed"} for state in states)
    skipped = sum(state == "skipped" for state in states)
    return TestCounts(
        passed=passed,
        failed=len(states) - passed - skipped,
        skipped=skipped,
        total=len(states),
    )


def _score(outcome: Outcome, tests: TestCounts, name: str, oddities: Oddities) -> float | None:
    if not outcome.scored:
        return None
    solved = outcome is Outcome.SOLVED
    if not tests.total:
        oddities.note("a verdict without results of tests; the score is the verdict", name)
        return float(solved)
    if solved is not tests.solved:
        oddities.note("the verdict contradicts the tests' results; the verdict is kept", name)
    return 1.0 if solved else tests.score
