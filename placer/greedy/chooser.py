"""The best place for one pod inside one node."""

from collections.abc import Collection, Hashable
from itertools import islice

from placer.greedy.bound import choose_beside_bound_pods, fits_beside_bound_pods, pool_milli_left
from placer.greedy.burst import burst_cells
from placer.greedy.containers import AlignedContainersChoice, place_aligned_containers
from placer.greedy.cores import ownable_cpu_count_of_core_class
from placer.greedy.devices import pick_devices
from placer.greedy.exclusivity import choose_exclusive_place_on_node
from placer.greedy.in_node_affinity import choose_by_in_node_affinity
from placer.greedy.inside import CandidatePlace, DevicesChosenForPod
from placer.greedy.localities import (
    core_choices_for_locality_wish,
    node_without_amounts_others_prefer,
)
from placer.greedy.masks import cell_set_sizes, cell_sets_holding
from placer.greedy.offer import AT, BY_STRATEGY, PlacePrice, PricedChoice
from placer.greedy.price import price_of_place
from placer.greedy.shares import fitting_device_count
from placer.greedy.switches import device_choices_sparing_switches
from placer.greedy.taking import node_totals_allow
from placer_models.alignment import CellAmounts
from placer_models.goals import ALIGNMENT, LOCALITY_NUMA_NODES, LOCALITY_PACKAGES
from placer_models.policy import AlignmentPolicy
from placer_models.problem.fits import pool_milli_of_containers_by_cell
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import NO_NODE, Choice, CoreTake, Fit, Shape

MOST_CLOSE = 16
"""How many sets of cells of one size are tried for a pod without an alignment policy."""

MOST_SIZES = 3
"""How many sizes of such sets are tried, from the smallest that could hold the pod."""

_NUMA_NODES, _PACKAGES = AT[LOCALITY_NUMA_NODES], AT[LOCALITY_PACKAGES]

MAX_TRIED = 128
"""How many sets of cells of one size are tried for one pod; 8 cells have 70 sets of 4."""


def choose_keeping_rules_of_others(
    node: NodeState, shape: Shape, fit: Fit, waived: Collection[int] = ()
) -> PricedChoice | None:
    """Return the cheapest place found that also keeps the rules about other pods there.

    Each of these rules hides from the pod what it may not have, and asks the next chooser.

    Args:
        node: What is left on the node.
        shape: What the pod asks for.
        fit: What that means on the node.
        waived: Positions of the affinity terms that it need not keep, as the first of its kind.

    """

    def apart(view: NodeState, shape: Shape, fit: Fit) -> PricedChoice | None:
        return choose_exclusive_place_on_node(view, shape, fit, choose_cheapest_place_on_node)

    def by_affinity(view: NodeState, shape: Shape, fit: Fit) -> PricedChoice | None:
        return choose_by_in_node_affinity(view, shape, fit, apart, waived)

    return choose_beside_bound_pods(node, shape, fit, by_affinity)


def choose_cheapest_place_on_node(node: NodeState, shape: Shape, fit: Fit) -> PricedChoice | None:
    """Return the cheapest place found for a pod of the shape, or None if none was found.

    Without an alignment policy the pod may be anywhere. If that takes more cells or packages
    than need be, smaller sets of cells are tried. With a policy, sets of cells are tried: of
    the only size allowed, or of growing size under BestEffort. Within a set CPUs, memory and
    devices do not get in each other's way, so each is chosen by itself. The number of sets
    tried is bounded.
    """
    if not node_totals_allow(node, shape):
        return None
    if fit.containers:
        return _by_container(node, shape, fit)
    everywhere = tuple(range(len(node.cells)))
    if fit.alignment is AlignmentPolicy.NONE:
        return _close(node, shape, fit, everywhere)
    if fit.joint and pick_devices(node, shape, fit.joint, everywhere) is None:
        return None
    need = _need(node, shape, fit)
    amounts = [_amounts(node, shape, fit, cell) for cell in everywhere]
    kinds = [_kind(node, shape, fit, cell) for cell in everywhere]
    for size in cell_set_sizes(node, fit.cell_limit, need, amounts):
        best: tuple[PlacePrice, int, PricedChoice] | None = None
        tried = 0
        for mask in cell_sets_holding(amounts, need, size, kinds):
            offer = _offer(node, shape, fit, mask)
            if offer is not None:
                spare = _spare(amounts, need, mask)
                if best is None or (offer.price, spare) < best[:2]:
                    best = (offer.price, spare, offer)
            tried += offer is not None or fit.joint is not None
            if tried == MAX_TRIED:
                break
        if best is not None:
            return best[2]
    return None


