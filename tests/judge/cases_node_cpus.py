"""The edges of the rules about the CPUs that a node lets pods own."""

from dataclasses import replace

from judge.cases_burst import burst
from judge.hand import MACHINE, Case, node, placed, pod, put, world
from placer_models.policy import BindPolicy, NodeBindPolicy, QosClass
from placer_models.topology import ARM

FULL, SPREAD = BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS
FULL_ONLY = node(cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY)
SPREAD_ONLY = node(cpu_bind=NodeBindPolicy.SPREAD_BY_PCPUS)
ARM_NODE = node(machine=replace(MACHINE, topology=replace(MACHINE.topology, architecture=ARM)))

NODE_CPU_CASES = (
    Case(
        "node-cpu-bind",
        "a node of FullPCPUsOnly gives whole cores",
        world(pod("a", 3), nodes=[FULL_ONLY]),
        good=placed(put("a", "2-3,8")),
        bad=placed(put("a", "2-4")),
    ),
    Case(
        "node-cpu-bind",
        "a node of FullPCPUsOnly does not look at who only wishes to spread",
        world(pod("a", 2, bind=SPREAD), nodes=[FULL_ONLY]),
        good=placed(put("a", "2-3")),
        bad=placed(put("a", "2,4")),
    ),
    Case(
        "node-cpu-bind",
        "a node of FullPCPUsOnly takes nobody who requires to spread",
        world(pod("a", 1, bind=SPREAD), nodes=[FULL_ONLY]),
        good=placed(put("a", "8")),
        bad=placed(put("a", "8")),
        bad_world=world(pod("a", 1, bind=SPREAD, required=True), nodes=[FULL_ONLY]),
    ),
    Case(
        "node-cpu-bind",
        "a node of SpreadByPCPUs gives a pod one thread of a core",
        world(pod("a", 2), nodes=[SPREAD_ONLY]),
        good=placed(put("a", "2,4")),
        bad=placed(put("a", "2-3")),
    ),
    Case(
        "node-cpu-bind",
        "a node of SpreadByPCPUs takes nobody who requires whole cores",
        world(pod("a", 1, bind=FULL), nodes=[SPREAD_ONLY]),
        good=placed(put("a", "8")),
        bad=placed(put("a", "8")),
        bad_world=world(pod("a", 1, bind=FULL, required=True), nodes=[SPREAD_ONLY]),
    ),
    Case(
        "arm-cpu-policy",
        "on Arm nobody spreads, not even as a wish",
        world(pod("a", 2), nodes=[ARM_NODE]),
        good=placed(put("a", "2-3")),
        bad=placed(put("a", "2,4")),
        bad_world=world(pod("a", 2, bind=SPREAD), nodes=[ARM_NODE]),
    ),
    Case(
        "arm-cpu-policy",
        "an Arm node that spreads takes no pod that owns CPUs",
        world(
            pod("a", 1, qos=QosClass.LS),
            nodes=[replace(ARM_NODE, cpu_bind=NodeBindPolicy.SPREAD_BY_PCPUS)],
        ),
        good=placed(put("a", "0-8")),
        bad=placed(put("a", "8")),
        bad_world=world(
            pod("a", 1), nodes=[replace(ARM_NODE, cpu_bind=NodeBindPolicy.SPREAD_BY_PCPUS)]
        ),
    ),
    Case(
        "arm-cpu-policy",
        "on Arm nobody is under ConstrainedBurst",
        world(burst("b", 1, 2)),
        good=placed(put("b", "0-3")),
        bad=placed(put("b", "0-3")),
        bad_world=world(burst("b", 1, 2), nodes=[ARM_NODE]),
    ),
)
