"""Requests for shares in instance files, and shares in placement files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from answers import expect
from instance_texts import reread
from placer.judge.breaches import breaches
from placer.load import load_placement
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.annotations.device_allocated import (
    device_allocations_of_placement,
    grants_of_allocations,
    read_device_allocated_annotation,
    write_device_allocated_annotation,
)
from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.cluster import Instance
from placer_models.device_share import DeviceShare
from placer_models.files.errors import InputError
from placer_models.instance.placement_file import solve_answer_to_dict
from placer_models.placement import DeviceGrant, Infeasible, Placed
from placer_models.pod import DeviceRequest

GIB = 2**30
BOX = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 64Gi, cpus: 0-7}]
    devices: [{type: gpu, count: 3, memory: 16Gi}, {type: rdma, count: 1}]
nodes: [{name: n, machine: box}]
"""


def request(kind: str, count: int, *share: int | None) -> DeviceRequest:
    return DeviceRequest(kind, count, DeviceShare(*share) if share else None)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("requests: {koordinator.sh/gpu: 50}", [request("gpu", 1, 50, None, 50)]),
        ("requests: {kubernetes.io/gpu: 50}", [request("gpu", 1, 50, None, 50)]),
        ("requests: {koordinator.sh/gpu: 200}", [request("gpu", 2)]),
        ("requests: {dcu.com/gpu: 2}", [request("gpu", 2)]),
        ("requests: {gpu-memory: 10Gi}", [request("gpu", 1, None, 10 * GIB)]),
        ("requests: {gpu-core: 30, gpu-memory-ratio: 25}", [request("gpu", 1, 30, None, 25)]),
        (
            "requests: {gpu.shared: 2, gpu-core: 100, gpu-memory-ratio: 50}",
            [request("gpu", 2, 50, None, 25)],
        ),
        (
            "requests: {koordinator.sh/rdma: 1, gpu: 1}",
            [request("gpu", 1), request("rdma", 1, 1)],
        ),
        ("limits: {koordinator.sh/gpu: 50}", [request("gpu", 1, 50, None, 50)]),
        (
            "requests: {gpu: 1}, shares: [{memory: 10Gi}, {memoryPercent: 5, count: 2}]",
            [
                request("gpu", 1),
                request("gpu", 1, None, 10 * GIB),
                request("gpu", 2, None, None, 5),
            ],
        ),
        ("shares: [{memory: 1Gi}, {memory: 1Gi}]", [request("gpu", 2, None, GIB)]),
        ("shares: [{memoryPercent: 100}]", [request("gpu", 1)]),
        ("shares: [{memoryPercent: 100, percent: 50}]", [request("gpu", 1, 50, None, 100)]),
        ("requests: {gpu-core: 50, gpu-memory-ratio: 100}", [request("gpu", 1, 50, None, 100)]),
        ("requests: {gpu-core: 200, gpu-memory-ratio: 200}", [request("gpu", 2)]),
        ("shares: [{type: rdma, percent: 5}]", [request("rdma", 1, 5)]),
    ],
)
def test_requests_for_parts_are_read(
    written: str, words: list[DeviceRequest], read: Callable[..., Instance]
) -> None:
    """
    By the names of Koordinator, in today's spelling and the older one, or as a list.
    """
    instance = read(f"{BOX}pods: [{{name: a, {written}}}]")

    assert list(instance.gangs[0].pods[0].spec.requests.devices) == words


def test_shares_are_written_as_they_are_read(read: Callable[..., Instance]) -> None:
    """
    Waiting and running pods, whole devices and different shares of one pod.
    """
    instance = read(
        f"{BOX}pods: [{{name: a, requests: {{gpu: 1}}, shares: [{{memory: 3Gi, percent: 7}}]}}]\n"
        "running:\n"
        "  - {name: b, node: n, requests: {cpu: 1, gpu: 1},"
        " shares: [{memory: 1Gi}, {memory: 2Gi}], devices: {gpu: [1, 2, 0]}}\n"
    )
    held = instance.running[0].placement.devices

    assert held == (
        DeviceGrant("gpu", 0, share=DeviceShare(memory_bytes=2 * GIB)),
        DeviceGrant("gpu", 1),
        DeviceGrant("gpu", 2, share=DeviceShare(memory_bytes=GIB)),
    )
    assert reread(instance) == instance


