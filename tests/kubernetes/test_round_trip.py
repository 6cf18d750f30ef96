"""What is written and read again holds what was placed: no more, no less (C14, D11, D14)."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from dump_worlds import after_binding, dump_world, objects_of, with_placed
from kubernetes_worlds import Json, lsr, node, pod, topology
from placer.counting.account import Account, Side, accounts_of
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import Answer, PartlyPlaced, Placed, Placement

GREEDY = SolveOptions(Engine.GREEDY, 10, None, workers=1, seed=0)


def placed(instance: Instance) -> Placement:
    """Return where the pods that wait go to."""
    answer: Answer = solve(instance, GREEDY)
    return answer.placement if isinstance(answer, Placed | PartlyPlaced) else Placement()


def two_containers(cpus: str) -> Json:
    """Return a pod whose two containers ask for so many CPUs each."""
    found = pod("p", {"cpu": cpus, "memory": "1Gi"})
    found["spec"]["containers"].append({**found["spec"]["containers"][0], "name": "aside"})
    return found


def comparable(account: Account) -> Account:
    """Return the account without the order of pods, and what they selected before they came."""
    tenants = Counter[Side]()
    for (spec, of), count in account.tenants.items():
        tenants[replace(spec, node_selector=()), of] += count
    bound = sorted(account.pools.bound, key=repr)
    return replace(
        account,
        pools=replace(account.pools, bound=tuple(bound)),
        tenants=tenants,
    )


def check(seed: int, count: int) -> int:
    """Bind what is placed of so many clusters, and read them again; return how many pods."""
    bound = 0
    for number in range(count):
        objects = dump_world(Random(f"{seed}-{number}"))
        half = len(objects) * 2 // 3
        cluster, more = bound_and_read(objects[:half])
        bound += more
        bound += bound_and_read([*cluster, *objects[half:]])[1]
    return bound


def bound_and_read(objects: list[Json]) -> tuple[list[Json], int]:
    """Check what is read of a cluster once its pods are bound; return it, and how many were."""
    instance, _ = instance_of_cluster_objects(objects_of(objects))
    placement = placed(instance)
    bound = after_binding(objects, instance, placement)

    after, _ = instance_of_cluster_objects(objects_of(bound))

    assert misfits_of_instance(after) == ()
    wanted = with_placed(instance, placement)
    names = [node.name for node in after.nodes]
    assert names == [node.name for node in wanted.nodes]
    for name, found, want in zip(names, accounts_of(after), accounts_of(wanted), strict=True):
        assert comparable(found) == comparable(want), name
    return bound, len(placement.pods)


def test_what_is_read_again_leaves_as_much_as_was_left() -> None:
    """
    Accounts of every node: CPUs, pools, memory by NUMA node, devices, plain amounts. Then more
    pods come, and find what is left.
    """
    assert check(1, 7) > 14


@pytest.mark.check
def test_more_of_them() -> None:
    """
    The same for more clusters.
    """
    check(2, 70)


def test_containers_with_pools_of_their_own_are_read_as_one_pod() -> None:
    """
    One annotation says where all of them are: the pod is kept to the NUMA nodes together.
    """
    apart = [node(), topology(policies=["SingleNUMANodeContainerLevel"]), two_containers("3")]
    instance, _ = instance_of_cluster_objects(objects_of(apart))
    (place,) = placed(instance).pods
    assert [one.cpu_milli for one in place.containers] == [((0, 3000),), ((1, 3000),)]

    after, _ = instance_of_cluster_objects(
        objects_of(after_binding(apart, instance, Placement((place,))))
    )

    (running,) = after.running
    assert running.placement.cpu_milli == ((0, 3000), (1, 3000))
    assert misfits_of_instance(after) == ()


def test_what_a_kubelet_picks_by_itself_is_not_given_twice() -> None:
    """
    Devices of zones, and CPUs of a static kubelet: nobody says which, so no more are given out.
    """
    zones = topology(
        annotations={"kubelet.koordinator.sh/cpu-manager-policy": {"policy": "static"}}
    )
    for zone in zones["zones"]:
        amounts = {"capacity": "1", "allocatable": "1", "available": "1"}
        zone["resources"].append({"name": "nvidia.com/gpu", **amounts})
    amounts = {"cpu": "2", "memory": "1Gi"}
    first = pod("g", {**amounts, "nvidia.com/gpu": "1"}, limits={**amounts, "nvidia.com/gpu": "1"})
    cluster = [node(), zones, first]
    instance, _ = instance_of_cluster_objects(objects_of(cluster))
    bound = after_binding(cluster, instance, placed(instance))
    assert bound[2]["spec"]["nodeName"] == "n1"

    after, _ = instance_of_cluster_objects(
        objects_of([*bound, pod("h", {"cpu": "1", "nvidia.com/gpu": "1"}), lsr("i", 1)])
    )

    assert placed(after) == Placement()


@pytest.mark.slow
def test_many_more() -> None:
    """
    The same for many clusters.
    """
    check(3, 2000)
