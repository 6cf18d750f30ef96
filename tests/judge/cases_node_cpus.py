"""The edges of the rules about the CPUs that a node lets pods own."""

from dataclasses import replace

from judge.cases_burst import burst
from judge.hand import MACHINE, Edge, node, pod, put, world
from placer_models.policy import BindPolicy, NodeBindPolicy, QosClass
from placer_models.topology import ARM

FULL, SPREAD = BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS
FULL_ONLY = node(cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY)
SPREAD_ONLY = node(cpu_bind=NodeBindPolicy.SPREAD_BY_PCPUS)
ARM_NODE = node(machine=replace(MACHINE, topology=replace(MACHINE.topology, architecture=ARM)))

NODE_CPU_EDGES = {
    "node-cpu-bind: a node of FullPCPUsOnly gives whole cores": Edge(
        world(pod("a", 3), nodes=[FULL_ONLY]), good=put("a", "2-3,8"), bad=put("a", "2-4")
    ),
    "node-cpu-bind: a node of FullPCPUsOnly does not look at who only wishes to spread": Edge(
        world(pod("a", 2, bind=SPREAD), nodes=[FULL_ONLY]),
        good=put("a", "2-3"),
        bad=put("a", "2,4"),
    ),
    "node-cpu-bind: a node of FullPCPUsOnly takes nobody who requires to spread": Edge(
        world(pod("a", 1, bind=SPREAD), nodes=[FULL_ONLY]),
        good=put("a", "8"),
        bad_world=world(pod("a", 1, bind=SPREAD, required=True), nodes=[FULL_ONLY]),
    ),
    "node-cpu-bind: a node of SpreadByPCPUs gives a pod one thread of a core": Edge(
        world(pod("a", 2), nodes=[SPREAD_ONLY]), good=put("a", "2,4"), bad=put("a", "2-3")
    ),
    "node-cpu-bind: a node of SpreadByPCPUs takes nobody who requires whole cores": Edge(
        world(pod("a", 1, bind=FULL), nodes=[SPREAD_ONLY]),
        good=put("a", "8"),
        bad_world=world(pod("a", 1, bind=FULL, required=True), nodes=[SPREAD_ONLY]),
    ),
    "arm-cpu-policy: on Arm nobody spreads, not even as a wish": Edge(
        world(pod("a", 2), nodes=[ARM_NODE]),
        good=put("a", "2-3"),
        bad=put("a", "2,4"),
        bad_world=world(pod("a", 2, bind=SPREAD), nodes=[ARM_NODE]),
    ),
    "arm-cpu-policy: an Arm node that spreads takes no pod that owns CPUs": Edge(
        world(
            pod("a", 1, qos=QosClass.LS),
            nodes=[replace(ARM_NODE, cpu_bind=NodeBindPolicy.SPREAD_BY_PCPUS)],
        ),
        good=put("a", "0-8"),
        bad=put("a", "8"),
        bad_world=world(
            pod("a", 1), nodes=[replace(ARM_NODE, cpu_bind=NodeBindPolicy.SPREAD_BY_PCPUS)]
        ),
    ),
    "arm-cpu-policy: on Arm nobody is under ConstrainedBurst": Edge(
        world(burst("b", 1, 2)),
        good=put("b", "0-3"),
        bad_world=world(burst("b", 1, 2), nodes=[ARM_NODE]),
    ),
}