def test_an_answer_with_shares_is_verified_from_its_file(
    read: Callable[..., Instance], tmp_path: Path
) -> None:
    """
    Memory is written in bytes and percent; a share made larger in the file is a breach.
    """
    instance = read(f"{BOX}pods: [{{name: a, requests: {{koordinator.sh/gpu: 33}}}}]")
    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.EXACT, workers=1)))
    tree = solve_answer_to_dict(answer, instance, {})
    path = tmp_path / "p.json"
    path.write_text(json.dumps(tree))
    placement = load_placement(path)

    (grant,) = placement.pods[0].devices
    assert grant.share == DeviceShare(33, 33 * 16 * GIB // 100, 33)
    assert breaches(instance, placement) == ()
    assert '"koordinator.sh/gpu-core": 33' in path.read_text()

    larger = json.dumps(tree).replace(
        '"koordinator.sh/gpu-core": 33', '"koordinator.sh/gpu-core": 34'
    )
    path.write_text(larger)
    assert {b.rule for b in breaches(instance, load_placement(path))} == {"device-share"}


@pytest.mark.parametrize("engine", [Engine.EXACT, Engine.GREEDY])
def test_all_of_the_memory_with_half_of_the_compute_stays_half_of_it(
    engine: Engine, read: Callable[..., Instance], tmp_path: Path
) -> None:
    """
    Such a GPU has one holder, and is written with the 50 percent that its pod asked for.

    Three GPUs: two such pods take one each, a tenth of a GPU the third.
    """
    instance = read(
        f"{BOX}pods:\n"
        "  - {name: a, replicas: 2, requests: {gpu-core: 50, gpu-memory-ratio: 100}}\n"
        "  - {name: b, requests: {koordinator.sh/gpu: 10}}"
    )
    answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1, seed=1)))
    half, other, tenth = answer.placement.pods
    path = tmp_path / "p.json"
    path.write_text(json.dumps(solve_answer_to_dict(answer, instance, {})))
    written = write_device_allocated_annotation(
        device_allocations_of_placement(half, instance.nodes[0])
    )

    assert len({p.devices[0].minor for p in (half, other, tenth)}) == 3
    assert json.loads(written)["gpu"][0]["resources"] == {
        "koordinator.sh/gpu-core": "50",
        "koordinator.sh/gpu-memory": "16Gi",
        "koordinator.sh/gpu-memory-ratio": "100",
    }
    assert grants_of_allocations(read_device_allocated_annotation(written))[0].share == DeviceShare(
        50, 16 * GIB, 100
    )
    assert breaches(instance, load_placement(path)) == ()


@pytest.mark.parametrize(
    ("asks", "says"),
    [
        ("shares: [{type: gpus, percent: 50}]", "shares[0].type: no machine has a device type "),
        ("shares: [{type: nvidia.com/gpu, memory: 1Gi}]", "shares[0].type: no machine has a "),
        ("shares: [{type: cpu, percent: 50}]", "shares[0].type: there are no shares of 'cpu'; "),
        ("shares: [{type: mig-1g.5gb, percent: 5}]", "shares[0].type: there are no shares of "),
        ("shares: [{type: 'a b', percent: 5}]", "shares[0].type: 'a b' is no device type; "),
        ("requests: {koordinator.sh/gpumem: 10}", "gpumem: 'koordinator.sh/gpumem' is no "),
    ],
)
def test_a_share_of_what_is_no_device_is_refused(
    read: Callable[..., Instance], asks: str, says: str
) -> None:
    """
    A slip of the pen would wait for ever; it is refused by its name.
    """
    with pytest.raises(InputError) as refused:
        read(f"{BOX}pods: [{{name: a, {asks}}}]")

    assert says in str(refused.value)


DISKS = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 64Gi, cpus: 0-7}]
    devices:
      - {type: disk, count: 2, capacity: {space: 2Ti, queues: 64, engine: 100%}}
      - {type: disk, count: 1, capacity: {scratch: {amount: 1k, unit: bytes}}, memory: 1Gi}
