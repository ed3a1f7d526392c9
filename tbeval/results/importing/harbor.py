"""harbor's job and trial directories: result.json of a trial; that of a job only plans."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tbeval.records.outcome import Outcome, StopReason
from tbeval.records.verdict import TestCounts
from tbeval.results.importing.files import ResultFile, is_in_run_of_ours, read_object
from tbeval.results.importing.foreign import (
    ForeignTrial,
    Oddities,
    count,
    mapping,
    phase,
    text,
)

SOURCE = "harbor"

#: Exceptions that end the agent by its own doing: the verdict stands.
_STOPS: Mapping[str, StopReason] = {
    "AgentTimeoutError": StopReason.TIME_LIMIT,
    "NonZeroAgentExitCodeError": StopReason.CRASHED,
    "ContextWindowExceededError": StopReason.CONTEXT_LIMIT,
    "ContextLengthExceededError": StopReason.CONTEXT_LIMIT,
    "OutputTokenExceededError": StopReason.OUTPUT_LIMIT,
    "OutputLengthExceededError": StopReason.OUTPUT_LIMIT,
    "AgentSafetyRefusalError": StopReason.FINISHED,
    "ContentPolicyViolationError": StopReason.FINISHED,
    "BadRequestError": StopReason.BAD_REQUEST,
}

#: All others that harbor knows (models/trial/error_policy.py of 0.26), by what failed.
_FAULTS: Mapping[Outcome, frozenset[str]] = {
    Outcome.SANDBOX: frozenset(
        {
            "EnvironmentStartTimeoutError", "SandboxBuildFailedError", "HealthcheckError",
            "SandboxLikelyOutOfMemoryError", "MemoryLimitExceededError", "SSHAccessError",
            "GKEExecStreamClosedError", "GKEPodNotFoundError", "RuntimeRequestError",
        }
    ),
    Outcome.AGENT_SETUP: frozenset({"AgentSetupTimeoutError"}),
    Outcome.VERIFIER: frozenset(
        {
            "AddTestsDirError", "DownloadVerifierDirError", "VerifierTimeoutError",
            "RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError",
        }
    ),
    Outcome.MODEL_ENDPOINT: frozenset(
        {
            "ApiError", "ApiRateLimitError", "ApiInternalServerError", "ApiOverloadedError",
            "ApiConnectionClosedError", "ApiResponseStalledError", "UnknownApiError",
            "NetworkConnectionError", "ApiConnectionError", "ApiUsageLimitError",
            "RateLimitError", "InternalServerError", "ServiceUnavailableError",
            "APIConnectionError", "APIError", "Timeout", "UnsupportedModelParametersError",
            "UnprocessableEntityError", "UnsupportedParamsError", "APIResponseValidationError",
            "BudgetExceededError", "AgentAuthenticationError", "ModelNotFoundError",
            "ApiProviderResourceNotFoundError", "AuthenticationError", "PermissionDeniedError",
            "NotFoundError",
        }
    ),
    Outcome.CANCELLED: frozenset({"CancelledError", "KeyboardInterrupt"}),
}  # fmt: skip

_PHASES = {"environment_setup": "sandbox", "agent_execution": "agent", "verifier": "verifier"}
_MESSAGE_CHARACTERS = 2000


def is_trial(content: Mapping[str, Any]) -> bool:
    """Whether an object is a trial's result.json."""
    return "trial_name" in content and "task_name" in content


def is_job(content: Mapping[str, Any]) -> bool:
    """Whether an object is a job's result.json."""
    return "n_total_trials" in content or ("stats" in content and "trial_name" not in content)


