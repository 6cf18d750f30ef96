"""CPUs of NUMA nodes by claims of random clusters, held against the objects alone."""

import copy
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from random import Random

import pytest
import yaml

from claim_worlds import claim, claiming
from dump_worlds import after_binding, files_of, objects_of, with_placed
from kubernetes.cpu_claim_worlds import CPUS, NUMA, asking, group, groups, held, socket
from kubernetes_worlds import Json, node, topology
from placer.counting.account import accounts_of
from placer.judge.breaches import breaches
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed

SOCKET = "dra.cpu/socketID"

Parts = list[int]
"""CPUs of a pod, each of one NUMA node."""

Place = tuple[str, int]
"""A node, and a NUMA node of it."""


def world(draw: Random) -> tuple[list[Json], dict[str, Parts], dict[Place, set[int]]]:
    """Return a cluster, what each pod that waits needs, and the free CPUs of its NUMA nodes."""
    objects: list[Json] = [CPUS]
    free: dict[Place, set[int]] = {}
    names = [f"n{i}" for i in range(draw.choice((1, 1, 2)))]
    sockets = draw.random() < 0.3
    for name in names:
        layout = [(i, i // 2, i // 4 if sockets else 0, i // 4) for i in range(8)]
        kept = set(draw.sample(range(8), draw.choice((0, 0, 1, 2)))) if not sockets else set()
        for numa in range(2):
            free[name, numa] = set(range(4 * numa, 4 * numa + 4)) - kept
        listed = [
            group(numa, len(cpus), format_cpu_list(cpus))
            for (where, numa), cpus in free.items()
            if where == name and cpus
        ]
        devices = [socket(0), socket(1)] if sockets else listed
        objects += [node(name), topology(name, cpus=layout), groups(*devices, name=name)]
        if not sockets and draw.random() < 0.3:
            device = draw.choice(listed)["name"]
            here = free[name, int(device[-1])]
            taken = frozenset(draw.sample(sorted(here), draw.randrange(1, len(here) + 1)))
            here -= taken
            status = held(format_cpu_list(taken), device)
            status = yaml.safe_load(yaml.safe_dump(status).replace("n1", name))
            objects.append(claim(f"held-{name}", status=status))
            if draw.random() < 0.5:
                amounts = {"cpu": str(len(taken))}
                own = {"c": f"held-{name}"}
                objects.append(claiming(f"runs-{name}", own, requests=amounts, nodeName=name))
    needs = {}
    for i in range(draw.randrange(1, 5)):
        counts = [draw.randrange(1, 5) for _ in range(draw.choice((1, 1, 2)))]
        same = len(counts) > 1 and draw.random() < 0.4
        asked = [asking(count, name=f"r{k}") for k, count in enumerate(counts)]
        more = {"constraints": [{"matchAttribute": SOCKET if sockets else NUMA}]} if same else {}
        split = len(asked) > 1 and not same and draw.random() < 0.3
        owned = {f"c{i}": asked[:1], f"d{i}": asked[1:]} if split else {f"c{i}": asked}
        objects += [claim(name, *own, **more) for name, own in owned.items()]
        amounts = {"cpu": str(sum(counts)), "memory": "1Gi"}
        objects.append(claiming(f"p{i}", {name: name for name in owned}, requests=amounts))
        needs[f"p{i}"] = [sum(counts)] if same else counts
    return objects, needs, free


def most(needs: dict[str, Parts], free: dict[Place, set[int]]) -> int:
    """Return how many of the pods can be placed together at best."""
    for size in range(len(needs), 0, -1):
        if any(_fits(list(chosen), free) for chosen in combinations(needs.values(), size)):
            return size
    return 0


def _fits(pods: Sequence[Parts], free: dict[Place, set[int]]) -> bool:
    return any(True for _ in _ways(pods, {place: len(cpus) for place, cpus in free.items()}))


def _ways(pods: Sequence[Parts], room: dict[Place, int]) -> Iterator[None]:
    if not pods:
        yield
        return
    parts, *others = pods
    for name in {place[0] for place in room}:
        for numa_nodes in product((0, 1), repeat=len(parts)):
            left = dict(room)
            for count, numa in zip(parts, numa_nodes, strict=True):
                left[name, numa] -= count
            if min(left.values()) >= 0:
                yield from _ways(others, left)


def hold(seed: int, engine: Engine) -> None:
    """Hold what is placed in a world against its objects."""
    objects, needs, free = world(Random(seed))
    instance, _ = instance_of_cluster_objects(objects_of(objects))
    answer = solve(instance, SolveOptions(engine, 20, None, workers=1, seed=0))
    if isinstance(answer, Infeasible | GaveUp):
        assert engine is Engine.GREEDY or most(needs, free) == 0
        return
    assert isinstance(answer, Placed | PartlyPlaced)
    assert not breaches(instance, answer.placement)
    if engine is Engine.AUTO:
        assert len(answer.placement.pods) == most(needs, free)
    files = files_of(objects, instance, answer.placement, EmitKind.CLAIMS)
    left = copy.deepcopy(free)
    told = {
        path.split("/")[-1].split(".")[0]: one["status"]
        for path, one in files.items()
        if path.endswith(".status.yaml")
    }
    places = {place.name: place for place in answer.placement.pods}
    owned: dict[str, set[int]] = {}
    for name, status in told.items():
        devices = status["allocation"]["devices"]
        pod_name = f"p{name[1:]}"
        same = set()
        for result, config in zip(devices["results"], devices["config"], strict=True):
            assert config["requests"] == [result["request"]]
            cpus = parse_cpu_list(config["opaque"]["parameters"]["cpuConfig"]["cpuset"])
            numa = int(result["device"][-1])
            here = left[places[pod_name].node, numa]
            assert result["consumedCapacity"] == {"dra.cpu/cpu": str(len(cpus))}
            assert result["pool"] == places[pod_name].node
            assert cpus <= here
            here -= cpus
            same.add(numa)
            owned.setdefault(pod_name, set()).update(cpus)
        (asked,) = (
            one["spec"]["devices"]
            for one in objects
            if one["kind"] == "ResourceClaim" and one["metadata"]["name"] == name
        )
        counts = [
            one["exactly"]["capacity"]["requests"]["dra.cpu/cpu"] for one in asked["requests"]
        ]
        assert counts == [one["consumedCapacity"]["dra.cpu/cpu"] for one in devices["results"]]
        assert len(same) == 1 or not asked.get("constraints")
    assert owned == {name: set(place.cpuset) for name, place in places.items()}
    _hold_again(objects, told, instance, answer)


def _hold_again(
    objects: list[Json], told: dict[str, Json], instance: Instance, answer: Placed | PartlyPlaced
) -> None:
    """Read the objects with their claims told and their pods bound."""
    found = []
    for one in after_binding(objects, instance, answer.placement):
        if one["kind"] == "ResourceClaim" and one["metadata"]["name"] in told:
            one["status"] = told[one["metadata"]["name"]]
        found.append(one)
    again, _ = instance_of_cluster_objects(objects_of(found))
    wanted = with_placed(instance, answer.placement)
    assert misfits_of_instance(again) == ()
    for now, then in zip(accounts_of(again), accounts_of(wanted), strict=True):
        assert now.cores == then.cores
        assert now.memory == then.memory
        assert now.pools.shared == then.pools.shared


def test_cpus_of_numa_nodes_are_whole_and_of_one_each() -> None:
    """
    And no pod is left out that could have come, by trying all places.
    """
    for seed in range(4):
        hold(seed, Engine.AUTO)


@pytest.mark.check
@pytest.mark.parametrize("engine", [Engine.AUTO, Engine.GREEDY])
def test_cpus_of_many_clusters(engine: Engine) -> None:
    """
    As above, for more of them.
    """
    for seed in range(100, 160):
        hold(seed, engine)
