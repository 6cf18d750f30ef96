"""The devices of a node, in classes of twins."""

from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.goals import MIG_POINTS
from placer_models.links import Board, board_of
from placer_models.mig import TABLES, covered, gpu_of, is_instance
from placer_models.problem import Cut


def healthy(node: Node, device_type: str) -> tuple[Device, ...]:
    """Return the devices of the type that may be given out on the node."""
    return tuple(d for d in node.devices if d.type == device_type and node.is_healthy(d))


def device_board(node: Node, device_type: str) -> Board:
    """Return the node's healthy devices of a type, and what is between them."""
    devices = healthy(node, device_type)
    if device_type != GPU:
        return board_of(devices, None)
    return board_of(devices, node.machine.gpu_links, table=node.table, honored=node.honors_table)


def cuts_of(node: Node, device_type: str, board: Board) -> tuple[Cut, ...]:
    """Return where on their GPUs the MIG instances of a type are; nothing of other types."""
    if not is_instance(device_type):
        return ()
    table_of = dict(node.mig)
    cuts = []
    for (minor,) in board.classes:
        gpu = gpu_of(minor)
        profile = next(p for p in TABLES[table_of[gpu]] if p.type == device_type)
        points = MIG_POINTS * profile.compute if profile.usual else 0
        cuts.append(Cut(gpu, covered(node.mig, device_type, minor), points))
    return tuple(cuts)
