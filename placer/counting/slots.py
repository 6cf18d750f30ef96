"""Which devices of a node can take shares, in the order in which a solver counts them."""

from collections import Counter
from collections.abc import Collection, Iterable

from placer.counting.account import Account
from placer_models.device import Device, Labels
from placer_models.device_share import room, totals_of
from placer_models.links import Board
from placer_models.shares import Slot


def slots_of(
    account: Account,
    device_type: str,
    board: Board,
    opened: Collection[int] = (),
    *,
    functions: bool = False,
) -> tuple[tuple[tuple[int, Slot], ...], ...]:
    """Return for each twin class the devices that can take shares, each with its minor.

    Devices that are shared already come first, the fullest before the others; then those
    that nobody has a part of.

    Args:
        account: What is left on the node.
        device_type: The type.
        board: The board of the type.
        opened: Minors that come first of those that nobody has a part of.
        functions: Whether virtual functions are counted too.

    """
    totals = {d.minor: totals_of(d) for d in account.devices if d.type == device_type}
    ready = {
        d.minor: free_functions(account, d) if functions else ()
        for d in account.devices
        if d.type == device_type
    }

    def of(minors: Iterable[int]) -> tuple[tuple[int, Slot], ...]:
        shared, free = [], []
        for minor in minors:
            total = totals[minor]
            if (device_type, minor) in account.free_devices:
                free.append((minor, Slot(room(total), total, ready[minor])))
            elif left := account.shared_devices.get((device_type, minor)):
                shared.append((minor, Slot(left, total, ready[minor], shared=True)))
        shared.sort(key=lambda item: (item[1].left, item[0]))
        free.sort(key=lambda item: (item[0] not in opened, item[0]))
        return (*shared, *free)

    return tuple(of(minors) for minors in board.classes)


def free_functions(account: Account, device: Device) -> tuple[tuple[Labels, int], ...]:
    """Return labels -> how many virtual functions with them nobody holds."""
    free = Counter(
        function.labels
        for function in device.virtual_functions
        if (device.type, device.minor, function.minor) not in account.held_functions
    )
    return tuple(sorted(free.items()))
