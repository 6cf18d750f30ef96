"""Containers that are each aligned by themselves, and a place for their pod (C12).

Containers are placed one after the other, each on a set of cells that holds what it asks
for. What they have from each cell then decides the cores and devices of the pod.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import sub
from typing import NamedTuple

from placer.greedy.bound import fits_beside_bound_pods, pool_milli_left
from placer.greedy.cores import NO_CORES, choose_core_class_counts, ownable_cpu_count_of_core_class
from placer.greedy.devices import linked_set_of_bank, pick_devices
from placer.greedy.inside import DevicesChosenForPod
from placer.greedy.masks import cell_set_sizes, cell_sets_holding
from placer_models.device import GPU
from placer_models.links.best import best_device_set_among_free
from placer_models.links.board import LinkedDeviceSetCounts
from placer_models.policy import AlignmentPolicy
from placer_models.problem.dimensions import Amounts
from placer_models.problem.fits import ContainerFit, pool_milli_of_containers_by_cell
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import CoreTake, Fit, Shape

Rows = list[list[int]]
"""For each good, the amount in each cell, and last the amount in no cell."""


class AlignedContainersChoice(NamedTuple):
    """A place for a pod and its containers.

    Attributes:
        pinned: As in ``Choice``.
        containers: As in ``Choice``.
        beyond: Cells that containers under BestEffort use beyond the fewest.

    """

    cores: tuple[CoreTake, ...]
    pinned: tuple[Amounts, ...]
    devices: DevicesChosenForPod
    containers: tuple[tuple[tuple[int, ...], ...], ...]
    beyond: int


def place_aligned_containers(
    node: NodeState, shape: Shape, fit: Fit
) -> AlignedContainersChoice | None:
    """Return a place in which every container keeps its policy, or None if none was found."""
    everywhere = tuple(range(len(node.cells)))
    picked: DevicesChosenForPod | None = None
    banks = node.banks
    # If devices depend on one another, the devices of the whole pod are picked first.
    if fit.joint or shape.scopes or any(bank.cuts or bank.board.honored for bank in banks):
        picked = pick_devices(node, shape, fit.joint, everywhere)
        if picked is None:
            return None
    left = _supply(node, shape, fit, [b.free for b in banks] if picked is None else picked.counts)
    lasting = [i for i, container in enumerate(fit.containers) if container.lasts]
    largest = sorted(lasting, key=lambda i: fit.containers[i].need, reverse=True)
    for order in (largest, lasting, lasting[::-1]):
        dealt = _deal(node, shape, fit, order, left)
        if dealt is None:
            continue
        held, parts = dealt
        if fit.binds(shape) and not fits_beside_bound_pods(
            node, shape, pool_milli_of_containers_by_cell(fit.containers, parts)
        ):
            continue
        found = _inside(node, shape, fit, held, picked)
        if found is not None:
            cores, devices = found
            return AlignedContainersChoice(
                cores,
                tuple(tuple(row[:-1]) for row in held[1 : 1 + shape.of_cells]),
                devices,
                tuple(tuple(map(tuple, part)) for part in parts),
                _beyond(fit, parts),
            )
    return None


def _supply(node: NodeState, shape: Shape, fit: Fit, free: Sequence[tuple[int, ...]]) -> Rows:
    cells = len(node.cells)
    cpus = [0] * (cells + 1)
    if shape.owned_cpus:
        for c in node.cores:
            cpus[c.cell] += ownable_cpu_count_of_core_class(c, fit)
    if shape.pool is not None and fit.binds(shape):
        cpus = [*pool_milli_left(node, shape.pool), 0]
    goods = zip(*(cell.amounts for cell in node.cells), strict=True)
    rows = [cpus, *([*good, 0] for good in goods)]
    for kind, _ in shape.devices:
        devices = [0] * (cells + 1)
        for bank, counts in zip(node.banks, free, strict=True):
            for cell, count in zip(bank.cells, counts, strict=True):
                if bank.type == kind:
                    devices[-1 if cell is None else cell] += count
        rows.append(devices)
    if shape.pool is not None and fit.binds(shape):
        # A bound pod has nothing of a cell without a CPU of its pool.
        has = [bool(cell.pool(shape.pool).cpus) for cell in node.cells]
        return [[n if i == cells or has[i] else 0 for i, n in enumerate(row)] for row in rows]
    return rows


def _deal(
    node: NodeState, shape: Shape, fit: Fit, order: Sequence[int], supply: Rows
) -> tuple[Rows, list[Rows]] | None:
    """Return what the pod holds and each container has of it, or None if one finds no place."""
    cpus = shape.pool_milli if fit.binds(shape) else shape.owned_cpus
    total = (cpus, *shape.in_cells, *(n for _, n in shape.devices))
    left = [list(row) for row in supply]
    held = [[0] * len(row) for row in supply]
    parts: list[Rows] = [[] for _ in fit.containers]
    inits = [i for i, container in enumerate(fit.containers) if not container.lasts]
    for i in (*order, *inits):
        container = fit.containers[i]
        again = [[0] * len(row) for row in held]
        if not container.lasts:
            again = [list(row) for row in held]
            for sidecar in container.beside:
                again = [list(map(sub, a, b)) for a, b in zip(again, parts[sidecar], strict=True)]
        spare = [most - sum(row) for most, row in zip(total, held, strict=True)]
        found = _part(node, container, left, again, spare)
        if found is None:
            return None
        parts[i], more = found
        held = [list(map(sum, zip(a, b, strict=True))) for a, b in zip(held, more, strict=True)]
        left = [list(map(sub, a, b)) for a, b in zip(left, more, strict=True)]
    for good, most in enumerate(total):  # what no container has, such as a rest of memory
        for place, amount in enumerate(left[good]):
            taken = min(amount, most - sum(held[good]))
            held[good][place] += taken
    return held, parts


def _part(
    node: NodeState,
    container: ContainerFit,
    left: Rows,
    again: Rows,
    spare: Sequence[int],
) -> tuple[Rows, Rows] | None:
    """Return what the container has and how much more the pod then holds, or None."""
    cells = range(len(node.cells))
    in_no_cell = [a[-1] + f[-1] for a, f in zip(again, left, strict=True)]
    need = tuple(max(0, n - f) for n, f in zip(container.need, in_no_cell, strict=True))
    amounts = [tuple(a[cell] + f[cell] for a, f in zip(again, left, strict=True)) for cell in cells]
    for size in cell_set_sizes(node, container.cell_limit, need, amounts):
        for mask in cell_sets_holding(amounts, need, size, cells):
            found = _pour(container.need, mask, left, again, spare)
            if found is not None:
                return found
    return None


def _pour(
    need: Sequence[int], mask: Sequence[int], left: Rows, again: Rows, spare: Sequence[int]
) -> tuple[Rows, Rows] | None:
    """Take each good from the mask: first what the pod may use again, then more of it."""
    part, more = [], []
    for want, free, held, room in zip(need, left, again, spare, strict=True):
        places = [*mask, len(free) - 1]
        mine, fresh = [0] * len(free), [0] * len(free)
        for place in places:
            mine[place] = min(want, held[place])
            want -= mine[place]
        for place in sorted(places, key=lambda at: (at < len(free) - 1, -free[at])):
            fresh[place] = min(want, free[place])
            want -= fresh[place]
        if want or sum(fresh) > room:
            return None
        part.append(list(map(sum, zip(mine, fresh, strict=True))))
        more.append(fresh)
    return part, more


def _inside(
    node: NodeState, shape: Shape, fit: Fit, held: Rows, picked: DevicesChosenForPod | None
) -> tuple[tuple[CoreTake, ...], DevicesChosenForPod] | None:
    """Return cores and devices, as many in each cell as the pod holds there, or None."""
    cores = [NO_CORES] * len(node.cores)
    for cell, cpus in enumerate(held[0][:-1]):
        if cpus and shape.owned_cpus:
            takes = choose_core_class_counts(
                node, replace(shape, owned_cpus=cpus), fit, (cell,), ()
            )
            if takes is None:
                return None
            cores = [b if a is NO_CORES else a for a, b in zip(cores, takes, strict=True)]
    if picked is not None:
        return tuple(cores), picked
    counts = [(0,) * len(bank.free) for bank in node.banks]
    gpus: LinkedDeviceSetCounts | None = None
    wants = zip(shape.devices, held[1 + shape.of_cells :], strict=True)
    for (kind, _), places in wants:
        position = next(i for i, b in enumerate(node.banks) if b.type == kind)
        bank = node.banks[position]
        for cell, want in enumerate(places):
            if not want:
                continue
            home = None if cell == len(places) - 1 else cell
            here = tuple(
                n if at == home else 0 for n, at in zip(bank.free, bank.cells, strict=True)
            )
            found = best_device_set_among_free(bank.board, want, here)
            if found is None:
                return None
            counts[position] = tuple(
                a + b for a, b in zip(counts[position], found.counts, strict=True)
            )
        if kind == GPU:
            gpus = linked_set_of_bank(bank, counts[position])
    used = frozenset(
        cell
        for bank, taken in zip(node.banks, counts, strict=True)
        for cell, n in zip(bank.cells, taken, strict=True)
        if n and cell is not None
    )
    return tuple(cores), DevicesChosenForPod(tuple(counts), gpus, used)


def _beyond(fit: Fit, parts: Sequence[Rows]) -> int:
    beyond = 0
    for container, rows in zip(fit.containers, parts, strict=True):
        if container.alignment is AlignmentPolicy.BEST_EFFORT:
            used = sum(any(amounts) for amounts in zip(*(row[:-1] for row in rows), strict=True))
            beyond += used - container.fewest_cells
    return beyond
