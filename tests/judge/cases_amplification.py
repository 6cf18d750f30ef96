"""The edges of the rules of pools on nodes whose CPUs are amplified."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, pod, put, world
from placer_models.policy import AlignmentPolicy, QosClass

LSE, LS, BE = QosClass.LSE, QosClass.LS, QosClass.BE

HALF_MORE = replace(node(), milli_per_cpu=1500)
"""Nine CPUs that count as 13.5."""

ALIGNED = replace(node(alignment=AlignmentPolicy.SINGLE_NUMA_NODE), milli_per_cpu=1500)
"""Four CPUs on each NUMA node, which count as six."""

RESTRICTED = replace(node(alignment=AlignmentPolicy.RESTRICTED), milli_per_cpu=1500)

AMPLIFICATION_EDGES = {
    "shared-pool: LS pods ask for what amplified CPUs count as": Edge(
        world(pod("a", 13.5, qos=LS), nodes=[HALF_MORE]),
        good=put("a", ALL_CPUS),
        bad_world=world(pod("a", 13.501, qos=LS), nodes=[HALF_MORE]),
    ),
    "shared-pool: each CPU that somebody owns is lost with all that it counts as": Edge(
        world(pod("a", 4), pod("b", 7.5, qos=LS), nodes=[HALF_MORE]),
        good=[put("a", "0-3"), put("b", "4-8")],
        bad_world=world(pod("a", 4), pod("b", 7.501, qos=LS), nodes=[HALF_MORE]),
    ),
    "be-pool: BE pods ask for what the CPUs that LSE pods leave count as": Edge(
        world(pod("a", 4, qos=LSE), pod("b", 7.5, qos=BE), nodes=[HALF_MORE]),
        good=[put("a", "0-3"), put("b", "4-8")],
        bad_world=world(pod("a", 4, qos=LSE), pod("b", 7.501, qos=BE), nodes=[HALF_MORE]),
    ),
    "bound-pool: a NUMA node holds what its CPUs count as": Edge(
        world(pod("a", 6, qos=LS), nodes=[ALIGNED]),
        good=put("a", "0-3"),
        bad_world=world(pod("a", 6.001, qos=LS), nodes=[ALIGNED]),
    ),
    "bound-pool: and loses as much with each CPU that somebody owns there": Edge(
        world(pod("own", 1), pod("a", 4.5, qos=LS), nodes=[ALIGNED]),
        good=[put("own", "0"), put("a", "1-3")],
        bad_world=world(pod("own", 1), pod("a", 4.501, qos=LS), nodes=[ALIGNED]),
    ),
    "alignment: Restricted: a request of CPUs is as wide as amplified ones make it": Edge(
        world(pod("a", 6.001, qos=LS), nodes=[RESTRICTED]),
        good=put("a", "0-7"),
        bad_world=world(pod("a", 6, qos=LS), nodes=[RESTRICTED]),
    ),
}
