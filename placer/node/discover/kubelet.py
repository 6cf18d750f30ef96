"""What the kubelet of a machine has given out, from the file in which it remembers that (C15)."""

from collections.abc import Iterator
from dataclasses import replace

from placer.node.discover.files import MachineFiles, UnreadableError
from placer.node.discover.inventory import Inventory
from placer.node.kubelet import CPU_MANAGER_STATE, cpu_manager_state_of
from placer_models.annotations.node_topology import CpuManagerPolicy, PodCpuAlloc
from placer_models.cpuset import CpuSet, parse_cpu_list


def with_kubelet(files: MachineFiles, inventory: Inventory) -> Inventory:
    """Return the inventory with the kubelet's policy, and the CPUs that pods own by it.

    Raises:
        InputError: The file is not what a kubelet writes.

    """
    try:
        text = files.read(CPU_MANAGER_STATE)
    except UnreadableError:
        warning = "the kubelet's state may not be read: which CPUs its pods own is not known"
        return replace(inventory, warnings=(*inventory.warnings, warning))
    if text is None:
        return inventory
    try:
        state = cpu_manager_state_of(text)
        pods = tuple(_pods(state.get("entries") or {}))
    except (ValueError, AttributeError, TypeError):
        raise files.wrong(
            CPU_MANAGER_STATE,
            "is no state of a kubelet's CPU manager; expected JSON with policyName",
        ) from None
    policy = CpuManagerPolicy(state["policyName"])
    return replace(inventory, policy=policy, pod_cpus=pods)


def _pods(entries: dict[str, object]) -> Iterator[PodCpuAlloc]:
    """Yield each pod, or each container where an old kubelet knew no more, with its CPUs."""
    for uid, containers in entries.items():
        lists = containers.values() if isinstance(containers, dict) else [containers]
        cpus: CpuSet = frozenset().union(*(parse_cpu_list(str(text)) for text in lists))
        if cpus:
            yield PodCpuAlloc("", "", uid, cpus, managed_by_kubelet=True)
