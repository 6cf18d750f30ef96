"""Virtual functions, and devices by a strategy: exact on tiny worlds (D9).

A function has one holder; a strategy says as many devices as the node or the GPUs have.
"""

from dataclasses import replace

import pytest

from answers import expect
from brute_force import best_placement
from exact_checks import check_exact
from judge.cases_functions import HERE, OF_A, SHARE, held, sharing
from judge.cases_joint import switched
from judge.cases_strategies import EACH, applying, healthy_but
from judge.hand import node, placed, pod, world
from mixed_worlds import mixed_instance
from placer.counting.account import account_of
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, RunningPod
from placer_models.device import Device, FunctionSelector
from placer_models.placement import DeviceGrant, Infeasible, PartlyPlaced, Placed, PodPlacement
from placer_models.policy import AlignmentPolicy, QosClass, RequiredOrPreferred

OF_B: FunctionSelector = (("kind", ("b",)),)
EITHER: FunctionSelector = (("kind", ("a", "b")),)


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_everyone_has_a_virtual_function_such_as_it_wants(engine: Engine) -> None:
    """
    Two of kind a, one of kind b. Who takes either leaves room for those who cannot choose.
    """
    pods = [sharing("a", EITHER), sharing("b"), sharing("c")]
    instance = world(*pods, nodes=HERE)
    answer = solve(instance, SolveOptions(engine=engine, workers=1, time_limit_s=60))

    assert isinstance(answer, Placed)
    given = {p.name: p.devices[0].vfs[0] for p in answer.placement.pods}
    assert (given["a"], {given["b"], given["c"]}) == (2, {0, 1})


def test_who_finds_none_is_told_so() -> None:
    """
    One of kind b, and two pods that want it.
    """
    instance = world(sharing("a", OF_B), sharing("b", OF_B), nodes=HERE)
    answer = expect(PartlyPlaced, solve(instance, SolveOptions(workers=1, time_limit_s=60)))

    assert "device-functions asks a virtual function of 1 rdma" in answer.unplaced[0].reasons[0]


def test_a_whole_nic_leaves_no_virtual_function() -> None:
    """
    Who holds all of a device holds its virtual functions too.
    """
    whole = pod("whole", nics=2, qos=QosClass.LS)
    instance = world(whole, sharing("a"), nodes=HERE)
    answer = expect(PartlyPlaced, solve(instance, SolveOptions(workers=1, time_limit_s=60)))

    assert len(answer.placement.pods) == 1


def test_accounts_forget_what_is_released() -> None:
    """
    A pod that goes gives its virtual function back.
    """
    node = HERE[0]
    runner = RunningPod(sharing("r"), replace(held("r", 1), node=node.name))

    assert account_of(node, [runner]).devices.held_functions == {("rdma", 0, 1)}
    assert account_of(node, []).devices.held_functions == frozenset()


def test_shares_without_virtual_functions_do_not_meet_them() -> None:
    """
    Percent are counted apart: a plain share may be on a NIC whose functions are all held.
    """
    instance = world(sharing("a", None), nodes=HERE)
    assert SHARE.percent == 1
    assert OF_A
    assert breaches(instance, placed(held("a"))) == ()


ENGINES = (Engine.GREEDY, Engine.EXACT)


def minors(instance: Instance, engine: Engine) -> dict[str, tuple[int, ...]] | None:
    """Return the devices of the first pod by type; None: it waits."""
    answer = solve(instance, SolveOptions(engine=engine, workers=1, time_limit_s=60))
    if not isinstance(answer, Placed):
        return None
    assert breaches(instance, answer.placement) == ()
    return {kind: answer.placement.pods[0].minors(kind) for kind in ("gpu", "rdma")}