def trial_in(file: ResultFile, oddities: Oddities) -> ForeignTrial:
    """The trial that a result.json tells of."""
    content = file.content
    name = text(content.get("trial_name"))
    exception = mapping(content.get("exception_info"))
    error = text(exception.get("exception_type"))
    reward = _reward(mapping(content.get("verifier_result")).get("rewards"), name, oddities)
    outcome = _outcome(reward, error, name, oddities)
    tests = _tests(file.path.parent / "verifier" / "ctrf.json", oddities)
    agent = mapping(content.get("agent_info"))
    result = mapping(content.get("agent_result"))
    phases = (
        phase(ours, part.get("started_at"), part.get("finished_at"))
        for theirs, ours in _PHASES.items()
        if (part := mapping(content.get(theirs)))
    )
    return ForeignTrial(
        source=SOURCE,
        key=text(content.get("id")) or f"{file.path.parent.parent} {name}",
        own_file=True,
        path=file.path,
        run=str(file.path.parent.parent),
        task=text(content.get("task_name")).rpartition("/")[2],
        name=name,
        number=None,
        outcome=outcome,
        score=_score(outcome, reward, tests),
        tests=tests,
        published=None if reward is None else reward >= 1,
        stop_reason=_STOPS.get(error),
        error_class=error,
        error_message=text(exception.get("exception_message"))[:_MESSAGE_CHARACTERS],
        tokens_in=count(result.get("n_input_tokens")),
        tokens_out=count(result.get("n_output_tokens")),
        phases=tuple(each for each in phases if each is not None),
        task_digest=text(content.get("task_checksum")),
        agent=text(agent.get("name")),
        model=text(mapping(agent.get("model_info")).get("name")),
    )


def unfinished(root: Path, finished: frozenset[Path], oddities: Oddities) -> Iterator[ForeignTrial]:
    """Trials that have a config.json but no result that can be read: begun, and never ended."""
    if root.is_file():
        return
    for path in sorted(root.rglob("config.json")):
        directory = path.parent
        if directory in finished or is_in_run_of_ours(path, root):
            continue
        config = read_object(path, oddities)
        if config is None or "trial_name" not in config or "task" not in config:
            continue
        task = mapping(config["task"])
        named = text(task.get("path")) or text(task.get("name"))
        if not named:
            continue
        oddities.note("a trial was begun and has no result; unscored", directory.name)
        yield ForeignTrial(
            source=SOURCE,
            key=str(directory),
            own_file=True,
            path=path,
            run=str(directory.parent),
            task=named.rstrip("/").rpartition("/")[2],
            name=text(config["trial_name"]),
            number=None,
            outcome=Outcome.CANCELLED,
        )


def _reward(rewards: object, name: str, oddities: Oddities) -> float | None:
    """The number that is the verdict; None if there is none that can be one."""
    found = mapping(rewards)
    if not found:
        return None
    if "reward" in found:
        value = found["reward"]
    elif len(found) == 1:
        value = next(iter(found.values()))
    else:
        oddities.note('several rewards, and none is called "reward"; unscored', name)
        return None
    if len(found) > 1:
        oddities.note('several rewards; the one called "reward" counts', name)
    if isinstance(value, bool | str):
        oddities.note("a reward is no number but reads as one", name)
        try:
            value = float(value)
        except ValueError:
            value = math.nan
    if not isinstance(value, int | float) or not 0 <= value <= 1:  # NaN is not, either
        oddities.note("a reward is no number from 0 to 1; unscored", name)
        return None
    return float(value)


def _outcome(reward: float | None, error: str, name: str, oddities: Oddities) -> Outcome:
    if not error or error in _STOPS:
        if reward is None:
            if not error:
                oddities.note("no verdict and no exception either; unscored", name)
            return Outcome.VERIFIER
        return Outcome.SOLVED if reward == 1 else Outcome.UNSOLVED
    if reward is not None:
        oddities.note(f"a verdict in spite of {error}; unscored here", name)
    return next((o for o, names in _FAULTS.items() if error in names), Outcome.HARNESS)


def _tests(path: Path, oddities: Oddities) -> TestCounts:
    if not path.is_file():
        return TestCounts()
    report = read_object(path, oddities) or {}
    summary = mapping(mapping(report.get("results")).get("summary"))
    total, passed, skipped = (count(summary.get(key)) for key in ("tests", "passed", "skipped"))
    if passed + skipped > total:
        oddities.note("a report counts more tests than there are; it is left out", path)
        return TestCounts()
    failed = total - passed - skipped
    return TestCounts(passed=passed, failed=failed, skipped=skipped, total=total)


def _score(outcome: Outcome, reward: float | None, tests: TestCounts) -> float | None:
    """Passed over collected tests where a report tells, else the reward."""
    if not outcome.scored or reward is None:
        return None
    if outcome is Outcome.SOLVED or not tests.total:
        return reward
    return tests.score
