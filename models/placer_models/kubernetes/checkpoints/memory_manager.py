"""``memory_manager_state``: the memory that a kubelet has given to pods, versions 1 to 3."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from placer_models.kubernetes.checkpoints.checksum import check_checksum
from placer_models.kubernetes.checkpoints.go_types import (
    CHECKSUM,
    INT,
    TEXT,
    UINT64,
    GoStructField,
    go_map_codec,
    go_pointer_codec,
    go_slice_codec,
    go_struct_codec,
    parse_go_json,
    raise_wrong_go_type,
)
from placer_models.kubernetes.checkpoints.wrapped import (
    is_wrapped_checkpoint,
    read_wrapped_checkpoint,
)

MEMORY_MANAGER_STATE = "var/lib/kubelet/memory_manager_state"
"""The file's path below the root of a system."""

MEMORY = "memory"
"""The resource of plain memory; hugepages are ``hugepages-2Mi`` and the like."""


@dataclass(frozen=True, slots=True)
class KubeletMemoryBlock:
    """Memory of a pod.

    Attributes:
        numa_nodes: The NUMA nodes that it may come from together.
        resource: ``memory``, or hugepages of some size.

    """

    numa_nodes: tuple[int, ...]
    resource: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class KubeletMemoryManagerState:
    """The memory that a kubelet has given out.

    Attributes:
        policy: Its memory manager policy.
        given_bytes: (NUMA node, resource) -> bytes that pods have there.
        system_bytes: (NUMA node, resource) -> bytes that are kept for the system there.
        pods: UID of a pod -> its memory.

    """

    policy: str
    given_bytes: Mapping[tuple[int, str], int]
    system_bytes: Mapping[tuple[int, str], int]
    pods: Mapping[str, tuple[KubeletMemoryBlock, ...]]

    def kept_bytes(self, numa_node: int, resource: str) -> int:
        """Return the bytes of a resource on a NUMA node that pods have or the system keeps."""
        key = numa_node, resource
        return self.given_bytes.get(key, 0) + self.system_bytes.get(key, 0)

    @property
    def gives_out(self) -> bool:
        """Whether the policy gives out memory of NUMA nodes; an unknown one is taken to do so."""
        return self.policy.lower() != "none"


_TABLE = go_struct_codec(
    "state.MemoryTable",
    GoStructField("TotalMemSize", "total", UINT64),
    GoStructField("SystemReserved", "systemReserved", UINT64),
    GoStructField("Allocatable", "allocatable", UINT64),
    GoStructField("Reserved", "reserved", UINT64),
    GoStructField("Free", "free", UINT64),
)
_BY_RESOURCE = go_map_codec(
    TEXT, go_pointer_codec(_TABLE), "map[v1.ResourceName]*state.MemoryTable"
)
_NUMA_NODE = go_struct_codec(
    "state.NUMANodeState",
    GoStructField("NumberOfAssignments", "numberOfAssignments", INT),
    GoStructField("MemoryMap", "memoryMap", _BY_RESOURCE),
    GoStructField("Cells", "cells", go_slice_codec(INT)),
)
_BLOCKS = go_slice_codec(
    go_struct_codec(
        "state.Block",
        GoStructField("NUMAAffinity", "numaAffinity", go_slice_codec(INT)),
        GoStructField("Type", "type", replace(TEXT, name="v1.ResourceName")),
        GoStructField("Size", "size", UINT64),
    )
)
_POD_ENTRY = go_struct_codec(
    "state.PodEntry", GoStructField("MemoryBlocks", "memoryBlocks", _BLOCKS, (None,))
)

_POLICY = GoStructField("PolicyName", "policyName", TEXT)
_MACHINE = GoStructField(
    "MachineState",
    "machineState",
    go_map_codec(INT, go_pointer_codec(_NUMA_NODE), "state.NUMANodeMap"),
)
_ENTRIES = GoStructField(
    "Entries",
    "entries",
    go_map_codec(TEXT, go_map_codec(TEXT, _BLOCKS), "state.ContainerMemoryAssignments"),
    ({},),
)
_PODS = GoStructField(
    "PodEntries", "podEntries", go_map_codec(TEXT, _POD_ENTRY, "state.PodMemoryAssignments"), ({},)
)
_CHECKSUM = GoStructField("Checksum", "checksum", CHECKSUM)

_NAME = "state.MemoryManagerCheckpoint"
_V1 = go_struct_codec(f"{_NAME}V1", _POLICY, _MACHINE, _ENTRIES, _CHECKSUM)
_V2 = go_struct_codec(f"{_NAME}V2", _POLICY, _MACHINE, _ENTRIES, _PODS, _CHECKSUM)
_DATA = go_struct_codec(f"{_NAME}Data", _POLICY, _MACHINE, _ENTRIES, _PODS)


def read_memory_manager_state(text: str) -> KubeletMemoryManagerState:
    """Return the contents of the checkpoint, whatever its version.

    Raises:
        KubeletCheckpointError: It is not what a kubelet writes, or a checksum does not match
            the rest.

    """
    tree = parse_go_json(text)
    if is_wrapped_checkpoint(tree):
        value = read_wrapped_checkpoint(tree, _V2, _DATA, _shown)
    else:
        value = _V2.read(tree, "")
        check_checksum(value["Checksum"], [*_shown(value)], "checksum")
    if not value["PolicyName"]:
        raise_wrong_go_type("policyName", "", "None or Static")
    tables = {
        (numa, resource): table
        for numa, state in (value["MachineState"] or {}).items()
        for resource, table in (state["MemoryMap"] or {}).items()
    }
    return KubeletMemoryManagerState(
        value["PolicyName"],
        {key: table["Reserved"] for key, table in tables.items()},
        {key: table["SystemReserved"] for key, table in tables.items()},
        _owned(value),
    )


def _shown(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield what spew prints for the struct of each version that may have written these fields."""
    bare = {**value, "Checksum": 0}
    for version in [_V2] if value["PodEntries"] else [_V1, _V2]:
        for name in (_NAME, version.name):
            yield f"(*{name}){version.show(bare)}"


def _owned(value: Mapping[str, Any]) -> dict[str, tuple[KubeletMemoryBlock, ...]]:
    """Return the memory of each pod; a pod's own entry includes that of its containers."""
    blocks = {
        owner: [one for given in (containers or {}).values() for one in given or ()]
        for owner, containers in value["Entries"].items()
    }
    blocks |= {
        owner: entry["MemoryBlocks"]
        for owner, entry in value["PodEntries"].items()
        if entry["MemoryBlocks"]
    }
    return {
        owner: tuple(
            KubeletMemoryBlock(tuple(one["NUMAAffinity"] or ()), one["Type"], one["Size"])
            for one in given
        )
        for owner, given in blocks.items()
        if given
    }
