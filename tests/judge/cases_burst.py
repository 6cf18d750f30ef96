"""The edges of the rule about LS pods in the shared pool of some NUMA nodes."""

from dataclasses import replace

from judge.hand import Case, node, placed, put, world
from judge.hand import pod as plain
from placer_models.pod import Pod
from placer_models.policy import AlignmentPolicy, QosClass

LS = QosClass.LS
RULE = "constrained-burst"


def burst(name: str, cpu: float, limit: float) -> Pod:
    """Return a pod of one container with a CPU limit, under ConstrainedBurst."""
    pod = plain(name, cpu, qos=LS)
    (app,) = pod.spec.containers
    app = replace(app, cpu_limit_milli=round(1000 * limit))
    return replace(pod, spec=replace(pod.spec, containers=(app,), constrained_burst=True))


BURST_CASES = (
    Case(
        RULE,
        "the pool on its NUMA nodes holds the limit",
        world(plain("a", 1), burst("b", 1, 3)),
        good=placed(put("a", "0"), put("b", "1-3")),
        bad=placed(put("a", "0"), put("b", "1-3")),
        bad_world=world(plain("a", 1), burst("b", 1, 3.001)),
    ),
    Case(
        RULE,
        "the limit may need several NUMA nodes",
        world(burst("b", 1, 5)),
        good=placed(put("b", "0-7")),
        bad=placed(put("b", "4-7")),
    ),
    Case(
        "bound-pool",
        "it runs in all of the pool there",
        world(burst("b", 1, 2)),
        good=placed(put("b", "4-7")),
        bad=placed(put("b", "4-6", parts={"app": "4-7"})),
    ),
    Case(
        "bound-pool",
        "CPUs of no NUMA node are outside",
        world(burst("b", 1, 8)),
        good=placed(put("b", "0-7")),
        bad=placed(put("b", "0-8", parts={"app": "0-7"})),
    ),
    Case(
        "bound-pool",
        "reserved CPUs hold a limit, but no request",
        world(burst("b", 2, 4), nodes=[node(reserved="0-1")]),
        good=placed(put("b", "0-3")),
        bad=placed(put("b", "0-3")),
        bad_world=world(burst("b", 2.001, 4), nodes=[node(reserved="0-1")]),
    ),
    Case(
        "bound-pool",
        "requests are shared out over NUMA nodes, so that all fit",
        world(burst("b", 3, 4), burst("c", 3, 4), burst("d", 2, 8)),
        good=placed(put("b", "0-3"), put("c", "4-7"), put("d", "0-7")),
        bad=placed(put("b", "0-3"), put("c", "0-3"), put("d", "0-7")),
    ),
    Case(
        RULE,
        "an owner leaves a running pod its limit",
        world(plain("a", 2), running=[(burst("r", 1, 3), put("r", "0-3"))]),
        good=placed(put("a", "4-5")),
        bad=placed(put("a", "0-1")),
    ),
    Case(
        "bound-pool",
        "an owner leaves a running pod a CPU on each of its NUMA nodes",
        world(plain("a", 4), running=[(burst("r", 1, 1), put("r", "0-7"))]),
        good=placed(put("a", "0-2,4")),
        bad=placed(put("a", "0-3")),
    ),
    Case(
        "bound-pool",
        "an owner leaves a running pod its request",
        world(
            plain("a", 1),
            nodes=[node(reserved="3")],
            running=[(burst("r", 2.5, 3), put("r", "0-3"))],
        ),
        good=placed(put("a", "4")),
        bad=placed(put("a", "0")),
    ),
    Case(
        RULE,
        "a running pod that lacks CPUs already is nobody's fault",
        world(plain("a", 1), running=[(burst("r", 1, 5), put("r", "0-3"))]),
        good=placed(put("a", "4")),
        bad=placed(put("a", "0")),
    ),
    Case(
        RULE,
        "it goes to nodes without a NUMA policy",
        world(burst("b", 1, 2)),
        good=placed(put("b", "0-3")),
        bad=placed(put("b", "0-3")),
        bad_world=world(burst("b", 1, 2), nodes=[node(alignment=AlignmentPolicy.BEST_EFFORT)]),
    ),
)
