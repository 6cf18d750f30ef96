"""``cpu_manager_state``: the CPUs that a kubelet has given to pods, versions 1 to 4 (C16)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.kubernetes.checkpoints.checksum import check_checksum
from placer_models.kubernetes.checkpoints.go_types import (
    CHECKSUM,
    CPU_LIST,
    CPU_SET,
    TEXT,
    GoStructField,
    GoTypeCodec,
    go_map_codec,
    go_struct_codec,
    parse_go_json,
    raise_wrong_go_type,
)
from placer_models.kubernetes.checkpoints.wrapped import (
    is_wrapped_checkpoint,
    read_wrapped_checkpoint,
)

CPU_MANAGER_STATE = "var/lib/kubelet/cpu_manager_state"
"""The file's path below the root of a system."""


@dataclass(frozen=True, slots=True)
class KubeletCpuManagerState:
    """The CPUs that a kubelet has given out.

    Attributes:
        policy: Its CPU manager policy.
        default: The CPUs of all other pods.
        cpus: UID of a pod -> its CPUs; in version 1, id of a container -> its CPUs.

    """

    policy: str
    default: CpuSet
    cpus: Mapping[str, CpuSet]

    @property
    def gives_out(self) -> bool:
        """Whether the policy gives out CPUs; an unknown policy is taken to do so."""
        return self.policy != "none"


_POLICY = GoStructField("PolicyName", "policyName", TEXT)
_DEFAULT = GoStructField("DefaultCPUSet", "defaultCpuSet", CPU_LIST)
_BY_CONTAINER = GoStructField("Entries", "entries", go_map_codec(TEXT, CPU_LIST), ({},))
_ENTRIES = GoStructField(
    "Entries", "entries", go_map_codec(TEXT, go_map_codec(TEXT, CPU_LIST)), ({},)
)
_POD_ENTRY = go_struct_codec(
    "state.PodEntry", GoStructField("CPUSet", "cpuSet", CPU_SET, (frozenset(),))
)
_PODS = GoStructField(
    "PodEntries", "podEntries", go_map_codec(TEXT, _POD_ENTRY, "state.PodCPUAssignments"), ({},)
)
_CONTAINER_CPUS = go_struct_codec(
    "state.ContainerCPUs", GoStructField("Baseline", "baseline", CPU_LIST)
)
_BASELINES = GoStructField(
    "Baselines", "baselines", go_map_codec(TEXT, go_map_codec(TEXT, _CONTAINER_CPUS)), ({},)
)
_CHECKSUM = GoStructField("Checksum", "checksum", CHECKSUM)

_NAME = "state.CPUManagerCheckpoint"
_V1 = go_struct_codec(_NAME, _POLICY, _DEFAULT, _BY_CONTAINER, _CHECKSUM)
_V2 = go_struct_codec(f"{_NAME}V2", _POLICY, _DEFAULT, _ENTRIES, _CHECKSUM)
_V3 = go_struct_codec(f"{_NAME}V3", _POLICY, _DEFAULT, _ENTRIES, _PODS, _CHECKSUM)
_DATA = go_struct_codec(f"{_NAME}Data", _POLICY, _DEFAULT, _ENTRIES, _PODS, _BASELINES)


def read_cpu_manager_state(text: str) -> KubeletCpuManagerState:
    """Return the contents of the checkpoint, whatever its version.

    Raises:
        KubeletCheckpointError: It is not what a kubelet writes, or a checksum does not match
            the rest.

    """
    tree = parse_go_json(text)
    if is_wrapped_checkpoint(tree):
        value = read_wrapped_checkpoint(tree, _V3, _DATA, _shown)
    else:
        by_container = isinstance(tree, dict) and _lists_containers(tree.get("entries"))
        version = _V1 if by_container else _V3
        value = version.read(tree, "")
        check_checksum(value["Checksum"], [*_shown(value)], "checksum")
    if not value["PolicyName"]:
        raise_wrong_go_type("policyName", "", "none or static")
    return KubeletCpuManagerState(
        value["PolicyName"], parse_cpu_list(value["DefaultCPUSet"]), _owned(value)
    )


def _lists_containers(entries: object) -> bool:
    """Return whether the entries map container ids to CPUs, as in version 1."""
    return isinstance(entries, dict) and any(isinstance(one, str) for one in entries.values())


def _shown(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield what spew prints for the struct of each version that may have written these fields.

    Kubelets should print each version under the struct's name in version 1; some failed to.
    """
    versions: list[GoTypeCodec] = [_V2, _V3]
    if _lists_containers(value["Entries"]):
        versions = [_V1]
    elif value.get("PodEntries"):
        versions = [_V3]
    elif not value["Entries"]:
        versions = [_V2, _V1, _V3]
    bare = {**value, "Checksum": 0}
    bare.setdefault("PodEntries", {})
    for name in (lambda version: _NAME, lambda version: version.name):
        for version in versions:
            yield f"(*{name(version)}){version.show(bare)}"


def _owned(value: Mapping[str, Any]) -> dict[str, CpuSet]:
    """Return the CPUs of each owner that has some."""
    owned: dict[str, CpuSet] = {}
    for owner, given in value["Entries"].items():
        for cpus in [given] if isinstance(given, str) else (given or {}).values():
            owned[owner] = owned.get(owner, frozenset()) | parse_cpu_list(cpus)
    for owner, entry in value.get("PodEntries", {}).items():
        owned[owner] = owned.get(owner, frozenset()) | entry["CPUSet"]
    for owner, given in value.get("Baselines", {}).items():
        for one in (given or {}).values():
            owned[owner] = owned.get(owner, frozenset()) | parse_cpu_list(one["Baseline"])
    return {owner: cpus for owner, cpus in owned.items() if cpus}
