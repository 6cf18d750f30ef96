"""Devices of several types side by side, in counts of equivalence classes (D9)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, product

from placer.greedy.inside import TierCosts
from placer.greedy.masks import cell_sets_holding
from placer_models.alignment import fewest_cell_count_for_all_resources
from placer_models.device import GPU
from placer_models.goals import JOINT
from placer_models.links.allowed import (
    allowed_device_sets,
    count_offered_device_sets,
    free_counts_within_scope,
    is_set_in_partition_table,
)
from placer_models.links.board import LinkedDeviceClasses
from placer_models.links.permitted import best_permitted_devices
from placer_models.policy import SameTypeDevicesScope
from placer_models.problem.fits import JointDevicesFit

MOST_LOOKED_AT = 2_000
"""How many sets of the leading type are looked through for one pod, at most."""

MOST_MASKS = 128
"""How many sets of groups of one size are tried if there are more sets of devices than that."""

_Counts = tuple[int, ...]
"""One count per equivalence class."""

Taken = Mapping[str, _Counts]
"""Device type -> what is taken of each equivalence class."""


def pick_joint_devices(
    wish: JointDevicesFit, boards: Mapping[str, LinkedDeviceClasses], free: Mapping[str, _Counts]
) -> Taken | None:
    """Return devices of all types of the wish, or None if no permitted ones were found.

    GPUs lead, best links first, and the others follow them. The first choice without a group
    that lacks a type is taken, else the one with the fewest such groups. A choice is always
    found if one exists, unless there are very many sets, or more than two types.

    Args:
        wish: What is wanted side by side.
        boards: Device type -> its board.
        free: Device type -> what may be taken of each equivalence class.

    """
    if wish.beside:
        free = _within_reach(wish, free)
        if not _enough(wish, free):
            return None
    names = [kind for kind, _ in wish.types]
    lead = names.index(GPU) if GPU in names else 0
    best: tuple[int, Taken] | None = None
    for counts in _sets(wish, lead, boards[names[lead]], free):
        taken = _followed(wish, lead, counts, free)
        if taken is None or not _allowed(wish, taken):
            continue
        price = joint_device_split_excess_of_pod(wish, taken)
        if best is None or price < best[0]:
            best = (price, taken)
        if wish.beside or not price:
            break
    return best and best[1]


def pick_devices_in_scopes(
    wish: JointDevicesFit,
    boards: Mapping[str, LinkedDeviceClasses],
    free: Mapping[str, _Counts],
    scopes: Mapping[str, SameTypeDevicesScope],
) -> Taken | None:
    """Return the same with each type within its scope, after trying all choices of places.

    Args:
        wish: What is wanted side by side.
        boards: Device type -> its board.
        free: Device type -> what may be taken of each equivalence class.
        scopes: Device type -> the scope of all its devices, if it has one.

    """
    options = [
        list(
            free_counts_within_scope(
                boards[kind], size, free[kind], scopes.get(kind, SameTypeDevicesScope.NODE)
            )
        )
        for kind, size in wish.types
    ]
    best: tuple[int, Taken] | None = None
    for places in product(*options):
        inside = {kind: room for (kind, _), room in zip(wish.types, places, strict=True)}
        taken = pick_joint_devices(wish, boards, {**free, **inside})
        if taken is not None:
            price = joint_device_split_excess_of_pod(wish, taken)
            if best is None or price < best[0]:
                best = (price, taken)
    return best and best[1]


def joint_device_split_excess_of_pod(wish: JointDevicesFit, taken: Taken) -> int:
    """Return what tier ``joint`` counts, which is 0 if the wish is required."""
    if wish.beside:
        return 0
    given, nowhere = _given(wish, taken)
    return nowhere + sum(len(types) < len(wish.types) for types in given.values())


def _within_reach(wish: JointDevicesFit, free: Taken) -> Taken:
    """Return what is free without the devices that no choice can have: they would be alone."""
    left = dict(free)
    while True:
        before = dict(left)
        for one, other in wish.beside:
            (kind, _), (beside, _) = wish.types[one], wish.types[other]
            groups = {
                group for group, n in zip(wish.groups[other], left[beside], strict=True) if n
            } - {None}
            left[kind] = tuple(
                n if group in groups else 0
                for group, n in zip(wish.groups[one], left[kind], strict=True)
            )
        if left == before:
            return left


def _enough(wish: JointDevicesFit, free: Taken) -> bool:
    """Return whether a choice may exist: exactly, if every group has to give all types."""
    counted = [i for i in range(len(wish.types)) if i not in wish.each]
    need = tuple(wish.types[i][1] for i in counted)
    if any(sum(free[kind]) < count for kind, count in wish.types):
        return False
    if len(wish.beside) < 2 * (len(wish.types) - 1):
        return True
    held = _by_group(wish, free).values()
    fewest = fewest_cell_count_for_all_resources(
        [tuple(of_group[i] for i in counted) for of_group in held], need
    )
    return fewest is not None and fewest <= min(need)


def _by_group(wish: JointDevicesFit, free: Taken) -> dict[int, list[int]]:
    """Return group -> how many devices of each type are free there."""
    held: defaultdict[int, list[int]] = defaultdict(lambda: [0] * len(wish.types))
    for i, ((kind, _), groups) in enumerate(zip(wish.types, wish.groups, strict=True)):
        for group, count in zip(groups, free[kind], strict=True):
            if group is not None:
                held[group][i] += count
    return held


def _allowed(wish: JointDevicesFit, taken: Taken) -> bool:
    given, nowhere = _given(wish, taken)
    if not wish.beside:
        return True
    return not nowhere and all(
        other in types for types in given.values() for one, other in wish.beside if one in types
    )


def _given(wish: JointDevicesFit, taken: Taken) -> tuple[dict[int, set[int]], int]:
    """Return group -> indices of the types that it gives; then how many are in no group."""
    given: defaultdict[int, set[int]] = defaultdict(set)
    nowhere = 0
    for i, ((kind, _), groups) in enumerate(zip(wish.types, wish.groups, strict=True)):
        for group, count in zip(groups, taken[kind], strict=True):
            if group is None:
                nowhere += count
            elif count:
                given[group].add(i)
    return given, nowhere


def _sets(
    wish: JointDevicesFit, lead: int, board: LinkedDeviceClasses, free: Mapping[str, _Counts]
) -> Iterator[_Counts]:
    """Yield sets of the leading type, the likeliest first."""
    kind, size = wish.types[lead]
    mine = free[kind]
    best = best_permitted_devices(board, size, mine)
    first = [best.counts] if best else []
    if count_offered_device_sets(board, size, mine) <= MOST_LOOKED_AT:
        return chain(
            first, (selection.counts for selection in allowed_device_sets(board, size, mine))
        )
    others = _by_groups(wish, lead, board, free)
    return chain(
        first, (c for c in others if not board.honored or is_set_in_partition_table(board, c))
    )


def _by_groups(
    wish: JointDevicesFit, lead: int, board: LinkedDeviceClasses, free: Mapping[str, _Counts]
) -> Iterator[_Counts]:
    """Yield sets out of few groups that hold all types, without looking at every set."""
    held = _by_group(wish, free)
    names = sorted(group for group, amounts in held.items() if all(amounts))
    need = tuple(count for _, count in wish.types)
    kind, size = wish.types[lead]
    for width in range(1, min(max(need), len(names)) + 1):
        found = cell_sets_holding([tuple(held[g]) for g in names], need, width, names)
        for _, mask in zip(range(MOST_MASKS), found, strict=False):
            inside = {names[i] for i in mask}
            within = tuple(
                count if group in inside else 0
                for group, count in zip(wish.groups[lead], free[kind], strict=True)
            )
            best = best_permitted_devices(board, size, within)
            if best is not None:
                yield best.counts
            yield _covering(wish.groups[lead], within, size)


def _followed(
    wish: JointDevicesFit, lead: int, counts: _Counts, free: Mapping[str, _Counts]
) -> Taken | None:
    """Return the set of the leading type with sets of the others, as near as can be, or None."""
    taken = {wish.types[lead][0]: counts}
    near = {
        group
        for group, count in zip(wish.groups[lead], counts, strict=True)
        if count and group is not None
    }
    for i, (kind, size) in enumerate(wish.types):
        if i != lead and sum(free[kind]) < size:
            return None
        if i != lead and i not in wish.each:
            taken[kind] = _covering(wish.groups[i], free[kind], size, near)
    first = taken[wish.types[0][0]]
    giving = {group for group, count in zip(wish.groups[0], first, strict=True) if count}
    for i in wish.each:
        kind, _ = wish.types[i]
        taken[kind] = _one_each(wish.groups[i], free[kind], giving - {None})
    return taken


def _one_each(groups: tuple[int | None, ...], free: _Counts, near: set[int | None]) -> _Counts:
    """Take one device of each near group, or one of another group if none of these has any."""
    taken = [0] * len(free)
    left = set(near)
    for i, (group, count) in enumerate(zip(groups, free, strict=True)):
        if count and group in left:
            left.remove(group)
            taken[i] = 1
    if not any(taken):
        taken[next(i for i, count in enumerate(free) if count)] = 1
    return tuple(taken)


def _covering(
    groups: tuple[int | None, ...], free: _Counts, size: int, near: set[int] | None = None
) -> _Counts:
    """Take one of each group to cover, then more of these, then of as few others as possible.

    Args:
        groups: The group of each equivalence class.
        free: What may be taken, which is enough.
        size: How many to take.
        near: Groups to cover; None: all.

    """
    taken = [0] * len(free)
    room: defaultdict[int | None, int] = defaultdict(int)
    for group, count in zip(groups, free, strict=True):
        room[group] += count
    covered: set[int | None] = set()
    left = size
    for i, (group, count) in enumerate(zip(groups, free, strict=True)):
        wanted = group is not None and (near is None or group in near)
        if left and count and wanted and group not in covered:
            covered.add(group)
            taken[i] = 1
            left -= 1

    def order(i: int) -> tuple[bool, bool, int, int]:
        group = groups[i]
        return (group not in covered, group is None, -room[group], -1 if group is None else group)

    for i in sorted(range(len(free)), key=order):
        more = min(left, free[i] - taken[i])
        taken[i] += more
        left -= more
    return tuple(taken)


COSTS: TierCosts = {JOINT: lambda place: place.devices.apart}
