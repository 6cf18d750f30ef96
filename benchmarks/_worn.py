"""A node that is worn: a random part of every NUMA node is held by a pod that runs there."""

import random
from collections import Counter
from collections.abc import Callable, Mapping

from _worlds import GIB, lone, running_pod

from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import ContainerPlacement, DeviceGrant
from placer_models.pod import Pod

Holder = Callable[[str, int, int, Mapping[str, int]], Pod]
"""Returns the pod of a name that holds CPUs, bytes of memory, and devices by type."""


def taken(kind: Machine, rng: random.Random, cores: int, holder: Holder) -> list[RunningPod]:
    """Take parts of 1 core to so many, memory and three of ten devices of each NUMA node."""
    found = []
    topology = kind.topology
    for numa in topology.numa_nodes:
        here = [t for t in topology.cores.values() if topology.cpu[min(t)].numa_node == numa.id]
        cpus = frozenset(
            cpu
            for threads in rng.sample(here, rng.randint(1, cores))
            for cpu in rng.sample(sorted(threads), rng.randint(1, 2))
        )
        memory = rng.randint(1, 40) * GIB
        grants = tuple(
            DeviceGrant(d.type, d.minor)
            for d in kind.devices
            if d.numa_node == numa.id and rng.random() < 0.3
        )
        held = Counter(grant.type for grant in grants)
        found.append(
            running_pod(
                holder(f"running-{numa.id}", len(cpus), memory, held),
                "n",
                cpus,
                containers=(ContainerPlacement("main", cpus),),
                memory_bytes=((numa.id, memory),),
                devices=grants,
            )
        )
    return found


def on_worn(node: Node, pod: Pod, cores: int, holder: Holder, seed: int) -> Instance:
    """Return a pod that waits for a node that is worn, in the way of a seed."""
    worn = taken(node.machine, random.Random(seed), cores, holder)
    return Instance((node,), (lone(pod),), running=tuple(worn))
