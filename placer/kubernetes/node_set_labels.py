"""Labels that stand for sets of nodes; the selectors of pods that are kept to them ask for them."""

from collections.abc import Iterator

from placer.kubernetes.pod_claims import Label
from placer.kubernetes.summary import DumpSummary
from placer_models.kubernetes.pod import KubePod


class NodeSetLabelMaker:
    """A label for each set of nodes that pods are kept to for one kind of reason."""

    def __init__(self, name: str, nodes_said: str, summary: DumpSummary) -> None:
        """Begin with none.

        Args:
            name: The first label's name; for further sets of nodes a number is added.
            nodes_said: What the nodes of a set are like, as a part of a sentence.
            summary: Told for which pod a label was made.

        """
        self._name, self._said, self._summary = name, nodes_said, summary
        self._labels: dict[frozenset[str], Label] = {}

    def of(self, nodes: frozenset[str], part: KubePod) -> Label:
        """Return the label of the nodes that a pod is kept to."""
        number = f"-{len(self._labels) + 1}" if self._labels else ""
        name, value = self._labels.setdefault(nodes, (f"{self._name}{number}", "true"))
        said = f"the label {name}={value} stands for the nodes that {self._said}"
        self._summary.assume(said, part.identity.title)
        return name, value

    def on(self, node: str) -> Iterator[Label]:
        """Yield the labels that a node gets."""
        return (label for nodes, label in self._labels.items() if node in nodes)
