"""What pods ask of domains, and gangs of levels, where a search sees a few nodes at a time.

So does the Scheduler, which asks for one pod after the other.
"""

from dataclasses import replace

import pytest

from answers import expect
from features.network import network_instance
from greedy.small import Numa, gang, machine, spec
from judge.cases_affinity import DB, FAR, NEAR, OTHER_DB, ZONES, on
from judge.cases_topology_spread import PLAIN, A, B, web
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.scheduling.refusal import Refusal
from placer.search.options import Engine, SolveOptions
from placer.search.outside_witnesses import (
    closed_copies_of_outside_nodes,
    witness_pods_on_outside_nodes,
)
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.goals import GATHERING
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import Infeasible, PartlyPlaced
from placer_models.pod import Pod, lone_gang
from placer_models.policy import RequiredOrPreferred
from search.by_parts import answer


def test_a_part_knows_who_is_in_its_domains() -> None:
    """
    One witness of each zone for a term, and who keeps others off a zone; all that count where
    pods spread, and a node of each other zone.
    """
    dbs = [RunningPod(DB, on("db", "m")), RunningPod(OTHER_DB, on("other", "m"))]
    far = RunningPod(FAR, on("far", "o"))
    webs = [RunningPod(web(name), on(name, "m")) for name in "xy"]

    def witnesses(everyone: list[RunningPod], *asking: Pod) -> list[str]:
        found = witness_pods_on_outside_nodes(
            everyone, {"n"}, [lone_gang(pod) for pod in asking], ZONES
        )
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
        refusal = expect(Refusal, scheduler.confirm(decision))

        assert rule in refusal.message


def racks(*sizes: int) -> tuple[Node, ...]:
    """Return nodes of two cores of one thread, so many in each rack."""
    box = machine(Numa(cores=(1, 1)))
    names = [f"r{rack}" for rack, size in enumerate(sizes) for _ in range(size)]
    return tuple(Node(f"n{i}", box, domains=(("rack", rack),)) for i, rack in enumerate(names))


def asking(*rules: GangNetworkLevelRule, pods: int, minimum: int | None = None) -> Instance:
    """Return a gang of pods of one core, and racks of one and of two nodes."""
    wide = replace(gang("g", *[spec(1)] * pods, minimum=minimum), levels=rules)
    return Instance(nodes=racks(1, 2), gangs=(wide,))


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
@pytest.mark.parametrize(
    ("rules", "pods", "minimum", "placed", "short"),
    [
        ([GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER)], 4, None, 4, None),
        ([GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER)], 5, None, 0, None),
        ([GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER)], 5, 3, 4, None),
        (
            [
                GangNetworkLevelRule(
                    "rack", GangNetworkLevelRuleKind.GATHER, RequiredOrPreferred.PREFERRED
                )
            ],
            4,
            None,
            4,
            0,
        ),
        (
            [
                GangNetworkLevelRule(
                    "rack", GangNetworkLevelRuleKind.GATHER, RequiredOrPreferred.PREFERRED
                )
            ],
            5,
            None,
            5,
            1,
        ),
        (
            [GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.SPREAD, count=2)],
            4,
            None,
            4,
            None,
        ),
        (
            [GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.SPREAD, count=2)],
            5,
            None,
            0,
            None,
        ),
        (
            [
                GangNetworkLevelRule(
                    "rack", GangNetworkLevelRuleKind.SPREAD, RequiredOrPreferred.PREFERRED, 2
                )
            ],
            4,
            None,
            4,
            0,
        ),
        (
            [
                GangNetworkLevelRule(
                    "rack", GangNetworkLevelRuleKind.SPREAD, RequiredOrPreferred.PREFERRED, 2
                )
            ],
            5,
            None,
            5,
            1,
        ),
        (
            [GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.MULTIPLES, count=4)],
            4,
            None,
            4,
            None,
        ),
        (
            [GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.MULTIPLES, count=3)],
            6,
            3,
            3,
            None,
        ),
        (
            [GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.MULTIPLES, count=3)],
            6,
            None,
            0,
            None,
        ),
        (
            [
                GangNetworkLevelRule("node", GangNetworkLevelRuleKind.SPREAD, count=1),
                GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER),
            ],
            3,
            2,
            2,
            None,
        ),
    ],
)
def test_both_engines_find_the_domains(
    engine: Engine,
    rules: list[GangNetworkLevelRule],
    pods: int,
    minimum: int | None,
    placed: int,
    short: int | None,
) -> None:
    """
    Racks of two and of four cores: on the edge, and just beyond it.
    """
    instance = asking(*rules, pods=pods, minimum=minimum)
    found = answer(instance, engine)

    assert breaches(instance, found) == ()
    assert len(found.pods) == placed
    assert dict(measure(instance, found)).get(GATHERING) == short


def test_reasons_name_the_levels() -> None:
    """
    Which nodes are in no domain, and what the members keep to together.
    """
    world = asking(GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER), pods=5)
    nodes = tuple(replace(node, domains=()) for node in world.nodes)

    for instance, reasons in (
        (world, ("gather: all members that run are in one rack",)),
        (replace(world, nodes=nodes), ("never fits (3 of 3 nodes: domain: belongs to no rack)",)),
    ):
        found = expect(Infeasible, solve(instance, SolveOptions(engine=Engine.EXACT, workers=1)))
        for reason in reasons:
            assert reason in found.unplaced[0].reasons


def test_who_asks_for_nothing_leaves_nothing_to_fill() -> None:
    """
    A world in which the only pod that could still come asks for no resource at all.
    """
    instance = network_instance(135)

    assert isinstance(solve(instance, SolveOptions(Engine.AUTO, workers=1)), PartlyPlaced)
