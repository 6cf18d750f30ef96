"""The answer of ``placer plan fit``: how many more fit, how many at most, and what stops them."""

from dataclasses import dataclass

from placer_models.cluster import Instance
from placer_models.placement import Placement
from placer_models.pod import Pod


@dataclass(frozen=True, slots=True)
class NodesWithSameFitBlocker:
    """Nodes of one kind on which the next pod is stopped by the same.

    Attributes:
        machine: Their instance type, else their machine.
        nodes: Their names.
        count: How many further pods they hold together.
        rule: The rule that stops the next one; empty: it is excluded, or nobody knows.
        reason: The same in words.

    """

    machine: str
    nodes: tuple[str, ...]
    count: int
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class FitCount:
    """How many further pods of a shape fit, as it is or with changes.

    Attributes:
        changes: The changes, in words; none: as it is.
        pod: A pod of the shape.
        count: So many have a place, which the judge has looked at.
        bound: No more than this can have one.
        classes: The nodes, those that hold most first.
        instance: What was asked: ``count`` or more pods that wait.
        placement: The places.

    """

    changes: tuple[str, ...]
    pod: Pod
    count: int
    bound: int
    classes: tuple[NodesWithSameFitBlocker, ...]
    instance: Instance
    placement: Placement

    @property
    def proven(self) -> bool:
        """Whether no more can fit."""
        return self.count == self.bound