def _close(
    node: NodeState, shape: Shape, fit: Fit, everywhere: tuple[int, ...]
) -> PricedChoice | None:
    """Return the cheapest place found that may be on any cells, or None if there is none."""
    if not fit.by_cell:
        return _offer(node, shape, fit, everywhere)
    view = node_without_amounts_others_prefer(node)
    anywhere = _offer(view, shape, fit, everywhere)
    if anywhere is None:
        # Pods under a policy took what others should have had.
        view = node
        anywhere = _offer(view, shape, fit, everywhere)
    if anywhere is None or _is_close(anywhere):
        return anywhere
    need = _need(view, shape, fit)
    amounts = [_amounts(view, shape, fit, cell) for cell in everywhere]
    kinds = [_kind(view, shape, fit, cell) for cell in everywhere]
    best = anywhere
    for size in islice(cell_set_sizes(view, fit.cell_limit, need, amounts), MOST_SIZES):
        for mask in islice(cell_sets_holding(amounts, need, size, kinds), MOST_CLOSE):
            offer = _offer(view, shape, fit, mask)
            if offer is not None and offer.price < best.price:
                best = offer
                if _is_close(best) and best.price[BY_STRATEGY] <= anywhere.price[BY_STRATEGY]:
                    return best
        if _is_close(best):
            break
    return best


def _is_close(offer: PricedChoice) -> bool:
    return not (offer.price[_NUMA_NODES] or offer.price[_PACKAGES])


def _spare(amounts: list[CellAmounts], need: CellAmounts, mask: tuple[int, ...]) -> int:
    """Return how much the cells hold in percent of what is asked for, added up."""
    return sum(
        100 * amounts[cell][i] // want for i, want in enumerate(need) if want for cell in mask
    )


def _need(node: NodeState, shape: Shape, fit: Fit) -> CellAmounts:
    """Return what the cells have to hold, less the free devices that are in no cell."""
    asked = (*(count for _, count in shape.devices), *(need.count for need in shape.shares))
    of_no_cell = _devices_in(node, shape, None)
    devices = (max(0, count - free) for count, free in zip(asked, of_no_cell, strict=True))
    cpus = shape.burst_cpus or shape.owned_cpus
    if fit.binds(shape) and not shape.burst_cpus:
        cpus = shape.pool_milli
    return (cpus, *shape.in_cells, *devices)


def _amounts(node: NodeState, shape: Shape, fit: Fit, cell: int) -> CellAmounts:
    """Return what one cell holds of what the pod asks for."""
    cpus = 0
    if shape.owned_cpus:
        cpus = sum(ownable_cpu_count_of_core_class(c, fit) for c in node.cores if c.cell == cell)
    has = node.cells[cell]
    if fit.binds(shape) and shape.pool is not None:
        if not has.pool(shape.pool).cpus:
            return (0,) * (1 + len(has.amounts) + len(shape.devices) + len(shape.shares))
        cpus = pool_milli_left(node, shape.pool)[cell]
    if shape.burst_cpus:
        cpus = has.shared.cpus
    return (cpus, *has.amounts, *_devices_in(node, shape, cell))


def _devices_in(node: NodeState, shape: Shape, cell: int | None) -> tuple[int, ...]:
    """Return how many devices of each kind asked for a cell has to give, or are in none."""
    return tuple(
        sum(
            count
            for bank in node.banks
            if bank.type == kind
            for count, home in zip(bank.free, bank.cells, strict=True)
            if home == cell
        )
        for kind, _ in shape.devices
    ) + tuple(fitting_device_count(node, need, cell) for need in shape.shares)


def _kind(node: NodeState, shape: Shape, fit: Fit, cell: int) -> Hashable:
    """Return a key that is equal for cells that are alike to the pod.

    A cell that has a device to give is like no other, because of links.
    """
    if any(_devices_in(node, shape, cell)):
        return cell
    runs_there = fit.binds(shape) or shape.burst_cpus
    if runs_there and any(cell in bound.cells for bound in node.bound):
        return cell
    cores = tuple(
        c._replace(cell=0, cache=None, efficient=False)
        for c in node.cores
        if c.cell == cell and shape.owned_cpus
    )
    has = node.cells[cell]
    pool = has.pool(shape.pool) if shape.pool and runs_there else None
    return (has.amounts, cores, pool)


