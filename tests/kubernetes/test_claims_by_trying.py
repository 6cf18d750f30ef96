"""Claims of random clusters, checked without a word of Placer: by the objects alone."""

import copy
from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random

import pytest

from claim_worlds import (
    GPU_DRIVER,
    allocated,
    claim,
    claiming,
    device_class,
    gpu_listed,
    nic_listed,
    nics,
    request,
    resource_slice,
)
from dump_worlds import after_binding, files_of, objects_of
from kubernetes_worlds import Json, node, topology
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.placement import PartlyPlaced, Placed

Key = tuple[str, str, str]
ROOT = "resource.kubernetes.io/pcieRoot"
NUMA = "resource.kubernetes.io/numaNode"

SELECTORS: dict[str, Callable[[Json], bool]] = {
    f"device.capacity['{GPU_DRIVER}'].memory.compareTo(quantity('60Gi')) >= 0": lambda one: (
        one["capacity"]["memory"]["value"] == "80Gi"
    ),
    f"device.attributes['{GPU_DRIVER}'].productName == 'old'": lambda one: (
        one["attributes"]["productName"]["string"] == "old"
    ),
    f"device.attributes['{GPU_DRIVER}'].productName != 'old'": lambda one: (
        one["attributes"]["productName"]["string"] != "old"
    ),
}
"""Selector of GPUs -> the same by the device's object."""


def world(draw: Random) -> list[Json]:
    """Return a cluster: GPUs, new or old, and NICs; claims, some of which have their devices."""
    found = [device_class(), nics()]
    names = [f"n{i}" for i in range(draw.choice((1, 2)))]
    for name in names:
        model = draw.choice(("new", "old", "mixed"))
        gpus = []
        for i in range(draw.choice((2, 3, 4))):
            old = model == "old" or (model == "mixed" and draw.random() < 0.5)
            product = {"productName": {"string": "old" if old else "new"}}
            memory = {"memory": {"value": "40Gi" if old else "80Gi"}}
            gpus.append(gpu_listed(i, attributes=product, capacity=memory))
            if draw.random() < 0.1:
                gpus[-1]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
            if draw.random() < 0.1:
                del gpus[-1]["attributes"][ROOT]
        draw.shuffle(gpus)
        found += [node(name), resource_slice(name, gpus)]
        found += [topology(name)] if draw.random() < 0.7 else []
        listed = [nic_listed(i) for i in range(draw.choice((1, 2)))]
        found.append(resource_slice(name, listed, driver="dra.net"))
    for i in range(draw.choice((0, 1, 2))):
        name = draw.choice(names)
        status = allocated(f"gpu-{i}", node=name)
        found.append(claim(f"held{i}", status=status))
        if draw.random() < 0.5:
            found.append(claiming(f"runs{i}", {"c": f"held{i}"}, requests={}, nodeName=name))
    for i in range(draw.choice((1, 1, 2, 3))):
        found += [_claim(draw, f"c{i}"), claiming(f"p{i}", {"c": f"c{i}"}, requests={})]
    return found


def _claim(draw: Random, name: str) -> Json:
    selectors = draw.sample(list(SELECTORS), draw.choice((0, 0, 1)))
    asked = [request("gpus", *selectors, count=draw.choice((1, 1, 2, 3)))]
    if draw.random() < 0.1:
        asked[0]["exactly"]["allocationMode"] = "All"
        del asked[0]["exactly"]["count"]
    if draw.random() < 0.4:
        asked.append(request("nic", of="nic", count=draw.choice((1, 1, 2))))
    if draw.random() < 0.2:
        asked.append(request("more", *draw.sample(list(SELECTORS), 1)))
    more: Json = {}
    if draw.random() < 0.5:
        same: Json = {"matchAttribute": draw.choice((ROOT, ROOT, NUMA))}
        if draw.random() < 0.4:
            same["requests"] = [draw.choice(asked)["name"]]
        more = {"constraints": [same]}
    return claim(name, *asked, **more)


def published(objects: list[Json]) -> dict[Key, tuple[str, Json]]:
    """Return key of a device -> its node, and the device."""
    return {
        (one["spec"]["driver"], one["spec"]["pool"]["name"], device["name"]): (
            one["spec"]["nodeName"],
            device,
        )
        for one in objects
        if one["kind"] == "ResourceSlice"
        for device in one["spec"]["devices"]
    }


def fits(asked: Json, key: Key, device: Json) -> bool:
    """Return whether a device is one that a request may be given."""
    exactly = asked["exactly"]
    driver = {"gpu": GPU_DRIVER, "nic": "dra.net"}[exactly["deviceClassName"]]
    said = [one["cel"]["expression"] for one in exactly.get("selectors", ())]
    return (
        key[0] == driver
        and not device.get("taints")
        and all(SELECTORS[expression](device) for expression in said)
    )


