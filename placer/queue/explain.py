"""The reason why a unit is next: at each level the least value, the runner-up, and the gap."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice

from placer.queue.flow import Flow, FlowGroup
from placer.queue.model import ONE_MILLI, US_PER_S, FlowChargeTime, SiblingFlowChoice


def next_flow_at_each_level(
    root: FlowGroup, charge: FlowChargeTime, now_us: int
) -> tuple[SiblingFlowChoice, ...]:
    """Return the choice at each level of the tree, or none if no unit waits."""
    steps: list[SiblingFlowChoice] = []
    flow: Flow = root
    while isinstance(flow, FlowGroup):
        first_two = tuple(islice(flow.in_order(charge, now_us), 2))
        if not first_two:
            break
        chosen, others = first_two[0], first_two[1:]
        steps.append(
            SiblingFlowChoice(
                group=None if flow is root else flow.name,
                chosen=chosen.name,
                value=weighted_service(chosen, charge, now_us),
                runner_up=others[0].name if others else None,
                runner_up_value=weighted_service(others[0], charge, now_us) if others else None,
            )
        )
        flow = chosen
    return tuple(steps)


def weighted_service(flow: Flow, charge: FlowChargeTime, now_us: int) -> Fraction:
    """Return a flow's thread-microseconds over its weight."""
    return Fraction(flow.standing(charge, now_us) * ONE_MILLI, flow.weight_milli)


def flow_choices_in_words(steps: Sequence[SiblingFlowChoice]) -> str:
    """Return the choices in words, with values in thread-seconds over weight.

    ``default 201.5 against P20 202 (gap 0.5); in default: DEFAULT1 100 against DEFAULT2
    101.5 (gap 1.5)``. Levels where no other flow waits are left out.
    """
    clauses = [_clause(step) for step in steps if step.runner_up is not None]
    return "; ".join(clauses) or "nobody else waits"


def us_as_seconds_text_without_unit(time_us: int | Fraction) -> str:
    """Return microseconds as seconds, to the millisecond: ``1,020``, ``101.5``."""
    text = f"{float(time_us) / US_PER_S:,.3f}"
    return text.rstrip("0").rstrip(".")


def _clause(step: SiblingFlowChoice) -> str:
    place = f"in {step.group}: " if step.group else ""
    gap = (
        f"gap {us_as_seconds_text_without_unit(step.gap)}"
        if step.gap
        else "a tie: the older goes first"
    )
    against = us_as_seconds_text_without_unit(step.runner_up_value or Fraction(0))
    return (
        f"{place}{step.chosen} {us_as_seconds_text_without_unit(step.value)} "
        f"against {step.runner_up} {against} ({gap})"
    )
