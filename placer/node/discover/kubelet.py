"""CPUs that the kubelet of a machine has given out, from its own checkpoint (C15, C16)."""

from dataclasses import replace

from placer.node.discover.files import MachineFiles, UnreadableError
from placer.node.discover.inventory import Inventory
from placer.node.kubelet import CPU_MANAGER_STATE, cpu_manager_state_of
from placer_models.annotations.node_topology import CpuManagerPolicy, PodCpuAlloc


def with_kubelet(files: MachineFiles, inventory: Inventory) -> Inventory:
    """Return the inventory with the kubelet's policy, and the CPUs that pods own by it.

    Raises:
        InputError: The file is not what a kubelet writes, or its checksum is wrong.

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
    except ValueError as error:
        raise files.wrong(CPU_MANAGER_STATE, str(error)) from None
    pods = tuple(
        PodCpuAlloc("", "", uid, cpus, managed_by_kubelet=True) for uid, cpus in state.cpus.items()
    )
    return replace(inventory, policy=CpuManagerPolicy(state.policy), pod_cpus=pods)
