"""What each demo task scores, in a real sandbox: untouched, solved, and solved wrongly."""

import asyncio
import logging
import tomllib
from pathlib import Path

import pytest
from harbor.models.task.task import Task
from harbor.models.trial.paths import TrialPaths

from tbeval.records.verdict import VerifierReport
from tbeval.sandboxes.bubblewrap import BubblewrapEnvironment
from tbeval.settings.subsets import load_subset
from tbeval.tasks.verifier import ReportVerifier

REPOSITORY = Path(__file__).parents[2]
DEMO = REPOSITORY / "task_subsets" / "demo"
TASKS = load_subset("demo", REPOSITORY).tasks
UNTOUCHED = tomllib.loads((DEMO / "untouched.toml").read_text())


async def score(task: str, script: Path | None, directory: Path) -> str:
    """Set the task up, run the script as an agent would, and verify what it left: passed/total."""
    loaded, paths = Task(DEMO / task), TrialPaths(directory)
    paths.mkdir()
    environment = BubblewrapEnvironment(
        environment_dir=loaded.paths.environment_dir,
        environment_name=task,
        session_id=f"{task}-{directory.name}",
        trial_paths=paths,
        task_env_config=loaded.config.environment,
        run_id="demo-tests",
    )
    try:
        await environment.start(force_build=False)
        if script is not None:
            await environment.upload_file(script, "/solution/solve.sh")
            await environment.exec("bash /solution/solve.sh", timeout_sec=30)
        verifier = ReportVerifier(
            task=loaded,
            trial_paths=paths,
            environment=environment,
            logger=logging.getLogger("demo-tests"),
        )
        await verifier.verify()
    finally:
        await environment.stop(delete=True)
    report = (paths.verifier_dir / "tests.json").read_bytes()
    counts = VerifierReport.model_validate_json(report).counts
    return f"{counts.passed}/{counts.total}"


@pytest.mark.sandbox
@pytest.mark.parametrize("task", TASKS)
async def test_every_state_scores_as_committed(task: str, tmp_path: Path) -> None:
    wrong = tomllib.loads((DEMO / task / "wrong/expected.toml").read_text())
    total = UNTOUCHED[task].split("/")[1]
    scripts = {"untouched": None, "solution": DEMO / task / "solution/solve.sh"}
    scripts |= {name: DEMO / task / "wrong" / f"{name}.sh" for name in wrong}

    found = await asyncio.gather(
        *(score(task, script, tmp_path / name) for name, script in scripts.items())
    )

    expected = {"untouched": UNTOUCHED[task], "solution": f"{total}/{total}", **wrong}
    assert dict(zip(scripts, found, strict=True)) == expected
