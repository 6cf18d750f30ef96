"""Simple nodes: those of which what simple pods leave is said by a few numbers.

They have one NUMA node, and GPUs that are all alike. Of other nodes, most of the time, the same
numbers say no more than how a scorer would like a place there, if there is one. Whoever adds a word
to nodes need not know of this: where a node has it, no numbers are asked.
"""

from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import NamedTuple

from placer.counting.account import Account
from placer.counting.boards import linked_classes_of_node
from placer.counting.node_resources import resource_amount_on_node
from placer.greedy.free_nodes import MILLI_PER_PERCENT
from placer_models.cluster import Machine, Node
from placer_models.demand import WHOLE_MILLI
from placer_models.device import GPU
from placer_models.expected import ResourcesLeftForExpectedPods
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

_NUMBERED_WORDS = _SIMPLE_WORDS | {
    *("alignment", "scope", "cpu_bind", "locality", "numa_strategy", "hugepages"),
    *("partitions", "partition_policy"),
}
"""What other nodes may say of which the numbers tell all that a scorer sees, and no more."""

_NOTHING = Node("", Machine("", "", Topology("x86_64", (), (NumaNode(0, 0),))))

_other_words = attrgetter(*(f.name for f in fields(Node) if f.name not in _SIMPLE_WORDS))
_words_of_no_numbers = attrgetter(*(f.name for f in fields(Node) if f.name not in _NUMBERED_WORDS))
_SAYS_NOTHING_ELSE, _SAYS_NO_NUMBERS = _other_words(_NOTHING), _words_of_no_numbers(_NOTHING)


class SimpleNodeRow(NamedTuple):
    """What is left on a node, in numbers.

    Attributes:
        cpu_milli: What new LS pods may ask for; below 0 if none may come, whatever it asks for.
        pods: How many pods more it takes.
        gpu_milli: What is left of each healthy GPU, ascending by minor, in 1/1000.

    """

    cpu_milli: int
    memory_bytes: int
    pods: int
    gpu_milli: tuple[int, ...]

    def left(self, *, with_memory: bool) -> ResourcesLeftForExpectedPods:
        """Return the same as far as strategy ``expected`` looks at it, as `node_left` does."""
        gpus = tuple(sorted(filter(None, self.gpu_milli)))
        return ResourcesLeftForExpectedPods(
            max(0, self.cpu_milli), gpus, self.memory_bytes if with_memory else 0
        )


def simple_node_flags(nodes: Iterable[Node]) -> list[bool] | None:
    """Return of each node whether it is simple, if its pods are.

    None if the numbers of some node do not even say what a scorer would see of it.
    """
    inside: dict[tuple[int, frozenset[tuple[str, int]]], bool] = {}
    found = []
    for node in nodes:
        words = _other_words(node)
        if words != _SAYS_NOTHING_ELSE:
            if _words_of_no_numbers(node) != _SAYS_NO_NUMBERS:
                return None
            found.append(False)
            continue
        key = id(node.machine), node.unhealthy
        if key not in inside:
            inside[key] = _is_simple_inside(node)
        found.append(inside[key])
    return found


def _is_simple_inside(node: Node) -> bool:
    machine = node.machine
    return (
        len(machine.topology.package_in) == 1
        and all(one.type == GPU and one.pcie_switch is None for one in machine.devices)
        and len(linked_classes_of_node(node, GPU).classes) <= 1
    )


def runs_only_simple_pods(account: Account) -> bool:
    """Return whether the row of a simple node says all that its pods leave.

    Pods that are bound to a part of their pool, or that have other parts of a GPU's compute than
    of its memory, make a difference that no number there tells.
    """
    shared = account.devices.shared
    return not account.pools.bound and all(
        left is None or left[1] == left[0] * (device.memory_bytes or 1)
        for device in account.devices.healthy
        if (left := shared.get((device.type, device.minor))) is not None
    )


def simple_row_of_account(account: Account) -> SimpleNodeRow:
    """Return what is left on a node, as far as numbers tell it: all of it on a simple node."""
    devices, milli = account.devices, []
    for device in devices.healthy:
        if device.type == GPU:
            key = device.type, device.minor
            left = devices.shared.get(key)
            if left is not None:
                milli.append(MILLI_PER_PERCENT * left[0])
            else:
                milli.append(WHOLE_MILLI if key in devices.free else 0)
    pool = account.pools.shared
    return SimpleNodeRow(
        max(0, pool.left_milli) if pool.cpus else -1,
        account.memory.free_bytes,
        max(0, resource_amount_on_node(_PODS, account.resources)),
        tuple(milli),
    )
