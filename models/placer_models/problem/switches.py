"""PCIe switches of a node: those that are whole are kept for pods with devices side by side.

Links tell which GPUs are fast together. Where they say nothing more, it counts whether a pod that
comes later finds a GPU and a NIC, or two GPUs, below one switch. A new pod with several whole
devices of a type breaks none: that its own are near each other says more (D7).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from placer_models.device import GPU, is_mig_instance
from placer_models.problem.banks import ClassesBelow, DeviceBank
from placer_models.problem.node_state import NodeState


def switches_joining_gpus_with_others(banks: Sequence[DeviceBank]) -> tuple[ClassesBelow, ...]:
    """Return the switches with a GPU and another device below them.

    Devices that are not healthy are no devices here, nor are GPUs in MIG mode and their instances.
    """
    below: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for index, bank in enumerate(banks):
        if not is_mig_instance(bank.type):
            for class_index, switch in enumerate(bank.board.switches):
                if switch is not None:
                    below[switch].append((index, class_index))
    return tuple(
        tuple(classes)
        for _, classes in sorted(below.items())
        if any(banks[bank].type == GPU for bank, _ in classes)
        and sum(banks[bank].board.sizes[class_index] for bank, class_index in classes) > 1
    )


def has_several_devices_of_a_type(devices: Iterable[tuple[str, int]]) -> bool:
    """Return whether a pod asks for several whole devices of a type, which are no MIG instances."""
    return any(count > 1 and not is_mig_instance(kind) for kind, count in devices)


def fully_free_switches(node: NodeState) -> tuple[ClassesBelow, ...]:
    """Return those of the node's switches that are whole: nobody has any part of a device below."""
    banks = node.banks
    return tuple(
        switch
        for switch in node.switches
        if all(banks[bank].free[at] == banks[bank].board.sizes[at] for bank, at in switch)
    )
