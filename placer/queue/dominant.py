"""Hierarchical dominant resource fairness: shares of several resources at once.

For planners: what a tree of flows ends up with when tasks take CPUs and memory and GPUs
together. Tasks are handed out one by one to the least served flow at each level, where a
flow's service is its largest share of any resource, over its weight. Two rules keep a
group from paying for what its children cannot use (Bhattacharya et al., SoCC 2013): a
group counts its children scaled down to the least served of them, and children that can
get nothing more do not take part in that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from placer.queue.model import ONE_MILLI

_Vector = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class FlowOfEqualTasks:
    """A flow of equal tasks, or a group of flows.

    Attributes:
        task: What one task takes of each resource; empty for a group.
        tasks: How many tasks wait.

    """

    name: str
    weight_milli: int = ONE_MILLI
    task: tuple[int, ...] = ()
    tasks: int = 0
    children: tuple["FlowOfEqualTasks", ...] = ()


def drf_task_counts(capacity: Sequence[int], flows: Sequence[FlowOfEqualTasks]) -> dict[str, int]:
    """Return how many tasks of each flow run when nothing more fits."""
    if min(capacity, default=1) < 1:
        raise ValueError(f"capacity is {list(capacity)}; there is 1 or more of each resource")
    filling = _Filling(capacity, flows)
    while filling.step():
        pass
    return filling.running


class _Filling:
    """Tasks handed out so far, and what is left."""

    def __init__(self, capacity: Sequence[int], flows: Sequence[FlowOfEqualTasks]) -> None:
        self._capacity = tuple(capacity)
        self._free = list(capacity)
        self._flows = tuple(flows)
        self.running: dict[str, int] = {leaf.name: 0 for leaf in _leaves(flows)}

    def step(self) -> bool:
        """Start one task of the least served flow, and return whether any could start."""
        level = self._flows
        while open_flows := [flow for flow in level if not self._blocked(flow)]:
            flow = min(open_flows, key=self._value)
            if flow.children:
                level = flow.children
                continue
            self.running[flow.name] += 1
            for i, amount in enumerate(flow.task):
                self._free[i] -= amount
            return True
        return False

    def _blocked(self, flow: FlowOfEqualTasks) -> bool:
        if flow.children:
            return all(map(self._blocked, flow.children))
        fits = all(amount <= free for amount, free in zip(flow.task, self._free, strict=True))
        return self.running[flow.name] == flow.tasks or not fits

    def _value(self, flow: FlowOfEqualTasks) -> Fraction:
        return max(self._shares(flow)) / flow.weight_milli

    def _shares(self, flow: FlowOfEqualTasks) -> _Vector:
        """Return the share of each resource that counts against the flow."""
        if not flow.children:
            tasks = self.running[flow.name]
            pairs = zip(flow.task, self._capacity, strict=True)
            return tuple(Fraction(tasks * amount, total) for amount, total in pairs)
        open_values = [self._value(child) for child in flow.children if not self._blocked(child)]
        least = min(open_values, default=None)
        parts = [self._scaled(child, least) for child in flow.children]
        return tuple(sum(column, Fraction(0)) for column in zip(*parts, strict=True))

    def _scaled(self, child: FlowOfEqualTasks, least: Fraction | None) -> _Vector:
        shares, value = self._shares(child), self._value(child)
        if least is None or value <= least or self._blocked(child):
            return shares
        return tuple(share * least / value for share in shares)


def _leaves(flows: Sequence[FlowOfEqualTasks]) -> list[FlowOfEqualTasks]:
    return [
        leaf for flow in flows for leaf in (_leaves(flow.children) if flow.children else [flow])
    ]
