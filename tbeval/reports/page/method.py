"""What each number means, said once for the page and the Markdown."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Meaning:
    """A number, what it is, and where its formula comes from."""

    name: str
    text: str
    source: str = ""


MEANINGS = (
    Meaning(
        "solved, score",
        "A trial is solved if every collected test passed; its score is passed / collected tests. "
        "A test skipped at run time is not passed.",
    ),
    Meaning(
        "unscored",
        "No verdict: the sandbox, the model's server, the verifier or the task failed, or the "
        "trial was cancelled. It says nothing about the model: it is left out of pass@k and score, "
        "and counted as 0 only in figures called “planned”, as public tables do.",
    ),
    Meaning(
        "pass@k",
        "The mean over tasks of 1 - C(n-c, k)/C(n, k), with n scored attempts of which c are "
        "solved; tasks with n < k are left out.",
        "Chen et al. 2021, arXiv 2107.03374",
    ),
    Meaning(
        "pass^k",
        "The mean over tasks of C(c, k)/C(n, k): all of k attempts solve it.",
        "Yao et al. 2024, arXiv 2406.12045",
    ),
    Meaning(
        "95 % interval of pass@1",
        "Wilson's with the effective number of trials, p(1-p) / Var(mean of the tasks' rates): "
        "attempts at one task go together. It is for tasks like these, not for these tasks only.",
        "Miller 2024, arXiv 2411.00640; Bowyer et al. 2025, arXiv 2503.01747",
    ),
    Meaning(
        "Δ, its interval and p",
        "The difference of pass@1, paired by task; one exact sign-flip test (mid-p) for tasks like "
        "these, and the interval that it gives. Several against one base are adjusted by Holm's "
        "method.",
    ),
    Meaning(
        "smallest difference",
        "What this design sees with 80 % power (two-sided, .05). A smaller difference may be real; "
        "these runs cannot show it.",
    ),
    Meaning(
        "gained, lost",
        "Tasks that only the checkpoint, or only the baseline, solved at least once. Two runs of "
        "the same checkpoint gain and lose some, too.",
    ),
)
