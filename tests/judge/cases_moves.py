"""The edges of the rule about moves of running pods."""

from dataclasses import replace

from judge.hand import Edge, node, pod, put, world
from placer_models.cluster import Instance, RunningGang, RunningPod
from placer_models.policy import GatherLevel

NODES = [node("n"), node("m")]
RUNNING = tuple(
    RunningPod(pod(name, 2), put(name, cpus)) for name, cpus in (("r", "0-1"), ("s", "4-5"))
)


def moving(budget: int) -> Instance:
    """Return two nodes, two pods that run on the first, and one that waits."""
    instance = world(pod("a", 2), nodes=NODES)
    return replace(instance, running=RUNNING, move_budget=budget)


def tied() -> Instance:
    """Return the same where the two that run are a gang on one node."""
    running = [replace(r, placement=replace(r.placement, gang="g")) for r in RUNNING]
    together = RunningGang("g", "default", GatherLevel.NODE)
    return replace(moving(2), running=tuple(running), running_gangs=(together,))


MOVE_EDGES = {
    "moves: as many running pods move as may": Edge(
        moving(1),
        good=[put("a", "0-1"), put("r", "0-1", on="m")],
        bad=[put("a", "0-1"), put("r", "0-1", on="m"), put("s", "2-3", on="m")],
    ),
    "moves: other CPUs of the same node are another place": Edge(
        moving(1), good=[put("s", "4-5"), put("r", "2-3")], bad=[put("s", "6-7"), put("r", "2-3")]
    ),
    "known: only who may move is placed anew": Edge(
        moving(1),
        good=put("r", "0-1", on="m"),
        bad_world=replace(moving(1), running=tuple(replace(r, movable=False) for r in RUNNING)),
    ),
    "cpu-exclusive: who moves owns its CPUs there, and nothing where it was": Edge(
        moving(1),
        good=[put("a", "0-1"), put("r", "0-1", on="m")],
        bad=[put("a", "0-1", on="m"), put("r", "0-1", on="m")],
    ),
    "gather: members of a running gang are where it gathers after they moved": Edge(
        tied(),
        good=[put("r", "0-1", on="m", gang="g"), put("s", "4-5", on="m", gang="g")],
        bad=put("r", "0-1", on="m", gang="g"),
    ),
    "cpu-exclusive: who stays keeps its CPUs": Edge(
        moving(1), good=put("a", "2-3"), bad=put("a", "4-5")
    ),
}