def is_right(spec: Json, given: dict[str, list[Key]], listed: dict[Key, tuple[str, Json]]) -> bool:
    """Return whether devices are what a claim asks for, all on one node."""
    keys = [key for devices in given.values() for key in devices]
    if len({listed[key][0] for key in keys}) != 1 or len(set(keys)) != len(keys):
        return False
    for asked in spec["requests"]:
        devices = given[asked["name"]]
        want = asked["exactly"].get("count", 1)
        if asked["exactly"].get("allocationMode") == "All":
            here = listed[keys[0]][0]
            alike = {**asked, "exactly": {**asked["exactly"]}}
            every = [
                key
                for key, (of, device) in listed.items()
                if of == here and fits(alike, key, {**device, "taints": []})
            ]
            want = len(every)
        if len(devices) != want or not all(fits(asked, key, listed[key][1]) for key in devices):
            return False
    for same in spec.get("constraints", ()):
        names = same.get("requests") or list(given)
        values = [
            repr(listed[key][1]["attributes"].get(same["matchAttribute"]))
            for name in names
            for key in given[name]
        ]
        if len(set(values)) != 1 or "None" in values:
            return False
    return True


def results(status: Json, spec: Json) -> dict[str, list[Key]]:
    """Return request -> the devices that an allocation names for it."""
    found: dict[str, list[Key]] = {asked["name"]: [] for asked in spec["requests"]}
    for one in status["allocation"]["devices"]["results"]:
        found[one["request"]].append((one["driver"], one["pool"], one["device"]))
    return found


def choices(
    spec: Json, free: list[Key], listed: dict[Key, tuple[str, Json]]
) -> Iterator[dict[str, list[Key]]]:
    """Yield all ways to give free devices of a node to the requests of a claim."""

    def rest(requests: list[Json], left: list[Key]) -> Iterator[dict[str, list[Key]]]:
        if not requests:
            yield {}
            return
        asked, *others = requests
        able = [key for key in left if fits(asked, key, listed[key][1])]
        every = asked["exactly"].get("allocationMode") == "All"
        count = len(able) if every else asked["exactly"].get("count", 1)
        for devices in combinations(able, count) if count else ():
            for more in rest(others, [key for key in left if key not in devices]):
                yield {asked["name"]: list(devices), **more}

    yield from rest(spec["requests"], free)


def check(seed: str) -> tuple[int, int]:
    """Check one cluster; return how many pods were placed, and how many rightly were not."""
    objects = world(Random(seed))
    held = [one for one in objects if "status" in one and one["kind"] == "ResourceClaim"]
    given = [
        (one["driver"], one["pool"], one["device"])
        for claimed in held
        for one in claimed["status"]["allocation"]["devices"]["results"]
    ]
    listed = published(objects)
    if len(set(given)) != len(given) or not set(given) <= listed.keys():
        return 0, 0  # no cluster is like that
    instance, summary = instance_of_cluster_objects(objects_of(objects))
    answer = solve(instance, SolveOptions(Engine.AUTO, 10, None, workers=1, seed=0))
    placement = answer.placement if isinstance(answer, Placed | PartlyPlaced) else None
    placed = {place.name: place for place in placement.pods} if placement else {}
    claims = {one["metadata"]["name"]: one for one in objects if one["kind"] == "ResourceClaim"}
    if placement is not None:
        files = files_of(objects, instance, placement, EmitKind.CLAIMS)
        patches = [one for path, one in files.items() if path.endswith(".status.yaml")]
        after = copy.deepcopy(objects)
        for patch in patches:
            name = patch["metadata"]["name"]
            spec = claims[name]["spec"]["devices"]
            devices = results(patch["status"], spec)
            assert is_right(spec, devices, listed), seed
            new = [key for keys in devices.values() for key in keys]
            assert {listed[key][0] for key in new} == {placed[f"p{name[1:]}"].node}, seed
            assert not set(new) & set(given), seed
            given += new
            for one in after:
                if one["kind"] == "ResourceClaim" and one["metadata"]["name"] == name:
                    one["status"] = patch["status"]
        again, _ = instance_of_cluster_objects(
            objects_of(after_binding(after, instance, placement))
        )
        assert misfits_of_instance(again) == misfits_of_instance(instance), seed
        holds = {one.pod.name: one.placement.devices for one in again.running}
        for name, place in placed.items():
            assert [one.id for one in holds[name]] == [one.id for one in place.devices], seed
            assert {(one.type, one.minor) for one in holds[name]} == {
                (one.type, one.minor) for one in place.devices
            }, seed
    unplaced = 0
    # A node where devices lack what all are to have in common is left out, and said.
    said = [line for line in summary.lines() if line.startswith(("not placed", "kept off"))]
    for name, claimed in claims.items():
        pod = f"p{name[1:]}"
        if "status" in claimed or pod in placed or f"Pod default/{pod}" in "\n".join(said):
            continue
        unplaced += 1
        for here in {one["metadata"]["name"] for one in objects if one["kind"] == "Node"}:
            free = [key for key in listed if listed[key][0] == here and key not in given]
            spec = claimed["spec"]["devices"]
            assert not any(
                is_right(spec, choice, listed) for choice in choices(spec, free, listed)
            ), (seed, pod)
    return len(placed), unplaced


def test_what_claims_are_given_is_what_they_ask_for() -> None:
    """
    By class, selectors, count and attributes; no device twice; who gets nothing could get nothing.
    """
    counts = [check(f"1-{i}") for i in range(10)]
    assert sum(placed for placed, _ in counts) > 3


@pytest.mark.check
def test_more_of_them() -> None:
    """
    The same for more clusters.
    """
    for i in range(150):
        check(f"2-{i}")
