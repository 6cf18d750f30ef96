"""Simple nodes: those of which what simple pods leave is said by a few numbers.

They have one NUMA node, and GPUs that are all alike. Whoever adds a word to nodes need not know
of this: a node that has it is not simple.
"""

from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import NamedTuple

from placer.counting.account import Account
from placer.counting.boards import device_board
from placer.counting.node_resources import amount_of
from placer.greedy.free_nodes import MILLI_PER_PERCENT
from placer_models.cluster import Machine, Node
from placer_models.demand import WHOLE_MILLI
from placer_models.device import GPU
from placer_models.expected import NodeLeft
from placer_models.topology import NumaNode, Topology

_PODS = ("max-pods", "pod")
"""The key of the pods that a node still takes, among what is left of its resources."""

_SIMPLE_WORDS = frozenset(
    {
        *("name", "machine", "labels", "domains", "taints", "cordoned", "closed", "extended"),
        *("reserved_cpus", "unpooled_cpus", "milli_per_cpu", "max_pods"),
        *("unhealthy", "checkpoint_devices"),
    }
)
"""What nodes may say that are simple. Accounts and the rules about nodes tell what that means."""

_other_words = attrgetter(*(f.name for f in fields(Node) if f.name not in _SIMPLE_WORDS))

_SAYS_NOTHING_ELSE = _other_words(
    Node("", Machine("", "", Topology("x86_64", (), (NumaNode(0, 0),))))
)


class SimpleRow(NamedTuple):
    """What is left on a simple node.

    Attributes:
        cpu_milli: What new LS pods may ask for; below 0 if none may come, whatever it asks for.
        pods: How many pods more it takes.
        gpu_milli: What is left of each healthy GPU, ascending by minor, in 1/1000.

    """

    cpu_milli: int
    memory_bytes: int
    pods: int
    gpu_milli: tuple[int, ...]

    def left(self, *, with_memory: bool) -> NodeLeft:
        """Return the same as far as strategy ``expected`` looks at it, as `node_left` does."""
        gpus = tuple(sorted(filter(None, self.gpu_milli)))
        return NodeLeft(max(0, self.cpu_milli), gpus, self.memory_bytes if with_memory else 0)


def are_simple(nodes: Iterable[Node]) -> bool:
    """Return whether all the nodes are simple, whatever runs there."""
    inside: dict[tuple[int, frozenset[tuple[str, int]]], bool] = {}
    for node in nodes:
        if _other_words(node) != _SAYS_NOTHING_ELSE:
            return False
        key = id(node.machine), node.unhealthy
        if key not in inside:
            inside[key] = _is_simple_inside(node)
        if not inside[key]:
            return False
    return True


def _is_simple_inside(node: Node) -> bool:
    machine = node.machine
    return (
        len(machine.topology.package_in) == 1
        and all(one.type == GPU and one.pcie_switch is None for one in machine.devices)
        and len(device_board(node, GPU).classes) <= 1
    )


def simple_row(account: Account) -> SimpleRow | None:
    """Return what is left on a simple node, or None if a pod that runs there is not simple enough.

    Pods that ask for others, that are bound to a part of their pool, or that have other parts of a
    GPU's compute than of its memory, make a difference that no number here tells.
    """
    pools, devices = account.pools, account.devices
    if pools.bound or account.affine or account.offered:
        return None
    milli = []
    for device in devices.healthy:
        key = device.type, device.minor
        left = devices.shared.get(key)
        if left is not None:
            percent, memory = left[0], left[1]
            if memory != percent * (device.memory_bytes or 1):
                return None
            milli.append(MILLI_PER_PERCENT * percent)
        else:
            milli.append(WHOLE_MILLI if key in devices.free else 0)
    (memory_bytes,) = account.memory.bytes_in.values()
    return SimpleRow(
        max(0, pools.shared.left_milli) if pools.shared.cpus else -1,
        max(0, memory_bytes),
        max(0, amount_of(_PODS, account.resources)),
        tuple(milli),
    )
