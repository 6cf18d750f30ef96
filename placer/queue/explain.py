"""Why a unit is next: at each level the least value, the runner-up, and the gap."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice

from placer.queue.flow import Flow, Group
from placer.queue.words import ONE_MILLI, US_PER_S, Charge, Step

_DECIMALS = 3


def steps_down(root: Group, charge: Charge, now_us: int) -> tuple[Step, ...]:
    """Return the choice at each level of the tree; nothing when no unit waits."""
    steps: list[Step] = []
    flow: Flow = root
    while isinstance(flow, Group):
        first_two = tuple(islice(flow.in_order(charge, now_us), 2))
        if not first_two:
            break
        chosen, others = first_two[0], first_two[1:]
        steps.append(
            Step(
                group=None if flow is root else flow.name,
                chosen=chosen.name,
                value=value_of(chosen, charge, now_us),
                runner_up=others[0].name if others else None,
                runner_up_value=value_of(others[0], charge, now_us) if others else None,
            )
        )
        flow = chosen
    return tuple(steps)


def value_of(flow: Flow, charge: Charge, now_us: int) -> Fraction:
    """Return a flow's thread-microseconds over its weight."""
    return Fraction(flow.standing(charge, now_us) * ONE_MILLI, flow.weight_milli)


def sentence(steps: Sequence[Step]) -> str:
    """Say the steps in words; values in thread-seconds over weight.

    ``default has had 201.5, P20 202 (0.5 more); in it DEFAULT1 100, DEFAULT2 101.5 (1.5 more)``
    """
    return "; in it ".join(_clause(step, first=i == 0) for i, step in enumerate(steps))


def seconds(value: Fraction) -> str:
    """Write microseconds as seconds, to the millisecond: ``101.5``."""
    text = f"{float(value / US_PER_S):.{_DECIMALS}f}"
    return text.rstrip("0").rstrip(".")


def _clause(step: Step, *, first: bool) -> str:
    has = " has had " if first else " "
    told = f"{step.chosen}{has}{seconds(step.value)}"
    if step.runner_up is None or step.runner_up_value is None:
        return f"{told}, alone"
    more = f"{seconds(step.gap)} more" if step.gap else "a tie: the older goes first"
    return f"{told}, {step.runner_up} {seconds(step.runner_up_value)} ({more})"
