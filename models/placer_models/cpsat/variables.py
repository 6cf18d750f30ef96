"""The decisions, as CP-SAT sees them: who sits where, in counts."""

from collections.abc import Callable

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.banks import DeviceBank
from placer_models.cpsat.assignment import Assignment, CoreSeat, Variables
from placer_models.cpsat.container_seats import container_seats
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.families import FAMILIES
from placer_models.cpsat.guests import guest_of, paired_cores
from placer_models.cpsat.joint_seats import joint_seat
from placer_models.cpsat.pinned import pinned
from placer_models.cpsat.pool_seats import pool_seat
from placer_models.cpsat.sets import gpu_sets, lacks_gpu_sets, sets_differ
from placer_models.cpsat.share_seats import opened_of, share_room, takes_of, with_shares
from placer_models.cpsat.span import span_of
from placer_models.cpsat.units import Unit, units_of
from placer_models.device import GPU
from placer_models.links import Selection
from placer_models.policy import BindPolicy
from placer_models.problem import CoreClass, Fit, NodeState, Problem, Shape


def decide(model: CpModel, problem: Problem, stop: Callable[[], bool]) -> Variables | None:
    """Create the variables; pairs that can never come to be get none.

    Asks at every assignment whether to stop, and then returns None.
    """
    units = units_of(problem)
    assignments: list[Assignment] = []
    for index, unit in enumerate(units):
        for node in range(len(problem.nodes)):
            if room_for(problem, unit.shape, node, len(unit.pods)) > 0:
                if stop():
                    return None
                assignments.append(_assign(model, problem, index, unit, node))
    of_unit: list[list[Assignment]] = [[] for _ in units]
    on_node: list[list[Assignment]] = [[] for _ in problem.nodes]
    for assignment in assignments:
        of_unit[assignment.unit].append(assignment)
        on_node[assignment.node].append(assignment)
    return Variables(
        units=units,
        assignments=tuple(assignments),
        of_unit=tuple(map(tuple, of_unit)),
        on_node=tuple(map(tuple, on_node)),
        broken=tuple(
            _broken(model, index, node, any(assignment.cores for assignment in on_node[index]))
            for index, node in enumerate(problem.nodes)
        ),
        opened=tuple(
            opened_of(
                model, node, (take for assignment in on_node[index] for take in assignment.takes)
            )
            for index, node in enumerate(problem.nodes)
        ),
        paired=tuple(
            paired_cores(model, problem, node, [assignment.guest for assignment in on_node[index]])
            for index, node in enumerate(problem.nodes)
        ),
        reached=_reached(model, problem, units),
        node_opened={
            index: model.new_bool_var(f"opened[{node.name}]")
            for index, node in enumerate(problem.nodes)
            if node.offered and on_node[index]
        },
        stays=_stays(model, problem, units, assignments),
    )


def _stays(
    model: CpModel, problem: Problem, units: tuple[Unit, ...], assignments: list[Assignment]
) -> dict[int, IntVar]:
    if not problem.homes:
        return {}
    at_home = {(pod, home.node) for pod, home in problem.homes if home is not None}
    pods = [(units[assignment.unit].pods[0], assignment.node) for assignment in assignments]
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


def _assign(
    model: CpModel, problem: Problem, index: int, unit: Unit, node_index: int
) -> Assignment:
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
    found = Assignment(
        unit=index,
        node=node_index,
        shape=shape,
        fit=fit,
        count=count,
        most=most,
        name=name[1:-1],
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
    )
    for family in FAMILIES:
        if family.decide is not None:
            part = family.decide(model, problem, found)
            if part is not None:
                found.parts[type(part)] = part
    return found


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
    """Return the whole devices of each twin class that the pods of an assignment take."""
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
