"""The decisions, as CP-SAT sees them: who sits where, in counts."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.banks import DeviceBank
from placer_models.cpsat.beside_seats import BesideSeat, beside_seat
from placer_models.cpsat.container_seats import ContainerSeat, container_seats
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.guests import Guest, guest_of, paired_cores
from placer_models.cpsat.joint_seats import JointSeat, joint_seat
from placer_models.cpsat.pinned import pinned
from placer_models.cpsat.pool_seats import PoolSeat, pool_seat
from placer_models.cpsat.sets import gpu_sets, lacks_gpu_sets, sets_differ
from placer_models.cpsat.share_seats import (
    Opened,
    SeatTake,
    opened_of,
    share_room,
    takes_of,
    with_shares,
)
from placer_models.cpsat.span import Span, span_of
from placer_models.cpsat.units import Unit, units_of
from placer_models.device import GPU
from placer_models.links import Selection
from placer_models.policy import BindPolicy
from placer_models.problem import CoreClass, Fit, NodeState, Problem, Shape


@dataclass(frozen=True, slots=True)
class CoreSeat:
    """What the pods of a seat take of one core class.

    Attributes:
        whole: Whole cores.
        threads: Single threads besides.
        touched: Cores over which the threads are spread; only where a pod asks for it.

    """

    whole: Expression
    threads: Expression
    touched: Expression


@dataclass(frozen=True, slots=True)
class Seat:
    """The pods of one unit on one node.

    Attributes:
        count: How many there are.
        most: Upper bound of count.
        cores: One a core class of the node; empty where the shape owns no CPU.
        used: One literal a cell of the node: the pod uses it; empty where nothing
            asks. A seat with these has one pod at most.
        memory: Units from each cell; empty: it may come from anywhere.
        pages: For each page size, hugepages from each cell; empty as memory is.
        devices: For each bank, whole devices of each twin class.
        takes: Shares of devices.
        picks: The GPU sets that the pod can have, each with its literal; empty where
            it can have any and all are equally good. A seat with these has one pod at most.
        gpu_set: The worth of any GPU set where there are no picks.
        containers: Its containers, where each is aligned for itself. A seat with these
            has one pod at most.
        joint: Devices that are wanted side by side. A seat with these has one pod at most.
        packages: Which packages the pod touches, where it would like few; None where it
            has no such wish. A seat with this has one pod at most.
        caches: The same for last-level caches.
        cells: The same for cells, where the node has a NUMA strategy.
        close: The same for packages that anything of the pod is in, by default locality.
        guest: Whom the pod meets; None where it keeps apart from nobody.
        pool: Its part of its pool, where the pod is bound to some of several cells. A seat
            with this has one pod at most.
        beside: Where the pod owns CPUs; None where that is nothing to others. A seat with
            this has one pod at most.

    """

    unit: int
    node: int
    shape: Shape
    fit: Fit
    count: IntVar
    most: int
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
    beside: BesideSeat | None = None

    def touched(self, bank: int, twin: int) -> Expression:
        """Return the devices of a twin class that the pods have, whole or in part."""
        return with_shares(self.devices[bank][twin], self.takes, bank, twin)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Who runs where.

    Attributes:
        seats: Every (unit, node) pair that could come to be.
        broken: For each node, cores of each class that are taken thread by thread.
        opened: For each node, which of its free devices are shared.
        paired: For each node, cores of each class that two pods share one thread each,
            though both would rather not; 0 where that is not counted by class.
        reached: For each gang, whether it runs; None for a lone pod.
        node_opened: Offered node that pods could come to -> whether it is opened.
        stays: Running pod that may move -> whether it stays; none for one that cannot stay.

    """

    units: tuple[Unit, ...]
    seats: tuple[Seat, ...]
    of_unit: tuple[tuple[Seat, ...], ...]
    on_node: tuple[tuple[Seat, ...], ...]
    broken: tuple[tuple[Expression, ...], ...]
    opened: tuple[Opened, ...]
    paired: tuple[tuple[Expression, ...], ...]
    reached: tuple[IntVar | None, ...]
    node_opened: Mapping[int, IntVar]
    stays: Mapping[int, IntVar]

    def placed(self, unit: int) -> Expression:
        """Return how many pods of the unit have a place."""
        return LinearExpr.sum([seat.count for seat in self.of_unit[unit]])

    def units_of_gang(self, gang: int) -> Iterator[int]:
        """Yield the indices of the gang's units."""
        return (index for index, unit in enumerate(self.units) if unit.gang == gang)


