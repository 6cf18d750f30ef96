"""Free amounts of nodes, column by column, as scorers see them, kept up to date node by node."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from placer.greedy.columns import Numbers
from placer.greedy.scorer import ScorerNodeColumnsLeft, ScorerPodAsk
from placer.greedy.shares import free_device_positions
from placer_models.demand import WHOLE_MILLI
from placer_models.device import GPU
from placer_models.device_share import WHOLE_PERCENT
from placer_models.problem.banks import DeviceShareNeed, ShareableDevice
from placer_models.problem.dimensions import SHARED_POOL
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Shape

MILLI_PER_PERCENT = WHOLE_MILLI // WHOLE_PERCENT


class GpuLeft(NamedTuple):
    """A GPU of which something is left.

    Attributes:
        milli: How much, in 1/1000.
        class_index: Index of its equivalence class.
        device_index: Its index among the devices of the class that can take shares.

    """

    milli: int
    class_index: int
    device_index: int


class FreeAmountColumns:
    """The columns of free amounts.

    Attributes:
        free: What scorers see.
        memory_unit: The bytes that 1 stands for in the memory of nodes and shapes.

    """

    def __init__(self, nodes: Sequence[NodeState], memory_unit: int) -> None:
        """Write down what all nodes have left."""
        self.memory_unit = memory_unit
        # Nodes that are alike are one object, which is looked at once.
        known: dict[int, int] = {}
        of = np.array([known.setdefault(id(node), len(known)) for node in nodes], dtype=np.intp)
        each = list({id(node): node for node in nodes}.values())
        rows = [[gpu.milli for gpu in gpus_with_anything_left(node)] for node in each]
        # As wide as all GPUs, whatever is left of them: a scorer remembers rows of one width.
        most = max(map(_gpus_of, each), default=0)
        gpus: Numbers = np.zeros((len(each), most), dtype=np.int64)
        for into, row in zip(gpus, rows, strict=True):
            into[: len(row)] = row
        self.free = ScorerNodeColumnsLeft(
            np.array([node.pool_milli for node in each], dtype=np.int64)[of],
            np.array([node.memory * memory_unit for node in each], dtype=np.int64)[of],
            gpus[of],
        )

    def write(self, at: int, node: NodeState) -> None:
        """Note what is left on a node now."""
        free = self.free
        free.cpu_milli[at] = node.pool_milli
        free.memory_bytes[at] = node.memory * self.memory_unit
        row = [gpu.milli for gpu in gpus_with_anything_left(node)]
        more = len(row) - free.gpu_milli.shape[1]
        if more > 0:  # A GPU that was not healthy has become it.
            wider: Numbers = np.pad(free.gpu_milli, ((0, 0), (0, more)))
            self.free = free = ScorerNodeColumnsLeft(free.cpu_milli, free.memory_bytes, wider)
        free.gpu_milli[at, : len(row)] = row
        free.gpu_milli[at, len(row) :] = 0


def pod_ask_of_shape(shape: Shape, memory_unit: int) -> ScorerPodAsk:
    """Return what pods of a shape ask for, as scorers see it.

    Args:
        shape: The shape.
        memory_unit: The bytes that 1 stands for in its memory.

    """
    parts = [_milli(need) for need in shape.shares if need.type == GPU]
    gpus = shape.count_of(GPU)
    whole = WHOLE_MILLI if shape.whole_of(GPU) else 0
    memory_bytes = shape.memory * memory_unit
    return ScorerPodAsk(shape.amounts[SHARED_POOL], memory_bytes, gpus, max(parts, default=whole))


def state_with_one_gpu_visible(node: NodeState, position: int) -> NodeState:
    """Return the node as a pod sees it that may have a share of one GPU only.

    Args:
        node: What is left on the node.
        position: The GPU, as a position in the node's row.

    """
    bank = node.bank(GPU)
    if bank is None:
        return node
    only = gpus_with_anything_left(node)[position]
    hidden = replace(
        bank,
        shareable=tuple(
            tuple(
                device if (of_class, index) == only[1:] else _without_room(device)
                for index, device in enumerate(members)
            )
            for of_class, members in enumerate(bank.shareable)
        ),
    )
    return node.with_banks(tuple(hidden if one is bank else one for one in node.banks))


def _without_room(device: ShareableDevice) -> ShareableDevice:
    return device._replace(left=(0,) * len(device.left), shared=True)


def _gpus_of(node: NodeState) -> int:
    """Return how many healthy GPUs the node has."""
    bank = node.bank(GPU)
    return 0 if bank is None else sum(bank.board.sizes)


def gpus_with_anything_left(node: NodeState) -> list[GpuLeft]:
    """Return the GPUs of which anything is left, class by class."""
    bank = node.bank(GPU)
    if bank is None:
        return []
    found = []
    for of_class, (free, members) in enumerate(zip(bank.free, bank.shareable, strict=False)):
        may_open = free_device_positions(members, free)
        for index, device in enumerate(members):
            if device.shared and device.left[0]:
                found.append(GpuLeft(MILLI_PER_PERCENT * device.left[0], of_class, index))
            elif not device.shared and index in may_open:
                found.append(GpuLeft(WHOLE_MILLI, of_class, index))
    return found


def are_all_gpu_shares_in_percent(shape: Shape) -> bool:
    """Return whether what is left of GPUs in percent says which of them the pods could share."""
    return all(need.share.percent is not None for need in shape.shares if need.type == GPU)


def _milli(need: DeviceShareNeed) -> int:
    """Return how much of a GPU a share is, in 1/1000, by its percent or else by its memory."""
    share = need.share
    percent = share.percent if share.percent is not None else share.memory_percent
    return MILLI_PER_PERCENT * (need.size_percent if percent is None else percent)
