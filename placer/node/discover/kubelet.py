"""What the kubelet of a machine has given out, from the file in which it remembers that (C15)."""

import json
from collections.abc import Iterator
from dataclasses import replace

from placer.node.discover.files import MachineFiles, UnreadableError
from placer.node.discover.inventory import Inventory
from placer_models.annotations.node_topology import CpuManagerPolicy, PodCpuAlloc
from placer_models.cpuset import CpuSet, parse_cpu_list

STATE = "var/lib/kubelet/cpu_manager_state"


def with_kubelet(files: MachineFiles, inventory: Inventory) -> Inventory:
    """Return the inventory with the kubelet's policy, and the CPUs that pods own by it.

    Raises:
        InputError: The file is not what a kubelet writes.

    """
    try:
        text = files.read(STATE)
    except UnreadableError:
        warning = "the kubelet's state may not be read: which CPUs its pods own is not known"
        return replace(inventory, warnings=(*inventory.warnings, warning))
    if text is None:
        return inventory
    try:
        tree = json.loads(text)
        if not tree.get("policyName"):
            # Newer kubelets write what was a field of the file as a text inside it.
            tree = json.loads(tree["data"])
        policy = str(tree["policyName"])
        pods = tuple(_pods(tree.get("entries") or {}))
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise files.wrong(
            STATE, "is no state of a kubelet's CPU manager; expected JSON with policyName"
        ) from None
    return replace(inventory, policy=CpuManagerPolicy(policy), pod_cpus=pods)


def _pods(entries: dict[str, object]) -> Iterator[PodCpuAlloc]:
    """Yield each pod, or each container where an old kubelet knew no more, with its CPUs."""
    for uid, containers in entries.items():
        lists = containers.values() if isinstance(containers, dict) else [containers]
        cpus: CpuSet = frozenset().union(*(parse_cpu_list(str(text)) for text in lists))
        if cpus:
            yield PodCpuAlloc("", "", uid, cpus, managed_by_kubelet=True)
