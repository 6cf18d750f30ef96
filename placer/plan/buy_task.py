"""Plans as tasks of a sweep: one question each, solved wherever there is room."""

from dataclasses import dataclass

from placer.plan.answer import PlanAnswer
from placer.plan.plan import buy
from placer.plan.question import PlanQuestion
from placer.sweep.halting import current_stop


@dataclass(frozen=True, slots=True)
class BuyTask:
    """What is sent to a worker: words alone; the fields are those of `buy`."""

    question: PlanQuestion
    seconds: float
    threads: int = 1
    seed: int = 0
    work_limit: int | None = None


def solve_buy_task(task: BuyTask) -> PlanAnswer:
    """Solve one question."""
    return buy(
        task.question,
        task.seconds,
        task.threads,
        current_stop(),
        seed=task.seed,
        work_limit=task.work_limit,
    )
