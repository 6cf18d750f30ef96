"""Names for the machines of a dump; nodes with equal insides share one machine."""

from dataclasses import dataclass, field, replace

from placer_models.cluster import Machine
from placer_models.device import GPU


@dataclass(slots=True)
class MachinesMet:
    """The machines met so far."""

    _known: dict[Machine, Machine] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def named(self, machine: Machine) -> Machine:
        """Return the machine with a unique name; equal machines get the same name."""
        found = self._known.get(machine)
        if found is None:
            base = machine.name or _described(machine)
            name, number = base, 2
            while name in self._names:
                name, number = f"{base}-{number}", number + 1
            self._names.add(name)
            found = replace(machine, name=name, title=machine.title or name)
            self._known[machine] = found
        return found


def _described(machine: Machine) -> str:
    """Return a name for an unnamed machine, made from what is inside."""
    topology = machine.topology
    gpus = sum(device.type == GPU for device in machine.devices)
    parts = [f"{len(topology.cpus)}-cpus"]
    parts += [f"{len(topology.numa_nodes)}-numa"] if len(topology.numa_nodes) > 1 else []
    parts += [f"{gpus}-gpus"] if gpus else []
    return "-".join(parts)
