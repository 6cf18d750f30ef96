"""Growth: what to buy while the demand grows, step by step.

Each step is a question of its own, so they are swept over workers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from placer.plan.answer import NoPlanExists, NoPlanFoundInTime, PlanAnswer, PurchasePlan
from placer.plan.cases import instance_with_scenario_changes
from placer.plan.plan import BuyTask, solve_buy_task
from placer.plan.question import PlanQuestion, gangs_of_scenario
from placer.sweep.halting import SweepTaskHaltedError, stop_check_of_task
from placer.sweep.sweep import run_sweep
from placer.sweep.workers import InProcessSweepWorker, SweepBackend
from placer_models.message_text import in_quotes
from placer_models.pod import pods_of_gangs

_LEAST_S = 0.1
MOST_STEPS = 1_000
"""More steps than this are a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class GrowthStep:
    """What to buy for one size of the demand.

    Attributes:
        scale: How many times what the plan asks for.
        case: The name of the question that was scaled; empty if there is one alone.
        pods: How many pods the scenario asks for that asks for most.
        price: What the plan costs, with every pod in a judged place; None: there is none.
        bound: No plan costs less; None: no plan does at any price.
        mix: (offer, how many nodes), the dearest part first.
        binds: (offer, the resource that most of its price is paid for; empty: none in particular).
        reason: Why there is no plan; empty where there is one.

    """

    scale: Fraction
    case: str
    pods: int
    price: Decimal | None
    bound: Decimal | None
    mix: tuple[tuple[str, int], ...] = ()
    binds: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def nodes(self) -> int:
        """How many nodes are bought."""
        return sum(count for _, count in self.mix)

    @property
    def gap_percent(self) -> float | None:
        """How far the price is above the bound, in percent of the bound; None: not known."""
        if self.price is None or self.bound is None:
            return None
        if self.price == self.bound:
            return 0.0
        return float(100 * (self.price - self.bound) / self.bound) if self.bound else 100.0


@dataclass(frozen=True, slots=True)
class GrowthRangeWithSameBinding:
    """Steps next to each other for which the same binds.

    Attributes:
        first: The scale of the first step.
        last: The scale of the last step.
        binds: (offer, resource) of all that is bought there; nothing: what is there does.

    """

    first: Fraction
    last: Fraction
    binds: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class GrowthCurve:
    """What to buy at each size of the demand.

    Attributes:
        steps: By scale, and by case for each scale.
        missing: (scale, case) of the steps that were not solved.
        lost: Whether they are missing because workers died again and again.

    """

    steps: tuple[GrowthStep, ...]
    missing: tuple[tuple[Fraction, str], ...] = ()
    lost: bool = False

    def of_first_case(self) -> tuple[GrowthStep, ...]:
        """Return the steps of the first case alone."""
        first = self.steps[0].case if self.steps else ""
        return tuple(step for step in self.steps if step.case == first)

    def stretches(self) -> tuple[GrowthRangeWithSameBinding, ...]:
        """Return on which stretches of the curve what binds."""
        found: list[GrowthRangeWithSameBinding] = []
        for step in self.of_first_case():
            if step.price is None:
                continue
            if found and set(found[-1].binds) == set(step.binds):
                found[-1] = replace(found[-1], last=step.scale)
            else:
                found.append(GrowthRangeWithSameBinding(step.scale, step.scale, step.binds))
        return tuple(found)

    def bursts(self) -> tuple[Fraction | None, Fraction | None]:
        """Return up to where what is there does, and from where something is bought.

        None stands for no such step.
        """
        enough = [step.scale for step in self.of_first_case() if step.price == 0]
        bought = [step.scale for step in self.of_first_case() if step.price != 0]
        return max(enough, default=None), min(bought, default=None)


@dataclass(frozen=True, slots=True)
class _Task:
    """What is sent to a worker, words alone: a question as it was asked, and its scale."""

    scale: Fraction
    case: str
    asked: BuyTask


