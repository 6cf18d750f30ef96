"""What pods ask of domains of nodes, where a search or the Scheduler sees a few nodes at a time."""

from dataclasses import replace

from judge.cases_affinity import DB, FAR, NEAR, OTHER_DB, ZONES, on
from judge.cases_topology_spread import PLAIN, A, B, web
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision, lone_gang
from placer.scheduling.refusal import Refusal
from placer.search.options import SolveOptions
from placer.search.outside_witnesses import closed_copies_of_outside_nodes, outside_pods_that_match
from placer_models.cluster import RunningPod
from placer_models.pod import Pod


def test_a_part_knows_who_is_in_its_domains() -> None:
    """
    One witness of each zone for a term, and who keeps others off a zone; all that count where
    pods spread, and a node of each other zone.
    """
    dbs = [RunningPod(DB, on("db", "m")), RunningPod(OTHER_DB, on("other", "m"))]
    far = RunningPod(FAR, on("far", "o"))
    webs = [RunningPod(web(name), on(name, "m")) for name in "xy"]

    def witnesses(everyone: list[RunningPod], *asking: Pod) -> list[str]:
        found = outside_pods_that_match(everyone, {"n"}, [lone_gang(pod) for pod in asking], ZONES)
        return [one.pod.name for one in found]

    assert witnesses(dbs, NEAR) == ["db"]
    assert witnesses([*dbs, far], PLAIN) == ["far"]
    assert witnesses([*dbs, *webs], A) == ["x", "y"]
    names = {node.name for node in closed_copies_of_outside_nodes(ZONES, (), {"n"}, [lone_gang(A)])}
    assert names == {"o"}


def placing(scheduler: Scheduler, pod: Pod, *, dry_run: bool = False) -> Decision:
    return scheduler.place(Batch((lone_gang(pod),)), 30, dry_run, SolveOptions(workers=1, seed=1))


def test_a_scheduler_keeps_zones_from_batch_to_batch() -> None:
    """
    Who runs in a zone keeps others off it, and counts where pods spread.
    """
    scheduler = Scheduler(ZONES)
    zone_of = {"n": "a", "m": "a", "o": "b"}
    far = zone_of.get(placing(scheduler, FAR).placement.pods[0].node)
    db = zone_of.get(placing(scheduler, DB).placement.pods[0].node)
    assert far is None or far != db
    near = zone_of[placing(scheduler, replace(NEAR, name="near")).placement.pods[0].node]
    assert near == db
    first = zone_of[placing(scheduler, A).placement.pods[0].node]
    assert zone_of[placing(scheduler, B).placement.pods[0].node] != first
    assert scheduler.misfits() == ()


def test_a_decision_is_refused_once_somebody_came_to_its_zone() -> None:
    """
    On another node, which the decision does not touch.
    """
    for late, early, rule in ((FAR, DB, "anti-affinity"), (A, PLAIN, "topology-spread")):
        zones = ZONES[:3]
        scheduler = Scheduler(zones)
        decision = placing(scheduler, late, dry_run=True)
        (place,) = decision.placement.pods
        others = {"n": "m", "m": "n", "o": "o"}
        where = replace(on(early.name, others[place.node]), cpuset=place.cpuset)
        scheduler = Scheduler(zones, [RunningPod(early, where)])
        refusal = scheduler.confirm(decision)

        assert isinstance(refusal, Refusal)
        assert rule in refusal.message
