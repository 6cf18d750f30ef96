"""Which running pods may move, and what is measured of them."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from judge.hand import ALL_CPUS, gang, node, placed, pod, put, world
from moving_question import with_moving_pods
from moving_worlds import mixed_moving_instance, tied_instance
from placer.judge.breaches import breaches, breaches_of_complete_placement
from placer.judge.measure import measure
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, RunningGang, RunningPod
from placer_models.goals import MOVES, OPENED
from placer_models.moves import with_movable_pods_as_waiting
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    AlignmentScope,
    GatherLevel,
    QosClass,
    RequiredOrPreferred,
)

MAKERS = (tied_instance, mixed_moving_instance)

HOME = put("r", "0-1", memory={0: 2}, gpus=[0])


def one_running(
    place: PodPlacement = HOME, budget: int = 1, **wishes: AlignmentPolicy | QosClass
) -> Instance:
    """Return a node where one pod of 2 CPUs, 2 bytes and a GPU runs, and another node."""
    runner = pod("r", 2, memory=2, gpus=1, **wishes)
    return replace(
        world(pod("a", 1), nodes=[node("n"), node("m")]),
        running=(RunningPod(runner, place),),
        move_budget=budget,
    )


def homes(instance: Instance) -> list[str]:
    asked = with_movable_pods_as_waiting(instance, breaches_of_complete_placement)
    return [home.name for home in asked.homes]


@pytest.mark.parametrize(
    ("place", "moves"),
    [
        (HOME, 0),
        (put("r", "0-1", memory={0: 2}, gpus=[0], on="m"), 1),
        (put("r", "2-3", memory={0: 2}, gpus=[0]), 1),
        (put("r", "0-1", memory={1: 2}, gpus=[0]), 1),
        (put("r", "0-1", memory={0: 2}, gpus=[1]), 1),
    ],
    ids=["at home", "another node", "other CPUs", "memory elsewhere", "another GPU"],
)
def test_a_pod_stays_if_all_that_it_holds_does(place: PodPlacement, moves: int) -> None:
    """
    Node, own CPUs, memory by NUMA node and devices; anything else is a move.
    """
    instance = one_running()

    assert breaches(instance, placed(place)) == ()
    assert dict(measure(instance, placed(place)))[MOVES] == moves


@pytest.mark.parametrize(("app", "movable"), [("db", False), ("web", True)])
def test_who_may_be_the_first_of_its_kind_stays(app: str, movable: bool) -> None:
    """
    What comes elsewhere is of its kind too, and runs there no worse for that.
    """
    term = AffinityTerm((("app", "db"),))
    runner = pod("r", 1, labels={"app": app}, affinity=[term])
    beside = pod("s", 1, labels={"app": "db"})
    instance = replace(
        world(pod("a", 1, labels={"app": "db"}), nodes=[node("n"), node("m")]),
        running=(
            RunningPod(runner, put("r", "0")),
            *([RunningPod(beside, put("s", "2"), movable=False)] if movable else []),
        ),
        move_budget=1,
    )

    assert ("r" in homes(instance)) is movable
    assert breaches(instance, placed(put("a", "0", on="m"))) == ()


def test_in_what_order_a_pod_names_what_it_holds_does_not_matter() -> None:
    """
    The same GPUs in another order are the same place.
    """
    home = put("r", "0-1", memory={0: 1, 1: 1}, gpus=[0, 1])
    turned = replace(home, devices=home.devices[::-1], memory_bytes=home.memory_bytes[::-1])
    runner = RunningPod(pod("r", 2, memory=2, gpus=2), home)
    instance = replace(world(pod("a", 1)), running=(runner,), move_budget=1)

    assert dict(measure(instance, placed(turned)))[MOVES] == 0


def test_who_is_not_named_stays() -> None:
    """
    And so takes what it has from those that come.
    """
    instance = one_running()

    assert dict(measure(instance, Placement()))[MOVES] == 0
    (breach,) = breaches(instance, placed(put("a", "0")))
    assert breach.rule == "cpu-exclusive"


@pytest.mark.parametrize(
    ("places", "opened"),
    [
        ((), 0),
        ((put("a", "4"),), 0),
        ((put("r", "0-1", memory={0: 2}, gpus=[0], on="m"),), 1),
        ((put("r", "0-1", memory={0: 2}, gpus=[0], on="m"), put("a", "4")), 1),
        ((put("a", "4", on="m"),), 1),
    ],
    ids=["at home", "one beside it", "moved", "moved, and one in its place", "one elsewhere"],
)
def test_a_node_where_a_pod_runs_that_may_move_is_open(
    places: tuple[PodPlacement, ...], opened: int
) -> None:
    """
    Of two offered nodes the one where it is at home is open; the other is opened by who comes.
    """
    instance = one_running()
    nodes = tuple(replace(each, offered=True) for each in instance.nodes)

    assert dict(measure(replace(instance, nodes=nodes), placed(*places)))[OPENED] == opened


def test_a_pool_that_grows_moves_nobody() -> None:
    """
    An LS pod runs in what is left of the node, also when that is more than it was.
    """
    shared = RunningPod(pod("ls", 1, qos=QosClass.LS), put("ls", "2-8"))
    instance = one_running()
    instance = replace(instance, running=(*instance.running, shared))
    away = placed(replace(HOME, node="m"))

    assert homes(instance) == ["r", "ls"]
    assert breaches(instance, away) == ()
    assert dict(measure(instance, away))[MOVES] == 1


def test_in_the_question_itself_a_running_pod_may_not_be_dropped() -> None:
    """
    Once they wait, too, a placement has to say where they are.
    """
    asked = with_movable_pods_as_waiting(one_running(), breaches_of_complete_placement)

    (breach,) = breaches(asked, Placement())

    assert breach.rule == "moves"
    assert "'r' runs on node 'n' and is given no place any more" in breach.message


def pinned(instance: Instance) -> Instance:
    (runner,) = instance.running
    return replace(instance, running=(replace(runner, movable=False),))


def in_a_gang(instance: Instance) -> Instance:
    (runner,) = instance.running
    place = replace(runner.placement, gang="g")
    return replace(instance, running=(replace(runner, placement=place),))


def in_a_gang_that_is_known(instance: Instance) -> Instance:
    return replace(in_a_gang(instance), running_gangs=(RunningGang("g", "default"),))


def two_of_a_gang(
    gather: GatherLevel | None = None, levels: tuple[GangNetworkLevelRule, ...] = ()
) -> Instance:
    """Return two members of a gang on the first node, of which the second may not move."""
    instance = in_a_gang(one_running())
    other = RunningPod(pod("s", 1), put("s", "4", gang="g"), movable=False)
    together = RunningGang("g", "default", gather, levels)
    return replace(instance, running=(*instance.running, other), running_gangs=(together,))


def test_members_of_a_gang_move_as_it_allows() -> None:
    """
    One that asks for nothing lets each go alone; one that asks for places, all or nobody.
    """
    near = GangNetworkLevelRule(
        "node", GangNetworkLevelRuleKind.GATHER, RequiredOrPreferred.PREFERRED
    )

    assert homes(in_a_gang_that_is_known(one_running())) == ["r"]
    assert homes(two_of_a_gang()) == ["r"]
    assert homes(two_of_a_gang(gather=GatherLevel.NODE)) == []
    assert homes(two_of_a_gang(levels=(near,))) == []


def test_a_gang_that_is_not_where_it_asks_to_be_stays() -> None:
    """
    It is on two nodes and would have to be on one; a pod beside it may move.
    """
    instance = in_a_gang(one_running())
    other = RunningPod(pod("s", 1), put("s", "4", on="m", gang="g"))
    beside = RunningPod(pod("t", 1), put("t", "6"))
    together = RunningGang("g", "default", gather=GatherLevel.NODE)
    running = (*instance.running, other, beside)

    assert homes(replace(instance, running=running, running_gangs=(together,))) == ["t"]


def test_a_gang_that_waits_may_have_the_name_of_a_running_pod() -> None:
    """
    They have nothing to do with each other.
    """
    instance = one_running()
    waiting = gang("r", pod("a", 1), pod("b", 1), minimum=2)

    assert homes(replace(instance, gangs=(waiting,))) == ["r"]


def by_container(instance: Instance) -> Instance:
    nodes = [replace(each, scope=AlignmentScope.CONTAINER) for each in instance.nodes]
    return replace(instance, nodes=tuple(nodes))


def bursting(instance: Instance) -> Instance:
    (runner,) = instance.running
    app = Container("app", Resources(2000), cpu_limit_milli=2000)
    burst = PodSpec((app,), qos=QosClass.LS, constrained_burst=True)
    place = replace(put("r", "0-3"), cpu_milli=((0, 2000),))
    return replace(instance, running=(RunningPod(replace(runner.pod, spec=burst), place),))


def cordoned(instance: Instance) -> Instance:
    return replace(instance, nodes=tuple(replace(n, cordoned=True) for n in instance.nodes))


def misaligned(instance: Instance) -> Instance:
    split = put("r", "0,4", memory={0: 2}, gpus=[0])
    return one_running(split, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)


@pytest.mark.parametrize(
    "change", [pinned, in_a_gang, by_container, bursting, cordoned, misaligned]
)
def test_some_running_pods_stay_whatever_the_budget(
    change: Callable[[Instance], Instance],
) -> None:
    """
    Who may not, members of gangs that nobody knows, and pods that are where no new pod could be.
    """
    assert homes(one_running()) == ["r"]
    assert homes(change(one_running())) == []


def test_without_a_budget_nothing_is_asked_of_running_pods() -> None:
    """
    The instance is judged as it is, and there is no such tier.
    """
    instance = one_running(budget=0)

    assert with_movable_pods_as_waiting(instance, breaches_of_complete_placement) is instance
    assert MOVES not in dict(measure(instance, Placement()))


def test_of_pods_that_disturb_each_other_only_the_others_may_move() -> None:
    """
    Two LS pods that together ask for more than the pool has are left; the one beside may.
    """
    greedy = [
        RunningPod(pod(name, 6, qos=QosClass.LS), put(name, ALL_CPUS, on="m")) for name in "xy"
    ]
    instance = one_running()
    instance = replace(instance, running=(*instance.running, *greedy))

    assert homes(instance) == ["r"]


def test_who_has_no_part_in_what_is_too_much_may_move() -> None:
    """
    Of two that hold more licences than there are neither could come there anew; the third could.
    """
    asked = (Container("app", Resources(1000, extended=(("licences", 1),))),)
    holders = [
        RunningPod(Pod(name, "default", PodSpec(asked)), put(name, cpu))
        for name, cpu in (("x", "4"), ("y", "6"))
    ]
    instance = one_running()
    nodes = (replace(instance.nodes[0], extended=(("licences", 1),)), *instance.nodes[1:])
    instance = replace(instance, nodes=nodes, running=(*instance.running, *holders))

    assert homes(instance) == ["r"]


@pytest.mark.parametrize("batch", range(10))
def test_who_may_move_is_as_the_page_says(batch: int) -> None:
    """
    On 200 worlds, by the words and by the tests' own reading of docs/rules/moves.md.
    """
    staying = 0
    for seed, make in product(range(10 * batch, 10 * batch + 10), MAKERS):
        instance = make(seed)
        movable = {
            home.key
            for home in with_movable_pods_as_waiting(instance, breaches_of_complete_placement).homes
        }

        assert movable == {home.key for home in with_moving_pods(instance).homes}, instance.name
        staying += len(movable) < len(instance.running)
    assert staying
