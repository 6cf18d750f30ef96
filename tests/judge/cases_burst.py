"""The edges of the rule about LS pods in the shared pool of some NUMA nodes."""

from collections.abc import Sequence
from dataclasses import replace

from judge.hand import Edge, asks, node, put, world
from judge.hand import pod as plain
from placer_models.cluster import Node
from placer_models.pod import Container, Pod
from placer_models.policy import AlignmentPolicy, AlignmentScope, QosClass

LS = QosClass.LS
RULE = "constrained-burst"
SINGLE: list[Node] = [node(alignment=AlignmentPolicy.SINGLE_NUMA_NODE)]
RESTRICTED: list[Node] = [node(alignment=AlignmentPolicy.RESTRICTED)]
BEST_EFFORT: list[Node] = [node(alignment=AlignmentPolicy.BEST_EFFORT)]
RESTRICTED_AND_RESERVED = node(reserved="0,4", alignment=AlignmentPolicy.RESTRICTED)
"""Three of the four CPUs of each NUMA node can be allocated."""
BY_CONTAINER = replace(SINGLE[0], scope=AlignmentScope.CONTAINER)
LIMITED = Container("log", asks(), cpu_limit_milli=1000)


def burst(
    name: str,
    cpu: float,
    limit: float,
    *,
    memory: int = 0,
    gpus: int = 0,
    beside: Sequence[Container] = (),
    alignment: AlignmentPolicy = AlignmentPolicy.NONE,
) -> Pod:
    """Return a pod whose container ``app`` has a CPU limit, under ConstrainedBurst."""
    found = plain(name, cpu, memory=memory, gpus=gpus, beside=beside, qos=LS, alignment=alignment)
    *others, app = found.spec.containers
    app = replace(app, cpu_limit_milli=round(1000 * limit))
    spec = replace(found.spec, containers=(*others, app), constrained_burst=True)
    return replace(found, spec=spec)


BURST_EDGES = {
    "constrained-burst: the pool on its NUMA nodes holds the limit": Edge(
        world(plain("a", 1), burst("b", 1, 3)),
        good=[put("a", "0"), put("b", "1-3")],
        bad_world=world(plain("a", 1), burst("b", 1, 3.001)),
    ),
    "constrained-burst: the limit may need several NUMA nodes": Edge(
        world(burst("b", 1, 5)), good=put("b", "0-7"), bad=put("b", "4-7")
    ),
    "bound-pool: it runs in all of the pool there": Edge(
        world(burst("b", 1, 2)), good=put("b", "4-7"), bad=put("b", "4-6", parts={"app": "4-7"})
    ),
    "bound-pool: CPUs of no NUMA node are outside": Edge(
        world(burst("b", 1, 8)), good=put("b", "0-7"), bad=put("b", "0-8", parts={"app": "0-7"})
    ),
    "bound-pool: reserved CPUs hold a limit, but no request": Edge(
        world(burst("b", 2, 4), nodes=[node(reserved="0-1")]),
        good=put("b", "0-3"),
        bad_world=world(burst("b", 2.001, 4), nodes=[node(reserved="0-1")]),
    ),
    "bound-pool: requests are shared out over NUMA nodes, so that all fit": Edge(
        world(burst("b", 3, 4), burst("c", 3, 4), burst("d", 2, 8)),
        good=[put("b", "0-3"), put("c", "4-7"), put("d", "0-7")],
        bad=[put("b", "0-3"), put("c", "0-3"), put("d", "0-7")],
    ),
    "constrained-burst: an owner leaves a running pod its limit": Edge(
        world(plain("a", 2), running=[(burst("r", 1, 3), put("r", "0-3"))]),
        good=put("a", "4-5"),
        bad=put("a", "0-1"),
    ),
    "bound-pool: an owner leaves a running pod a CPU on each of its NUMA nodes": Edge(
        world(plain("a", 4), running=[(burst("r", 1, 1), put("r", "0-7"))]),
        good=put("a", "0-2,4"),
        bad=put("a", "0-3"),
    ),
    "bound-pool: an owner leaves a running pod its request": Edge(
        world(
            plain("a", 1),
            nodes=[node(reserved="3")],
            running=[(burst("r", 2.5, 3), put("r", "0-3"))],
        ),
        good=put("a", "4"),
        bad=put("a", "0"),
    ),
    "constrained-burst: a running pod that lacks CPUs already is nobody's fault": Edge(
        world(plain("a", 1), running=[(burst("r", 1, 5), put("r", "0-3"))]),
        good=put("a", "4"),
        bad=put("a", "0"),
    ),
    "alignment: under SingleNUMANode one NUMA node holds its limit": Edge(
        world(burst("b", 1, 4), nodes=SINGLE), good=put("b", "0-3"), bad=put("b", "0-7")
    ),
    "constrained-burst: and no more than that": Edge(
        world(burst("b", 1, 4), nodes=SINGLE),
        good=put("b", "0-3"),
        bad_world=world(burst("b", 1, 4.001), nodes=SINGLE),
    ),
    "bound-pool: under a policy its memory is of the NUMA nodes of its CPUs": Edge(
        world(burst("b", 1, 4, memory=5), nodes=[RESTRICTED_AND_RESERVED]),
        good=put("b", "0-7", memory={0: 4, 1: 1}),
        bad=put("b", "0-3", memory={0: 4, 1: 1}),
    ),
    "alignment: Restricted counts its limit, not its request": Edge(
        world(burst("b", 1, 5, memory=5), nodes=RESTRICTED),
        good=put("b", "0-7", memory={0: 4, 1: 1}),
        bad=put("b", "0-7", memory={0: 4}),
        bad_world=world(burst("b", 1, 5, memory=4), nodes=RESTRICTED),
    ),
    "alignment: by the CPUs that can be allocated": Edge(
        world(burst("b", 1, 3, memory=1), nodes=[RESTRICTED_AND_RESERVED]),
        good=put("b", "0-3", memory={0: 1}),
        bad_world=world(burst("b", 1, 4, memory=1), nodes=[RESTRICTED_AND_RESERVED]),
    ),
    "alignment: or by the pools, where not even all of those hold it": Edge(
        world(burst("b", 1, 7), nodes=[RESTRICTED_AND_RESERVED]),
        good=put("b", "0-7"),
        bad=put("b", "0-7", memory={0: 1}),
        bad_world=world(burst("b", 1, 7, memory=1), nodes=[RESTRICTED_AND_RESERVED]),
    ),
    "alignment: its own policy holds as the node's does": Edge(
        world(burst("b", 1, 2, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)),
        good=put("b", "4-7"),
        bad=put("b", "0-7"),
    ),
    "alignment: it is aligned as a whole, whatever the scope": Edge(
        world(burst("b", 1, 2, beside=[LIMITED]), nodes=[BY_CONTAINER]),
        good=put("b", "0-3", parts={"log": "0-3", "app": "0-3"}),
        bad=put("b", "0-7", parts={"log": "0-7", "app": "0-7"}),
    ),
    "constrained-burst: under BestEffort it has a place as without a policy": Edge(
        world(burst("b", 1, 5), nodes=BEST_EFFORT), good=put("b", "0-7"), bad=put("b", "4-7")
    ),
}