nodes: [{name: n, machine: box}]
"""
SPACE, QUEUES = (
    DeviceQuantity("space", 5 * GIB, DeviceQuantityUnit.BYTES),
    DeviceQuantity("queues", 2_000),
)


@pytest.mark.parametrize(
    ("written", "share"),
    [
        ("capacity: {space: 5Gi, queues: 2k}", DeviceShare(capacity=(QUEUES, SPACE))),
        ("capacity: {space: 5368709120}", DeviceShare(capacity=(SPACE,))),
        (
            "capacity: {engine: 30}",
            DeviceShare(capacity=(DeviceQuantity("engine", 30, DeviceQuantityUnit.PERCENT),)),
        ),
        (
            "capacity: {engine: 30%}",
            DeviceShare(capacity=(DeviceQuantity("engine", 30, DeviceQuantityUnit.PERCENT),)),
        ),
        (
            "capacity: {scratch: 7}",
            DeviceShare(capacity=(DeviceQuantity("scratch", 7, DeviceQuantityUnit.BYTES),)),
        ),
        ("percent: 50", DeviceShare(50)),
        ("memory: 5Mi", DeviceShare(memory_bytes=5 * 2**20)),
    ],
)
def test_amounts_are_in_the_unit_that_the_machine_says(
    written: str, share: DeviceShare, read: Callable[..., Instance]
) -> None:
    """
    Bytes, percent and plain units of disks (B1); what is written again is read as the same.
    """
    instance = read(f"{DISKS}pods: [{{name: a, shares: [{{type: disk, {written}}}]}}]")

    assert instance.gangs[0].pods[0].spec.requests.devices == (DeviceRequest("disk", 1, share),)
    assert reread(instance) == instance


def test_a_type_that_no_machine_has_is_a_legal_wish(read: Callable[..., Instance]) -> None:
    """
    Such a pod fits nowhere; what is asked of it is in the unit that it is written in.
    """
    instance = read(f"{BOX}pods: [{{name: a, shares: [{{type: disk, capacity: {{space: 5Gi}}}}]}}]")

    (request,) = instance.gangs[0].pods[0].spec.requests.devices
    assert request.share == DeviceShare(capacity=(SPACE,))
    assert isinstance(solve(instance, SolveOptions(engine=Engine.EXACT, workers=1)), Infeasible)


def test_machines_that_disagree_about_a_unit_are_refused(read: Callable[..., Instance]) -> None:
    """
    What 5 of it are would depend on the node.
    """
    other = DISKS.replace("name: box", "name: crate", 1).replace("space: 2Ti", "space: 2k")
    machines = other.partition("machines:\n")[2].partition("nodes:")[0]
    text = DISKS.replace("machines:\n", f"machines:\n{machines}").replace(
        "nodes: [", "nodes: [{name: m, machine: crate}, "
    )

    with pytest.raises(InputError, match="space of devices of type 'disk' is in bytes on machine"):
        read(text)


def test_an_answer_with_amounts_is_verified_from_its_file(
    read: Callable[..., Instance], tmp_path: Path
) -> None:
    """
    Of the pod and of its container; larger amounts than were asked for are a breach.
    """
    instance = read(
        f"{DISKS}pods:\n"
        "  - {name: a, shares: [{type: disk, capacity: {space: 5Gi, engine: 30, queues: 7}}]}"
    )
    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.EXACT, workers=1)))
    tree = solve_answer_to_dict(answer, instance, {})
    path = tmp_path / "p.json"
    path.write_text(json.dumps(tree))

    assert '{"engine": "30%", "queues": 7, "space": "5Gi"}' in path.read_text()
    assert breaches(instance, load_placement(path)) == ()
    node, (place,) = instance.nodes[0], answer.placement.pods
    annotation = write_device_allocated_annotation(device_allocations_of_placement(place, node))
    assert (
        grants_of_allocations(read_device_allocated_annotation(annotation), node) == place.devices
    )

    path.write_text(json.dumps(tree).replace('"queues": 7', '"queues": 8'))
    assert {b.rule for b in breaches(instance, load_placement(path))} == {"device-share"}
