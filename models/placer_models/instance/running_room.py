"""Room for what running pods hold that no file places: enough of it, or a fault."""

from collections.abc import Mapping, Sequence

from placer_models.cluster import Node
from placer_models.files.faults import Place
from placer_models.instance.guessed_memory import MEMORY, GuessedPod
from placer_models.instance.guessed_room import Resource
from placer_models.quantity import format_bytes


def check_room(
    node: Node,
    runners: Sequence[tuple[GuessedPod, Place]],
    room: Mapping[Resource, Mapping[int, int]],
) -> None:
    """Refuse pods for whose memory or hugepages their node lacks room, in the order of the file.

    Args:
        node: The node.
        runners: Its running pods, and where they are written.
        room: What its NUMA nodes have left of memory, and of hugepages by size in bytes.

    """
    left = {resource: sum(map(_free, here.values())) for resource, here in room.items()}
    for one, place in runners:
        for resource, amount in one.held.items():
            lacking = amount - left[resource]
            left[resource] -= min(amount, left[resource])
            if lacking <= 0:
                continue
            if resource == MEMORY:
                place.at("requests", "memory").fault(
                    f"node {node.name} lacks {format_bytes(lacking)} for this pod; "
                    "its running pods take more memory than it has"
                )
            else:
                assert isinstance(resource, int)
                place.at("requests").fault(
                    f"the node lacks {lacking} hugepages of {format_bytes(resource)} for this "
                    "pod; its running pods take more than it has"
                )


def _free(amount: int) -> int:
    return max(0, amount)
