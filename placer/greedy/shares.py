"""Shares of devices for a pod: from the devices of its choice, else the fullest that fit.

So free devices stay free, unless the pod would rather have them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple, TypeVar

from placer.greedy.inside import CandidatePlace, TierCosts
from placer_models.device import GPU, FunctionSelector, admits_virtual_function
from placer_models.device_share import (
    ShareAmounts,
    device_usage_millionths,
    share_amounts_left,
    whole_device_amounts,
)
from placer_models.goals import DEVICE_CHOICE
from placer_models.links.allowed import free_counts_within_scope, partitions_matter_for
from placer_models.links.permitted import best_permitted_devices
from placer_models.links.usable import total_devices_in_usable_sets
from placer_models.policy import DeviceChoicePolicy, SameTypeDevicesScope
from placer_models.problem.banks import (
    DeviceBank,
    DeviceChosenForShare,
    DeviceShareNeed,
    ShareableDevice,
)
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Shape
from placer_models.selectors import Labels

T = TypeVar("T")

Wish = tuple[int, DeviceShareNeed | None]
"""(Index of a need of the shape, the need); (-1, None) for a whole device."""


class DeviceShareCandidate(NamedTuple):
    """A device that could give a share. The smallest candidate is the best.

    Attributes:
        off: How much of it others use, in millionths, signed so that the pod's choice is least.
        opens: Whether no pod has a part of it yet.
        lost: Usable points that are lost if it is opened.
        left: What would be left of it, beginning with the quantities asked for.

    """

    off: int
    opens: bool
    lost: int
    left: ShareAmounts
    class_index: int
    device_index: int


_Owners = dict[tuple[int, int], tuple[int, DeviceShareCandidate]]
"""(class, device) -> the wish that it is given to, and what it is for that wish."""


def pick_whole_devices_and_shares(
    node: NodeState,
    shape: Shape,
    cells: Collection[int],
    position: int,
    together: tuple[int, ...] | None,
) -> tuple[tuple[int, ...], list[DeviceChosenForShare]] | None:
    """Return the whole devices of each class, and the shares, that the pod has of a bank.

    The answer is None if they do not fit, or if no permitted set of devices was found.

    Args:
        node: What is left on the node.
        shape: The shape of the pod.
        cells: Cells whose devices may be taken; devices of no cell always may.
        position: Index of the bank.
        together: How many of each equivalence class, as they stand beside others; None: any.

    """
    bank = node.banks[position]
    wishes = _wishes(shape, bank, together)
    kinds = {wish: sorted(_candidates(node, position, wish[1], cells)) for wish in wishes}
    for allowed in _allowed(bank, shape, list(kinds.values()), len(wishes), together):
        fitting = {wish: _of_classes(found, allowed) for wish, found in kinds.items()}
        met = _match([fitting[wish] for wish in wishes])
        if met is not None:
            return _parts(position, len(bank.cells), wishes, met)
    return None


def _parts(
    position: int, classes: int, wishes: Sequence[Wish], met: Sequence[DeviceShareCandidate]
) -> tuple[tuple[int, ...], list[DeviceChosenForShare]]:
    whole = [0] * classes
    takes = []
    for (index, need), candidate in zip(wishes, met, strict=True):
        if need is None:
            whole[candidate.class_index] += 1
        else:
            takes.append(
                DeviceChosenForShare(position, candidate.class_index, candidate.device_index, index)
            )
    return tuple(whole), takes


def _wishes(shape: Shape, bank: DeviceBank, together: tuple[int, ...] | None) -> list[Wish]:
    """Return what the pod wants of each of its devices of the bank, the hardest first.

    With a strategy there are as many as stand beside others, or the fewest that it may have.
    """
    shares = [
        (index, need)
        for index, need in enumerate(shape.shares)
        if need.type == bank.type
        for _ in range(sum(together) if need.strategy and together else need.least_on(bank.board))
    ]
    whole: list[Wish] = [(-1, None)] * shape.whole_of(bank.type)
    return [*whole, *sorted(shares, key=_hardness)]


def _allowed(
    bank: DeviceBank,
    shape: Shape,
    kinds: list[list[DeviceShareCandidate]],
    size: int,
    together: tuple[int, ...] | None,
) -> Iterator[tuple[int, ...]]:
    """Yield how many devices of each class the pod may have a part of, likeliest first."""
    if together is not None:
        yield together
        return
    able = [_counts_by_class(bank, found) for found in kinds]
    common = tuple(map(min, zip(*able, strict=True)))
    any_of = tuple(map(max, zip(*able, strict=True)))
    scope = shape.scope_of(bank.type)
    limited = partitions_matter_for(bank.board, size) or (
        size > 1 and scope is not SameTypeDevicesScope.NODE
    )
    if bank.type != GPU:
        yield from free_counts_within_scope(bank.board, size, any_of, scope)
        return
    if size > 1 or limited:
        for room in dict.fromkeys((common, any_of)):
            best = best_permitted_devices(bank.board, size, room, scope)
            if best is not None:
                yield best.counts
    if not limited or not bank.board.honored:
        yield from free_counts_within_scope(bank.board, size, any_of, scope)


def share_device_counts_by_class(
    node: NodeState, shape: Shape, cells: Collection[int], position: int
) -> tuple[int, ...]:
    """Return how many devices of each equivalence class could give the pod each of its shares."""
    bank = node.banks[position]
    able = [
        _counts_by_class(bank, _candidates(node, position, need, cells))
        for need in shape.shares
        if need.type == bank.type
    ]
    return tuple(map(min, zip(*able, strict=True)))


def _counts_by_class(bank: DeviceBank, found: Iterable[DeviceShareCandidate]) -> list[int]:
    """Return how many of the candidates are of each equivalence class."""
    counts = [0] * len(bank.cells)
    for candidate in found:
        counts[candidate.class_index] += 1
    return counts


def fitting_device_count(node: NodeState, need: DeviceShareNeed, cell: int | None) -> int:
    """Return how many devices of a cell could give a share, each by itself."""
    return sum(
        sum(device.takes(need.share, need.function) is not None for device in members)
        for bank in node.banks
        if bank.type == need.type
        for home, members in zip(bank.cells, bank.shareable, strict=False)
        if home == cell
    )


class DeviceShareNotLeftError(ValueError):
    """A share is taken that a device has not left after those before it.

    Pods that take virtual functions one after the other may each take one that the next one needs,
    though there is one for each of them if all are matched together, as a model does.
    """


def banks_after_shares(
    banks: Sequence[DeviceBank], shape: Shape, takes: Sequence[DeviceChosenForShare]
) -> tuple[DeviceBank, ...]:
    """Return the banks once the shares are taken.

    Raises:
        DeviceShareNotLeftError: One of them is not there any more.

    """
    left = list(banks)
    for position, class_index, at, need in takes:
        bank, wanted = left[position], shape.shares[need]
        device = bank.shareable[class_index][at]
        amounts = device.takes(wanted.share, wanted.function)
        if amounts is None:
            raise DeviceShareNotLeftError(bank.type)
        after = device._replace(
            left=share_amounts_left(device.left, amounts),
            functions=_after_function(device, wanted.function),
            shared=True,
        )
        left[position] = replace(
            bank,
            free=_with(bank.free, class_index, bank.free[class_index] - (not device.shared)),
            shareable=_with(
                bank.shareable, class_index, _with(bank.shareable[class_index], at, after)
            ),
        )
    return tuple(left)


def _with(items: tuple[T, ...], at: int, item: T) -> tuple[T, ...]:
    return (*items[:at], item, *items[at + 1 :])


def _after_function(
    device: ShareableDevice, wanted: FunctionSelector | None
) -> tuple[tuple[Labels, int], ...]:
    """Return the virtual functions left: one fewer of the fitting kind that has the most."""
    if wanted is None:
        return device.functions
    fitting = [
        (count, labels)
        for labels, count in device.functions
        if admits_virtual_function(wanted, labels)
    ]
    _, given = max(fitting)
    return tuple((labels, count - (labels == given)) for labels, count in device.functions)


def _hardness(asked: tuple[int, DeviceShareNeed]) -> tuple[int, ...]:
    index, need = asked
    share = need.share
    return (
        -(share.memory_bytes or 0),
        -(share.memory_percent or 0),
        -(share.percent or 0),
        *(-quantity.amount for quantity in share.capacity),
        index,
    )


def _candidates(
    node: NodeState, position: int, need: DeviceShareNeed | None, cells: Collection[int]
) -> Iterator[DeviceShareCandidate]:
    """Yield the devices that could give the need a share, or be given whole if it is None."""
    bank = node.banks[position]
    for class_index, (members, cell) in enumerate(zip(bank.shareable, bank.cells, strict=False)):
        if cell is not None and cell not in cells:
            continue
        lost = _lost(bank, class_index)
        free = free_device_positions(members, bank.free[class_index])
        for at, device in enumerate(members):
            if not device.shared and at not in free:
                continue
            if need is None:
                if not device.shared:
                    yield DeviceShareCandidate(0, True, lost, (), class_index, at)
            elif (amounts := device.takes(need.share, need.function)) is not None:
                rest, opens = share_amounts_left(device.left, amounts), not device.shared
                if not all(amounts):
                    rest = (*compress(rest, amounts), *rest)
                off = _use(device, amounts, need.choice)
                yield DeviceShareCandidate(off, opens, lost if opens else 0, rest, class_index, at)


def free_device_positions(members: Sequence[ShareableDevice], free: int) -> Sequence[int]:
    """Return the positions of the devices of a class of which nobody has a part.

    Pods that were given whole devices have the first of those that are alike, as they get them
    one after the other.

    Args:
        members: The devices of the class that can take shares.
        free: How many of them nobody has.

    """
    unopened = [at for at, device in enumerate(members) if not device.shared]
    given = len(unopened) - free
    if given > 0 and all(members[at] == members[unopened[0]] for at in unopened):
        return unopened[given:]
    return unopened[:free]


def _use(device: ShareableDevice, asked: ShareAmounts, choice: DeviceChoicePolicy | None) -> int:
    """Return the use of a device in millionths, signed so that less is better for the pod."""
    if choice is None:
        return 0
    has = whole_device_amounts(device.totals)
    used = device_usage_millionths(share_amounts_left(has, device.left), has, asked)
    return used if choice is DeviceChoicePolicy.LEAST_USED else -used


def _off_the_choice(place: CandidatePlace) -> int:
    """Return how far devices are off what the pod would choose if it came last."""
    node, shape, takes = place.node, place.shape, place.devices.shares
    off = 0
    for take in takes:
        need = shape.shares[take.need]
        if need.choice is None:
            continue
        mine = {
            (other.class_index, other.device_index) for other in takes if other.bank == take.bank
        }
        everywhere = {cell for cell in node.banks[take.bank].cells if cell is not None}
        found = {
            (candidate.class_index, candidate.device_index): candidate.off
            for candidate in _candidates(node, take.bank, need, everywhere)
        }
        here = found.get((take.class_index, take.device_index), 0)
        off += max(0, here - min((o for at, o in found.items() if at not in mine), default=here))
    return off


def _lost(bank: DeviceBank, class_index: int) -> int:
    """Return how many usable points are lost with one device of the class."""
    free = bank.free
    if bank.type != GPU or not free[class_index]:
        return 0
    left = _with(free, class_index, free[class_index] - 1)
    return total_devices_in_usable_sets(bank.board, free) - total_devices_in_usable_sets(
        bank.board, left
    )


def _of_classes(
    found: list[DeviceShareCandidate], counts: tuple[int, ...]
) -> list[DeviceShareCandidate]:
    """Return the best candidates of each equivalence class, as many as ``counts`` says."""
    kept: list[DeviceShareCandidate] = []
    for class_index, count in enumerate(counts):
        kept += [candidate for candidate in found if candidate.class_index == class_index][:count]
    return sorted(kept)


def _match(wishes: Sequence[Sequence[DeviceShareCandidate]]) -> list[DeviceShareCandidate] | None:
    """Return a device of its own for each wish, best ones first, or None if there is no way."""
    owners: _Owners = {}
    if not all(_settle(wish, wishes, owners, set()) for wish in range(len(wishes))):
        return None
    given = dict(owners.values())
    return [given[wish] for wish in range(len(wishes))]


def _settle(
    wish: int,
    wishes: Sequence[Sequence[DeviceShareCandidate]],
    owners: _Owners,
    seen: set[tuple[int, int]],
) -> bool:
    """Give a wish a device, if need be one whose owner can have another; return if it has one."""
    for candidate in wishes[wish]:
        key = candidate.class_index, candidate.device_index
        if key in seen:
            continue
        seen.add(key)
        if key not in owners or _settle(owners[key][0], wishes, owners, seen):
            owners[key] = wish, candidate
            return True
    return False


COSTS: TierCosts = {DEVICE_CHOICE: _off_the_choice}
