"""What words about pools, NICs and amounts cost: one pod, proven, with each and without.

A node of 8 or 34 NUMA nodes with a NIC of 16 virtual functions beside each of 8 GPUs; parts
of each NUMA node are taken at random. ``burst``: an LS pod of 4 CPUs, limit 8, stays in the
shared pool of NUMA nodes that can hold its limit. ``function``: half a NIC comes with a
virtual function of a kind. ``each group``: a NIC for each NUMA node that gives one of 3
GPUs, against the 3 GPUs alone. ``extended``: two licences. Ratios are to the same pod
without the word, in the same run.

Run: python benchmarks/pool_words.py [ROUNDS]
"""

import statistics
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from _arguments import numbers_asked
from _timing import p99, solved_exactly
from _worlds import GIB
from _worn import on_worn
from one_pod import machine

from placer_models.cluster import Machine, Node
from placer_models.device import Device, VirtualFunction
from placer_models.device_share import DeviceShare
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, Pod, PodSpec, Resources
from placer_models.policy import JointDevicesScope, QosClass, RequiredOrPreferred

FUNCTIONS = tuple(
    VirtualFunction(i, f"0000:00:00.{i}", (("kind", "storage" if i % 2 else "general"),))
    for i in range(16)
)
HALF = DeviceShare(50)
BESIDE = JointDevicesRequest(
    ("gpu", "rdma"), JointDevicesScope.SAME_NUMA_NODE, RequiredOrPreferred.REQUIRED
)


def with_nics(kind: Machine) -> Machine:
    """Return the machine with a NIC beside each of its 8 GPUs."""
    nics = tuple(
        Device("rdma", gpu.minor, numa_node=gpu.numa_node, virtual_functions=FUNCTIONS)
        for gpu in kind.devices
    )
    return replace(kind, devices=(*kind.devices, *nics))


def holder(name: str, cpus: int, memory: int, held: Mapping[str, int]) -> Pod:
    """Return a pod that holds so much of a NUMA node."""
    devices = tuple(DeviceRequest(kind, count) for kind, count in sorted(held.items()))
    requests = Resources(1000 * cpus, memory, devices=devices)
    return Pod(name, "default", PodSpec((Container("main", requests),), qos=QosClass.LSR))


def _spec(*devices: DeviceRequest, licences: int = 0) -> PodSpec:
    extended = (("licences", licences),) if licences else ()
    requests = Resources(4000, 8 * GIB, devices=devices, extended=extended)
    return PodSpec((Container("main", requests, cpu_limit_milli=8000),))


HALF_NIC = _spec(DeviceRequest("rdma", 1, HALF))
GPUS = _spec(DeviceRequest("gpu", 3))
PAIRS: Mapping[str, tuple[PodSpec, PodSpec]] = {
    "burst": (_spec(), replace(_spec(), constrained_burst=True)),
    "function": (
        HALF_NIC,
        replace(HALF_NIC, functions=(("rdma", (("kind", ("storage",)),)),)),
    ),
    "each group": (
        GPUS,
        replace(
            _spec(DeviceRequest("gpu", 3), DeviceRequest("rdma", 1)),
            joint=BESIDE,
            strategies=(("rdma", DeviceCountStrategy.APPLY_FOR_EACH_GROUP),),
        ),
    ),
    "extended": (_spec(), _spec(licences=2)),
}
"""Word -> a pod without it and one with it."""


def timed(kind: Machine, spec: PodSpec, rounds: int) -> tuple[list[float], int]:
    """Return the milliseconds of each round, ascending, and how many answers were proven."""
    node = Node("n", kind, extended=(("licences", 8),))
    make = partial(on_worn, node, Pod("wanted", "default", spec), 24, holder)
    return solved_exactly(make, rounds)


def main(rounds: int) -> None:
    print("NUMA nodes  word        rounds  proven  ms: without   with    p99  ratio")
    for numa_nodes in (8, 34):
        kind = with_nics(machine(numa_nodes))
        for word, (plain, asked) in PAIRS.items():
            base, _ = timed(kind, plain, rounds)
            times, proven = timed(kind, asked, rounds)
            without, median = statistics.median(base), statistics.median(times)
            print(
                f"{numa_nodes:10}  {word:10}  {rounds:6}  {proven:6}  {without:11.1f}"
                f"  {median:5.1f}  {p99(times):5.1f}  {median / without:5.2f}"
            )


if __name__ == "__main__":
    main(numbers_asked(__doc__, rounds=30).rounds)