def decide(model: CpModel, problem: Problem, stop: Callable[[], bool]) -> Decisions | None:
    """Create the variables; pairs that can never come to be get none.

    Asks at every seat whether to stop, and then returns None.
    """
    units = units_of(problem)
    seats: list[Seat] = []
    for index, unit in enumerate(units):
        for node in range(len(problem.nodes)):
            if room_for(problem, unit.shape, node, len(unit.pods)) > 0:
                if stop():
                    return None
                seats.append(_seat(model, problem, index, unit, node))
    of_unit: list[list[Seat]] = [[] for _ in units]
    on_node: list[list[Seat]] = [[] for _ in problem.nodes]
    for seat in seats:
        of_unit[seat.unit].append(seat)
        on_node[seat.node].append(seat)
    return Decisions(
        units=units,
        seats=tuple(seats),
        of_unit=tuple(map(tuple, of_unit)),
        on_node=tuple(map(tuple, on_node)),
        broken=tuple(
            _broken(model, index, node, any(seat.cores for seat in on_node[index]))
            for index, node in enumerate(problem.nodes)
        ),
        opened=tuple(
            opened_of(model, node, (take for seat in on_node[index] for take in seat.takes))
            for index, node in enumerate(problem.nodes)
        ),
        paired=tuple(
            paired_cores(model, problem, node, [seat.guest for seat in on_node[index]])
            for index, node in enumerate(problem.nodes)
        ),
        reached=_reached(model, problem, units),
        node_opened={
            index: model.new_bool_var(f"opened[{node.name}]")
            for index, node in enumerate(problem.nodes)
            if node.offered and on_node[index]
        },
        stays=_stays(model, problem, units, seats),
    )


def _stays(
    model: CpModel, problem: Problem, units: tuple[Unit, ...], seats: list[Seat]
) -> dict[int, IntVar]:
    if not problem.homes:
        return {}
    at_home = {(pod, home.node) for pod, home in problem.homes if home is not None}
    pods = [(units[seat.unit].pods[0], seat.node) for seat in seats]
    return {
        pod: model.new_bool_var(f"stays[{pod}]") for pod, node in pods if (pod, node) in at_home
    }


