"""GPUs that a Device object's checkpoint names: its node's, another's, or nobody knows which (D12).

The ids of the node's two GPUs, and that of the checkpoint, are those of the proposal's example.
"""

import json

import pytest

from kubernetes.test_held_devices import NAMELESS, SEEN, answer
from kubernetes_dumps import notes, read
from kubernetes_worlds import Json, device, node, pod
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced

FIRST = "GPU-98583a5c-c155-9cf6-f955-03c189d3dbfb"
SECOND = "GPU-7f6410b9-bdf7-f9a5-de09-aa5ec31a7124"
OTHER = "GPU-36b27e44-b086-46f7-f2dc-73c36dc65991"
THIRD = "GPU-11111111-2222-3333-4444-555555555555"
GPU_CHECKPOINTS = "node.koordinator.sh/gpu-checkpoints"
DEVICES_CHECKPOINTS = "node.koordinator.sh/devices-checkpoints"

NOT_HERE = "nodes whose kubelet's checkpoint names GPUs that they do not have: n1"
NOBODY_KNOWS = (
    "nodes whose kubelet's checkpoint names devices by ids that nobody knows: "
    "no more of the type are given out there: n1"
)
BY_A_POD = (
    "pods whose devices a kubelet's checkpoint names by ids that nobody knows: "
    "no more of the type are given out there: Pod default/near"
)


def gpus_of(*ids: str) -> list[Json]:
    """Return GPUs with these ids."""
    return [
        {
            "type": "gpu",
            "id": id,
            "minor": i,
            "health": True,
            "topology": {"busID": f"0000:0{i + 1}:00.0"},
        }
        for i, id in enumerate(ids)
    ]


def entry(*ids: str, of: str = "far", resource: str = "nvidia.com/gpu", told: str = "") -> Json:
    """Return an entry of the checkpoint; without a name it does not say of which pod."""
    found: Json = {"containerName": "c", "resourceName": resource, "deviceIDs": list(ids)}
    found |= {"podUID": f"uid-{of}"} if of else {}
    return found | ({"allocResp": answer(told)} if told else {})


def with_checkpoint(*entries: Json, gpus: tuple[str, ...] = (FIRST, SECOND)) -> Json:
    """Return a Device object with GPUs and what the kubelet gave out."""
    return device(devices=gpus_of(*gpus), annotations={GPU_CHECKPOINTS: json.dumps(list(entries))})


def runs(count: int, name: str = "near", visible: str = "") -> Json:
    """Return a pod that runs on the node, and asks for so many GPUs."""
    found = pod(name, {"nvidia.com/gpu": str(count)} if count else {"cpu": "1"}, nodeName="n1")
    if visible:
        env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": visible}]
        found["spec"]["containers"][0]["env"] = env
    return found


def free(instance: Instance) -> list[int]:
    """Return the GPUs that may still be given out."""
    (found,) = instance.nodes
    taken = {(g.type, g.minor) for one in instance.running for g in one.placement.devices}
    return [
        gpu.minor
        for gpu in found.devices
        if found.is_healthy(gpu) and (gpu.type, gpu.minor) not in taken
    ]


RESOLVED: dict[str, tuple[tuple[str, ...], list[int]]] = {
    # name: (ids, GPUs that are still given out)
    "its own": ((FIRST,), [1]),
    "its own in capitals": ((FIRST.upper(),), [1]),
    "a replica of its own": ((f"{FIRST}::1",), [1]),
    "a replica of its own in capitals": ((f"{SECOND.upper()}::0",), [0]),
    "both": ((FIRST, SECOND), []),
    "a minor": (("1",), [0]),
    "an address": (("0000:01:00.0",), [1]),
    "an instance": ((f"MIG-{FIRST}/7/0",), [1]),
}

ELSEWHERE: dict[str, tuple[tuple[str, ...], list[int]]] = {
    "another's": ((OTHER,), [0, 1]),
    "another's in capitals": ((OTHER.upper(),), [0, 1]),
    "a replica of another's": ((f"{OTHER}::3",), [0, 1]),
    "two others'": ((OTHER, THIRD), [0, 1]),
    "another's and its own": ((OTHER, SECOND), [0]),
}