def holding(*devices: tuple[str, int]) -> RunningPod:
    """Return a pod that runs and holds whole devices."""
    counts = {kind: sum(k == kind for k, _ in devices) for kind, _ in devices}
    held = applying("held", gpus=counts.get("gpu", 0), strategy=None, nics=counts.get("rdma", 0))
    grants = tuple(sorted((DeviceGrant(*device) for device in devices), key=lambda g: g.type))
    place = PodPlacement("held", "default", None, "n", frozenset(range(9)), devices=grants)
    return RunningPod(held, place)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("gpus", "nics"), [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_there_are_as_many_nics_as_switches(engine: Engine, gpus: int, nics: int) -> None:
    """
    GPUs 0 and 1 are below one switch, 2 and 3 below one of their own each.
    """
    here = [node(machine=switched("aabc", "aabc"))]
    found = minors(world(applying("a", gpus, EACH), nodes=here), engine)

    assert found is not None
    assert len(found["rdma"]) == nics


@pytest.mark.parametrize("engine", ENGINES)
def test_gpus_go_where_a_nic_is_left(engine: Engine) -> None:
    """
    The GPUs that are nearest have no NIC any more; others have.
    """
    here = [node(machine=switched("aabc", "abc"))]
    running = [holding(("rdma", 0))]
    instance = replace(world(applying("a", 2, EACH), nodes=here), running=tuple(running))

    assert minors(instance, engine) == {"gpu": (2, 3), "rdma": (1, 2)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wish_takes_fewer_nics_before_it_waits(engine: Engine) -> None:
    """
    4 GPUs below 3 switches, and one NIC is left: required the pod waits, preferred it does not.
    """
    here = [node(machine=switched("aabc", "abc"))]
    running = (holding(("rdma", 0), ("rdma", 1)),)
    wish = applying("a", 4, EACH, strength=RequiredOrPreferred.PREFERRED)

    found = minors(replace(world(wish, nodes=here), running=running), engine)
    assert found is not None
    assert found["rdma"] == (2,)
    must = replace(world(applying("a", 4, EACH), nodes=here), running=running)
    assert minors(must, engine) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_all_that_are_healthy_are_all(engine: Engine) -> None:
    """
    NIC 1 is broken, so the pod has the other two; where one of these is held, it waits.
    """
    here = [healthy_but(1)]
    instance = world(applying("a"), nodes=here)

    assert minors(instance, engine) == {"gpu": (), "rdma": (0, 2)}
    assert minors(replace(instance, running=(holding(("rdma", 2)),)), engine) is None


def test_who_cannot_have_all_is_told_so() -> None:
    """
    By the name of the rule, and how many all are.
    """
    instance = world(applying("a"), nodes=[healthy_but(1)])
    instance = replace(instance, running=(holding(("rdma", 2)),))
    answer = expect(Infeasible, solve(instance, SolveOptions(workers=1, time_limit_s=60)))

    assert "device-strategy asks all 2 rdma" in answer.unplaced[0].reasons[0]


def test_who_finds_no_groups_is_told_so() -> None:
    """
    GPUs of two switches are free, and NICs of none of these.
    """
    here = [node(machine=switched("aabb", "abc"))]
    instance = world(applying("a", 2, EACH), nodes=here)
    instance = replace(instance, running=(holding(("rdma", 0), ("rdma", 1)),))
    answer = expect(Infeasible, solve(instance, SolveOptions(workers=1, time_limit_s=60)))

    reason = answer.unplaced[0].reasons[0]
    assert "joint asks 2 gpu and one rdma for each group side by side (SamePCIe)" in reason


@pytest.mark.parametrize("engine", ENGINES)
def test_restricted_does_not_count_what_follows(engine: Engine) -> None:
    """
    4 GPUs need two NUMA nodes, one NIC would need one: what follows is not in the need.
    """
    here = [node(machine=switched("aabb", "ab"), alignment=AlignmentPolicy.RESTRICTED)]
    found = minors(world(applying("a", 4, EACH), nodes=here), engine)

    assert found == {"gpu": (0, 1, 2, 3), "rdma": (0, 1)}


@pytest.mark.parametrize("engine", ENGINES)
def test_all_devices_count_for_restricted(engine: Engine) -> None:
    """
    NICs on both NUMA nodes need two of them, and the pod's one GPU needs one: they disagree.
    """
    there = switched("aabb", "ab")
    apart = replace(
        there,
        devices=tuple(
            replace(d, numa_node=d.minor) if d.type == "rdma" else d for d in there.devices
        ),
    )
    pod = applying("a", 1)
    on = [node(machine=apart, alignment=AlignmentPolicy.RESTRICTED)]
    assert minors(world(pod, nodes=on), engine) is None
    on = [node(machine=there, alignment=AlignmentPolicy.RESTRICTED)]
    found = minors(world(pod, nodes=on), engine)
    assert found is not None
    assert found["rdma"] == (0, 1)


def test_equal_pods_are_placed_until_the_nics_run_out() -> None:
    """
    Shares of 40 percent of every NIC: two pods fit, and the third does not.
    """
    nics = tuple(Device("rdma", i, numa_node=0) for i in range(3))
    here = [node(machine=replace(switched("aabb", ""), devices=nics))]
    pods = [applying(name, percent=40) for name in "abc"]
    for engine in ENGINES:
        answer = solve(world(*pods, nodes=here), SolveOptions(engine=engine, workers=1))
        assert len(answer.placement.pods) == 2


def test_functions_that_only_fit_together_end_no_search() -> None:
    """
    A pod that takes any function may take the one that the next pod wants; the model gave each one.
    """
    world = mixed_instance(401_666)

    asked = [pod.spec.functions for gang in world.gangs for pod in gang.pods]
    assert (("rdma", ()),) in asked
    check_exact(world, best_placement(world))
