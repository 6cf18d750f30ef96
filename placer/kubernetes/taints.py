"""Taints of nodes that keep pods off, said by labels and selectors.

There is no word for taints yet. What waits and does not tolerate some of them asks for a label,
which every node has that has none of these.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from placer_models.kubernetes.node import NodePart, Taint
from placer_models.kubernetes.pod_wishes import Toleration, Wishes

FREE_OF = "placer/free-of-taints"
"""The label is called so; where pods tolerate different ones, a number follows."""

Label = tuple[str, str]


@dataclass(slots=True)
class Taints:
    """The taints of a cluster that keep pods off, and who does not tolerate which.

    Attributes:
        _labels: Taints that some pods do not tolerate -> the label of nodes without them.

    """

    _hard: tuple[Taint, ...]
    _asked: dict[tuple[Toleration, ...], frozenset[Taint]] = field(default_factory=dict)
    _labels: dict[frozenset[Taint], Label] = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: Iterable[NodePart], waiting: Iterable[Wishes]) -> "Taints":
        """Return what the taints of nodes mean to the pods that wait."""
        hard = dict.fromkeys(taint for node in nodes for taint in node.taints if taint.keeps_off)
        found = cls(tuple(hard))
        for wishes in waiting:
            found._selector(wishes)
        return found

    def selector(self, wishes: Wishes) -> tuple[Label, ...]:
        """Return the label that a pod needs; none where it tolerates everything."""
        barred = self._selector(wishes)
        return (self._labels[barred],) if barred else ()

    def labels(self, node: NodePart) -> tuple[Label, ...]:
        """Return the labels that a node has."""
        own = set(node.taints)
        return tuple(label for barred, label in self._labels.items() if not barred & own)

    def lines(self) -> Mapping[Label, str]:
        """Return what each label stands for."""
        return {
            label: ", ".join(sorted(map(str, barred))) for barred, label in self._labels.items()
        }

    def _selector(self, wishes: Wishes) -> frozenset[Taint]:
        barred = self._asked.get(wishes.tolerations)
        if barred is None:
            barred = frozenset(taint for taint in self._hard if not wishes.tolerates(taint))
            self._asked[wishes.tolerations] = barred
            if barred and barred not in self._labels:
                number = f"-{len(self._labels) + 1}" if self._labels else ""
                self._labels[barred] = f"{FREE_OF}{number}", "true"
        return barred
