"""Placements that the judge has looked at before anyone else sees them (G6)."""

from collections.abc import Sequence

from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.judge.breaches import Breach, breaches_in_scene, scene_for_judge_with_moves
from placer.judge.measure import are_tier_values_better, measure_tiers
from placer.search.baseline import StartingAccounts
from placer.search.cp import SolverError
from placer_models.cluster import Instance
from placer_models.goals import Tier
from placer_models.placement import Placement
from placer_models.problem.problem import Choices, Problem
from placer_models.records import record

NO_IDS = "no ids"
"""Stands for a rule where the ids of a node cannot give what was counted there."""


@record(frozen=True, slots=True)
class ValidPlacement:
    """A placement that breaks no rule, and its worth tier by tier."""

    placement: Placement
    worth: tuple[tuple[Tier, int], ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The values alone, in the order of the tiers."""
        return tuple(value for _, value in self.worth)

    def better_than(self, other: "ValidPlacement") -> bool:
        """Return whether the worth is lexicographically better."""
        return are_tier_values_better(self.worth, other.worth)


@record(frozen=True, slots=True)
class RejectedPlacement:
    """A placement that breaks rules, or that has no ids (`NO_IDS`): a defect of ours."""

    faults: tuple[Breach, ...]

    @property
    def error(self) -> SolverError:
        """The error that says so."""
        return SolverError("; ".join(f"{b.rule}: {b.message}" for b in self.faults[:3]))


def judge_placement(
    instance: Instance, baseline: StartingAccounts, placement: Placement
) -> ValidPlacement | RejectedPlacement:
    """Return a placement with its worth, or what is wrong with it."""
    scene = scene_for_judge_with_moves(instance, placement, baseline.nodes_before)
    if found := breaches_in_scene(scene):
        return RejectedPlacement(found)
    return ValidPlacement(placement, measure_tiers(scene))


def judged_placement(
    instance: Instance, baseline: StartingAccounts, placement: Placement
) -> ValidPlacement:
    """Return a placement with its worth, once the judge has looked at it.

    Raises:
        SolverError: The placement breaks a rule: a defect of ours.

    """
    found = judge_placement(instance, baseline, placement)
    if isinstance(found, RejectedPlacement):
        raise found.error
    return found


def realise_and_judge(
    instance: Instance, baseline: StartingAccounts, problem: Problem, choices: Choices
) -> ValidPlacement | RejectedPlacement:
    """Turn choices into ids and let the judge look at them."""
    placement = realise_choices(instance, baseline.accounts, problem, choices)
    if isinstance(placement, NodeIdAssignmentFailure):
        message = f"node {placement.node!r} cannot be realised: {placement.reason}"
        return RejectedPlacement((Breach(NO_IDS, placement.node, message),))
    return judge_placement(instance, baseline, placement)


def check_tier_values_against_judge(found: ValidPlacement, claimed: Sequence[int]) -> None:
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
