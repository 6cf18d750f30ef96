"""One pod, placed and proven, on one large machine: 8 and 34 NUMA nodes.

The pod wants 3 GPUs, 40 CPUs of its own and memory that one NUMA node cannot hold, on as
few NUMA nodes as can be. Parts of every NUMA node are taken at random before. The time is
that of a whole call: greedy, exact, realised, judged.

Baseline in the same run: walk through the sets of NUMA nodes, smallest first, and take
the first with room by counts. Merging one list of hints a resource, as the kubelet does,
walks through the product of such lists instead.

Run: python benchmarks/one_pod.py [ROUNDS]
"""

import statistics
from collections.abc import Mapping
from functools import partial
from itertools import combinations
from time import perf_counter

import _worlds
from _arguments import numbers_asked
from _timing import p99, solved_exactly, timed
from _worlds import GIB
from _worn import on_worn

from placer.counting.account import Account, accounts_of
from placer_models.cluster import Machine, Node
from placer_models.device import Device
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass

CORES = 32  # of each NUMA node, two threads each
MEMORY_BYTES = 64 * GIB
NEED = (40, 100 * GIB, 3)
"""CPUs, bytes of memory and GPUs that the pod wants."""


def machine(numa_nodes: int, devices: tuple[Device, ...] | None = None) -> Machine:
    """Return a machine of so many equal NUMA nodes, with 8 GPUs spread over them."""
    if devices is None:
        devices = tuple(Device("gpu", i, numa_node=i * numa_nodes // 8) for i in range(8))
    return _worlds.machine(
        f"numa-{numa_nodes}",
        2 * numa_nodes * CORES,
        (MEMORY_BYTES,) * numa_nodes,
        threads=2,
        apart=True,
        devices=devices,
    )


def pod(name: str, cpus: int, memory_bytes: int, gpus: int) -> Pod:
    devices = (DeviceRequest("gpu", gpus),) if gpus else ()
    containers = (Container("main", Resources(1000 * cpus, memory_bytes, devices=devices)),)
    spec = PodSpec(containers, qos=QosClass.LSR, alignment=AlignmentPolicy.BEST_EFFORT)
    return Pod(name, "default", spec)


def holder(name: str, cpus: int, memory: int, held: Mapping[str, int]) -> Pod:
    """Return a pod that holds so much of a NUMA node."""
    return pod(name, cpus, memory, held.get("gpu", 0))


def walk(account: Account, kind: Machine) -> int | None:
    """Return the size of the first set of NUMA nodes with room, smallest first."""
    where = [kind.topology.cpu[cpu].numa_node for cpu in account.cores.free_cpus]
    homes = [
        d.numa_node for d in account.devices.healthy if (d.type, d.minor) in account.devices.free
    ]
    cells = [
        (where.count(numa.id), account.memory.bytes_in[numa.id], homes.count(numa.id))
        for numa in kind.topology.numa_nodes
    ]
    for size in range(1, 5):
        for mask in combinations(cells, size):
            if all(sum(cell[i] for cell in mask) >= NEED[i] for i in range(3)):
                return size
    return None


def main(rounds: int) -> None:
    print("NUMA nodes  rounds  proven     ms: median    p99    max   ratio to the walk")
    for numa_nodes in (8, 34):
        kind = machine(numa_nodes)
        make = partial(on_worn, Node("n", kind), pod("wanted", *NEED), CORES, holder)
        times, proven = solved_exactly(make, rounds)
        walks = [
            1e3 * timed(perf_counter, walk, accounts_of(make(seed))[0], kind)[0]
            for seed in range(rounds)
        ]
        median = statistics.median(times)
        print(
            f"{numa_nodes:10}  {rounds:6}  {proven:6}  {median:13.1f}"
            f"  {p99(times):5.1f}  {times[-1]:5.1f}"
            f"  {median / statistics.median(walks):8.1f}"
        )


if __name__ == "__main__":
    main(numbers_asked(__doc__, rounds=30).rounds)