CLOSING: dict[str, tuple[str, ...]] = {
    "an instance of another's": (f"MIG-{OTHER}/7/0",),
    "an instance with an id of its own": (f"MIG-{OTHER[4:]}",),
    "a minor that is not there": ("2",),
    "an address that is not there": ("0000:09:00.0",),
    "nothing known": ("tegra",),
    "nothing known beside its own": (FIRST, "tegra"),
    "nothing at all": ("",),
    "a digit short": (OTHER[:-1],),
    "a digit long": (f"{OTHER}0",),
    "no digit": (f"{OTHER[:-1]}g",),
    "a digit of another script": (f"{OTHER[:-1]}\u0665",),
    "the beginning": (OTHER[:12],),
    "no hyphens": (f"GPU-{OTHER[4:].replace('-', '')}",),
    "no prefix": (OTHER[4:],),
    "a small prefix": (f"gpu-{OTHER[4:]}",),
    "a blank": (f"{OTHER} ",),
    "a line break": (f"{OTHER}\n",),
    "a line break behind a replica": (f"{OTHER}::1\n",),
    "more behind it": (f"{OTHER}-0",),
    "a replica without a number": (f"{OTHER}::x",),
    "two in one": (f"{OTHER},{THIRD}",),
}


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize(("ids", "left"), RESOLVED.values(), ids=RESOLVED)
def test_an_id_of_the_node_closes_what_it_is(
    ids: tuple[str, ...], left: list[int], *, near: bool
) -> None:
    """
    A pod that is in the dump holds it; from others it is kept for one that is not.
    """
    pods = [runs(len(ids))] if near else []
    instance, summary = read(
        node(), with_checkpoint(entry(*ids, of="near" if near else "far")), *pods
    )
    assert free(instance) == left
    assert len(instance.nodes[0].unhealthy) == (0 if near else 2 - len(left))
    assert "checkpoint" not in notes(summary)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize(("ids", "left"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_an_id_of_another_node_closes_nothing(
    ids: tuple[str, ...], left: list[int], *, near: bool
) -> None:
    """
    A well-formed UUID that none of the node's GPUs has, all of which have one.
    """
    pods = [runs(len(ids))] if near else []
    found = with_checkpoint(entry(*ids, of="near" if near else "far"))
    instance, summary = read(node(), found, *pods)
    assert free(instance) == left
    assert NOT_HERE in notes(summary)
    assert "no more of the type" not in notes(summary)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("beside", [(), (OTHER,)], ids=["alone", "beside another's"])
@pytest.mark.parametrize("ids", CLOSING.values(), ids=CLOSING)
def test_any_other_id_closes_all_of_its_type(
    ids: tuple[str, ...], beside: tuple[str, ...], *, near: bool
) -> None:
    """
    It may be any GPU of the node; it is told that a checkpoint did it.
    """
    found = with_checkpoint(entry(*beside, *ids, of="near" if near else "far"))
    pods = [runs(len(ids) + len(beside))] if near else []
    instance, summary = read(node(), found, *pods)
    assert free(instance) == []
    assert (NOT_HERE in notes(summary)) is bool(beside)
    assert (BY_A_POD if near else NOBODY_KNOWS) in notes(summary)


def test_an_entry_without_ids_closes_nothing() -> None:
    """
    The kubelet gave nothing; a pod that asks for some may have any.
    """
    for pods, left in (([], [0, 1]), ([runs(0)], [0, 1]), ([runs(1)], [])):
        instance, summary = read(node(), with_checkpoint(entry(of="near")), *pods)
        assert free(instance) == left
        assert "checkpoint" not in notes(summary)


def test_the_example_of_the_proposal_closes_nothing() -> None:
    """
    Its checkpoint names a GPU that is none of its node's two.
    """
    example = with_checkpoint(entry(OTHER))
    instance, _ = read(node(), example, pod("a", {"nvidia.com/gpu": "2"}))
    answer = solve(instance, SolveOptions(Engine.EXACT, 10, None, workers=1, seed=0))
    assert not isinstance(answer, Infeasible | GaveUp)
    assert [place.minors("gpu") for place in answer.placement.pods] == [(0, 1)]


@pytest.mark.parametrize(
    "ids",
    [("", SECOND), ("GPU-0", SECOND), ("0x77", SECOND), (FIRST[:-1], SECOND), ("", "")],
    ids=["none", "short", "another vendor's", "a digit short", "none of any"],
)
def test_a_device_without_such_an_id_may_be_the_one_that_is_meant(ids: tuple[str, ...]) -> None:
    """
    So all of the type are closed.
    """
    instance, summary = read(node(), with_checkpoint(entry(OTHER), gpus=ids))
    assert free(instance) == []
    assert NOBODY_KNOWS in notes(summary)


def test_devices_of_other_types_need_no_such_ids() -> None:
    """
    A NIC is no GPU; and an id of a GPU under the name of a NIC says nothing of GPUs.
    """
    nic: Json = {"type": "rdma", "id": "mlx5_0", "minor": 0, "health": True}
    annotations = {GPU_CHECKPOINTS: json.dumps([entry(OTHER)])}
    found = device(devices=[*gpus_of(FIRST, SECOND), nic], annotations=annotations)
    (first,) = read(node(), found)[0].nodes
    assert not first.unhealthy

    annotations = {GPU_CHECKPOINTS: json.dumps([entry(OTHER, resource="rdma")])}
    found = device(devices=[*gpus_of(FIRST, SECOND), nic], annotations=annotations)
    (second,) = read(node(), found)[0].nodes
    assert second.unhealthy == {("rdma", 0)}


@pytest.mark.parametrize(
    "resource", ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"]
)
def test_whatever_counts_gpus_is_taken_alike(resource: str) -> None:
    """
    Whole ones, shared ones and instances.
    """
    for id, left in ((OTHER, [0, 1]), ("tegra", [])):
        assert free(read(node(), with_checkpoint(entry(id, resource=resource)))[0]) == left


@pytest.mark.parametrize(
    ("told", "left"), [(SECOND, [0]), ("0", [1]), ("all", []), (OTHER, [0, 1]), ("none", [0, 1])]
)
def test_what_the_plugin_told_the_runtime_counts_beside_an_id(told: str, left: list[int]) -> None:
    """
    Its answer may name a GPU of the node where the id names none.
    """
    assert free(read(node(), with_checkpoint(entry(OTHER, told=told)))[0]) == left


PODS: dict[str, tuple[list[Json], Json, list[int], str]] = {
    # name: (entries, the pod, GPUs that are still given out, what is told)
    "two, one of them here": ([entry(OTHER, FIRST, of="near")], runs(2), [1], ""),
    "two, in two containers": (
        [entry(OTHER, of="near"), entry(THIRD, of="near")],
        runs(2),
        [0, 1],
        "",
    ),
    "two, one of which nobody names": ([entry(OTHER, of="near")], runs(2), [], NAMELESS),
    "two, one of which is named twice": (
        [entry(OTHER, of="near"), entry(OTHER.upper(), of="near")],
        runs(2),
        [],
        NAMELESS,
    ),
    "two, one of which the plugin named for another's": (
        [entry(OTHER, of="near", told=FIRST)],
        runs(2),
        [],
        NAMELESS,
    ),
    "one that the plugin named for another's": (
        [entry(OTHER, of="near", told=FIRST)],
        runs(1),
        [1],
        "",
    ),
    "one of two": ([entry(OTHER, FIRST, of="near")], runs(1), [1], ""),
    "none": ([entry(OTHER, of="near")], runs(0), [0, 1], ""),
    "none, with one of its own": ([entry(FIRST, of="near")], runs(0), [1], SEEN),
    "one, also by its environment": ([entry(OTHER, of="near")], runs(1, visible=OTHER), [0, 1], ""),
    "one, by its environment alone": ([], runs(1, visible=OTHER), [], NAMELESS),
    "one, and a pod that is not there has another": (
        [entry(OTHER, of="near"), entry(SECOND)],
        runs(1),
        [0],
        "",
    ),
}


@pytest.mark.parametrize(("entries", "near", "left", "told"), PODS.values(), ids=PODS)
def test_a_pod_holds_what_the_node_has_of_what_it_was_given(
    entries: list[Json], near: Json, left: list[int], told: str
) -> None:
    """
    GPUs that the node lacks count among those that it asks for.
    """
    instance, summary = read(node(), with_checkpoint(*entries), near)
    assert free(instance) == left
    assert told in notes(summary)
    assert bool(told) is (SEEN in notes(summary) or NAMELESS in notes(summary))


def test_an_entry_that_says_of_no_pod_closes_what_it_names() -> None:
    """
    The Go type leaves out what is empty; somebody has the device.
    """
    for id, left in ((FIRST, [1]), ("tegra", []), (OTHER, [0, 1])):
        assert free(read(node(), with_checkpoint(entry(id, of="")), runs(0))[0]) == left


def test_both_keys_of_a_checkpoint_count() -> None:
    """
    The proposal's text has one, its example another; neither hides what the other says.
    """
    annotations = {
        GPU_CHECKPOINTS: json.dumps([entry(FIRST)]),
        DEVICES_CHECKPOINTS: json.dumps([entry(SECOND)]),
    }
    for key in (*annotations, None):
        kept = {k: text for k, text in annotations.items() if key in (None, k)}
        instance, _ = read(node(), device(devices=gpus_of(FIRST, SECOND), annotations=kept))
        assert len(free(instance)) == 2 - len(kept)


WHY: dict[str, tuple[list[Json], str]] = {
    "of a pod that is not there": (
        [with_checkpoint(entry(FIRST))],
        "on 1 of 1 nodes a kubelet's checkpoint keeps 1 gpu from it",
    ),
    "by an id that nobody knows": (
        [with_checkpoint(entry("tegra"))],
        "on 1 of 1 nodes a kubelet's checkpoint keeps 2 gpu from it",
    ),
    "of a pod that is there, by an id that nobody knows": (
        [with_checkpoint(entry("tegra", of="near")), runs(1)],
        "on 1 of 1 nodes a kubelet's checkpoint keeps 2 gpu from it",
    ),
    "of a pod that is there and asks for none": (
        [with_checkpoint(entry(SECOND, of="near")), runs(0)],
        "on 1 of 1 nodes a kubelet's checkpoint keeps 1 gpu from it",
    ),
}


@pytest.mark.parametrize(("objects", "why"), WHY.values(), ids=WHY)
def test_the_reason_says_that_a_checkpoint_did_it(objects: list[Json], why: str) -> None:
    """
    After the rule that blocks the pod.
    """
    instance, _ = read(node(), *objects, pod("waits", {"nvidia.com/gpu": "2"}))
    answer = solve(instance, SolveOptions(Engine.EXACT, 10, None, workers=1, seed=0))
    assert isinstance(answer, Infeasible | PartlyPlaced)
    (left_out,) = answer.unplaced
    assert "device-count asks 2 gpu" in left_out.reasons[0]
    assert left_out.reasons[1] == why


def test_no_reason_blames_a_checkpoint_that_kept_nothing() -> None:
    """
    Not for a GPU of another node's, nor for what a pod holds by its own word, nor for CPUs.
    """
    for objects, asked in (
        ([with_checkpoint(entry(OTHER))], {"nvidia.com/gpu": "3"}),
        ([with_checkpoint(entry(FIRST, of="near")), runs(1)], {"nvidia.com/gpu": "2"}),
        ([with_checkpoint(entry("tegra"))], {"cpu": "99"}),
        ([with_checkpoint(entry("tegra"))], {"nvidia.com/gpu": "1", "cpu": "99"}),
    ):
        instance, _ = read(node(), *objects, pod("waits", asked))
        answer = solve(instance, SolveOptions(Engine.EXACT, 10, None, workers=1, seed=0))
        assert isinstance(answer, Infeasible | PartlyPlaced)
        told = "checkpoint" in " ".join(answer.unplaced[0].reasons)
        assert told is (asked == {"nvidia.com/gpu": "1", "cpu": "99"})
