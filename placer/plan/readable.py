"""The readable rest of a plan that differs from its schema: its other faults are told as well."""

from collections.abc import Sequence
from dataclasses import replace

from placer_models.files.documents import DocumentInFile
from placer_models.files.faults import DocumentLocation
from placer_models.files.tree import (
    DocumentTreeList,
    DocumentTreeMapping,
    DocumentTreeMappingEntry,
    DocumentTreeScalar,
    Path,
    Tree,
)

_BY_THEMSELVES = frozenset({"name", "machine", "price"})
"""Fields of an offer that are read whatever is wrong beside them."""


def plan_without_wrong_fields(plan: DocumentInFile, wrong: Sequence[Path]) -> DocumentInFile:
    """Return the plan without the fields that are wrong; an offer has some price in any case.

    Lists keep all their items, so that each part of the rest has the same path as before.
    """
    tree = plan.tree
    for path in wrong:
        kept = _without(tree, path)
        assert isinstance(kept, DocumentTreeMapping)
        tree = kept
    offers = tree.entries.get("offers")
    if offers is not None and isinstance(offers.node, DocumentTreeList):
        items = [_priced(item) for item in offers.node.items]
        node = offers.node._replace(items=items)
        tree = tree._replace(entries=tree.entries | {"offers": offers._replace(node=node)})
    return replace(plan, tree=tree)


def may_be_fault_of_left_out_fields(place: DocumentLocation, wrong: Sequence[Path]) -> bool:
    """Return whether a fault of the rest may be there only because something was left out."""
    path = place.path
    for other in wrong:
        length = min(len(path), len(other))
        if path[:length] == other[:length]:
            return True
        if other[0] == "demand" and (path[:2] == ("demand", "more") or "changes" in path):
            return True
        item = _item_of(other)
        if item and path[: len(item)] == item:
            alone = item[0] == "offers" and path[len(item)] in _BY_THEMSELVES
            if not alone or (path[len(item)], other[len(item)]) == ("machine", "like"):
                return True
    return False


def _item_of(path: Path) -> Path:
    """Return the path of the outermost item of a list on a path; empty if there is none."""
    at = next((i for i, step in enumerate(path) if isinstance(step, int)), None)
    return () if at is None else path[: at + 1]


def _without(tree: Tree, path: Path) -> Tree:
    step, *rest = path
    if isinstance(tree, DocumentTreeMapping) and isinstance(step, str) and step in tree.entries:
        entries = dict(tree.entries)
        if rest:
            entry = entries[step]
            entries[step] = entry._replace(node=_without(entry.node, tuple(rest)))
        else:
            del entries[step]
        return tree._replace(entries=entries)
    if (
        isinstance(tree, DocumentTreeList)
        and isinstance(step, int)
        and rest
        and step < len(tree.items)
    ):
        items = list(tree.items)
        items[step] = _without(items[step], tuple(rest))
        return tree._replace(items=items)
    return tree


def _priced(offer: Tree) -> Tree:
    if not isinstance(offer, DocumentTreeMapping) or "price" in offer.entries:
        return offer
    price = DocumentTreeMappingEntry(
        DocumentTreeScalar("1", quoted=False, line=offer.line), offer.line
    )
    return offer._replace(entries=offer.entries | {"price": price})
