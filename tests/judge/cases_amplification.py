"""The edges of the rules of pools on nodes whose CPUs are amplified."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Case, node, placed, pod, put, world
from placer_models.policy import QosClass

LSE, LS, BE = QosClass.LSE, QosClass.LS, QosClass.BE

HALF_MORE = replace(node(), milli_per_cpu=1500)
"""Nine CPUs that count as 13.5."""

AMPLIFICATION_CASES = (
    Case(
        "shared-pool",
        "LS pods ask for what amplified CPUs count as",
        world(pod("a", 13.5, qos=LS), nodes=[HALF_MORE]),
        good=placed(put("a", ALL_CPUS)),
        bad=placed(put("a", ALL_CPUS)),
        bad_world=world(pod("a", 13.501, qos=LS), nodes=[HALF_MORE]),
    ),
    Case(
        "shared-pool",
        "each CPU that somebody owns is lost with all that it counts as",
        world(pod("a", 4), pod("b", 7.5, qos=LS), nodes=[HALF_MORE]),
        good=placed(put("a", "0-3"), put("b", "4-8")),
        bad=placed(put("a", "0-3"), put("b", "4-8")),
        bad_world=world(pod("a", 4), pod("b", 7.501, qos=LS), nodes=[HALF_MORE]),
    ),
    Case(
        "be-pool",
        "BE pods ask for what the CPUs that LSE pods leave count as",
        world(pod("a", 4, qos=LSE), pod("b", 7.5, qos=BE), nodes=[HALF_MORE]),
        good=placed(put("a", "0-3"), put("b", "4-8")),
        bad=placed(put("a", "0-3"), put("b", "4-8")),
        bad_world=world(pod("a", 4, qos=LSE), pod("b", 7.501, qos=BE), nodes=[HALF_MORE]),
    ),
)
