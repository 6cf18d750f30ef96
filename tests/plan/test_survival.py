"""Losses: who restarts, who stays, which losses are alike, and what brute force says of each."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from random import Random

import pytest

from answers import expect
from brute_force import best_placement
from cli_samples import text_of
from json_schemas import faults
from leaves import TooManyLeavesError
from mixed_worlds import mixed_instance
from placer.judge.breaches import breaches
from placer.plan.answer import NoPlanExists, NoPlanFoundInTime, PurchasePlan
from placer.plan.losses import (
    NodeLoss,
    instance_after_loss,
    losses_of_domains,
    losses_of_single_nodes,
)
from placer.plan.question import NodeOffer
from placer.plan.survive import LossPurchase, SurvivalTask, solve_survival_task, survive
from placer.plan.to_json import survival_answer_to_dict
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_cli.commands.schema import SchemaDocumentKind, json_schema_of_document_kind
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.plan.draw_survival import draw_survival
from placer_models.cluster import Instance, Node, RunningGang, RunningPod
from placer_models.placement import PartlyPlaced, Placed
from placer_models.pod import Gang, Pod, pods_of_gangs
from placer_models.policy import GatherLevel
from plan_worlds import lone, machine, spec

ZONE = "topology.kubernetes.io/zone"
BATCHES = 6
EACH = 20


def settled(instance: Instance) -> Instance:
    """Solve an instance, and let what it places run."""
    answer = solve(instance, SolveOptions(time_limit_s=10.0, workers=1))
    places = answer.placement.pods if isinstance(answer, Placed | PartlyPlaced) else ()
    pod_of = {pod.key: pod for pod in pods_of_gangs(instance.gangs)}
    running = tuple(RunningPod(pod_of[p.key], p) for p in places if p.key in pod_of)
    gangs = tuple(
        RunningGang(gang.name, gang.namespace, gang.gather, gang.levels)
        for gang in instance.gangs
        if not gang.lone and any(pod.key in {p.key for p in places} for pod in gang.pods)
    )
    return replace(
        instance,
        gangs=(),
        groups=(),
        running=(*instance.running, *running),
        running_gangs=(*instance.running_gangs, *gangs),
        move_budget=0,
        left_out=(),
    )


def told_again(instance: Instance, lost: set[str]) -> tuple[Counter[str], Counter[str]]:
    """Who restarts and who stays, by another way: names of pods."""
    ends, stays = Counter[str](), Counter[str]()
    broken = {
        (one.pod.namespace, one.placement.gang)
        for one in instance.running
        if one.placement.node in lost and one.placement.gang and not one.of_node
    }
    for one in instance.running:
        here = one.placement.node in lost
        if here and one.of_node:
            continue
        whole = bool(one.placement.gang) and (one.pod.namespace, one.placement.gang) in broken
        (ends if here or whole else stays)[one.pod.title] += 1
    return ends, stays


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_loss_is_survived_where_brute_force_survives_it(batch: int) -> None:
    """
    Random running clusters of all families: who restarts is told a second time, places are
    judged, and what is proven is what brute force finds.
    """
    tried = 0
    for seed in range(batch * EACH, (batch + 1) * EACH):
        instance = settled(mixed_instance(seed))
        for loss in losses_of_single_nodes(instance):
            found = solve_survival_task(SurvivalTask(instance, loss, seconds=10.0))

            ends, stays = told_again(instance, set(loss.nodes))
            waiting = Counter(pod.title for pod in pods_of_gangs(found.instance.gangs))
            waiting += Counter(Pod(p.name, p.namespace, spec(0, 0)).title for p in found.unplaced)
            assert set(waiting) == set(ends), f"world {seed}"
            assert Counter(one.pod.title for one in found.instance.running) == stays
            assert breaches(found.instance, found.placement) == (), f"world {seed}"
            if not found.proven or not found.pods or found.instance.left_out:
                continue
            try:
                best = best_placement(found.instance)
            except TooManyLeavesError:
                continue
            everyone = sum(1 for _ in pods_of_gangs(found.instance.gangs))
            assert found.survives == (len(best.placement.pods) == everyone), f"world {seed}"
            tried += 1
    assert tried >= EACH // 4


def zones(count: int, each: int, cpus: int = 4) -> tuple[Node, ...]:
    """Nodes in zones, all alike."""
    of = machine("m", cpus, 8, 0)
    return tuple(
        Node(f"{zone}{i}", of, labels=((ZONE, f"zone-{zone}"),))
        for zone in "abcdef"[:count]
        for i in range(each)
    )


def running(name: str, node: str, cpu_milli: int = 1000, gang: str | None = None) -> RunningPod:
    """A pod that runs on a node of `zones`."""
    instance = Instance(zones(6, 4), (lone(name, spec(cpu_milli, 1)),))
    others = tuple(one for one in instance.nodes if one.name == node)
    answer = expect(Placed, solve(replace(instance, nodes=others)))
    (place,) = answer.placement.pods
    return RunningPod(instance.gangs[0].pods[0], replace(place, gang=gang))


def test_equal_nodes_are_lost_once() -> None:
    """
    Two nodes that hold the same are one loss; a third one that holds more is another.
    """
    nodes = zones(1, 3)
    pods = (running("p0", "a0"), running("p1", "a1"), running("p2", "a2", 2000))

    losses = losses_of_single_nodes(Instance(nodes, (), running=pods))

    assert [(loss.name, loss.alike) for loss in losses] == [("a0", ("a1",)), ("a2", ())]


def test_a_node_that_a_pod_asks_for_by_name_is_like_no_other() -> None:
    nodes = tuple(
        replace(node, labels=(("kubernetes.io/hostname", node.name),)) for node in zones(1, 3)
    )
    one = running("p0", "a0")
    picky = replace(one.pod.spec, node_selector=(("kubernetes.io/hostname", "a1"),))
    pods = (one, replace(running("p2", "a2"), pod=Pod("p2", "default", picky)))

    names = [
        (loss.name, loss.alike)
        for loss in losses_of_single_nodes(Instance(nodes, (), running=pods))
    ]

    assert ("a1", ()) in names


@pytest.mark.parametrize("seed", range(6))
def test_losses_that_are_called_alike_come_to_the_same(seed: int) -> None:
    """
    Each node of random clusters with equal nodes is lost, and ends as the one that it is like.
    """
    rng = Random(f"alike-{seed}")
    nodes = zones(3, 2)
    pods = tuple(
        running(f"p{i}", rng.choice(nodes).name, rng.choice((1000, 2000, 3000))) for i in range(5)
    )
    instance = Instance(nodes, (), running=pods)
    for loss in (*losses_of_single_nodes(instance), *losses_of_domains(instance, ZONE)):
        first = solve_survival_task(SurvivalTask(instance, loss))
        for name in loss.alike:
            lost = [n.name for n in nodes if name in (n.name, n.topology_domain(ZONE))]
            other = solve_survival_task(SurvivalTask(instance, NodeLoss(name, tuple(lost))))
            assert (other.pods, len(other.unplaced)) == (first.pods, len(first.unplaced))


def test_a_gang_restarts_whole_and_pods_of_the_node_end_with_it() -> None:
    members = tuple(running(f"w{i}", f"a{i}", gang="train") for i in range(2))
    agent = replace(running("agent", "a0"), of_node=True)
    beside = replace(running("agent", "a1"), of_node=True)
    gang = RunningGang("train", "default", GatherLevel.NODE)
    instance = Instance(zones(1, 3), (), running=(*members, agent, beside), running_gangs=(gang,))

    after = instance_after_loss(instance, frozenset({"a0"}))

    assert after.gangs == (
        Gang("train", "default", tuple(m.pod for m in members), 2, gather=GatherLevel.NODE),
    )
    assert after.running == (beside,)
    assert after.running_gangs == ()


def test_what_is_there_may_move_as_far_as_the_budget_goes() -> None:
    """
    A pod of 3 CPUs fits if one of 1 CPU moves: not without a budget, and with one.
    """
    nodes = zones(1, 3)
    pods = (
        running("big", "a0", 3000),
        running("x", "a1", 2000),
        running("y", "a2", 2000),
    )
    instance = Instance(nodes, (), running=pods)
    big = NodeLoss("a0", ("a0",))

    assert not solve_survival_task(SurvivalTask(instance, big)).survives
    moved = solve_survival_task(SurvivalTask(instance, big, move_budget=1, seconds=20.0))
    assert moved.survives
    assert len(moved.moves) == 1


def test_of_several_nodes_the_worst_is_found_and_the_choices_are_counted() -> None:
    """
    Of all pairs of 5 nodes, tried by hand, the worst one comes first.
    """
    pods = (
        running("p0", "a0", 4000),
        running("p1", "a1", 3000),
        running("p2", "a2", 2000),
        running("p3", "a3", 1000),
    )
    nodes = (*zones(1, 4), Node("a4", machine("m", 4, 8, 0)))
    instance = Instance(nodes, (), running=pods)

    answer = survive(instance, nodes=2, seconds=60.0)

    worst = max(
        len(solve_survival_task(SurvivalTask(instance, NodeLoss("pair", pair))).unplaced)
        for pair in combinations([node.name for node in nodes], 2)
    )
    assert answer.tried == answer.choices == 10
    assert len(answer.losses[0].unplaced) == worst
    assert worst > 0


def test_the_cheapest_offer_mends_a_lost_zone() -> None:
    """
    Two full zones of two: without one, its 8 CPUs need nodes; of two offers the cheaper mix wins.
    """
    nodes = zones(2, 1)
    pods = tuple(running(f"p{zone}{i}", f"{zone}0", 1000) for zone in "ab" for i in range(4))
    offers = (
        NodeOffer(Node("big", machine("big", 8, 16, 0)), Decimal(10)),
        NodeOffer(Node("small", machine("small", 2, 4, 0)), Decimal(3)),
    )

    answer = survive(Instance(nodes, (), running=pods), domain=ZONE, offers=offers)

    (loss,) = answer.losses
    assert loss.loss.alike == ("zone-b",)
    assert len(loss.unplaced) == 4
    assert loss.mend is not None
    assert isinstance(loss.mend.plan, PurchasePlan)
    assert (loss.mend.plan.price, loss.mend.plan.bound) == (Decimal(6), Decimal(6))
    assert [(one.offer, one.count) for one in loss.mend.mix] == [("small", 2)]
    assert answer.unmended == 0

    ended = survive(
        Instance(nodes, (), running=pods), domain=ZONE, offers=offers, stop=lambda: True
    )
    assert ended.losses[0].mend is None
    assert ended.unmended == 1
    drawn = text_of(draw_survival(ended, 1, ZONE, "", 0, WidthAndMarks(100)), 100)
    assert "no time to look for what mends 1 loss: give it more --seconds" in drawn
    for plan, words in (
        (NoPlanExists(), "no offer does"),
        (NoPlanFoundInTime(Decimal(6)), "in time"),
    ):
        tried = replace(answer, losses=(replace(loss, mend=LossPurchase((), plan)),))
        table = text_of(draw_survival(tried, 1, ZONE, "", 0, WidthAndMarks(140)), 140)
        assert words in table
        assert ("no offer does" in table) is isinstance(plan, NoPlanExists)
    told = survival_answer_to_dict(ended, 0, "EUR")
    assert [(one["survives"], one["mend"]) for one in told["losses"]] == [(False, None)]
    assert told["unmended"] == 1
    schema = json_schema_of_document_kind(SchemaDocumentKind.SURVIVAL_ANSWER)
    assert faults(told, schema, schema["$defs"]) == []


def _most_kept(sizes: tuple[int, ...], left: tuple[int, ...]) -> int:
    """Return how many pods of some sizes find room, by trying all places of each, and none."""
    if not sizes:
        return 0
    best = _most_kept(sizes[1:], left)
    for at in {room: i for i, room in enumerate(left)}.values():
        if left[at] >= sizes[0]:
            rest = (*left[:at], left[at] - sizes[0], *left[at + 1 :])
            best = max(best, 1 + _most_kept(sizes[1:], rest))
    return best


@pytest.mark.parametrize("seed", range(24))
def test_the_worst_loss_of_two_nodes_is_that_of_brute_force(seed: int) -> None:
    """
    Of all pairs of nodes the worst leaves as many pods without a place as brute force says, and
    so does each pair that was tried; pairs that come to the same are tried once.
    """
    rng = Random(f"two-nodes-{seed}")
    cpus = 4
    nodes = zones(rng.randint(2, 3), 2, cpus)
    holds: dict[str, list[int]] = {node.name: [] for node in nodes}
    for mine in holds.values():
        while sum(mine) < cpus and rng.random() < 0.6:
            mine.append(rng.randint(1, cpus - sum(mine)))
    pods = [
        running(f"{name}-{i}", name, 1000 * size)
        for name, mine in holds.items()
        for i, size in enumerate(mine)
    ]

    answer = survive(Instance(nodes, (), running=tuple(pods)), nodes=2, seconds=60.0)

    def homeless(lost: tuple[str, ...]) -> int:
        restarts = tuple(sorted((size for one in lost for size in holds[one]), reverse=True))
        left = tuple(cpus - sum(mine) for name, mine in holds.items() if name not in lost)
        return len(restarts) - _most_kept(restarts, left)

    worst = max(homeless(pair) for pair in combinations(holds, 2))
    assert answer.tried == answer.choices
    assert len(answer.losses[0].unplaced) == worst
    for one in answer.losses:
        assert len(one.unplaced) == homeless(one.loss.nodes), one.loss.name