def _offer(node: NodeState, shape: Shape, fit: Fit, cells: tuple[int, ...]) -> PricedChoice | None:
    """Return the best place on the cells, or None if they do not have enough."""
    offers = (
        _offer_of(node, shape, fit, cells, devices, cores)
        for devices in device_choices_sparing_switches(node, shape, fit.joint, cells)
        for cores in core_choices_for_locality_wish(node, shape, fit, cells, devices.cells)
    )
    return min((offer for offer in offers if offer), key=lambda offer: offer.price, default=None)


def _offer_of(
    node: NodeState,
    shape: Shape,
    fit: Fit,
    cells: tuple[int, ...],
    devices: DevicesChosenForPod,
    cores: tuple[CoreTake, ...],
) -> PricedChoice | None:
    """Return the best place on the cells with these devices and cores."""
    classes = zip(node.cores, cores, strict=True)
    used = {*devices.cells, *(c.cell for c, take in classes if take.whole or take.threads)}
    homes = burst_cells(node, shape, cells, used) if shape.burst_cpus else ()
    if homes is None:
        return None
    used.update(homes)
    amounts = _pick_amounts(node, shape, cells, used) if fit.by_cell else ()
    if amounts is None:
        return None
    aligned = fit.alignment is not AlignmentPolicy.NONE
    pool: tuple[tuple[tuple[int, ...], int], ...] = ()
    beside = 0
    if shape.burst_cpus:
        in_pool = [cell for cell in sorted(used) if node.cells[cell].shared.cpus]
        beside = len(used) - len(in_pool)
        if beside and fit.binds(shape):
            return None
        pool = ((tuple(in_pool), shape.pool_milli),)
    elif shape.pool is not None and fit.binds(shape):
        milli = _pick_amount(pool_milli_left(node, shape.pool), shape.pool_milli, cells, used)
        used.update(cell for cell, amount in enumerate(milli or ()) if amount)
        pool = ((tuple(sorted(used)), shape.pool_milli),) if used else ()
        if milli is None or not fits_beside_bound_pods(node, shape, pool):
            return None
    price = price_of_place(CandidatePlace(node, shape, fit, devices, cores, used, beside))
    return PricedChoice(
        price,
        Choice(
            node=NO_NODE,
            cores=cores,
            devices=devices.counts,
            pinned=amounts if aligned else (),
            shares=devices.shares,
            pool=pool,
            near=() if aligned else amounts,
        ),
    )


def _cells_of(node: NodeState, parts: AlignedContainersChoice) -> set[int]:
    """Return the cells of all that the pod holds."""
    classes = zip(node.cores, parts.cores, strict=True)
    used = {c.cell for c, take in classes if take.whole or take.threads}
    for row in parts.pinned:
        used.update(cell for cell, amount in enumerate(row) if amount)
    return used | parts.devices.cells


def _by_container(node: NodeState, shape: Shape, fit: Fit) -> PricedChoice | None:
    parts = place_aligned_containers(node, shape, fit)
    if parts is None:
        return None
    cells = _cells_of(node, parts)
    price = price_of_place(CandidatePlace(node, shape, fit, parts.devices, parts.cores, cells))
    return PricedChoice(
        price.but({ALIGNMENT: parts.beyond}),
        Choice(
            NO_NODE,
            parts.cores,
            parts.devices.counts,
            parts.pinned,
            containers=parts.containers,
            pool=pool_milli_of_containers_by_cell(fit.containers, parts.containers)
            if fit.binds(shape)
            else (),
        ),
    )


def _pick_amounts(
    node: NodeState, shape: Shape, cells: tuple[int, ...], used: set[int]
) -> tuple[CellAmounts, ...] | None:
    """Return what is taken of each dimension from each cell, or None if it is too much.

    The cells are added to ``used``.
    """
    found = []
    held = zip(*(cell.amounts for cell in node.cells), strict=True)
    for left, want in zip(held, shape.in_cells, strict=True):
        taken = _pick_amount(left, want, cells, used)
        if taken is None:
            return None
        used.update(cell for cell, amount in enumerate(taken) if amount)
        found.append(taken)
    return tuple(found)


def _pick_amount(
    left: tuple[int, ...], want: int, cells: tuple[int, ...], used: set[int]
) -> tuple[int, ...] | None:
    """Return the amount from each cell, or None: from cells in use first, then the tightest."""
    taken = [0] * len(left)

    def order(cell: int) -> tuple[bool, int, int]:
        return (cell not in used, left[cell] if left[cell] >= want else -left[cell], cell)

    rest = want
    for cell in sorted(cells, key=order):
        taken[cell] = min(rest, left[cell])
        rest -= taken[cell]
    return None if rest else tuple(taken)
