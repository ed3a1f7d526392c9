"""`make demo-check`: 36 trials each of oracle, nop and smollm2, and whether they came out right.

The first two bound what any model can score on the demo subset; the third is a real model, served
and asked for real. Figures come from `tbeval show --json`, as anybody would read them.
"""

import json
import subprocess
import sys
import time
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TBEVAL = str(ROOT / ".venv/bin/tbeval")
TRIALS = 36  # 12 tasks, 3 attempts
SMOLLM2_LIMIT_SEC = 12 * 60  # on two cores


def evaluate(checkpoint: str) -> tuple[dict[str, Any], float]:
    """Run a new evaluation; its figures, and how many seconds the command took."""
    began = time.monotonic()
    subprocess.run([TBEVAL, "eval", checkpoint, "--new"], cwd=ROOT, check=True)
    seconds = time.monotonic() - began
    shown = subprocess.run(
        [TBEVAL, "show", checkpoint, "--json"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    return json.loads(shown.stdout), seconds


def all_scored(figures: dict[str, Any]) -> list[str]:
    """What is wrong with a run that should have scored every trial."""
    wrong = []
    if figures["planned"] != TRIALS or figures["scored"] != TRIALS:
        wrong.append(f"{figures['scored']} of {figures['planned']} trials scored, not {TRIALS}")
    if figures["unscored"]:
        wrong.append(f"unscored: {figures['unscored']}")
    return wrong


def oracle(figures: dict[str, Any]) -> list[str]:
    """Every trial solved, every test passed."""
    wrong = all_scored(figures)
    if figures["solved_trials"] != TRIALS:
        wrong.append(f"{figures['solved_trials']} trials solved, not {TRIALS}")
    if figures["score"] != 1.0:
        wrong.append(f"score {figures['score']}, not 1.0")
    return wrong


def nop(figures: dict[str, Any]) -> list[str]:
    """Nothing solved, and of each task what its untouched state scores."""
    wrong = all_scored(figures)
    if figures["solved_trials"] != 0:
        wrong.append(f"{figures['solved_trials']} trials solved, not 0")
    untouched = tomllib.loads((ROOT / "task_subsets/demo/untouched.toml").read_text())
    for row in figures["per_task"]:
        expected = float(Fraction(untouched[row["task"]]))
        if row["score"] is None or abs(row["score"] - expected) > 1e-9:  # noqa: PLR2004 - rounding
            wrong.append(f"{row['task']}: score {row['score']}, not {expected:.3f}")
    return wrong


def smollm2(figures: dict[str, Any]) -> list[str]:
    """Every trial scored, with replies of the model recorded and a command of its own run."""
    wrong = all_scored(figures)
    directory = ROOT / figures["directory"]
    replies = [file for file in (directory / "model").glob("*.jsonl.zst") if file.stat().st_size]
    if len(replies) < TRIALS:
        wrong.append(f"model replies of {len(replies)} trials recorded, not of {TRIALS}")
    ledger = [json.loads(line) for line in (directory / "ledger.jsonl").read_text().splitlines()]
    if not any(line["commands"] for line in ledger):
        wrong.append("no trial ran a command of the model")
    return wrong


def main() -> int:
    """Evaluate the three and tell what is wrong; 0 if nothing is."""
    failed = False
    for check in (oracle, nop, smollm2):
        name = check.__name__
        figures, seconds = evaluate(name)
        wrong = check(figures)
        if check is smollm2 and seconds > SMOLLM2_LIMIT_SEC:
            wrong.append(f"took {seconds:.0f} s, more than {SMOLLM2_LIMIT_SEC}")
        failed |= bool(wrong)
        print(f"demo-check: {name}: {'; '.join(wrong) or 'as it should be'} ({seconds:.0f} s)\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
