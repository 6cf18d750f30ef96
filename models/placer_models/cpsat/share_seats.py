"""The variables of shares of devices: which slot gives a share to whom."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.banks import DeviceBank
from placer_models.cpsat.expression import Expression
from placer_models.device_share import Amounts
from placer_models.problem import NodeState, Shape
from placer_models.shares import ShareTake


@dataclass(frozen=True, slots=True)
class SeatTake:
    """Shares of one device that the pods of an assignment have, for one of their needs.

    Attributes:
        take: Of which device, for which need.
        count: How many there are.
        amounts: What each takes of the device.

    """

    take: ShareTake
    count: IntVar
    amounts: Amounts


Opened = Mapping[tuple[int, int, int], IntVar]
"""(bank, twin class, slot) of a device that was free -> whether shares are on it."""


def takes_of(
    model: CpModel, node: NodeState, shape: Shape, most: int, name: str
) -> tuple[SeatTake, ...]:
    """Return a count for every slot that can meet a need of the shape."""
    return tuple(_takes(model, node, shape, most, name))


def _takes(
    model: CpModel, node: NodeState, shape: Shape, most: int, name: str
) -> Iterator[SeatTake]:
    for index, need in enumerate(shape.shares):
        for position, bank in enumerate(node.banks):
            if bank.type != need.type:
                continue
            for twin, slots in enumerate(bank.slots):
                for at, slot in enumerate(slots):
                    amounts = slot.takes(need.share, need.function)
                    if amounts is None:
                        continue
                    count = model.new_int_var(
                        0,
                        slot.room_for(need.share, most, need.function),
                        f"share{name[:-1]},{bank.type},{twin},{at},{index}]",
                    )
                    yield SeatTake(ShareTake(position, twin, at, index), count, amounts)


def opened_of(model: CpModel, node: NodeState, takes: Iterable[SeatTake]) -> Opened:
    """Return a literal for every free device on which shares can come, in order."""
    reached = sorted({(t.take.bank, t.take.twin, t.take.slot) for t in takes})
    return {
        (bank, twin, slot): model.new_bool_var(f"opened[{node.name},{bank},{twin},{slot}]")
        for bank, twin, slot in reached
        if node.banks[bank].is_free(twin, slot)
    }


def with_shares(whole: Expression, takes: Iterable[SeatTake], bank: int, twin: int) -> Expression:
    """Return the devices of a twin class that pods have, whole ones and parts together."""
    shares = [taken.count for taken in takes if taken.take[:2] == (bank, twin)]
    return whole + LinearExpr.sum(shares) if shares else whole


def opened_in(opened: Opened, bank: int, twin: int) -> list[IntVar]:
    """Return the literals of one twin class."""
    return [literal for (b, t, _), literal in opened.items() if (b, t) == (bank, twin)]


def share_room(node: NodeState, shape: Shape, most: int) -> int:
    """Return how many pods of the shape the slots could host, each need by itself."""
    for need in shape.shares:
        bank = node.bank(need.type)
        slots = [slot for members in bank.slots for slot in members] if bank else []
        # Of one pod at most one share is on a device.
        room = sum(slot.room_for(need.share, most, need.function) for slot in slots)
        most = min(most, room // need.least_on(bank.board)) if bank else 0
    return most


def reach_of(bank: DeviceBank, shape: Shape) -> tuple[int, ...]:
    """Return how many devices of each twin class a pod of the shape could have a part of."""
    needs = [need for need in shape.shares if need.type == bank.type]
    if not needs:
        return bank.free
    whole = shape.whole_of(bank.type) > 0
    return tuple(
        sum(
            (whole and bank.is_free(twin, at))
            or any(slot.takes(need.share, need.function) for need in needs)
            for at, slot in enumerate(slots)
        )
        for twin, slots in enumerate(bank.slots)
    )


def shared_by(
    model: CpModel, takes: Iterable[SeatTake], bank: int, name: str
) -> dict[int, list[IntVar]]:
    """Return for each twin class a literal for every device that gives any of the shares."""
    here: defaultdict[tuple[int, int], list[IntVar]] = defaultdict(list)
    for taken in takes:
        if taken.take.bank == bank:
            here[taken.take.twin, taken.take.slot].append(taken.count)
    shared: defaultdict[int, list[IntVar]] = defaultdict(list)
    for (twin, slot), counts in sorted(here.items(), key=lambda item: item[0]):
        literal = model.new_bool_var(f"shared:{name},{twin},{slot}")
        model.add(LinearExpr.sum(counts) >= literal)
        for count in counts:
            model.add(count == 0).only_enforce_if(~literal)
        shared[twin].append(literal)
    return shared
