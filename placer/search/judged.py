"""Placements that the judge has looked at before anyone else sees them (G6)."""

from collections.abc import Sequence

from placer.counting.placements import Unrealisable, realise
from placer.judge.breaches import Breach, broken_in, scene_with_moves
from placer.judge.measure import better, worth_of
from placer.search.baseline import Baseline
from placer.search.cp import SolverError
from placer_models.cluster import Instance
from placer_models.goals import Tier
from placer_models.placement import Placement
from placer_models.problem.problem import Choices, Problem
from placer_models.records import record

NO_IDS = "no ids"
"""Stands for a rule where the ids of a node cannot give what was counted there."""


@record(frozen=True, slots=True)
class JudgedPlacement:
    """A placement that breaks no rule, and its worth tier by tier."""

    placement: Placement
    worth: tuple[tuple[Tier, int], ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The values alone, in the order of the tiers."""
        return tuple(value for _, value in self.worth)

    def better_than(self, other: "JudgedPlacement") -> bool:
        """Return whether the worth is lexicographically better."""
        return better(self.worth, other.worth)


@record(frozen=True, slots=True)
class Rejected:
    """A placement that breaks rules, or that has no ids (`NO_IDS`): a defect of ours."""

    faults: tuple[Breach, ...]

    @property
    def error(self) -> SolverError:
        """The error that says so."""
        return SolverError("; ".join(f"{b.rule}: {b.message}" for b in self.faults[:3]))


def look_at(
    instance: Instance, baseline: Baseline, placement: Placement
) -> JudgedPlacement | Rejected:
    """Return a placement with its worth, or what is wrong with it."""
    scene = scene_with_moves(instance, placement, baseline.nodes_before)
    if found := broken_in(scene):
        return Rejected(found)
    return JudgedPlacement(placement, worth_of(scene))


def judged_placement(
    instance: Instance, baseline: Baseline, placement: Placement
) -> JudgedPlacement:
    """Return a placement with its worth, once the judge has looked at it.

    Raises:
        SolverError: The placement breaks a rule: a defect of ours.

    """
    found = look_at(instance, baseline, placement)
    if isinstance(found, Rejected):
        raise found.error
    return found


def in_ids(
    instance: Instance, baseline: Baseline, problem: Problem, choices: Choices
) -> JudgedPlacement | Rejected:
    """Turn choices into ids and let the judge look at them."""
    placement = realise(instance, baseline.accounts, problem, choices)
    if isinstance(placement, Unrealisable):
        message = f"node {placement.node!r} cannot be realised: {placement.reason}"
        return Rejected((Breach(NO_IDS, placement.node, message),))
    return look_at(instance, baseline, placement)


def check_claimed_values(found: JudgedPlacement, claimed: Sequence[int]) -> None:
    """Check the model's count against the judge's measure, which may be better, never worse.

    Args:
        found: What the judge measured.
        claimed: The model's values of the first tiers, or of all.

    Raises:
        SolverError: The model promised what the judge does not see.

    """
    for (tier, value), claim in zip(found.worth, claimed, strict=False):
        if tier.better(claim, value):
            raise SolverError(f"tier {tier.name}: the model says {claim}, the judge {value}")
        if tier.better(value, claim):
            return
