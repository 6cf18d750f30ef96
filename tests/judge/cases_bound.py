"""The edges of the rule about LS and BE pods that a policy binds to the pool of NUMA nodes."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, put, world
from judge.hand import pod as plain
from placer_models.cluster import Node
from placer_models.placement import PodPlacement
from placer_models.pod import Pod
from placer_models.policy import AlignmentPolicy, QosClass

LS, BE, LSE = QosClass.LS, QosClass.BE, QosClass.LSE
RULE = "bound-pool"
SINGLE: list[Node] = [node(alignment=AlignmentPolicy.SINGLE_NUMA_NODE)]
RESTRICTED: list[Node] = [node(alignment=AlignmentPolicy.RESTRICTED)]
BEST_EFFORT: list[Node] = [node(alignment=AlignmentPolicy.BEST_EFFORT)]


def ls(name: str, cpu: float, memory: int = 0) -> Pod:
    return plain(name, cpu, memory=memory, qos=LS)


def be(name: str, cpu: float) -> Pod:
    return plain(name, cpu, qos=BE)


def counting(place: PodPlacement, milli: dict[int, int]) -> PodPlacement:
    """Return the place with what the pod counts of its request by NUMA node."""
    return replace(place, cpu_milli=tuple(sorted(milli.items())))


LOST_OWNER = (plain("o", 4), put("o", "0-3"))
"""A pod that owns every CPU of NUMA node 0."""


def lost(cpu: float) -> tuple[Pod, PodPlacement]:
    """Return a running LS pod that is bound to NUMA node 0 by its memory."""
    return ls("r", cpu, 1), put("r", memory={0: 1})


BOUND_EDGES = {
    "bound-pool: under SingleNUMANode an LS pod runs in the pool of a NUMA node": Edge(
        world(ls("a", 3), nodes=SINGLE), good=put("a", "4-7"), bad=put("a", ALL_CPUS)
    ),
    "bound-pool: in all of it": Edge(
        world(ls("a", 3), nodes=SINGLE),
        good=put("a", "0-3"),
        bad=put("a", "0-2", parts={"app": "0-3"}),
    ),
    "bound-pool: which has the CPUs that it asks for": Edge(
        world(ls("a", 4), nodes=SINGLE),
        good=put("a", "0-3"),
        bad_world=world(ls("a", 4.001), nodes=SINGLE),
    ),
    "bound-pool: what pods of one NUMA node ask for is added up": Edge(
        world(ls("a", 2.5), ls("b", 1.5), nodes=SINGLE),
        good=[put("a", "0-3"), put("b", "0-3")],
        bad_world=world(ls("a", 2.5), ls("b", 1.501), nodes=SINGLE),
    ),
    "bound-pool: pods of several NUMA nodes leave room to those of one": Edge(
        world(ls("a", 5), ls("b", 3), nodes=RESTRICTED),
        good=[counting(put("a", "0-7"), {0: 1000, 1: 4000}), put("b", "0-3")],
        bad=[counting(put("a", "0-7"), {0: 2000, 1: 3000}), put("b", "0-3")],
    ),
    "bound-pool: running ones move over": Edge(
        world(
            ls("b", 3),
            nodes=RESTRICTED,
            running=[(ls("r", 5), counting(put("r", "0-7"), {0: 4000, 1: 1000}))],
        ),
        good=put("b", "0-3"),
        bad_world=world(
            ls("b", 3),
            nodes=RESTRICTED,
            running=[(ls("r", 5.5), counting(put("r", "0-7"), {0: 4000, 1: 1500}))],
        ),
    ),
    "bound-pool: it counts all of its request": Edge(
        world(ls("a", 5), nodes=RESTRICTED),
        good=counting(put("a", "0-7"), {0: 4000, 1: 1000}),
        bad=counting(put("a", "0-7"), {0: 4000, 1: 0}),
    ),
    "bound-pool: its memory is on NUMA nodes to whose pool it is bound": Edge(
        world(ls("a", 0, memory=5), nodes=RESTRICTED),
        good=put("a", "0-7", memory={0: 4, 1: 1}),
        bad=put("a", "0-3", memory={0: 4, 1: 1}),
    ),
    "bound-pool: where nothing binds it, it floats": Edge(
        world(ls("a", 2), nodes=BEST_EFFORT),
        good=put("a", ALL_CPUS),
        bad=counting(put("a", "0-3"), {0: 2000}),
    ),
    "bound-pool: an owner leaves a pod that a policy binds its request": Edge(
        world(plain("a", 2), nodes=SINGLE, running=[(ls("r", 3), put("r", "0-3"))]),
        good=put("a", "4-5"),
        bad=put("a", "0-1"),
    ),
    "bound-pool: and a CPU on each of its NUMA nodes": Edge(
        world(plain("a", 4), nodes=SINGLE, running=[(ls("r", 0), put("r", "0-3"))]),
        good=put("a", "4-7"),
        bad=put("a", "0-3"),
    ),
    "bound-pool: not so if it floats, whatever the node aligns by": Edge(
        world(
            plain("a", 4),
            nodes=SINGLE,
            running=[(ls("r", 1), replace(put("r", ALL_CPUS), cpu_milli=()))],
        ),
        good=put("a", "0-3"),
        bad_world=world(plain("a", 4), nodes=SINGLE, running=[(ls("r", 1), put("r", "0-7"))]),
    ),
    "bound-pool: a running pod that names no CPU is where its memory is": Edge(
        world(plain("a", 3), nodes=SINGLE, running=[(ls("r", 1, 1), put("r", memory={0: 1}))]),
        good=put("a", "0-2"),
        bad_world=world(
            plain("a", 3), nodes=SINGLE, running=[(ls("r", 2, 1), put("r", memory={0: 1}))]
        ),
    ),
    "bound-pool: BE pods are bound to the BE pool, which LSR pods do not make smaller": Edge(
        world(
            be("b", 3),
            nodes=SINGLE,
            running=[(plain("r", 2), put("r", "0-1")), (plain("s", 2, qos=LSE), put("s", "4-5"))],
        ),
        good=put("b", "0-3"),
        bad=put("b", "6-7"),
    ),
    "bound-pool: an LSE pod leaves a running BE pod its request": Edge(
        world(plain("a", 2, qos=LSE), nodes=SINGLE, running=[(be("r", 3), put("r", "0-3"))]),
        good=put("a", "4-5"),
        bad=put("a", "0-1"),
    ),
    "bound-pool: where running pods do not fit, nobody new takes CPUs of the pool": Edge(
        world(ls("a", 0), nodes=SINGLE, running=[(ls("r", 4.5), put("r", "0-3"))]),
        good=put("a", ALL_CPUS),
        bad=put("a", "4-7"),
        bad_world=world(ls("a", 1), nodes=SINGLE, running=[(ls("r", 4.5), put("r", "0-3"))]),
    ),
    (
        "bound-pool: so it is where owners have every CPU of a running pod's "
        "NUMA node, if it asks for some"
    ): Edge(
        world(plain("a", 1), nodes=SINGLE, running=[LOST_OWNER, lost(0)]),
        good=put("a", "4"),
        bad_world=world(plain("a", 1), nodes=SINGLE, running=[LOST_OWNER, lost(0.001)]),
    ),
    "bound-pool: then an LS pod comes only if it asks for no CPU": Edge(
        world(ls("a", 0, memory=1), nodes=SINGLE, running=[LOST_OWNER, lost(1)]),
        good=put("a", "4-7", memory={1: 1}),
        bad_world=world(ls("a", 0.001, memory=1), nodes=SINGLE, running=[LOST_OWNER, lost(1)]),
    ),
    "bound-pool: the BE pool, of which nobody lacks a CPU, is open": Edge(
        world(be("a", 1), nodes=SINGLE, running=[LOST_OWNER, lost(1)]),
        good=put("a", "0-3"),
        bad=put("a", "0-2", parts={"app": "0-3"}),
    ),
}
