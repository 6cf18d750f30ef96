"""Alternatives, shared claims and extended resources of random clusters, checked by the objects."""

from random import Random

import pytest

from claim_worlds import allocated, claim, claiming, device_class, gpu_listed, resource_slice
from dump_worlds import after_binding, files_of, objects_of
from kubernetes_worlds import Json, node, pod
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.placement import PartlyPlaced, Placed

RESOURCE = "example.com/gpu"
MODELS = ("new", "old")
Key = tuple[str, str]


def _selected(model: str) -> str:
    return f"device.attributes['gpu.nvidia.com'].productName == '{model}'"


def world(draw: Random) -> list[Json]:
    """Return a cluster whose pods claim GPUs: by a class, alternatives, or an amount."""
    found = [device_class(), *(device_class(one, _selected(one)) for one in MODELS)]
    found[0]["spec"]["extendedResourceName"] = RESOURCE
    names = [f"n{i}" for i in range(draw.choice((1, 2, 3)))]
    for name in names:
        models = [draw.choice(MODELS) for _ in range(draw.choice((1, 2, 4)))]
        gpus = [
            gpu_listed(i, attributes={"productName": {"string": model}})
            for i, model in enumerate(models)
        ]
        found += [node(name), resource_slice(name, gpus)]
    if draw.random() < 0.4:
        found.append(claim("held", status=allocated("gpu-0", node=draw.choice(names))))
    for i in range(draw.choice((1, 2, 3))):
        asked = {"deviceClassName": draw.choice(("gpu", *MODELS)), "count": draw.choice((1, 1, 2))}
        request: Json = {"name": "gpus", "exactly": asked}
        if draw.random() < 0.5:
            either = [
                {"name": of, "deviceClassName": of, "count": draw.choice((1, 1, 2))}
                for of in draw.sample(("gpu", *MODELS), 2)
            ]
            request = {"name": "gpus", "firstAvailable": either}
        found.append(claim(f"c{i}", request))
        users = draw.choice((1, 1, 2, 3))
        found += [
            claiming(f"p{i}{letter}", {"c": f"c{i}"}, requests={}) for letter in "abc"[:users]
        ]
    for i in range(draw.choice((0, 0, 1, 2))):
        amount = {RESOURCE: draw.choice(("1", "2"))}
        found.append(pod(f"x{i}", amount, limits=amount))
    return found


def check(seed: str) -> int:
    """Check one cluster; return how many claims were given devices."""
    objects = world(Random(seed))
    instance, _ = instance_of_cluster_objects(objects_of(objects))
    answer = solve(instance, SolveOptions(Engine.AUTO, 10, None, workers=1, seed=0))
    if not isinstance(answer, Placed | PartlyPlaced):
        return 0
    files = files_of(objects, instance, answer.placement, EmitKind.CLAIMS)
    made = [one for path, one in files.items() if path.endswith(".new.yaml")]
    claims = [one for one in (*objects, *made) if one["kind"] == "ResourceClaim"]
    users = {
        one["metadata"]["name"]: sorted(
            place.name for place in answer.placement.pods if _has(one, place.name)
        )
        for one in claims
    }
    listed = {
        (one["spec"]["nodeName"], device["name"]): device["attributes"]["productName"]["string"]
        for one in objects
        if one["kind"] == "ResourceSlice"
        for device in one["spec"]["devices"]
    }
    node_of = {place.name: place.node for place in answer.placement.pods}
    taken: set[Key] = {key for one in claims for key in _devices(one.get("status", {}))}
    after = []
    told = {
        one["metadata"]["name"]: one["status"]
        for path, one in files.items()
        if path.endswith(".status.yaml")
    }
    for one in claims:
        name = one["metadata"]["name"]
        status = told.get(name, one.get("status", {}))
        after.append({**one, "status": status})
        assert bool(users[name]) is (name in told), (seed, name)
        if name not in told:
            continue
        given = _devices(status)
        assert sorted(user["name"] for user in status["reservedFor"]) == users[name], seed
        assert {key[0] for key in given} == {node_of[user] for user in users[name]}, seed
        assert not taken.intersection(given), seed
        taken.update(given)
        _check_asked(one, status, listed, seed)
    others = [one for one in objects if one["kind"] != "ResourceClaim"]
    for one in others:
        patch = files.get(f"claims/default/{one['metadata']['name']}.pod.yaml")
        if one["kind"] == "Pod" and patch:
            one["status"] |= patch["status"]
    again, _ = instance_of_cluster_objects(
        objects_of(after_binding([*others, *after], instance, answer.placement))
    )
    assert misfits_of_instance(again) == (), seed
    held = {
        (one.placement.node, f"gpu-{grant.minor}")
        for one in again.running
        for grant in one.placement.devices
    }
    reserved = {key for one in objects for key in _devices(one.get("status", {}))}
    assert held == taken - reserved, seed
    return len(told)


def _has(found: Json, pod: str) -> bool:
    """Return whether a pod is meant to have a claim, by its names."""
    name = found["metadata"]["name"]
    return name.startswith(f"{pod}-") or (pod[0] == "p" and name == f"c{pod[1]}")


def _devices(status: Json) -> list[Key]:
    results = status.get("allocation", {}).get("devices", {}).get("results", ())
    return [(one["pool"], one["device"]) for one in results]


def _check_asked(found: Json, status: Json, listed: dict[Key, str], seed: str) -> None:
    """Check that a claim was given what it asks for, by one alternative of its request."""
    (request,) = found["spec"]["devices"]["requests"]
    results = status["allocation"]["devices"]["results"]
    (name,) = {one["request"] for one in results}
    asked = request.get("exactly")
    if asked is None:
        (asked,) = (
            one for one in request["firstAvailable"] if name == f"{request['name']}/{one['name']}"
        )
    assert len(results) == asked.get("count", 1), seed
    models = {listed[one["pool"], one["device"]] for one in results}
    assert asked["deviceClassName"] in ("gpu", *models), seed
    assert asked["deviceClassName"] == "gpu" or len(models) == 1, seed


def test_claims_of_all_kinds_get_what_they_ask_for() -> None:
    """
    One alternative each, on the node of all users, no device twice; read again it is as told.
    """
    assert sum(check(f"1-{i}") for i in range(12)) > 8


@pytest.mark.check
def test_more_of_them() -> None:
    """
    The same for more clusters.
    """
    assert sum(check(f"2-{i}") for i in range(200)) > 200
