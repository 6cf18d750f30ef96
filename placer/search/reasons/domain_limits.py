"""Limits of domains that keep a pod off nodes, beside what is there at a stage."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from placer.counting.account import Account, Side
from placer.greedy.columns import Mask
from placer.greedy.domain_limits import GreedyDomainPodCounts
from placer.search.reasons.rule import ReasonRule, Said
from placer.state.domain_limits import domain_limit_getter_for_shapes
from placer_models.cluster import NodesWithCachedFacts, RunningPod
from placer_models.domains import NO_DOMAIN
from placer_models.pod import PodSpec
from placer_models.problem.tasks import ProblemDomainLimit
from placer_models.reasons import Blocker, RuleDemand
from placer_models.relations import RELATIONS, DomainLimit, domain_limits_asked_by

OF_OTHERS = "of a pod that is placed"
"""What a blocker says of a limit that is another pod's."""

_Kept = list[tuple[Blocker, Mask]]
"""Blockers, each with the nodes on which it does not block."""


@dataclass(slots=True)
class DomainLimitBlockers:
    """What limits of domains say of nodes at a stage.

    Attributes:
        nodes: All nodes.
        account_at: Index of a node -> what is there.
        arrived: The pods there that this answer placed. Their limits are to be kept, too.

    """

    nodes: NodesWithCachedFacts
    account_at: Callable[[int], Account]
    arrived: Sequence[RunningPod] = ()
    _asking: list[tuple[Side, int]] | None = None
    _limits: Callable[[Sequence[Side]], Iterator[tuple[DomainLimit, ProblemDomainLimit]]] | None = (
        None
    )
    _known: dict[Side, _Kept] = field(default_factory=dict)

    def blocker(self, spec: PodSpec, namespace: str, index: int) -> Blocker | None:
        """Return the first that one more pod on a node would break, or None if nothing."""
        return next(self.blockers(spec, namespace, index), None)

    def blockers(self, spec: PodSpec, namespace: str, index: int) -> Iterator[Blocker]:
        """Return all that one more pod on a node would break."""
        if self._asking is None:
            self._asking = [
                ((one.pod.spec, one.pod.namespace), self.nodes.position[one.placement.node])
                for one in self.arrived
                if any(domain_limits_asked_by(one.pod.spec, one.pod.namespace))
            ]
        side = spec, namespace
        if side not in self._known:
            self._known[side] = self._kept(side, self._asking)
        return (blocker for blocker, kept in self._known[side] if not kept[index])

    def _kept(self, side: Side, asking: list[tuple[Side, int]]) -> _Kept:
        """Return what may block such a pod, its own limits first."""
        shape_of = {side: 0}
        for other, _ in asking:
            shape_of.setdefault(other, len(shape_of))
        sides = [*shape_of]
        if not any(True for one in sides for _ in domain_limits_asked_by(*one)):
            return []
        if self._limits is None:
            self._limits = domain_limit_getter_for_shapes(
                self.nodes, map(self.account_at, range(len(self.nodes)))
            )
        limits = [*self._limits(sides)]
        counts = GreedyDomainPodCounts([task for _, task in limits], len(sides), len(self.nodes))
        for other, index in asking:
            counts.note_asking(shape_of[other], index)
        kept = dict(counts.kept(0))
        found: _Kept = []
        for number, (limit, task) in enumerate(limits):
            own = 0 in task.asking
            elsewhere = np.zeros(len(self.nodes), dtype=bool)
            if own and task.required:
                elsewhere = np.array(task.domains) == NO_DOMAIN
                found.append((Blocker(RuleDemand(task.rule, word=limit.nodes_said)), ~elsewhere))
            if number in kept:
                word = limit.said if own else OF_OTHERS
                # Of a node in no domain it is said once.
                found.append((Blocker(RuleDemand(task.rule, word=word)), kept[number] | elsewhere))
        return found


def _said(demand: RuleDemand, _: Sequence[RuleDemand], __: PodSpec) -> Said:
    own = "" if demand.word == OF_OTHERS else "asks "
    return f"{demand.rule} {own}{demand.word}", ()


RULES = tuple(
    # They are asked of all nodes together, after all else.
    ReasonRule(name=relation.rule, said=_said, opened_by_others=True)
    for relation in RELATIONS
    if relation.rule
)
"""One for each rule that says how many pods domains may have."""
