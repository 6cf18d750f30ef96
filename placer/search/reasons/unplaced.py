"""Reasons why pods were left out, none of which says what is not so (G7).

For each pod the first question that is answered yes gives the verdict: can no empty
node host it (never fits)? Do the running pods leave no room (not now)? Do the pods of
this answer leave none (outvoted)? The same is asked of gangs and gang groups as wholes.
Nothing is guessed: if the time is over before the answer is known, that is the reason.
Devices that checkpoints of kubelets keep from pods are a reason beside the verdict (D12).
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from placer.search.baseline import StartingAccounts
from placer.search.budget import SolveBudget
from placer.search.reasons.alone import reason_budget
from placer.search.reasons.gangs import (
    NoPlaceReasonFromOccupancyStage,
    level_rule_blocking_node,
    staged_reason_of_gang,
    staged_reason_of_gang_group,
)
from placer.search.reasons.register import REASON_RULES
from placer.search.reasons.sentences import reason_sentences
from placer.search.reasons.stages import OccupancyStages, nodes_at_occupancy_stages
from placer.search.reasons.unknown_names import NamesKnownToNodes
from placer.state.network import network_levels_required_by_gang
from placer.state.out_of_time import OutOfTimeError
from placer.state.requirements import PodRequirements
from placer_models.cluster import Instance, Node, NodesWithCachedFacts
from placer_models.device import GPU, is_mig_instance
from placer_models.left_out import PodLeftOutBeforeSolve
from placer_models.placement import NamespacedName, Placement, PlaceRejectedByJudge, Unplaced
from placer_models.pod import Gang, GangGroup, Pod, PodSpec, pods_of_gangs
from placer_models.reasons import (
    Blocked,
    DevicesHeldByCheckpointReason,
    FirstStageWithoutPlace,
    GangMinimumReason,
    GangNetworkLevelRuleReason,
    MovesAllowedReason,
    Reason,
    ReasonNotFoundInTime,
    RejectedPlaceReason,
    RoomButNoPlaceFound,
    WholeGangGroupReason,
)


def why_unplaced(
    instance: Instance,
    asked: Instance,
    before: StartingAccounts,
    placement: Placement,
    budget: SolveBudget,
    rejected: Sequence[PlaceRejectedByJudge] = (),
) -> tuple[Unplaced, ...]:
    """List the pods without a place, each with its reasons, and those left out before as well.

    Args:
        instance: The instance.
        asked: The same, with running pods that may move among those that wait.
        before: The nodes of the instance, counted.
        placement: The answer to what was asked.
        budget: The budget of the whole solve.
        rejected: Places that the judge rejected.

    """
    left_out = tuple(left_out_as_unplaced(instance.left_out))
    placed = {pod.key for pod in placement.pods}
    if all(pod.key in placed for pod in pods_of_gangs(instance.gangs)):
        return left_out
    whole = reason_budget(budget)
    stages = (
        None if whole.over else nodes_at_occupancy_stages(instance, asked, before, placement, whole)
    )
    reasons = _Reasons(instance, asked, placement, stages, whole)
    lost: dict[NamespacedName, list[Reason]] = {}
    for place in rejected:
        known = lost.setdefault(place.key, [])
        known.append(RejectedPlaceReason(place.node, place.why))
    unplaced = (
        _and_rejected(reasons.of(pod, gang), pod, lost.get(pod.key, ()))
        for gang in instance.gangs
        for pod in gang.pods
        if pod.key not in placed
    )
    return (*unplaced, *left_out)


def _and_rejected(found: Unplaced, pod: Pod, lost: Sequence[Reason]) -> Unplaced:
    """Return a pod with its reasons, and the places that the judge rejected."""
    if not lost:
        return found
    why = (*found.why, *lost)
    return replace(found, reasons=tuple(reason_sentences(why, pod.spec)), why=why)


def left_out_as_unplaced(left_out: Iterable[PodLeftOutBeforeSolve]) -> Iterator[Unplaced]:
    """Yield the pods that no solver was asked about, with their reasons in words as well."""
    for one in left_out:
        words = tuple(reason_sentences(one.why, _OF_NOBODY))
        yield Unplaced(one.name, one.namespace, one.gang, words, one.why)


_OF_NOBODY = PodSpec(())
"""A spec for the words of reasons that speak of no spec."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The verdict on a pod by itself.

    Attributes:
        short: From when on it has no place, or None if it has one beside all that is placed.
        room: The name of a node where it has one; empty if it has none.

    """

    short: NoPlaceReasonFromOccupancyStage | None
    room: str = ""


_NOT_LOOKED_AT = NoPlaceReasonFromOccupancyStage(
    FirstStageWithoutPlace.EMPTY, ReasonNotFoundInTime()
)
"""What is said of a pod or a gang for which no time is left."""


class _Reasons:
    """The reasons for the pods that one answer leaves out, looked into one by one."""

    def __init__(
        self,
        instance: Instance,
        asked: Instance,
        placement: Placement,
        stages: OccupancyStages | None,
        budget: SolveBudget,
    ) -> None:
        self._instance = instance
        self._moves = tuple(_moves_allowed(asked))
        self._stages = stages
        self._budget = budget
        self._ended = stages is None
        self._pods: dict[Hashable, _Verdict] = {}
        self._told: dict[Hashable, tuple[tuple[str, ...], tuple[Reason, ...]]] = {}
        self._gangs: dict[Hashable, list[NoPlaceReasonFromOccupancyStage]] = {}
        self._names: NamesKnownToNodes | None = None
        self._group_of = {key: group for group in instance.groups for key in group.gangs}
        nodes = NodesWithCachedFacts.of(instance.nodes)
        node_of = {place.key: nodes[nodes.position[place.node]] for place in placement.pods}
        self._members = {
            gang.key: [node_of[pod.key] for pod in gang.pods if pod.key in node_of]
            for gang in instance.gangs
        }
        questions = {
            self._question(pod, gang)
            for gang in (instance.gangs if stages else ())
            for pod in gang.pods
            if pod.key not in node_of
        }
        self._open = len(questions) + sum(
            not gang.lone and not self._members[gang.key] for gang in instance.gangs
        )

    def of(self, pod: Pod, gang: Gang) -> Unplaced:
        """Return one pod with its reasons, the verdict first."""
        name = None if gang.lone else gang.name
        # Members of a gang that ask for the same are told the same.
        known = gang.key, pod.spec, pod.namespace
        if known not in self._told:
            why = tuple(self._why(pod, gang))
            self._told[known] = tuple(reason_sentences(why, pod.spec)), why
        return Unplaced(pod.name, pod.namespace, name, *self._told[known])

    @property
    def _is_over(self) -> bool:
        """Whether no time is left to look into anything."""
        self._ended = self._ended or self._budget.over
        return self._ended

    @contextmanager
    def _share(self) -> Iterator[OccupancyStages]:
        """Let the next question spend a share of the time; what it leaves goes to later ones."""
        assert self._stages is not None, "no question is asked without stages"
        part = self._budget.part(self._budget.slice(self._open))
        self._open -= 1
        for stage in self._stages:
            stage.budget = part
        yield self._stages
        self._budget.spend(part)

    def _why(self, pod: Pod, gang: Gang) -> Iterator[Reason]:
        verdict = self._verdict(pod, gang)
        short = self._short(gang)
        members = self._members[gang.key]
        first = reason_at_earliest_stage(found for found in (verdict.short, *short) if found)
        if first is not None:
            yield first.why
        elif gang.lone or members:
            yield RoomButNoPlaceFound(node=verdict.room)
        else:
            yield RoomButNoPlaceFound(gang=gang.name)
        if first is not None and pod.spec.requests.devices:
            nodes = NodesWithCachedFacts.of(self._instance.nodes)
            kept = nodes.remembered(
                checkpoint_reasons_by_device_type, partial(checkpoint_reasons_by_device_type, nodes)
            )
            yield from kept_from_pod_by_checkpoints(pod.spec, first.why, kept)
        if verdict.short is _NOT_LOOKED_AT:
            pass  # nor is there time for what else could be said
        elif verdict.short and verdict.short.when is FirstStageWithoutPlace.EMPTY:
            self._names = self._names or NamesKnownToNodes(self._instance.nodes)
            yield from self._names.unknown_names(pod.spec)
        else:
            yield from self._moves
        if not gang.lone:
            yield from (GangNetworkLevelRuleReason(rule) for rule in gang.levels if rule.required)
            yield GangMinimumReason(gang.name, len(members), len(gang.pods), gang.minimum)
        yield from (
            found.why
            for found in short
            if found.why != ReasonNotFoundInTime() and found is not first
        )
        if not members and (group := self._group(gang)):
            yield WholeGangGroupReason(group.name, tuple(name for _, name in group.gangs))

    def _verdict(self, pod: Pod, gang: Gang) -> _Verdict:
        """Return the verdict on a pod by itself, beside the members of its gang that run."""
        known = self._question(pod, gang)
        if known not in self._pods:
            if self._is_over:
                return _Verdict(_NOT_LOOKED_AT)
            with self._share() as stages:
                members = self._members[gang.key]
                self._pods[known] = self._looked_into(known[0], gang, members, stages)
        return self._pods[known]

    def _question(self, pod: Pod, gang: Gang) -> tuple[PodRequirements, tuple[str, str] | None]:
        """Return a key: pods with the same one share a verdict."""
        ask = PodRequirements(pod.spec, network_levels_required_by_gang(gang), pod.namespace)
        return ask, gang.key if self._members[gang.key] else None

    def _looked_into(
        self, ask: PodRequirements, gang: Gang, members: Sequence[Node], stages: OccupancyStages
    ) -> _Verdict:
        _, second, third = stages
        room = 0
        for stage in stages:
            barred = None
            if stage is third and members:
                barred = partial(level_rule_blocking_node, gang, members)
            try:
                found = stage.blockers(ask, barred)
                if isinstance(found, int):
                    room = found
                    continue
                alone = stage is second and any(b.demand.name == "affinity" for b in found)
                if alone and not isinstance(later := third.blockers(ask), int):
                    found = later
            except OutOfTimeError:
                return _Verdict(NoPlaceReasonFromOccupancyStage(stage.when, ReasonNotFoundInTime()))
            return _Verdict(
                NoPlaceReasonFromOccupancyStage(
                    stage.when, Blocked(stage.when, tuple(found.items()), alone)
                )
            )
        return _Verdict(None, room=self._instance.nodes[room].name)

    def _short(self, gang: Gang) -> list[NoPlaceReasonFromOccupancyStage]:
        """Return from when on a gang that does not run, and its group, are short of places."""
        if self._members[gang.key] or (gang.lone and not self._group(gang)):
            return []
        if gang.key not in self._gangs:
            if self._is_over:
                return [_NOT_LOOKED_AT]
            with self._share() as stages:
                found = [] if gang.lone else [staged_reason_of_gang(gang, stages)]
                if group := self._group(gang):
                    known = group.key, group.gangs
                    if known not in self._gangs:
                        gangs = [g for g in self._instance.gangs if g.key in group.gangs]
                        short = staged_reason_of_gang_group(group, gangs, stages)
                        self._gangs[known] = [short] if short else []
                    found += self._gangs[known]
            self._gangs[gang.key] = [short for short in found if short]
        return self._gangs[gang.key]

    def _group(self, gang: Gang) -> GangGroup | None:
        return self._group_of.get(gang.key)


def reason_at_earliest_stage(
    found: Iterable[NoPlaceReasonFromOccupancyStage],
) -> NoPlaceReasonFromOccupancyStage | None:
    """Return what holds at the earliest stage; of several there, one with a known reason."""
    order = list(FirstStageWithoutPlace)
    return min(
        found,
        key=lambda short: (order.index(short.when), short.why == ReasonNotFoundInTime()),
        default=None,
    )


def _moves_allowed(asked: Instance) -> Iterator[MovesAllowedReason]:
    """Yield how many running pods could make room and may move; nothing if none could."""
    if could := len(asked.homes) + len(asked.could_leave):
        yield MovesAllowedReason(could, min(asked.move_budget, could))


def checkpoint_reasons_by_device_type(
    nodes: Sequence[Node],
) -> dict[str, DevicesHeldByCheckpointReason]:
    """Return type -> how many devices checkpoints keep from pods, for types with any."""
    devices: dict[str, int] = {}
    where: dict[str, set[str]] = {}
    for node in nodes:
        if not node.checkpoint_devices:
            continue
        for kind, _ in node.checkpoint_devices & node.unhealthy:
            devices[kind] = devices.get(kind, 0) + 1
            where.setdefault(kind, set()).add(node.name)
    return {
        kind: DevicesHeldByCheckpointReason(kind, count, len(where[kind]), len(nodes))
        for kind, count in sorted(devices.items())
    }


def kept_from_pod_by_checkpoints(
    spec: PodSpec, why: Reason, kept: Mapping[str, DevicesHeldByCheckpointReason]
) -> Iterator[DevicesHeldByCheckpointReason]:
    """Yield what checkpoints keep from a pod, where that may be why it has no place.

    Args:
        spec: What the pod asks for.
        why: Its verdict.
        kept: What checkpoints keep, by type.

    """
    if why == ReasonNotFoundInTime():
        return
    asked = {GPU if is_mig_instance(one.type) else one.type for one in spec.requests.devices}
    if isinstance(why, Blocked):
        demands = [d for blocker, _ in why.nodes for d in (blocker.demand, *blocker.others)]
        named = {GPU if is_mig_instance(d.subject) else d.subject for d in demands}
        if not any(REASON_RULES[d.rule].of_any_device for d in demands):
            asked &= named
    yield from (kept[kind] for kind in sorted(asked & kept.keys()))
