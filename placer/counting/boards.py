"""The devices of a node, in equivalence classes."""

from itertools import count

from placer_models.cluster import Node
from placer_models.device import GPU, Device, is_mig_instance
from placer_models.goals import MIG_POINTS
from placer_models.links.board import LinkedDeviceClasses, linked_classes_of_devices
from placer_models.mig import (
    TABLES,
    PossibleMigPlacement,
    gpu_minor_of_mig_instance,
    mig_slices_covered,
)


def healthy_devices(node: Node, device_type: str) -> tuple[Device, ...]:
    """Return the devices of the type that may be given out on the node."""
    return tuple(d for d in node.devices if d.type == device_type and node.is_healthy(d))


def linked_classes_of_node(node: Node, device_type: str) -> LinkedDeviceClasses:
    """Return the board of the node's healthy devices of a type, with the links between them."""
    devices = healthy_devices(node, device_type)
    marks = home_device_marks(node, device_type)
    if device_type != GPU:
        return linked_classes_of_devices(devices, None, marks=marks)
    return linked_classes_of_devices(
        devices,
        node.machine.gpu_links,
        table=node.table,
        honored=node.honors_table,
        marks=marks,
    )


def home_device_marks(node: Node, device_type: str) -> tuple[tuple[int, int], ...]:
    """Return (minor, mark) of the devices that pods at home here hold, to tell them apart (G5).

    Devices that one pod has whole share a mark, so that their count means just these. A
    device of which it has a share has a mark of its own.
    """
    marks: dict[int, int] = {}
    next_mark = count()
    for home in node.homes:
        mine = [grant for grant in home.devices if grant.type == device_type]
        marks |= dict.fromkeys([g.minor for g in mine if g.share is None], next(next_mark))
        marks |= {g.minor: next(next_mark) for g in mine if g.share is not None}
    return tuple(sorted(marks.items()))


def mig_instance_positions(
    node: Node, device_type: str, board: LinkedDeviceClasses
) -> tuple[PossibleMigPlacement, ...]:
    """Return where on their GPUs the MIG instances of a type are, or nothing for other types."""
    if not is_mig_instance(device_type):
        return ()
    table_of = dict(node.mig)
    cuts = []
    for (minor,) in board.classes:
        gpu = gpu_minor_of_mig_instance(minor)
        profile = next(p for p in TABLES[table_of[gpu]] if p.type == device_type)
        points = MIG_POINTS * profile.compute if profile.usual else 0
        cuts.append(
            PossibleMigPlacement(gpu, mig_slices_covered(node.mig, device_type, minor), points)
        )
    return tuple(cuts)
