"""A document that gives a pod what the kubelet gave another is refused (D12)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from node.fake_cgroupfs import FakeV2
from node.node_documents import a_document, a_node, a_pod, holding
from placer.node.apply import apply
from placer.node.cgroups import CgroupReader
from placer.node.errors import HostCannotApplyError, InapplicableDocumentError
from placer.node.held_devices import kubelet_device_conflicts
from placer.node.host import HostFactsForApply
from placer.node.plan import cgroup_plan_of
from placer.node.state import AppliedStateFolder
from placer_models.cluster import Node
from placer_models.device import Device
from placer_models.device_share import DeviceShare
from placer_models.kubernetes.checkpoints.device_manager import KubeletDevicesOfContainer
from placer_models.mig import Modes
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.placement import DeviceGrant

UID = "0a1b"


def gpu_node(mig: Modes = ()) -> Node:
    """A node of four GPUs and a network card."""
    gpus = [Device("gpu", i, id=f"GPU-{i}") for i in range(4)]
    node = a_node()
    devices = (*gpus, Device("rdma", 0, id="mlx5_0"))
    return replace(node, machine=replace(node.machine, devices=devices), mig=mig)


def held(*ids: str, uid: str = UID, resource: str = "nvidia.com/gpu") -> KubeletDevicesOfContainer:
    """Return what the kubelet gave to a pod."""
    return KubeletDevicesOfContainer(uid, "main", resource, ids)


def document(*pods: NodePlacementPod, mig: Modes = ()) -> NodePlacement:
    """Return the document of the node of four GPUs."""
    return a_document(*pods, node=gpu_node(mig))


def half(pod: NodePlacementPod, minor: int) -> NodePlacementPod:
    """Return a pod with half of a GPU."""
    grant = DeviceGrant("gpu", minor, share=DeviceShare(50))
    return replace(pod, placement=replace(pod.placement, devices=(grant,)))


def instance(pod: NodePlacementPod, gpu: int) -> NodePlacementPod:
    """Return a pod with an instance of a GPU."""
    grant = DeviceGrant("mig-1g.5gb", 8 * gpu)
    return replace(pod, placement=replace(pod.placement, devices=(grant,)))


A, B = a_pod("a"), a_pod("b", uid=UID)
MIG: Modes = ((2, "A100-40GB"), (3, "A100-40GB"))

OTHER = "GPU-36b27e44-b086-46f7-f2dc-73c36dc65991"


def listed(*pods: NodePlacementPod, ids: Sequence[str] = ("8", "9")) -> NodePlacement:
    """Return the document of a node whose GPUs have the ids that a driver gives."""
    gpus = [
        Device("gpu", i, id=f"GPU-{id}0000000-0000-0000-0000-000000000000")
        for i, id in enumerate(ids)
    ]
    node = a_node()
    return a_document(*pods, node=replace(node, machine=replace(node.machine, devices=(*gpus,))))


FREE: dict[str, tuple[NodePlacement, Sequence[KubeletDevicesOfContainer]]] = {
    "other devices": (document(holding(A, gpu=(0, 1))), [held("GPU-2"), held("GPU-3")]),
    "its own": (document(holding(B, gpu=(0, 1))), [held("GPU-0", "GPU-1")]),
    "of its own some that nobody knows": (document(holding(B, gpu=(0,))), [held("tegra")]),
    "the document knows which": (
        document(holding(A, gpu=(0,)), holding(B, gpu=(1,))),
        [held("tegra")],
    ),
    "both have a share": (document(half(A, 0), half(B, 0)), [held("GPU-0::1")]),
    "unknown of another type": (document(holding(A, gpu=(0,))), [held("x", resource="x/rdma")]),
    "no devices at all": (document(A, B), [held("GPU-0"), held("tegra", uid="c")]),
    "a GPU that the node does not have": (listed(holding(A, gpu=(0, 1))), [held(OTHER)]),
    "an instance of another GPU": (
        document(instance(A, 2), mig=MIG),
        [held("MIG-GPU-3/7/0", resource="nvidia.com/mig-1g.5gb")],
    ),
    "a whole GPU beside instances": (
        document(holding(A, gpu=(1,)), mig=MIG),
        [held("MIG-5c89852c", resource="nvidia.com/mig-1g.5gb")],
    ),
}

TWICE: dict[str, tuple[NodePlacement, Sequence[KubeletDevicesOfContainer], list[str]]] = {
    "of a pod that is not there": (
        document(holding(A, gpu=(0, 1))),
        [held("GPU-1", "GPU-3")],
        ["a': placement.devices: gpu 1 is another"],
    ),
    "of a pod that is there without": (
        document(holding(A, gpu=(0,)), B),
        [held("GPU-0")],
        ["a': placement.devices: gpu 0 is another"],
    ),
    "of a pod that is there with others": (
        document(holding(A, gpu=(0,)), holding(B, gpu=(1,))),
        [held("GPU-0", "GPU-1")],
        ["a': placement.devices: gpu 0 is another"],
    ),
    "of another pod of the kubelet's": (
        document(holding(B, gpu=(0,)), holding(a_pod("c", uid="c"), gpu=(1,))),
        [held("GPU-1"), held("GPU-0", uid="c")],
        ["c': placement.devices: gpu 1 is", "b': placement.devices: gpu 0 is"],
    ),
    "a share of it": (document(half(A, 2)), [held("GPU-2")], ["a': placement.devices: gpu 2 is"]),
    "nobody knows which": (
        document(holding(A, gpu=(3,))),
        [held("tegra")],
        ["a': placement.devices: gpu 3 may be another"],
    ),
    "a GPU that may be one without such an id": (
        listed(holding(A, gpu=(0,)), ids=("8", "x")),
        [held(OTHER)],
        ["a': placement.devices: gpu 0 may be another"],
    ),
    "another type": (
        document(holding(A, rdma=(0,))),
        [held("mlx5_0", resource="rdma/hca")],
        ["a': placement.devices: rdma 0 is another"],
    ),
    "an instance of its GPU": (
        document(instance(A, 3), mig=MIG),
        [held("MIG-GPU-3/7/0", resource="nvidia.com/mig-1g.5gb")],
        ["a': placement.devices: gpu 3 is another"],
    ),
    "an instance of a GPU in MIG mode": (
        document(instance(A, 2), mig=MIG),
        [held("MIG-5c89852c", resource="nvidia.com/mig-1g.5gb")],
        ["a': placement.devices: gpu 2 is another"],
    ),
}


@pytest.mark.parametrize("case", FREE)
def test_what_nobody_else_holds_is_given(case: str) -> None:
    """
    By uid, device and type.
    """
    assert list(kubelet_device_conflicts(*FREE[case])) == []


@pytest.mark.parametrize("case", TWICE)
def test_what_another_pod_holds_is_not_given(case: str) -> None:
    """
    One line for each pod, with its name, its device and who has that.
    """
    wanted, entries, said = TWICE[case]

    found = list(kubelet_device_conflicts(wanted, entries))

    assert len(found) == len(said)
    for line, words in zip(found, said, strict=True):
        assert f"{words}" in line


def test_such_a_document_is_refused_and_nothing_written(tmp_path: Path) -> None:
    """
    The message says who has the device, by which file, and what helps.
    """
    files = FakeV2()
    host = HostFactsForApply("n0", held=(held("GPU-0", "GPU-1"),))

    with pytest.raises(InapplicableDocumentError) as error:
        apply(
            document(holding(A, gpu=(1,))), CgroupReader(files), host, AppliedStateFolder(tmp_path)
        )

    assert str(error.value) == (
        "pod 'a': placement.devices: gpu 1 is another pod's: pod '0a1b' holds nvidia.com/gpu "
        "'GPU-0', 'GPU-1' by the kubelet's "
        "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint; place it on a device that "
        "is free, or give it that uid if it is the same pod; a pod that has ended is dropped "
        "from the file when the kubelet next gives out a device"
    )
    assert not files.exists("placer")


def test_a_document_in_force_is_kept(tmp_path: Path) -> None:
    """
    What the kubelet gives out later is no reason to let the CPUs of pods go.
    """
    host = HostFactsForApply("n0", held=(held("GPU-1"),))

    wanted = document(holding(A, gpu=(1,)))
    assert cgroup_plan_of(wanted, CgroupReader(FakeV2()), host, in_force=True).operations


def test_beside_a_corrupt_checkpoint_no_devices_are_given(tmp_path: Path) -> None:
    """
    Documents without devices are applied all the same.
    """
    cgroups = CgroupReader(FakeV2())
    host = HostFactsForApply(
        "n0", held_fault="kubelet_internal_checkpoint: Checksum: the file is corrupt"
    )

    with pytest.raises(HostCannotApplyError, match=r"nobody can tell which devices .* is corrupt"):
        apply(document(holding(A, gpu=(1,))), cgroups, host, AppliedStateFolder(tmp_path))
    assert not cgroups.exists("placer")
    assert apply(document(A), cgroups, host, AppliedStateFolder(tmp_path)).plan.operations
