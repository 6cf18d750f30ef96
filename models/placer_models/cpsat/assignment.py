"""Who runs where, as a model decides it: in counts, unit by unit and node by node."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ortools.sat.python.cp_model import IntVar, LinearExpr

from placer_models.cpsat.container_seats import ContainerSeat
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.guests import Guest
from placer_models.cpsat.joint_seats import JointSeat
from placer_models.cpsat.pool_seats import PoolSeat
from placer_models.cpsat.share_seats import Opened, SeatTake, with_shares
from placer_models.cpsat.span import Span
from placer_models.cpsat.units import Unit
from placer_models.links import Selection
from placer_models.problem import Fit, Shape

P = TypeVar("P")
"""The type of what a family of rules decides."""

Parts = dict[type, object]
"""What families of rules decide, each by its type."""


@dataclass(frozen=True, slots=True)
class CoreSeat:
    """What the pods of an assignment take of one core class.

    Attributes:
        whole: Whole cores.
        threads: Single threads besides.
        touched: Cores over which the threads are spread; only where a pod asks for it.

    """

    whole: Expression
    threads: Expression
    touched: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The pods of one unit on one node.

    Attributes:
        count: How many there are.
        most: Upper bound of count.
        name: What its variables are told apart by.
        cores: One a core class of the node; empty where the shape owns no CPU.
        used: One literal a cell of the node: the pod uses it; empty where nothing
            asks. An assignment with these has one pod at most.
        memory: Units from each cell; empty: it may come from anywhere.
        pages: For each page size, hugepages from each cell; empty as memory is.
        devices: For each bank, whole devices of each twin class.
        takes: Shares of devices.
        picks: The GPU sets that the pod can have, each with its literal; empty where
            it can have any and all are equally good. An assignment with these has one pod at most.
        gpu_set: The worth of any GPU set where there are no picks.
        containers: Its containers, where each is aligned for itself. An assignment with these
            has one pod at most.
        joint: Devices that are wanted side by side. An assignment with these has one pod at most.
        packages: Which packages the pod touches, where it would like few; None where it
            has no such wish. An assignment with this has one pod at most.
        caches: The same for last-level caches.
        cells: The same for cells, where the node has a NUMA strategy.
        close: The same for packages that anything of the pod is in, by default locality.
        guest: Whom the pod meets; None where it keeps apart from nobody.
        pool: Its part of its pool, where the pod is bound to some of several cells. An assignment
            with this has one pod at most.
        parts: What else families of rules decide about the pods.

    """

    unit: int
    node: int
    shape: Shape
    fit: Fit
    count: IntVar
    most: int
    name: str
    cores: tuple[CoreSeat, ...]
    used: tuple[Expression, ...]
    memory: tuple[Expression, ...]
    pages: tuple[tuple[Expression, ...], ...]
    devices: tuple[tuple[Expression, ...], ...]
    takes: tuple[SeatTake, ...]
    picks: tuple[tuple[Selection, IntVar], ...]
    gpu_set: Selection | None
    containers: tuple[ContainerSeat, ...]
    joint: JointSeat | None
    packages: Span | None = None
    caches: Span | None = None
    cells: Span | None = None
    close: Span | None = None
    guest: Guest | None = None
    pool: PoolSeat | None = None
    parts: Parts = field(default_factory=dict)

    def part(self, kind: type[P]) -> P | None:
        """Return what a family decides about the pods; None: nothing."""
        found = self.parts.get(kind)
        assert found is None or isinstance(found, kind)
        return found

    def touched(self, bank: int, twin: int) -> Expression:
        """Return the devices of a twin class that the pods have, whole or in part."""
        return with_shares(self.devices[bank][twin], self.takes, bank, twin)


@dataclass(frozen=True, slots=True)
class Variables:
    """Who runs where.

    Attributes:
        assignments: Every (unit, node) pair that could come to be.
        broken: For each node, cores of each class that are taken thread by thread.
        opened: For each node, which of its free devices are shared.
        paired: For each node, cores of each class that two pods share one thread each,
            though both would rather not; 0 where that is not counted by class.
        reached: For each gang, whether it runs; None for a lone pod.
        node_opened: Offered node that pods could come to -> whether it is opened.
        stays: Running pod that may move -> whether it stays; none for one that cannot stay.

    """

    units: tuple[Unit, ...]
    assignments: tuple[Assignment, ...]
    of_unit: tuple[tuple[Assignment, ...], ...]
    on_node: tuple[tuple[Assignment, ...], ...]
    broken: tuple[tuple[Expression, ...], ...]
    opened: tuple[Opened, ...]
    paired: tuple[tuple[Expression, ...], ...]
    reached: tuple[IntVar | None, ...]
    node_opened: Mapping[int, IntVar]
    stays: Mapping[int, IntVar]

    def placed(self, unit: int) -> Expression:
        """Return how many pods of the unit have a place."""
        return LinearExpr.sum([assignment.count for assignment in self.of_unit[unit]])

    def units_of_gang(self, gang: int) -> Iterator[int]:
        """Yield the indices of the gang's units."""
        return (index for index, unit in enumerate(self.units) if unit.gang == gang)
