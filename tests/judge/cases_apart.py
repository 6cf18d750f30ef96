"""The edges of the rules about cores and NUMA nodes that pods keep to themselves (C9)."""

from dataclasses import replace

from judge.cases_node_cpus import ARM_NODE
from judge.hand import MACHINE, Edge, node, pod, put, world
from placer_models.pod import Pod
from placer_models.policy import BindPolicy, ExclusivePolicy, QosClass, RequiredOrPreferred

PCPU, NUMA = ExclusivePolicy.PCPU_LEVEL, ExclusivePolicy.NUMA_NODE_LEVEL


def apart(name: str, policy: ExclusivePolicy, cpu: int = 1, *, required: bool = False) -> Pod:
    """Return a pod that keeps apart, whichever way its CPUs are bound."""
    one = pod(name, cpu, qos=QosClass.LSR, bind=BindPolicy.SPREAD_BY_PCPUS)
    strength = RequiredOrPreferred.REQUIRED if required else RequiredOrPreferred.PREFERRED
    return replace(one, spec=replace(one.spec, exclusive=policy, exclusive_strength=strength))


TOPOLOGY = MACHINE.topology
HOMELESS = replace(
    MACHINE,
    topology=replace(
        TOPOLOGY,
        cpus=tuple(replace(c, numa_node=None) if c.core == 3 else c for c in TOPOLOGY.cpus),
    ),
)
"""CPUs 6 to 8 belong to no NUMA node."""


def unbound(one: Pod) -> Pod:
    """Return the pod with the bind policy that is everybody's."""
    return replace(one, spec=replace(one.spec, bind=BindPolicy.DEFAULT))


APART_EDGES = {
    "exclusive-numa-nodes: two CPUs of no NUMA node are not on one": Edge(
        world(apart("a", NUMA, required=True), apart("b", NUMA), nodes=[node(machine=HOMELESS)]),
        good=[put("a", "7"), put("b", "8")],
        bad=[put("a", "0"), put("b", "2")],
    ),
    "exclusive-cores: it is enough that one of two requires it": Edge(
        world(apart("a", PCPU), apart("b", PCPU, required=True)),
        good=[put("a", "0"), put("b", "2")],
        bad=[put("a", "0"), put("b", "1")],
    ),
    "exclusive-cores: who only wishes it may share": Edge(
        world(apart("a", PCPU), apart("b", PCPU)),
        good=[put("a", "0"), put("b", "1")],
        bad_world=world(apart("a", PCPU, required=True), apart("b", PCPU)),
    ),
    "exclusive-cores: a pod of no policy is not seen": Edge(
        world(pod("a", 1), apart("b", PCPU, required=True)),
        good=[put("a", "0"), put("b", "1")],
        bad_world=world(apart("a", PCPU), apart("b", PCPU, required=True)),
    ),
    "exclusive-cores: what a running pod requires binds newcomers": Edge(
        world(apart("a", PCPU), running=[(apart("r", PCPU, required=True), put("r", "0"))]),
        good=put("a", "2"),
        bad=put("a", "1"),
    ),
    "exclusive-cores: a newcomer's demand is held against running pods too": Edge(
        world(apart("a", PCPU, required=True), running=[(apart("r", PCPU), put("r", "0"))]),
        good=put("a", "2"),
        bad=put("a", "1"),
    ),
    "exclusive-cores: a pod that fell back counts as PCPULevel, one that did not is not seen": Edge(
        world(apart("a", NUMA), apart("b", NUMA), apart("c", PCPU, required=True)),
        good=[put("a", "0"), put("b", "4"), put("c", "1")],
        bad=[put("a", "0"), put("b", "2"), put("c", "1")],
    ),
    "exclusive-cores: running pods that share a NUMA node fell back before": Edge(
        world(
            apart("c", PCPU, required=True),
            running=[(apart("r", NUMA), put("r", "0")), (apart("s", NUMA), put("s", "4"))],
        ),
        good=put("c", "1"),
        bad_world=world(
            apart("c", PCPU, required=True),
            running=[(apart("r", NUMA), put("r", "0")), (apart("s", NUMA), put("s", "2"))],
        ),
    ),
    (
        "exclusive-cores: a running pod alone on its NUMA node stays at its "
        "level when another comes"
    ): Edge(
        world(
            apart("a", NUMA),
            apart("c", PCPU, required=True),
            running=[(apart("r", NUMA), put("r", "0"))],
        ),
        good=[put("a", "2"), put("c", "1")],
        bad=[put("a", "2"), put("c", "3")],
    ),
    "arm-cpu-policy: on Arm pods keep apart by NUMA node only": Edge(
        world(unbound(apart("a", NUMA)), nodes=[ARM_NODE]),
        good=put("a", "0"),
        bad_world=world(unbound(apart("a", PCPU)), nodes=[ARM_NODE]),
    ),
    "exclusive-numa-nodes: it is enough that one of two requires it": Edge(
        world(apart("a", NUMA), apart("b", NUMA, required=True)),
        good=[put("a", "0"), put("b", "4")],
        bad=[put("a", "0"), put("b", "2")],
    ),
    "exclusive-numa-nodes: the levels do not see each other": Edge(
        world(apart("a", PCPU, required=True), apart("b", NUMA, required=True)),
        good=[put("a", "0"), put("b", "1")],
        bad_world=world(apart("a", NUMA, required=True), apart("b", NUMA, required=True)),
    ),
    "exclusive-numa-nodes: a running pod's demand binds newcomers, wherever else they are": Edge(
        world(apart("a", NUMA, 2), running=[(apart("r", NUMA, required=True), put("r", "0"))]),
        good=put("a", "4,6"),
        bad=put("a", "2,4"),
    ),
    "exclusive-numa-nodes: CPUs of no NUMA node share none": Edge(
        world(apart("a", NUMA, required=True), running=[(apart("r", NUMA), put("r", "0"))]),
        good=put("a", "8"),
        bad=put("a", "3"),
    ),
}
