"""Spread constraints that keep a pod off nodes, beside what is there at a stage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from placer.counting.account import Account, Side
from placer.greedy.columns import Mask
from placer.greedy.topology_spread import SpreadCounts
from placer.state.topology_spread import asked_spreadings, spread_tasks
from placer_models.cluster import Nodes, RunningPod
from placer_models.pod import PodSpec
from placer_models.problem.tasks import NO_DOMAIN
from placer_models.reasons import Blocker, Demand

OF_OTHERS = "of a pod that is placed"
"""What a blocker says of a constraint that is another pod's."""

_Kept = list[tuple[Blocker, Mask]]
"""Blockers, each with the nodes on which it does not block."""


@dataclass(slots=True)
class Spreads:
    """What spread constraints say of nodes at a stage.

    Attributes:
        nodes: All nodes.
        account_at: Index of a node -> what is there.
        arrived: The pods there that this answer placed. Their constraints are to be kept, too.

    """

    nodes: Nodes
    account_at: Callable[[int], Account]
    arrived: Sequence[RunningPod] = ()
    _asking: list[tuple[Side, int]] | None = None
    _known: dict[Side, _Kept] = field(default_factory=dict)

    def blocker(self, spec: PodSpec, namespace: str, index: int) -> Blocker | None:
        """Return what one more pod on a node would break, or None if nothing."""
        if self._asking is None:
            self._asking = [
                ((one.pod.spec, one.pod.namespace), self.nodes.position[one.placement.node])
                for one in self.arrived
                if one.pod.spec.spread
            ]
        if not (spec.spread or self._asking):
            return None
        side = spec, namespace
        if side not in self._known:
            self._known[side] = self._kept(side, self._asking)
        return next((blocker for blocker, kept in self._known[side] if not kept[index]), None)

    def _kept(self, side: Side, asking: list[tuple[Side, int]]) -> _Kept:
        """Return what may block such a pod, its own constraints first."""
        shape_of = {side: 0}
        for other, _ in asking:
            shape_of.setdefault(other, len(shape_of))
        sides = [*shape_of]
        accounts = [self.account_at(index) for index in range(len(self.nodes))]
        spreadings = [*asked_spreadings(sides)]
        tasks = spread_tasks(self.nodes, accounts, sides)
        counts = SpreadCounts(tasks, len(sides), len(self.nodes))
        for other, index in asking:
            counts.note_asking(shape_of[other], index)
        kept = dict(counts.kept(0))
        found: _Kept = []
        for number, (spreading, task) in enumerate(zip(spreadings, tasks, strict=True)):
            own = 0 in task.asking
            if own and task.required:
                word = f"a node with {' and '.join(spreading.keys)}"
                belongs = np.array(task.domains) != NO_DOMAIN
                found.append((Blocker(Demand("topology-spread", word=word)), belongs))
            if number in kept:
                skew = f"a skew of {task.max_skew} at most over {spreading.constraint.topology}"
                word = skew if own else OF_OTHERS
                found.append((Blocker(Demand("topology-spread", word=word)), kept[number]))
        return found
