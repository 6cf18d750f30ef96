"""Movable pods: the running pods that may be considered for another place at all (G5)."""

from collections.abc import Callable
from dataclasses import dataclass

from placer_models.cluster import Node, RunningPod
from placer_models.illegal_running import illegality_text
from placer_models.placement import NamespacedName
from placer_models.pod import PodSpec
from placer_models.policy import AlignmentScope
from placer_models.records import record
from placer_models.relations import RELATIONS
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class MisfitsLeavingTogether:
    """Running pods in breach of a rule, which either all leave or all stay as they are.

    Attributes:
        pods: One pod, or the members of a gang that asks where its members are.
        broken: (pod, rule): the rules that each would break if they came now to where they are.
        leaving: The pods that cannot stay where they are if the group leaves; none if a gang
            is misplaced only as a whole.

    """

    pods: frozenset[NamespacedName]
    broken: tuple[tuple[NamespacedName, str], ...]
    leaving: frozenset[NamespacedName]


@record(frozen=True, slots=True)
class MovablePods:
    """The running pods that may get another place.

    Attributes:
        fitting: Pods that could come anew to where they are: they may stay, and keep the rules.
        misplaced: Pods that could not; they are not blamed as long as they stay.

    """

    fitting: frozenset[NamespacedName] = frozenset()
    misplaced: tuple[MisfitsLeavingTogether, ...] = ()


def may_move(running: RunningPod, node: Node) -> bool:
    """Return whether a running pod may be considered for another place at all.

    An illegal pod may not. Every family of rules has to allow it; a family without an entry keeps
    all pods in place.
    """
    spec = running.pod.spec
    return (
        running.movable
        and not illegality_text(running)
        and all(family in MOVABLE and MOVABLE[family](spec, node) for family in RuleFamilyName)
    )


def _always(spec: PodSpec, node: Node) -> bool:
    return True


def _as_relations_say(family: RuleFamilyName) -> Callable[[PodSpec, Node], bool]:
    relations = [relation for relation in RELATIONS if relation.family is family]
    return lambda spec, node: all(relation.movable(spec, node) for relation in relations)


# A pod stays if its place depends on a part of a pool, on virtual functions, on a device strategy
# or on the parts of its containers: counts do not show that such a pod has just what it had.
MOVABLE: dict[RuleFamilyName, Callable[[PodSpec, Node], bool]] = {
    **{relation.family: _as_relations_say(relation.family) for relation in RELATIONS},
    RuleFamilyName.GANGS: _always,
    RuleFamilyName.NODE_PREFERENCE: _always,
    RuleFamilyName.AMOUNTS: _always,
    RuleFamilyName.CPUS: _always,
    RuleFamilyName.NUMA: _always,
    RuleFamilyName.CONTAINERS: lambda spec, node: (
        AlignmentScope.CONTAINER not in (spec.scope, node.scope)
    ),
    RuleFamilyName.BOUND: lambda spec, _: not spec.constrained_burst,
    RuleFamilyName.LOCALITIES: _always,
    RuleFamilyName.NUMA_STRATEGY: _always,
    RuleFamilyName.EXCLUSIVITY: _always,
    RuleFamilyName.CORE_PAIRS: _always,
    RuleFamilyName.DEVICES: _always,
    RuleFamilyName.LINKS: _always,
    RuleFamilyName.SWITCHES: _always,
    RuleFamilyName.MIG: _always,
    RuleFamilyName.SHARES: _always,
    RuleFamilyName.FUNCTIONS: lambda spec, _: not spec.functions,
    RuleFamilyName.JOINT: _always,
    RuleFamilyName.DEVICE_STRATEGY: lambda spec, _: not (spec.strategies or spec.variants),
    RuleFamilyName.DEVICE_CHOICE: _always,
    RuleFamilyName.OPENED: _always,
    RuleFamilyName.MOVES: _always,
    RuleFamilyName.NODE_STRATEGY: _always,
}
"""Family -> whether a pod with the spec on the node may be considered for another place."""
