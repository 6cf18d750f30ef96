"""Offers like nodes that are there, and offers of machines: which is which, and what each needs."""

from collections.abc import Sequence
from contextlib import suppress

from placer.plan.schema import OfferPart
from placer_models.cluster import Instance, Node
from placer_models.files.documents import DocumentInFile
from placer_models.files.faults import DocumentLocation
from placer_models.files.tree import document_tree_to_plain_values
from placer_models.instance.hosts import expand_hosts
from placer_models.message_text import in_quotes, near_or_first_names_text
from placer_models.whatif.nodes import fresh_copy_of_node

_Offers = Sequence[tuple[OfferPart, DocumentLocation]]

_BESIDE_LIKE = {"name", "like", "price", "most", "pack_of"}


def existing_node_names(documents: Sequence[DocumentInFile], cluster: Instance | None) -> list[str]:
    """Return the names of nodes that are there, as they are written, whatever else is wrong."""
    names = [node.name for node in cluster.nodes] if cluster else []
    for document in documents:
        tree = document.tree.entries.get("nodes")
        written = document_tree_to_plain_values(tree.node) if tree else None
        for part in written if isinstance(written, list) else ():
            with suppress(ValueError):  # The reader of nodes says what is wrong with it.
                names += expand_hosts(str(part.get("name"))) if isinstance(part, dict) else ()
    return names


def machine_offers_and_faults(
    offers: _Offers, there: Sequence[str]
) -> tuple[list[tuple[OfferPart, DocumentLocation]], list[tuple[DocumentLocation, str]]]:
    """Return the offers of machines, and what is wrong with those of nodes.

    Args:
        offers: All offers.
        there: The names of nodes that are there.

    """
    found, wrong = [], []
    for part, at in offers:
        if part.like is None and not part.machine:
            message = "is missing; name a machine, or say `like` with a node"
            wrong.append((at.at("machine"), message))
        elif part.like is None:
            found.append((part, at))
        elif part.like not in there:
            name = in_quotes(part.like)
            hint = near_or_first_names_text(part.like, there)
            message = f"no node that is there is called {name}{hint}"
            wrong.append((at.at("like"), message))
        elif more := part.model_fields_set - _BESIDE_LIKE:
            fields = OfferPart.model_fields
            names = ", ".join(sorted(fields[name].alias or name for name in more))
            message = f"the offer is all that the node {in_quotes(part.like)} is; leave out {names}"
            wrong.append((at.at("like"), message))
    return found, wrong


def node_of_each_offer(
    offers: _Offers, made: Sequence[Node], there: Sequence[Node]
) -> list[Node | None]:
    """Return a node of each offer; None for offers with a fault.

    Args:
        offers: All offers.
        made: The nodes of those of machines.
        there: The nodes that are there.

    """
    by_offer = {node.name: node for node in made}
    by_name = {node.name: node for node in there}
    return [
        fresh_copy_of_node(by_name[part.like], part.name)
        if part.like in by_name
        else by_offer.get(part.name)
        for part, _ in offers
    ]
