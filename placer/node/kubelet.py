"""The kubelet's checkpoint of the CPUs that it gave out, of every version (C16).

A kubelet takes the checksum over the text by which the Go library spew shows its own struct, or, in
version 4, over the text of JSON that stands inside the file.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from placer_models.cpuset import CpuSet, parse_cpu_list

CPU_MANAGER_STATE = "var/lib/kubelet/cpu_manager_state"
"""Where it is, below the root of a system."""


@dataclass(frozen=True, slots=True)
class CpuManagerState:
    """What a kubelet has given out.

    Attributes:
        policy: Its CPU manager policy.
        cpus: The CPUs of each pod by its UID; of each container by its id, in version 1.

    """

    policy: str
    cpus: Mapping[str, CpuSet]


def cpu_manager_state_of(text: str) -> CpuManagerState:
    """Return what the checkpoint says, whichever its version.

    Raises:
        ValueError: It is not what a kubelet writes, or its checksum is not that of the rest.

    """
    try:
        tree = json.loads(text)
        inside = tree.get("data")
        if inside is None:
            checksum, shown = tree.get("checksum", 0), [*_shown(tree)]
        else:
            checksum, shown = tree.get("dataChecksum", tree.get("checksum")), [f"(string){inside}"]
            tree = json.loads(inside)
        policy = tree["policyName"]
        if not policy or not isinstance(policy, str) or not shown:
            raise TypeError
        cpus = _owned(tree)
        sums = [_fnv_1a(one.encode()) for one in shown]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise ValueError(
            "is no state of a kubelet's CPU manager; expected JSON with policyName, and lists of "
            "CPUs in entries"
        ) from None
    # The first kubelets wrote none, and all that came later take such a file.
    none_needed = inside is None and checksum == 0
    if checksum not in sums and not none_needed:
        raise ValueError(
            f"is corrupt: its checksum is {checksum}, and that of what it says {sums[0]}; the "
            "kubelet does not start with it, until the node is drained and the file deleted"
        )
    return CpuManagerState(policy, cpus)


def _owned(tree: Mapping[str, Any]) -> dict[str, CpuSet]:
    """Return the CPUs of each owner that has some."""
    owned: dict[str, CpuSet] = {}
    for owner, given in (tree.get("entries") or {}).items():
        for cpus in given.values() if isinstance(given, dict) else [given]:
            owned[owner] = owned.get(owner, frozenset()) | parse_cpu_list(cpus)
    for owner, given in (tree.get("podEntries") or {}).items():
        owned[owner] = owned.get(owner, frozenset()) | parse_cpu_list(given.get("cpuSet", ""))
    return {owner: cpus for owner, cpus in owned.items() if cpus}


def _shown(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield how spew shows the struct of each version that may have written these fields."""
    policy, default = tree["policyName"], tree.get("defaultCpuSet", "")
    entries, pods = tree.get("entries") or {}, tree.get("podEntries") or {}
    head = f"{{PolicyName:(string){policy} DefaultCPUSet:(string){default} Entries:"
    tail = " Checksum:(checksum.Checksum)0}"
    name = "(*state.CPUManagerCheckpoint"
    if all(isinstance(cpus, dict) for cpus in entries.values()):
        owners = f"(map[string]map[string]string){_map(entries, lambda of: _map(of, str))}"
        parts = f" PodEntries:(state.PodCPUAssignments){_map(pods, _pod)}"
        # Some kubelets forgot to call the struct as their elders do.
        for version, more in (("", ""), ("V2", ""), ("", parts), ("V3", parts)):
            if more or not pods:
                yield f"{name}{version}){head}{owners}{more}{tail}"
    if all(isinstance(cpus, str) for cpus in entries.values()) and not pods:
        yield f"{name}){head}(map[string]string){_map(entries, str)}{tail}"


def _map(values: Mapping[str, Any], show: Callable[[Any], str]) -> str:
    """Return a map of Go as spew shows it."""
    return f"map[{' '.join(f'{key}:{show(values[key])}' for key in sorted(values))}]"


def _pod(entry: Mapping[str, str]) -> str:
    """Return what a pod has beside its containers, as spew shows it."""
    cpus = " ".join(f"{cpu}:{{}}" for cpu in sorted(parse_cpu_list(entry.get("cpuSet", ""))))
    return f"{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}})map[{cpus}]}}}}"


def _fnv_1a(data: bytes) -> int:
    """Return the hash of Fowler, Noll and Vo in its variant 1a of 32 bits."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