def room_for(problem: Problem, thing: int, index: int, most: int) -> int:
    """Return how many of so many pods of a shape the node could host, each resource by itself."""
    node, shape = problem.nodes[index], problem.shapes[thing]
    fit = problem.fits[thing][node.kind]
    if fit is None or problem.affinity.bars(thing, index):
        return 0
    if shape.owned_cpus:
        takeable = sum(c.cores * _takeable(fit, c) for c in node.cores)
        most = min(most, takeable // shape.owned_cpus)
        most = min(most, node.pool_milli // (1000 * shape.owned_cpus))
        if shape.exclusive:
            most = min(most, node.best_effort_milli // (1000 * shape.owned_cpus))
    if shape.shared_milli:
        most = min(most, node.pool_milli // shape.shared_milli)
    if shape.best_effort_milli:
        most = min(most, node.best_effort_milli // shape.best_effort_milli)
    if shape.memory:
        most = min(most, sum(cell.memory for cell in node.cells) // shape.memory)
    for size, pages in enumerate(shape.pages):
        if pages:
            most = min(most, sum(cell.pages[size] for cell in node.cells) // pages)
    for device_type, count in shape.devices:
        bank = node.bank(device_type)
        most = min(most, sum(bank.free) // count if bank else 0)
    if lacks_gpu_sets(node, shape):
        return 0
    for asked, left in zip(shape.extended, node.extended, strict=True):
        most = min(most, left // asked) if asked else most
    if (shape.shared and not node.pool_cpus) or (shape.best_effort and not node.best_effort_cpus):
        return 0
    return max(0, share_room(node, shape, most))


def _takeable(fit: Fit, c: CoreClass) -> int:
    """Return how many threads of a core of the class a pod of that fit can own."""
    if not fit.bind_required:
        return c.free
    if fit.bind is BindPolicy.FULL_PCPUS:
        return c.threads if c.whole else 0
    return 1


def _seat(model: CpModel, problem: Problem, index: int, unit: Unit, node_index: int) -> Seat:
    node, shape = problem.nodes[node_index], problem.shapes[unit.shape]
    fit = problem.fits[unit.shape][node.kind]
    assert fit is not None
    name = f"[{unit.pods[0]},{node.name}]"
    most = room_for(problem, unit.shape, node_index, len(unit.pods))
    count = model.new_int_var(0, most, f"count{name}")
    used = _used(model, node, shape, fit, count, name)
    offered = gpu_sets(node, shape)
    picks = tuple(
        (selection, model.new_bool_var(f"pick{name[:-1]},{selection.counts}]"))
        for selection in offered
        if sets_differ(node, shape, offered)
    )
    devices = tuple(_devices(model, bank, shape, count, most, picks, name) for bank in node.banks)
    takes = takes_of(model, node, shape, most, name)
    touched = tuple(
        tuple(with_shares(whole, takes, i, twin) for twin, whole in enumerate(of_bank))
        for i, of_bank in enumerate(devices)
    )
    classes = node.cores if shape.owned_cpus else ()
    cores = tuple(
        _cores(model, c, shape, fit, most, f"{name[:-1]},{i}]") for i, c in enumerate(classes)
    )
    return Seat(
        unit=index,
        node=node_index,
        shape=shape,
        fit=fit,
        count=count,
        most=most,
        cores=cores,
        used=used,
        memory=pinned(
            model, [c.memory for c in node.cells], shape.memory, fit, used, f"memory{name}"
        ),
        pages=tuple(
            pinned(model, [c.pages[i] for c in node.cells], pages, fit, used, f"pages{i}{name}")
            for i, pages in enumerate(shape.pages)
        ),
        devices=devices,
        takes=takes,
        picks=picks,
        gpu_set=offered[0] if offered and not picks else None,
        joint=joint_seat(model, node, shape, fit, touched, name),
        packages=span_of(
            model, [c.package for c in node.cores], fit.fewest_packages, f"package{name}"
        ),
        caches=span_of(model, [c.cache for c in node.cores], fit.fewest_caches, f"cache{name}"),
        cells=span_of(model, [c.cell for c in node.cores], fit.fewest_cpu_cells, f"cell{name}"),
        close=span_of(
            model,
            [c.package for c in node.cores],
            fit.locality and fit.locality.packages,
            f"close{name}",
            [cell.package for cell in node.cells if cell.package is not None],
        ),
        guest=guest_of(model, problem, node, shape, [part.threads for part in cores], name),
        containers=container_seats(model, node, shape, fit, name),
        pool=pool_seat(model, node, shape, fit, used, name),
        beside=beside_seat(model, node, shape, name),
    )


def _cores(model: CpModel, c: CoreClass, shape: Shape, fit: Fit, most: int, name: str) -> CoreSeat:
    want = shape.owned_cpus
    full = fit.bind is BindPolicy.FULL_PCPUS
    whole: Expression = 0
    threads: Expression = 0
    touched: Expression = 0
    if full and c.whole and want >= c.threads:
        whole = model.new_int_var(0, min(c.cores, most * (want // c.threads)), f"whole{name}")
    if not (full and fit.bind_required):
        reach = c.cores if not full and fit.bind_required else c.cores * c.free
        threads = model.new_int_var(0, min(reach, most * want), f"threads{name}")
    if not full:
        touched = (
            threads
            if fit.bind_required
            else model.new_int_var(0, min(c.cores, want), f"touched{name}")
        )
    return CoreSeat(whole, threads, touched)


def _used(
    model: CpModel, node: NodeState, shape: Shape, fit: Fit, count: IntVar, name: str
) -> tuple[Expression, ...]:
    """Return a literal per cell where something asks which cells the pod uses."""
    if not fit.by_cell:
        return ()
    if not (fit.uses_cells(shape) or shape.devices or shape.shares):
        return ()
    if len(node.cells) == 1 and fit.uses_cells(shape):
        return (count,)
    return tuple(
        0
        if cell.numa_node is None and fit.cell_limit is not None
        else model.new_bool_var(f"used{name[:-1]},{i}]")
        for i, cell in enumerate(node.cells)
    )


def _devices(
    model: CpModel,
    bank: DeviceBank,
    shape: Shape,
    count: IntVar,
    most: int,
    picks: tuple[tuple[Selection, IntVar], ...],
    name: str,
) -> tuple[Expression, ...]:
    """Return the whole devices of each twin class that the pods of a seat take."""
    size = shape.whole_of(bank.type)
    if size == 0:
        return (0,) * len(bank.free)
    if len(bank.free) == 1:
        return (size * count,)
    if picks and bank.type == GPU and size == shape.count_of(GPU):
        return tuple(
            LinearExpr.weighted_sum(
                [literal for _, literal in picks], [s.counts[i] for s, _ in picks]
            )
            for i in range(len(bank.free))
        )
    return tuple(
        model.new_int_var(0, min(free, size * most), f"{bank.type}{name[:-1]},{i}]")
        for i, free in enumerate(bank.free)
    )


def _broken(model: CpModel, index: int, node: NodeState, taken: bool) -> tuple[Expression, ...]:
    return tuple(
        model.new_int_var(0, c.cores, f"broken[{node.name},{i}]") if taken else 0
        for i, c in enumerate(node.cores)
    )


def _reached(
    model: CpModel, problem: Problem, units: tuple[Unit, ...]
) -> tuple[IntVar | None, ...]:
    in_gang = {unit.gang for unit in units}
    return tuple(
        model.new_bool_var(f"reached[{index}]") if index in in_gang else None
        for index in range(len(problem.gangs))
    )
