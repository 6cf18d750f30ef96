"""Selectors of nodes as people write them: by names, or by labels as kubectl takes them."""

import re
from collections.abc import Callable, Sequence

from placer_models.cluster import Node
from placer_models.instance.hosts import expand_hosts
from placer_models.message_text import in_quotes, near_or_first_names_text

_TERM = re.compile(r"(?P<key>[^=!,\s]+)\s*(?P<operator>==|!=|=)\s*(?P<value>[^=!,\s]*)")
_KEY = re.compile(r"(?P<no>!?)\s*(?P<key>[^=!,\s]+/[^=!,\s]+|[^=!,\s]+)")


def selected_node_names(text: str, nodes: Sequence[Node]) -> frozenset[str]:
    """Return the names of the nodes that a selector means.

    Args:
        text: Names of nodes, such as ``a-[0-3],b``, or conditions on labels, all of which a node
            meets: ``key=value``, ``key!=value``, ``key``, ``!key``.
        nodes: The nodes.

    Raises:
        ValueError: It can be read in neither way, or means no node.

    """
    known = {node.name for node in nodes}
    try:
        names = frozenset(expand_hosts(text))
    except ValueError:
        names = frozenset()
    if names and names <= known:
        return names
    conditions = [_condition(part.strip()) for part in text.split(",")]
    found = frozenset(
        node.name for node in nodes if all(meets(dict(node.labels)) for meets in conditions)
    )
    if not found:
        near = near_or_first_names_text(text, known) if "=" not in text else ""
        raise ValueError(f"got {in_quotes(text)}; no node has such a name or such labels{near}")
    return found


def _condition(text: str) -> Callable[[dict[str, str]], bool]:
    if match := _TERM.fullmatch(text):
        key, value = match["key"], match["value"]
        if match["operator"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _KEY.fullmatch(text):
        key = match["key"]
        if match["no"]:
            return lambda labels: key not in labels
        return lambda labels: key in labels
    raise ValueError(
        f"got {in_quotes(text)}; expected names of nodes, or labels such as pool=gpu or !spot"
    )
