"""Levels of the network in files, and the domains of nodes."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from placer_models.cluster import Node
from placer_models.files.faults import DocumentLocation
from placer_models.instance.schema import InstanceNodePart, NetworkLevelPart
from placer_models.message_text import in_quotes, spelling_suggestion
from placer_models.network import NODE_LEVEL


class InstanceNetworkLevelReader:
    """Reads the levels of the network, narrow to wide, and the domains of nodes."""

    def __init__(self) -> None:
        self._levels: dict[str, tuple[str, DocumentLocation]] = {}
        self._direct: set[str] = set()

    @property
    def known(self) -> Collection[str]:
        """The names of all levels at which nodes may belong to a domain."""
        return {NODE_LEVEL, *self._levels, *self._direct}

    def add(self, part: NetworkLevelPart, place: DocumentLocation) -> None:
        """Read one level and the label that names a node's domain."""
        if part.level == NODE_LEVEL:
            place.at("level").fault("every node has the level 'node'; leave it out")
        elif part.level in self._levels:
            first = self._levels[part.level][1]
            place.at("level").fault(f"{in_quotes(part.level)} is already given at {first.where}")
        else:
            self._levels[part.level] = (part.label, place)

    def domains(
        self, part: InstanceNodePart, place: DocumentLocation
    ) -> tuple[tuple[str, str], ...]:
        """Return the node's domains: those it is given, and those that its labels name."""
        if NODE_LEVEL in part.domains:
            place.at("domains", NODE_LEVEL).fault(
                "every node is a domain of its own at the level 'node'; delete the line"
            )
        self._direct |= part.domains.keys()
        by_label = {
            level: part.labels[label]
            for level, (label, _) in self._levels.items()
            if part.labels.get(label)
        }
        return tuple(sorted({**by_label, **part.domains}.items()))

    def check(self, nodes: Sequence[Node]) -> None:
        """Check that nodes have the labels of levels, and that levels are nested.

        Each domain must lie in one domain of the next wider level.
        """
        labels = {key for node in nodes for key, _ in node.labels}
        for label, place in self._levels.values():
            # A label that no node has may come with further nodes, unless it looks misspelt.
            hint = "" if label in labels else spelling_suggestion(label, labels, cutoff=0.75)
            if hint:
                place.at("label").fault(f"no node has the label {in_quotes(label)}{hint}")
        levels = list(self._levels)
        for narrow, wide in pairwise(levels):
            within: dict[str, str] = {}
            for node in nodes:
                inner, outer = node.domain(narrow), node.domain(wide)
                if inner is None or outer is None:
                    continue
                if within.setdefault(inner, outer) != outer:
                    self._levels[narrow][1].fault(
                        f"{narrow} {in_quotes(inner)} has nodes in {wide} "
                        f"{in_quotes(within[inner])} and "
                        f"in {wide} {in_quotes(outer)} ({node.name}); list narrow levels "
                        "first, and "
                        f"give each {narrow} a name of its own"
                    )
                    break
