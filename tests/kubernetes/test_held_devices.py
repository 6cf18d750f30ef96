"""Devices that bound pods hold without an annotation are never given twice (D12)."""

import base64
import json

import pytest

from kubernetes_dumps import faults, notes, places, read
from kubernetes_worlds import Json, device, held, node, pod

KEY = "node.koordinator.sh/gpu-checkpoints"
ENV = "NVIDIA_VISIBLE_DEVICES"
SEEN = "pods that see devices beyond what they ask for: these are given to nobody"
NAMELESS = "pods whose devices nobody names: no more of the type are given out there"


def gpus(count: int) -> dict[str, str]:
    """Return a request for some GPUs."""
    return {"nvidia.com/gpu": str(count)}


def runs(name: str, visible: str | None = None, count: int = 0, **more: object) -> Json:
    """Return a pod that runs on the node, in whose environment GPUs are named."""
    found = pod(name, gpus(count) if count else {"cpu": "1"}, nodeName="n1", **more)
    if visible is not None:
        found["spec"]["containers"][0]["env"] = [{"name": ENV, "value": visible}]
    return found


def answer(visible: str) -> str:
    """Return what a plugin told the runtime: an environment, in base64."""
    name, value = ENV.encode(), visible.encode()
    entry = b"\x0a" + bytes([len(name)]) + name + b"\x12" + bytes([len(value)]) + value
    return base64.b64encode(b"\x0a" + bytes([len(entry)]) + entry).decode()


def entry(pod: str, ids: list[str], response: str = "", resource: str = "nvidia.com/gpu") -> Json:
    """Return an entry of a kubelet's checkpoint."""
    found: Json = {"podUID": f"uid-{pod}", "containerName": "c", "resourceName": resource}
    found |= {"deviceIDs": ids} if ids else {}
    return found | ({"allocResp": response} if response else {})


def with_checkpoint(*entries: Json) -> Json:
    """Return four GPUs with what the kubelet gave out of them."""
    return device(annotations={KEY: json.dumps(entries)})


CASES: dict[str, tuple[list[Json], list[int], str]] = {
    # name: (objects, GPUs that are still given out, note)
    "ids of the plugin": (
        [with_checkpoint(entry("a", ["GPU-1", "GPU-2"])), runs("a", None, 2)],
        [0, 3],
        "",
    ),
    "its answer where ids say nothing": (
        [with_checkpoint(entry("a", ["x", "y"], answer("GPU-1,2"))), runs("a", None, 2)],
        [0, 3],
        "",
    ),
    "its answer alone": (
        [with_checkpoint(entry("a", [], answer("GPU-1"))), runs("a", None, 1)],
        [0, 2, 3],
        "",
    ),
    "its answer before the pod's own word": (
        [with_checkpoint(entry("a", ["x"], answer("GPU-1"))), runs("a", "GPU-3", 1)],
        [0, 2, 3],
        "",
    ),
    "the pod's own word where the plugin's says nothing": (
        [with_checkpoint(entry("a", ["x"])), runs("a", "GPU-3", 1)],
        [0, 1, 2],
        "",
    ),
    "UUIDs in the pod's spec": ([device(), runs("a", "GPU-0,GPU-2", 2)], [1, 3], ""),
    "minors in the pod's spec": ([device(), runs("a", "0,2", 2)], [1, 3], ""),
    "all, of all": ([device(), runs("a", "all", 4)], [], ""),
    "all, of one": ([device(), runs("a", "all", 1)], [], SEEN),
    "all by the plugin": (
        [with_checkpoint(entry("a", ["x"], answer("all"))), runs("a", None, 1)],
        [],
        SEEN,
    ),
    "all, asked for by nobody": ([device(), runs("a", "all")], [], SEEN),
    "some, asked for by nobody": ([device(), runs("a", "GPU-1")], [0, 2, 3], SEEN),
    "none": ([device(), runs("a", "none")], [0, 1, 2, 3], ""),
    "void": ([device(), runs("a", "void")], [0, 1, 2, 3], ""),
    "empty": ([device(), runs("a", "")], [0, 1, 2, 3], ""),
    "a UUID that nobody knows": ([device(), runs("a", "GPU-9", 1)], [], NAMELESS),
    "a UUID that nobody knows, asked for by nobody": ([device(), runs("a", "GPU-9")], [], NAMELESS),
    "an instance of a GPU": ([device(), runs("a", "MIG-GPU-1/3/0")], [0, 2, 3], SEEN),
    "fewer than it asked for": ([device(), runs("a", "GPU-1", 2)], [], NAMELESS),
    "replicas of one GPU": (
        [
            with_checkpoint(entry("a", ["GPU-1::0"]), entry("b", ["GPU-1::1"])),
            runs("a", None, 1),
            runs("b", None, 1),
        ],
        [0, 2, 3],
        SEEN,
    ),
    "its annotation before all else": (
        [
            with_checkpoint(entry("a", ["GPU-3"])),
            runs("a", "all", 1, annotations=held(2)),
        ],
        [0, 1, 3],
        "",
    ),
    "what it sees and another holds": (
        [device(), runs("a", "all"), runs("b", None, 1, annotations=held(2))],
        [],
        SEEN,
    ),
    "by the plugin, a pod outside the dump": (
        [with_checkpoint(entry("far", ["x"], answer("GPU-1,GPU-2")))],
        [0, 3],
        "nodes that name pods which are not in the dump",
    ),
    "by the plugin, who knows which": (
        [with_checkpoint(entry("far", ["x"]))],
        [],
        "nodes that name pods which are not in the dump",
    ),
    "all, a pod outside the dump": (
        [with_checkpoint(entry("far", [], answer("all")))],
        [],
        "nodes that name pods which are not in the dump",
    ),
}


@pytest.mark.parametrize(("objects", "free", "note"), CASES.values(), ids=CASES)
def test_what_pods_hold_is_never_given_twice(
    objects: list[Json], free: list[int], note: str
) -> None:
    """
    By the kubelet's checkpoint, by the plugin's answer, then by the pod's environment.
    """
    instance, summary = read(node(), *objects)
    (found,) = instance.nodes
    taken = {(g.type, g.minor) for one in instance.running for g in one.placement.devices}
    assert free == [
        gpu.minor
        for gpu in found.devices
        if found.is_healthy(gpu) and (gpu.type, gpu.minor) not in taken
    ]
    said = notes(summary)
    assert note in said
    assert (SEEN in said or NAMELESS in said) == (note in (SEEN, NAMELESS))


def test_pods_come_to_what_is_left() -> None:
    """
    Two GPUs are seen by a pod that asks for none, one is held: the fourth is given out.
    """
    checkpoint = with_checkpoint(entry("b", ["GPU-2"]))
    instance, _ = read(
        node(),
        checkpoint,
        runs("a", "0,1"),
        runs("b", None, 1),
        pod("c", gpus(1)),
        pod("d", gpus(1)),
    )
    placed = places(instance)
    assert [place.minors("gpu") for name, place in placed.items() if name in "cd"] == [(3,)]


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ("Zx==", "got 'Zx=='; expected bytes in base64, as the kubelet's checkpoint has it"),
        ("Cg==", "is no ContainerAllocateResponse of a device plugin: it ends inside a number; "),
    ],
)
def test_an_answer_that_is_none_is_named(response: str, words: str) -> None:
    """
    Object, annotation, field and mend; nothing is guessed.
    """
    (message,) = faults(node(), with_checkpoint(entry("a", ["x"], response)))
    assert f"Device n1: $[0].allocResp: {words}" in message
