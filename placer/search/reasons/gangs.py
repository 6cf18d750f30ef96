"""Reasons of gangs and gang groups: whether they could run, with how many members (G1, G7)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placer.search.reasons.alone import PlaceableGangPodCountBounds, count_placeable_gang_pods
from placer.search.reasons.guesses import fit_depends_on_guessed_numa_nodes
from placer.search.reasons.stages import NodesAtOccupancyStage
from placer.state.out_of_time import OutOfTimeError, raise_if_out_of_time
from placer_models.cluster import Instance, Node
from placer_models.message_text import count_with_noun
from placer_models.network import NODE_LEVEL, GangNetworkLevelRuleKind
from placer_models.pod import Gang, GangGroup, Pod
from placer_models.policy import GatherLevel
from placer_models.reasons import (
    Blocker,
    FewMembers,
    FirstStageWithoutPlace,
    GangGroupTooLarge,
    Reason,
    ReasonNotFoundInTime,
    RuleDemand,
)
from placer_models.relations import without_needs_met_later


@dataclass(frozen=True, slots=True)
class NoPlaceReasonFromOccupancyStage:
    """The stage from which on something has no place, and the reason."""

    when: FirstStageWithoutPlace
    why: Reason


def staged_reason_of_gang(
    gang: Gang, stages: Sequence[NodesAtOccupancyStage]
) -> NoPlaceReasonFromOccupancyStage | None:
    """Return from when on too few members of a gang have a place, or None if enough have."""
    few = (replace(gang, minimum=1, priority=0, weight=1),)
    for stage in stages:
        found = _most(few, (), stage)
        if found is None or found.pods < gang.minimum <= found.most:
            return NoPlaceReasonFromOccupancyStage(stage.when, ReasonNotFoundInTime())
        if found.most < gang.minimum:
            return NoPlaceReasonFromOccupancyStage(
                stage.when,
                FewMembers(
                    stage.when,
                    gang.name,
                    len(gang.pods),
                    gang.minimum,
                    found.most,
                    is_bound=found.pods < found.most,
                    guessed=_hangs_on_guess([gang], stage),
                ),
            )
    return None


def staged_reason_of_gang_group(
    group: GangGroup, gangs: Sequence[Gang], stages: Sequence[NodesAtOccupancyStage]
) -> NoPlaceReasonFromOccupancyStage | None:
    """Return from when on a gang group has no room as a whole, or None if it has room."""
    equal = tuple(replace(gang, priority=0, weight=1) for gang in gangs)
    least = sum(gang.minimum for gang in gangs)
    for stage in stages:
        found = _most(equal, (group,), stage)
        if found is None or found.pods == 0 < least <= found.most:
            return NoPlaceReasonFromOccupancyStage(stage.when, ReasonNotFoundInTime())
        if found.most < least:
            guessed = _hangs_on_guess(gangs, stage)
            return NoPlaceReasonFromOccupancyStage(
                stage.when, GangGroupTooLarge(stage.when, group.name, guessed)
            )
    return None


def _hangs_on_guess(gangs: Sequence[Gang], stage: NodesAtOccupancyStage) -> bool:
    """Return whether guesses about running pods may decide how many members have a place."""
    specs = {pod.spec for gang in gangs for pod in gang.pods}
    return any(
        fit_depends_on_guessed_numa_nodes(spec, node, running)
        for node, running in zip(stage.nodes, stage.running, strict=True)
        for spec in specs
    )


def _most(
    gangs: Sequence[Gang], groups: tuple[GangGroup, ...], stage: NodesAtOccupancyStage
) -> PlaceableGangPodCountBounds | None:
    try:
        raise_if_out_of_time(lambda: stage.budget.over)
        world = _world(gangs, groups, stage)
        return count_placeable_gang_pods(world, stage.budget, list(stage.accounts()), stage.is_over)
    except OutOfTimeError:
        return None


def _world(
    gangs: Sequence[Gang], groups: tuple[GangGroup, ...], stage: NodesAtOccupancyStage
) -> Instance:
    """Return the gangs alone on the nodes at a stage.

    Before all is placed, company may still come, so the pods do not ask for it.
    """
    if stage.when is not FirstStageWithoutPlace.PLACED:
        gangs = [replace(gang, pods=tuple(map(_alone, gang.pods))) for gang in gangs]
    return Instance(
        tuple(replace(node, offered=False) if node.offered else node for node in stage.nodes),
        tuple(gangs),
        groups,
        running=[runner for pods in stage.running for runner in pods],
    )


def _alone(pod: Pod) -> Pod:
    spec = without_needs_met_later(pod.spec)
    return pod if spec is pod.spec else replace(pod, spec=spec)


def level_rule_blocking_node(gang: Gang, members: Sequence[Node], node: Node) -> Blocker | None:
    """Return the rule of the gang's levels that one more member on a node would break, if any."""
    if gang.gather is GatherLevel.NODE and any(member.name != node.name for member in members):
        return Blocker(RuleDemand(GangNetworkLevelRuleKind.GATHER.value, word=NODE_LEVEL))
    for rule in gang.levels:
        if not rule.required:
            continue
        here = node.domain(rule.level)
        there = [member.domain(rule.level) for member in members]
        count = 1 + there.count(here)
        match rule.grouping:
            case GangNetworkLevelRuleKind.GATHER:
                broken, word = count <= len(members), rule.level
            case GangNetworkLevelRuleKind.SPREAD:
                broken = count > rule.count
                word = f"at most {count_with_noun(rule.count, 'member')} in one {rule.level}"
            case GangNetworkLevelRuleKind.MULTIPLES:
                broken = count % rule.count > 0
                word = f"a multiple of {rule.count} members in one {rule.level}"
        if here is not None and broken:
            return Blocker(RuleDemand(rule.grouping.value, word=word))
    return None
