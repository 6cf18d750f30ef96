"""What the words of NUMA alignment cost: one pod, placed and proven, with each and without.

The pod and the machines are those of `one_pod`: 3 GPUs, 40 CPUs of its own and 100 GiB on
as few of 8 and 34 NUMA nodes as can be, parts of each of which are taken at random.
``hugepages``: 32 pages of 1 GiB besides. ``container scope``: the same amounts as two app
containers and a sidecar, each aligned for itself. Ratios are to the plain pod, same run.

Run: python benchmarks/numa_words.py [ROUNDS]
"""

import statistics
from dataclasses import replace
from functools import partial

from _arguments import numbers_asked
from _timing import p99, solved_exactly
from _worlds import GIB
from _worn import on_worn
from one_pod import CORES, NEED, holder, machine, pod

from placer_models.cluster import Machine, Node
from placer_models.pod import Container, ContainerRole, DeviceRequest, Pod, Resources
from placer_models.policy import AlignmentScope
from placer_models.topology import Hugepages

PAGES = Hugepages(GIB, 32)


def paged(kind: Machine) -> Machine:
    """Return the machine with 16 pages of 1 GiB more on each NUMA node."""
    numa_nodes = tuple(
        replace(n, memory_bytes=n.memory_bytes + 16 * GIB, hugepages=(Hugepages(GIB, 16),))
        for n in kind.topology.numa_nodes
    )
    return replace(kind, topology=replace(kind.topology, numa_nodes=numa_nodes))


def with_pages(plain: Pod) -> Pod:
    """Return the pod with hugepages besides."""
    (only,) = plain.spec.containers
    asked = replace(only.requests, hugepages=(PAGES,))
    return replace(plain, spec=replace(plain.spec, containers=(replace(only, requests=asked),)))


def in_containers(plain: Pod) -> Pod:
    """Return the pod with what it asks for in three containers, each aligned for itself."""
    cpus, memory_bytes, gpus = NEED
    parts = (
        Container("log", Resources(4_000, memory_bytes // 10), ContainerRole.RESTARTABLE_INIT),
        Container("load", Resources(1000 * (cpus // 2 - 4), memory_bytes * 4 // 10)),
        Container(
            "train",
            Resources(1000 * (cpus // 2), memory_bytes // 2, devices=(DeviceRequest("gpu", gpus),)),
        ),
    )
    spec = replace(plain.spec, containers=parts, scope=AlignmentScope.CONTAINER)
    return replace(plain, spec=spec)


def main(rounds: int) -> None:
    print("NUMA nodes  word             rounds  proven  ms: median    p99  ratio to plain")
    plain = pod("wanted", *NEED)
    for numa_nodes in (8, 34):
        node = Node("n", paged(machine(numa_nodes)))
        base = 0.0
        for word, asked in (
            ("plain", plain),
            ("hugepages", with_pages(plain)),
            ("container scope", in_containers(plain)),
        ):
            make = partial(on_worn, node, asked, CORES, holder)
            times, proven = solved_exactly(make, rounds)
            median = statistics.median(times)
            base = base or median
            print(
                f"{numa_nodes:10}  {word:15}  {rounds:6}  {proven:6}  {median:10.1f}"
                f"  {p99(times):5.1f}  {median / base:14.2f}"
            )


if __name__ == "__main__":
    main(numbers_asked(__doc__, rounds=30).rounds)
