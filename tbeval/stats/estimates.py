"""What is known of one checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass

from tbeval.stats.counts import Metric, TaskCounts
from tbeval.stats.intervals import Interval, tasks_like_these, these_tasks_only
from tbeval.stats.passk import TaskMean, mean_over_tasks, pass_at_k, pass_hat_k


@dataclass(frozen=True)
class AtK:
    """The estimates for k attempts.

    Attributes:
        k: How many attempts.
        pass_at: pass@k over scored attempts, mean over the tasks with so many.
        pass_at_planned: The same with an unscored attempt as not solved.
        pass_hat: pass^k over scored attempts.
        like_these: The interval of `pass_at` for tasks like these.
        these_only: The interval of pass@1 for these tasks; None for k > 1.
    """

    k: int
    pass_at: TaskMean
    pass_at_planned: TaskMean
    pass_hat: TaskMean
    like_these: Interval | None
    these_only: Interval | None


@dataclass(frozen=True)
class Estimates:
    """All estimates for one checkpoint.

    Attributes:
        tasks: How many tasks were planned.
        planned: How many attempts were planned.
        scored: How many have a verdict.
        solved_trials: How many of these were solved.
        unique_solved: How many tasks were solved at least once.
        score: The mean over tasks of their mean score (dense).
        score_interval: Its interval for tasks like these.
        at: One entry per k, from 1 to the most attempts that were planned for a task.
    """

    tasks: int
    planned: int
    scored: int
    solved_trials: int
    unique_solved: int
    score: TaskMean
    score_interval: Interval | None
    at: tuple[AtK, ...]

    @property
    def completeness(self) -> float:
        """Scored over planned attempts; 0 where none was planned."""
        return self.scored / self.planned if self.planned else 0.0


def estimate(counts: Sequence[TaskCounts], *, level: float = 0.95) -> Estimates:
    """All estimates for one checkpoint, from one entry per task."""
    scores = [
        task.score_sum / task.scored if task.scored and task.score_sum is not None else None
        for task in counts
    ]
    scored = sum(task.scored for task in counts)
    return Estimates(
        tasks=len(counts),
        planned=sum(task.planned for task in counts),
        scored=scored,
        solved_trials=sum(task.solved for task in counts),
        unique_solved=sum(task.solved > 0 for task in counts),
        score=mean_over_tasks(scores),
        score_interval=tasks_like_these(
            [score for score in scores if score is not None], scored, level=level
        ),
        at=tuple(
            _at(counts, k, level)
            for k in range(1, max((task.planned for task in counts), default=0) + 1)
        ),
    )


def _at(counts: Sequence[TaskCounts], k: int, level: float) -> AtK:
    enough = [task for task in counts if Metric(k).of(task) is not None]
    values = [pass_at_k(task.scored, task.solved, k) for task in enough]
    return AtK(
        k=k,
        pass_at=mean_over_tasks(values),
        pass_at_planned=mean_over_tasks(pass_at_k(t.planned, t.solved, k) for t in counts),
        pass_hat=mean_over_tasks(pass_hat_k(t.scored, t.solved, k) for t in counts),
        like_these=tasks_like_these(
            [value for value in values if value is not None],
            sum(task.scored for task in enough),
            level=level,
        ),
        these_only=these_tasks_only(
            [task.scored for task in enough], [task.solved for task in enough], level=level
        )
        if k == 1
        else None,
    )
