"""device-allocated: which devices a pod was given, and how much of each (D11)."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.documents import text_of
from placer_models.annotations.device_allocated import (
    DeviceAllocatedEntry,
    device_allocations_of_placement,
    grants_of_allocations,
    read_device_allocated_annotation,
    write_device_allocated_annotation,
)
from placer_models.annotations.json_parts import AnnotationError
from placer_models.capacity import DeviceQuantity
from placer_models.cluster import Node
from placer_models.device import VirtualFunction
from placer_models.device_share import DeviceShare
from placer_models.machines.catalogue import load_machine
from placer_models.placement import DeviceGrant, PodPlacement

NODE = Node("a", load_machine("dgx-a100"))
GIB = 2**30

OPTIONAL_PERCENTS = st.none() | st.integers(0, 100)
TEXTS = st.text(max_size=8)
MORE = st.dictionaries(TEXTS.map("x/{}".format), st.integers(1, 1000), max_size=2).map(
    lambda more: tuple(DeviceQuantity(name, more[name]) for name in sorted(more))
)
SHARES = {
    "gpu": st.builds(
        DeviceShare, OPTIONAL_PERCENTS, st.none() | st.integers(0, 2**40), OPTIONAL_PERCENTS, MORE
    ),
    "rdma": st.builds(DeviceShare, percent=OPTIONAL_PERCENTS, capacity=MORE),
    "ve": st.builds(DeviceShare, percent=st.sampled_from([None, 100, 200]), capacity=MORE),
}
ALLOCATIONS = st.lists(
    st.sampled_from(sorted(SHARES)).flatmap(
        lambda kind: st.builds(
            DeviceAllocatedEntry,
            type=st.just(kind),
            minor=st.integers(0, 40),
            share=SHARES[kind],
            id=TEXTS,
            virtual_functions=st.lists(
                st.builds(VirtualFunction, st.integers(0, 60), TEXTS), max_size=2
            ).map(tuple),
            template=TEXTS,
        )
    ),
    max_size=4,
    unique_by=lambda held: (held.type, held.minor, held.id),
)


def placed(*grants: DeviceGrant) -> PodPlacement:
    """Return a pod that holds these devices of the node."""
    return PodPlacement("p", "default", None, "a", frozenset(), devices=grants)


@given(ALLOCATIONS)
def test_what_is_written_is_read_again(allocations: list[DeviceAllocatedEntry]) -> None:
    """
    Nothing is lost on the way out and in; devices stand in order.
    """
    read = read_device_allocated_annotation(write_device_allocated_annotation(allocations))

    assert set(read) == set(allocations)
    assert [(held.type, held.minor) for held in read] == sorted(
        (held.type, held.minor) for held in allocations
    )


def test_whole_devices_are_written_as_koordinator_does() -> None:
    """
    A GPU with compute, memory and percent of memory, a NIC with its percent; ids beside.
    """
    gpus = [replace(device, id="GPU-0") for device in NODE.machine.devices if device.minor == 0]
    node = Node("a", replace(NODE.machine, devices=tuple(gpus)))
    rdma = next(device for device in gpus if device.type != "gpu")

    text = write_device_allocated_annotation(
        device_allocations_of_placement(
            placed(DeviceGrant("gpu", 0), DeviceGrant(rdma.type, 0, "mine")), node
        )
    )

    assert rdma.type == "rdma"
    assert text == (
        '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100",'
        '"koordinator.sh/gpu-memory":"40Gi","koordinator.sh/gpu-memory-ratio":"100"},'
        '"id":"GPU-0"}],'
        '"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":"100"},"id":"mine"}]}'
    )


def test_a_placement_comes_back_from_its_annotation() -> None:
    """
    Whole devices out, and the same whole devices in.
    """
    grants = (DeviceGrant("gpu", 1, "GPU-1"), DeviceGrant("gpu", 3, "GPU-3"))

    text = write_device_allocated_annotation(device_allocations_of_placement(placed(*grants), NODE))

    assert grants_of_allocations(read_device_allocated_annotation(text)) == grants


def test_a_device_of_any_type_is_counted_under_its_name() -> None:
    """
    A vector engine is a resource by itself.
    """
    node = Node("a", load_machine("xeon-4108-2s-8ve"))
    kind = node.machine.devices[0].type

    text = write_device_allocated_annotation(
        device_allocations_of_placement(placed(DeviceGrant(kind, 0)), node)
    )

    assert json.loads(text)[kind][0]["resources"] == {kind: "1"}
    assert [
        grant.type for grant in grants_of_allocations(read_device_allocated_annotation(text))
    ] == [kind]


def test_resources_stand_in_the_order_of_their_names() -> None:
    """
    As Go writes a map, so that equal documents are equal texts.
    """
    held = DeviceAllocatedEntry(
        "gpu",
        0,
        DeviceShare(
            memory_percent=50, capacity=(DeviceQuantity("x/a", 1), DeviceQuantity("x/b", 2))
        ),
    )

    resources = json.loads(write_device_allocated_annotation([held]))["gpu"][0]["resources"]

    assert list(resources) == ["koordinator.sh/gpu-memory-ratio", "x/a", "x/b"]


def test_the_names_of_the_proposal_are_read() -> None:
    """
    Its domain is kubernetes.io/, and amounts may stand without quotes.
    """
    text = text_of(
        {
            "gpu": [
                {
                    "minor": 1,
                    "resources": {
                        "kubernetes.io/gpu-core": 50,
                        "kubernetes.io/gpu-memory": "8Gi",
                        "kubernetes.io/gpu-memory-ratio": 50,
                    },
                }
            ]
        }
    )

    assert read_device_allocated_annotation(text) == (
        DeviceAllocatedEntry("gpu", 1, DeviceShare(50, 8 * GIB, 50)),
    )


def test_virtual_functions_are_read_without_what_is_0() -> None:
    """
    Koordinator leaves the minor of the first function out, and so do we.
    """
    text = '{"rdma":[{"minor":1,"resources":null,"extension":{"vfs":[{"busID":"0000:09:00.2"}]}}]}'

    (held,) = read_device_allocated_annotation(text)

    assert held.virtual_functions == (VirtualFunction(0, "0000:09:00.2"),)
    assert '"vfs":[{"busID":"0000:09:00.2"}]' in write_device_allocated_annotation([held])


@pytest.mark.parametrize("resources", [{}, {"resources": {}}, {"amounts": {"x/a": 1}}])
def test_a_device_of_which_no_resources_are_named_is_held_whole(resources: object) -> None:
    """
    As a share of nothing it would be given to others as well.
    """
    assert isinstance(resources, dict)
    text = text_of({"gpu": [{"minor": 0, **resources}]})

    assert grants_of_allocations(read_device_allocated_annotation(text)) == (DeviceGrant("gpu", 0),)


def test_nics_without_minors_are_told_apart_by_their_ids() -> None:
    """
    For some devices the minor means nothing.
    """
    text = text_of({"rdma": [{"minor": 0, "id": "b"}, {"minor": 0, "id": "a"}]})

    assert [held.id for held in read_device_allocated_annotation(text)] == ["a", "b"]


def test_a_share_of_a_device_is_a_grant() -> None:
    """
    There and back a share says its memory in bytes and in percent.
    """
    total = next(d.memory_bytes for d in NODE.machine.devices if d.type == "gpu")
    share = DeviceShare(50, None, 50)
    written = device_allocations_of_placement(placed(DeviceGrant("gpu", 2, share=share)), NODE)

    assert written[0].share == DeviceShare(50, total // 2, 50)
    assert grants_of_allocations(written)[0].share == written[0].share


def test_a_share_of_what_nobody_counts_is_no_grant() -> None:
    """
    It can be read, but a placement knows percent and memory alone.
    """
    held = DeviceAllocatedEntry(
        "gpu", 2, DeviceShare(50, capacity=(DeviceQuantity("huawei.com/npu-core", 4),))
    )

    with pytest.raises(
        ValueError, match=r"of gpu 2 is held huawei\.com/npu-core; its machine says"
    ):
        grants_of_allocations([held])


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (placed(DeviceGrant("gpu", 8)), "pod p has device gpu 8, which node a does not have"),
        (replace(placed(), node="b"), "pod p is on node b, not on a"),
    ],
)
def test_a_placement_of_another_node_is_refused(pod: PodPlacement, words: str) -> None:
    """
    The message names the pod, the device and the node.
    """
    with pytest.raises(ValueError, match=words):
        device_allocations_of_placement(pod, NODE)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"gpu": {"minor": 0}}, "$.gpu: got an object; expected a list"),
        ({"": []}, "$['']: a device type without a name"),
        ({"gpu": [{}]}, "$.gpu[0]: the field minor is missing"),
        ({"gpu": [{"minor": 0.5}]}, "$.gpu[0].minor: got 0.5; expected a whole number"),
        ({"gpu": [{"minor": 2**31}]}, "got 2147483648; expected 0 to 2147483647"),
        ({"gpu": [{"minor": 0}, {"minor": 0}]}, "$.gpu[1]: device 0 is there twice"),
        ({"gpu": [{"minor": 0, "id": "\ud800"}]}, "$.gpu[0].id: the text '\\ud800' holds half a"),
        ({"gpu": [{"minor": 0, "id": 7}]}, "$.gpu[0].id: got 7; expected a text"),
        (
            {"gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "1.5"}}]},
            "$.gpu[0].resources['koordinator.sh/gpu-core']: '1.5' is not a whole number",
        ),
        (
            {"gpu": [{"minor": 0, "resources": {"memory": "5Gi"}}]},
            "$.gpu[0].resources.memory: no resource of a device of type gpu; it has koordinator.sh",
        ),
        (
            {"disk": [{"minor": 0, "resources": {"space": "-5Gi"}}]},
            "$.disk[0].resources.space: '-5Gi' is negative",
        ),
        (
            {
                "gpu": [
                    {
                        "minor": 0,
                        "resources": {"koordinator.sh/gpu-core": 1, "kubernetes.io/gpu-core": 1},
                    }
                ]
            },
            "koordinator.sh/gpu-core is there twice, in two spellings",
        ),
        (
            {"rdma": [{"minor": 0, "extension": {"vfs": [{"minor": "1"}]}}]},
            "$.rdma[0].extension.vfs[0].minor: got '1'; expected a whole number",
        ),
    ],
)
def test_a_damaged_document_is_refused_at_its_place(document: object, words: str) -> None:
    """
    The JSON path, the value, and what is expected.
    """
    with pytest.raises(AnnotationError) as caught:
        read_device_allocated_annotation(text_of(document))

    assert words in str(caught.value)


def test_virtual_functions_of_shares_are_written_and_read_back() -> None:
    """
    By minor and bus id, as the machine has them; who holds a whole device names none.
    """
    functions = tuple(VirtualFunction(i, f"0000:1f:00.{i}", (("kind", "a"),)) for i in range(3))
    machine = NODE.machine
    devices = tuple(
        replace(d, virtual_functions=functions if d.type == "rdma" else ()) for d in machine.devices
    )
    node = replace(NODE, machine=replace(machine, devices=devices))
    share = DeviceShare(percent=1)
    grants = (
        DeviceGrant("rdma", 0, "mlx5_0", share, vfs=(2,)),
        DeviceGrant("rdma", 1, "mlx5_1"),
    )
    allocations = device_allocations_of_placement(placed(*grants), node)

    assert allocations[0].virtual_functions == (VirtualFunction(2, "0000:1f:00.2"),)
    assert (
        grants_of_allocations(
            read_device_allocated_annotation(write_device_allocated_annotation(allocations))
        )
        == grants
    )
