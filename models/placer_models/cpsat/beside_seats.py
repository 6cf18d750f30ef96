"""What the model has to know about a pod that is something to others inside a node (C18)."""

from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar

from placer_models.affinity import AffinityLevel
from placer_models.problem import NodeState, Shape
from placer_models.tasks import Beside


@dataclass(frozen=True, slots=True)
class BesideSeat:
    """Where the pod of a seat owns CPUs, as far as that is looked at.

    Attributes:
        cores: One a core class: whether the pod has CPUs of it. Empty where cores do not
            matter.
        cells: The same for cells.

    """

    beside: Beside
    cores: tuple[IntVar, ...]
    cells: tuple[IntVar, ...]

    def at(self, level: AffinityLevel) -> tuple[IntVar, ...]:
        """Return the literals of a level."""
        return self.cores if level is AffinityLevel.CORE else self.cells


def beside_seat(model: CpModel, node: NodeState, shape: Shape, name: str) -> BesideSeat | None:
    """Create the variables of a seat; None where its pod is nothing to others."""
    if shape.beside is None or not shape.owned_cpus:
        return None

    def literals(level: AffinityLevel, count: int) -> tuple[IntVar, ...]:
        assert shape.beside is not None
        if level not in shape.beside.levels:
            return ()
        return tuple(model.new_bool_var(f"{level}{name[:-1]},{i}]") for i in range(count))

    return BesideSeat(
        shape.beside,
        cores=literals(AffinityLevel.CORE, len(node.cores)),
        cells=literals(AffinityLevel.NUMA, len(node.cells)),
    )
