"""Which nodes can use a device: one by name, those with some labels, or all."""

from collections.abc import Mapping
from dataclasses import dataclass

from placer_models.kubernetes.objects import Field
from placer_models.selectors import LabelExpression, Operator, meets

NAME = "metadata.name"
"""The one field of nodes that selectors look at."""

Term = tuple[tuple[LabelExpression, ...], tuple[LabelExpression, ...]]
"""What labels say, and what fields say."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The nodes that can use a device.

    Attributes:
        node: Its name; empty where it is not one by name.
        terms: Of which a node meets one.
        everywhere: Any node.

    """

    node: str = ""
    terms: tuple[Term, ...] = ()
    everywhere: bool = False

    def reaches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node can use it."""
        if self.everywhere:
            return True
        if self.node:
            return self.node == name
        own, fields = tuple(sorted(labels.items())), ((NAME, name),)
        return any(
            (by_label or by_field) and meets(own, by_label) and meets(fields, by_field)
            for by_label, by_field in self.terms
        )


def reach_of(part: Field) -> Reach | None:
    """Return what a ResourceSlice, or a device of one, says of nodes; None: nothing.

    Raises:
        ObjectError: It says so in several ways, or in none that can be read.

    """
    said = {
        "nodeName": bool(part.get("nodeName").text("")),
        "nodeSelector": part.get("nodeSelector").there,
        "allNodes": part.get("allNodes").flag(),
    }
    ways = [way for way, here in said.items() if here]
    if len(ways) > 1:
        part.get(ways[1]).refuse(f"stands beside {ways[0]}; keep one of them")
    if said["nodeSelector"]:
        return reach_by(part.get("nodeSelector"))
    if said["allNodes"]:
        return Reach(everywhere=True)
    return Reach(part.get("nodeName").text()) if said["nodeName"] else None


def reach_by(selector: Field) -> Reach:
    """Return which nodes a node selector reaches.

    Raises:
        ObjectError: An expression is none.

    """
    return Reach(
        terms=tuple(
            (_expressions(term.get("matchExpressions")), _expressions(term.get("matchFields")))
            for term in selector.get("nodeSelectorTerms").items()
        )
    )


def _expressions(part: Field) -> tuple[LabelExpression, ...]:
    return tuple(
        item.checked(
            LabelExpression,
            item.get("key").text(),
            item.get("operator").word(Operator),
            tuple(sorted({value.text() for value in item.get("values").items()})),
        )
        for item in part.items()
    )
