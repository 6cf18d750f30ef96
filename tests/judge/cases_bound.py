"""The edges of the rule about LS and BE pods that a policy binds to the pool of NUMA nodes."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Case, node, placed, put, world
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


BOUND_CASES = (
    Case(
        RULE,
        "under SingleNUMANode an LS pod runs in the pool of a NUMA node",
        world(ls("a", 3), nodes=SINGLE),
        good=placed(put("a", "4-7")),
        bad=placed(put("a", ALL_CPUS)),
    ),
    Case(
        RULE,
        "in all of it",
        world(ls("a", 3), nodes=SINGLE),
        good=placed(put("a", "0-3")),
        bad=placed(put("a", "0-2", parts={"app": "0-3"})),
    ),
    Case(
        RULE,
        "which has the CPUs that it asks for",
        world(ls("a", 4), nodes=SINGLE),
        good=placed(put("a", "0-3")),
        bad=placed(put("a", "0-3")),
        bad_world=world(ls("a", 4.001), nodes=SINGLE),
    ),
    Case(
        RULE,
        "what pods of one NUMA node ask for is added up",
        world(ls("a", 2.5), ls("b", 1.5), nodes=SINGLE),
        good=placed(put("a", "0-3"), put("b", "0-3")),
        bad=placed(put("a", "0-3"), put("b", "0-3")),
        bad_world=world(ls("a", 2.5), ls("b", 1.501), nodes=SINGLE),
    ),
    Case(
        RULE,
        "pods of several NUMA nodes leave room to those of one",
        world(ls("a", 5), ls("b", 3), nodes=RESTRICTED),
        good=placed(counting(put("a", "0-7"), {0: 1000, 1: 4000}), put("b", "0-3")),
        bad=placed(counting(put("a", "0-7"), {0: 2000, 1: 3000}), put("b", "0-3")),
    ),
    Case(
        RULE,
        "running ones move over",
        world(
            ls("b", 3),
            nodes=RESTRICTED,
            running=[(ls("r", 5), counting(put("r", "0-7"), {0: 4000, 1: 1000}))],
        ),
        good=placed(put("b", "0-3")),
        bad=placed(put("b", "0-3")),
        bad_world=world(
            ls("b", 3),
            nodes=RESTRICTED,
            running=[(ls("r", 5.5), counting(put("r", "0-7"), {0: 4000, 1: 1500}))],
        ),
    ),
    Case(
        RULE,
        "it counts all of its request",
        world(ls("a", 5), nodes=RESTRICTED),
        good=placed(counting(put("a", "0-7"), {0: 4000, 1: 1000})),
        bad=placed(counting(put("a", "0-7"), {0: 4000, 1: 0})),
    ),
    Case(
        RULE,
        "its memory is on NUMA nodes to whose pool it is bound",
        world(ls("a", 0, memory=5), nodes=RESTRICTED),
        good=placed(put("a", "0-7", memory={0: 4, 1: 1})),
        bad=placed(put("a", "0-3", memory={0: 4, 1: 1})),
    ),
    Case(
        RULE,
        "where nothing binds it, it floats",
        world(ls("a", 2), nodes=BEST_EFFORT),
        good=placed(put("a", ALL_CPUS)),
        bad=placed(counting(put("a", "0-3"), {0: 2000})),
    ),
    Case(
        RULE,
        "an owner leaves a pod that a policy binds its request",
        world(plain("a", 2), nodes=SINGLE, running=[(ls("r", 3), put("r", "0-3"))]),
        good=placed(put("a", "4-5")),
        bad=placed(put("a", "0-1")),
    ),
    Case(
        RULE,
        "and a CPU on each of its NUMA nodes",
        world(plain("a", 4), nodes=SINGLE, running=[(ls("r", 0), put("r", "0-3"))]),
        good=placed(put("a", "4-7")),
        bad=placed(put("a", "0-3")),
    ),
    Case(
        RULE,
        "not so if it floats, whatever the node aligns by",
        world(
            plain("a", 4),
            nodes=SINGLE,
            running=[(ls("r", 1), replace(put("r", ALL_CPUS), cpu_milli=()))],
        ),
        good=placed(put("a", "0-3")),
        bad=placed(put("a", "0-3")),
        bad_world=world(plain("a", 4), nodes=SINGLE, running=[(ls("r", 1), put("r", "0-7"))]),
    ),
    Case(
        RULE,
        "a running pod that names no CPU is where its memory is",
        world(plain("a", 3), nodes=SINGLE, running=[(ls("r", 1, 1), put("r", memory={0: 1}))]),
        good=placed(put("a", "0-2")),
        bad=placed(put("a", "0-2")),
        bad_world=world(
            plain("a", 3), nodes=SINGLE, running=[(ls("r", 2, 1), put("r", memory={0: 1}))]
        ),
    ),
    Case(
        RULE,
        "BE pods are bound to the BE pool, which LSR pods do not make smaller",
        world(
            be("b", 3),
            nodes=SINGLE,
            running=[(plain("r", 2), put("r", "0-1")), (plain("s", 2, qos=LSE), put("s", "4-5"))],
        ),
        good=placed(put("b", "0-3")),
        bad=placed(put("b", "6-7")),
    ),
    Case(
        RULE,
        "an LSE pod leaves a running BE pod its request",
        world(plain("a", 2, qos=LSE), nodes=SINGLE, running=[(be("r", 3), put("r", "0-3"))]),
        good=placed(put("a", "4-5")),
        bad=placed(put("a", "0-1")),
    ),
    Case(
        RULE,
        "where running pods do not fit, nobody new takes CPUs of the pool",
        world(ls("a", 0), nodes=SINGLE, running=[(ls("r", 4.5), put("r", "0-3"))]),
        good=placed(put("a", ALL_CPUS)),
        bad=placed(put("a", "4-7")),
        bad_world=world(ls("a", 1), nodes=SINGLE, running=[(ls("r", 4.5), put("r", "0-3"))]),
    ),
    Case(
        RULE,
        "so it is where owners have every CPU of a running pod's NUMA node, if it asks for some",
        world(plain("a", 1), nodes=SINGLE, running=[LOST_OWNER, lost(0)]),
        good=placed(put("a", "4")),
        bad=placed(put("a", "4")),
        bad_world=world(plain("a", 1), nodes=SINGLE, running=[LOST_OWNER, lost(0.001)]),
    ),
    Case(
        RULE,
        "then an LS pod comes only if it asks for no CPU",
        world(ls("a", 0, memory=1), nodes=SINGLE, running=[LOST_OWNER, lost(1)]),
        good=placed(put("a", "4-7", memory={1: 1})),
        bad=placed(put("a", "4-7", memory={1: 1})),
        bad_world=world(ls("a", 0.001, memory=1), nodes=SINGLE, running=[LOST_OWNER, lost(1)]),
    ),
    Case(
        RULE,
        "the BE pool, of which nobody lacks a CPU, is open",
        world(be("a", 1), nodes=SINGLE, running=[LOST_OWNER, lost(1)]),
        good=placed(put("a", "0-3")),
        bad=placed(put("a", "0-2", parts={"app": "0-3"})),
    ),
)
