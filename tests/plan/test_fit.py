"""How many more fit: no fewer than one pod after the other finds, no more than there are."""

from dataclasses import replace
from random import Random

import pytest

from brute_force import best_placement
from leaves import TooManyLeavesError
from mixed_worlds import mixed_instance
from placer.judge.breaches import breaches
from placer.plan.fit import BoundlessShapeError, FitCountTask, count_fitting_pods
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import PartlyPlaced, Placed
from placer_models.pod import Container, Gang, Pod, PodSpec, pods_of_gangs
from placer_models.taints import Taint, TaintEffect
from plan_worlds import lone, machine, spec

BATCHES = 6
EACH = 20


def one_after_the_other(instance: Instance, pod: Pod, most: int) -> int:
    """Add one pod at a time through `solve`, as long as it finds a place."""
    instance = replace(instance, gangs=(), groups=(), left_out=(), move_budget=0)
    for number in range(most + 1):
        new = replace(pod, name=f"new-{number}")
        asked = replace(instance, gangs=(Gang(new.name, new.namespace, (new,), 1, lone=True),))
        answer = solve(asked, SolveOptions(Engine.AUTO, 10.0, workers=1))
        if not isinstance(answer, Placed):
            return number
        (place,) = answer.placement.pods
        instance = replace(instance, running=(*instance.running, RunningPod(new, place)))
    return most + 1


@pytest.mark.parametrize("batch", range(BATCHES))
def test_as_many_fit_as_one_after_the_other_and_no_more_than_brute_force_knows(batch: int) -> None:
    """
    Random worlds of all families: the naive loop never beats the bound, every counted pod has a
    judged place, and where brute force can tell, one more than the bound never fits.
    """
    proven = told = 0
    for seed in range(batch * EACH, (batch + 1) * EACH):
        instance = mixed_instance(seed)
        pods = list(pods_of_gangs(instance.gangs))
        if not pods:
            continue
        pod = Random(seed).choice(pods)
        try:
            found = count_fitting_pods(FitCountTask(instance, pod, seconds=20.0))
        except BoundlessShapeError:
            continue

        assert found.count == len(found.placement.pods) <= found.bound, f"world {seed}"
        assert breaches(found.instance, found.placement) == (), f"world {seed}"
        assert sum(one.count for one in found.classes) == found.count, f"world {seed}"
        naive = one_after_the_other(found.instance, pod, found.bound)
        assert naive <= found.bound, f"world {seed}"
        assert found.count >= naive or not found.proven, f"world {seed}"
        proven += found.proven
        told += 1
    assert proven >= 0.9 * told


@pytest.mark.parametrize("batch", range(3))
def test_the_bound_is_what_brute_force_finds(batch: int) -> None:
    """
    Of one more pod than fit, brute force places exactly as many as were counted.
    """
    for seed in range(1000 + batch * 8, 1008 + batch * 8):
        instance = mixed_instance(seed)
        pods = list(pods_of_gangs(instance.gangs))
        if not pods:
            continue
        try:
            found = count_fitting_pods(FitCountTask(instance, pods[0], seconds=20.0))
        except BoundlessShapeError:
            continue
        if found.count > 3:
            continue

        more = tuple(
            replace(lone(f"try-{i}", pods[0].spec), pods=(replace(pods[0], name=f"try-{i}"),))
            for i in range(found.count + 1)
        )
        more = tuple(replace(gang, namespace=pods[0].namespace) for gang in more)
        asked = replace(found.instance, gangs=more)
        try:
            best = best_placement(asked)
        except TooManyLeavesError:
            continue
        assert found.proven, f"world {seed}"
        assert len(best.placement.pods) == found.count, f"world {seed}"


def four_nodes(*, taint: bool = True) -> Instance:
    """Four nodes of 2 CPUs and 4 GB, and one for the control plane."""
    of = machine("kube", 2, 4, 0)
    nodes = tuple(Node(f"kube-node-{i}", of, max_pods=110) for i in range(1, 5))
    role = Taint("node-role.kubernetes.io/control-plane", "", TaintEffect.NO_SCHEDULE)
    taints = (role,) if taint else ()
    return Instance((*nodes, Node("kube-master", of, taints=taints)), ())


def test_the_documented_answer_of_cluster_capacity_is_ours() -> None:
    """
    Its README: on 4 nodes of 2 CPUs and 4 GB beside a master, 52 pods of 150m and 100Mi fit, 13 a
    node, and CPU stops the next one on each.
    """
    small = Pod("small-pod", "default", replace(spec(150, 0), containers=_asks(150, 100)))

    found = count_fitting_pods(FitCountTask(four_nodes(), small))

    assert (found.count, found.bound) == (52, 52)
    first, master = found.classes
    assert (first.count, first.rule, len(first.nodes)) == (52, "shared-pool", 4)
    assert (master.count, master.rule) == (0, "taints")
    by_node = [place.node for place in found.placement.pods]
    assert {by_node.count(f"kube-node-{i}") for i in range(1, 5)} == {13}


def _asks(cpu_milli: int, memory_mib: int) -> tuple[Container, ...]:
    (container,) = spec(cpu_milli, 0).containers
    asked = replace(container.requests, memory_bytes=memory_mib << 20)
    return (replace(container, requests=asked),)


def test_pods_that_keep_apart_fit_once_a_node() -> None:
    """
    Pods that bar their like from their node look at others: all nodes are searched together.
    """
    term = AffinityTerm((("app", "db"),), apart=True)
    of = replace(spec(500, 1), labels=(("app", "db"),), affinity=(term,))

    found = count_fitting_pods(FitCountTask(four_nodes(), Pod("db", "default", of)))

    assert (found.count, found.bound) == (4, 4)
    assert {one.rule for one in found.classes} == {"anti-affinity", "taints"}


def test_excluded_nodes_and_nodes_that_are_only_offered_hold_none() -> None:
    instance = four_nodes(taint=False)
    offered = replace(instance.nodes[0], offered=True)
    instance = replace(instance, nodes=(offered, *instance.nodes[1:]))
    pod = Pod("p", "default", spec(1000, 1))
    task = FitCountTask(instance, pod, excluded=frozenset({"kube-node-2"}))

    found = count_fitting_pods(task)

    assert (found.count, found.bound) == (6, 6)
    assert [(one.reason, one.nodes) for one in found.classes if not one.count] == [
        ("excluded", ("kube-node-2",))
    ]


def test_of_a_shape_that_takes_nothing_any_number_fits() -> None:
    instance = Instance((Node("n", machine("kube", 2, 4, 0)),), ())

    with pytest.raises(BoundlessShapeError, match="asks for nothing"):
        count_fitting_pods(FitCountTask(instance, Pod("nothing", "default", PodSpec(()))))


def test_what_runs_takes_its_part() -> None:
    """
    Where a node holds two pods of the shape, it holds one more beside one that runs.
    """
    instance = Instance((Node("n", machine("kube", 2, 4, 0)),), (lone("first", spec(900, 1)),))
    answer = solve(instance, SolveOptions(Engine.GREEDY))
    assert isinstance(answer, Placed | PartlyPlaced)
    running = RunningPod(instance.gangs[0].pods[0], answer.placement.pods[0])
    busy = replace(instance, gangs=(), running=(running,))

    assert count_fitting_pods(FitCountTask(busy, Pod("p", "default", spec(900, 1)))).count == 1