def parse_scales(text: str) -> tuple[Fraction, ...]:
    """Return the scales that ``FROM:TO:STEP`` means; TO is the last one that is reached.

    Raises:
        ValueError: It means none.

    """
    try:
        first, last, step = map(Fraction, text.split(":"))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"got {in_quotes(text)}; expected FROM:TO:STEP, such as 1:3:0.1") from None
    if first <= 0 or step <= 0 or last < first:
        raise ValueError(f"got {in_quotes(text)}; expected 0 < FROM <= TO and 0 < STEP")
    count = int((last - first) / step) + 1
    if count > MOST_STEPS:
        raise ValueError(f"got {in_quotes(text)}, which are {count:,} steps; take {MOST_STEPS:,}")
    return tuple(first + number * step for number in range(count))


def solve_plan_at_scales(
    cases: Mapping[str, PlanQuestion],
    scales: Sequence[Fraction],
    *,
    seconds: float = 60.0,
    threads: int = 1,
    seed: int = 0,
    work_limit: int | None = None,
    workers: SweepBackend | None = None,
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda words: None,
) -> GrowthCurve:
    """Return what to buy at each scale, in each case.

    Args:
        cases: Name of a case -> its plan, each of whose scenarios is scaled: a cluster as it is
            and the same without a zone, say.
        scales: How many times what it asks for.
        seconds: Wall-clock time of all solves together.
        threads: How many searches run at a time in each solve.
        seed: Seed of everything that is drawn.
        work_limit: Deterministic work of each solve in place of seconds.
        workers: Where the solves run.
        stop: Asked now and then whether to end with what is done.
        tell: Told in a few words how many solves are done.

    Raises:
        IllegalPodError: A pod asks for what no pod may ask for.
        SweepWorkersError: The workers cannot be had, or cannot do the work.

    """
    workers = workers or InProcessSweepWorker()
    number = len(scales) * len(cases)
    at_a_time = min(workers.slots, number)
    each_s = max(_LEAST_S, seconds * at_a_time / number)
    tasks = [
        _Task(scale, case, BuyTask(question, each_s, threads, seed, work_limit))
        for scale in scales
        for case, question in cases.items()
    ]
    tell(f"0 of {len(tasks)} plans are done")
    swept = run_sweep(
        _solved,
        tasks,
        workers,
        stop,
        lambda done: tell(f"{done} of {len(tasks)} plans are done"),
    )
    missing = tuple((task.scale, task.case) for task in swept.left)
    return GrowthCurve(tuple(step for _, step in swept.done), missing, swept.lost)


def _solved(task: _Task) -> GrowthStep:
    """Solve one step."""
    question = scaled_question(task.asked.question, task.scale)
    stop = stop_check_of_task()
    answer = solve_buy_task(replace(task.asked, question=question))
    if stop() and not isinstance(answer, PurchasePlan):
        raise SweepTaskHaltedError
    return _step(question, task, answer)


def scaled_question(question: PlanQuestion, scale: Fraction) -> PlanQuestion:
    """Return the question for so many times the demand of each scenario."""
    scenarios = tuple(
        replace(
            scenario,
            scale=scenario.scale * scale,
            scales=tuple((space, name, own * scale) for space, name, own in scenario.scales),
        )
        for scenario in question.scenarios
    )
    return replace(question, scenarios=scenarios)


def _step(question: PlanQuestion, task: _Task, answer: PlanAnswer) -> GrowthStep:
    pods = max(
        sum(
            1
            for _ in pods_of_gangs(
                gangs_of_scenario(instance_with_scenario_changes(question, s), s)
            )
        )
        for s in question.scenarios
    )
    at = task.scale, task.case, pods
    match answer:
        case PurchasePlan():
            return GrowthStep(
                *at,
                answer.price,
                answer.bound,
                tuple((one.offer, one.count) for one in answer.mix),
                tuple((one.offer, one.resource or "") for one in answer.binding),
            )
        case NoPlanExists():
            return GrowthStep(*at, None, None, reason=next(_why(answer), "no plan exists"))
        case NoPlanFoundInTime():
            return GrowthStep(*at, None, answer.bound, reason="none was found in time")


def _why(answer: NoPlanExists) -> Iterator[str]:
    for one in answer.unplaced:
        yield f"{one.title}: {' '.join(one.reasons)}"
    for short in answer.short:
        ends = ", ".join(f"at most {most:,} of {offer}" for offer, most in answer.ended)
        why = " ".join(short.reasons) or ends
        yield f"too few nodes for {short.pod}" + (f" ({why})" if why else "")
