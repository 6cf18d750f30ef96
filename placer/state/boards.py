"""The devices of a node, in classes of twins."""

from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.links import Board, board_of


def healthy(node: Node, device_type: str) -> tuple[Device, ...]:
    """Return the devices of the type that may be given out on the node."""
    return tuple(d for d in node.machine.devices if d.type == device_type and node.is_healthy(d))


def device_board(node: Node, device_type: str) -> Board:
    """Return the node's healthy devices of a type, and what is between them."""
    devices = healthy(node, device_type)
    if device_type != GPU:
        return board_of(devices, None)
    return board_of(devices, node.machine.gpu_links, table=node.table, honored=node.honors_table)
