"""Rules about shares of devices (D3, D5)."""

from collections import defaultdict
from itertools import pairwise
from math import gcd

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.share_seats import SeatTake
from placer_models.cpsat.variables import Decisions
from placer_models.device import GPU
from placer_models.problem import Problem


def a_pod_has_the_shares_it_asks_for(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Every need is met on as many devices as it asks for, unless a strategy says on how many."""
    for seat in x.seats:
        for index, need in enumerate(seat.shape.shares):
            if need.strategy is not None:
                continue
            met = [take.count for take in seat.takes if take.take.need == index]
            model.add(LinearExpr.sum(met) == need.count * seat.count)


def shares_of_a_pod_are_on_different_devices(
    model: CpModel, problem: Problem, x: Decisions
) -> None:
    """A pod has one share of a device at most; pods with one share each are counted."""
    for seat in x.seats:
        if len(seat.shape.shares) > 1:
            here: defaultdict[tuple[int, int, int], list[IntVar]] = defaultdict(list)
            for take in seat.takes:
                here[_device(take)].append(take.count)
            for counts in here.values():
                model.add(LinearExpr.sum(counts) <= seat.count)


def shares_fit_their_device(model: CpModel, problem: Problem, x: Decisions) -> None:
    """The shares of a device take no more than is left of it."""
    for node, seats in zip(problem.nodes, x.on_node, strict=True):
        here: defaultdict[tuple[int, int, int], list[SeatTake]] = defaultdict(list)
        for seat in seats:
            for take in seat.takes:
                here[_device(take)].append(take)
        for (bank, twin, at), takes in here.items():
            slot = node.banks[bank].slots[twin][at]
            counts = [take.count for take in takes]
            amounts = zip(*(take.amounts for take in takes), strict=True)
            for left, wanted in zip(slot.left, amounts, strict=True):
                # In the largest unit of all that is wanted, so that no sum leaves 64 bits.
                if unit := gcd(*wanted):
                    asked = [amount // unit for amount in wanted]
                    model.add(LinearExpr.weighted_sum(counts, asked) <= left // unit)


def a_device_with_shares_is_opened(model: CpModel, problem: Problem, x: Decisions) -> None:
    """A free device of which a pod has a share is no free device any more."""
    for seat in x.seats:
        node = problem.nodes[seat.node]
        for take in seat.takes:
            opened = x.opened[seat.node].get(_device(take))
            if opened is not None:
                bank, twin, at = _device(take)
                need = seat.shape.shares[take.take.need]
                slot = node.banks[bank].slots[twin][at]
                most = slot.room_for(need.share, seat.most, need.function)
                model.add(take.count <= most * opened)


def gpus_in_part_are_a_set_too(model: CpModel, problem: Problem, x: Decisions) -> None:
    """The GPUs that a pod has a part of, and its whole ones, are the set that it picks."""
    for seat in x.seats:
        if seat.picks and any(need.type == GPU for need in seat.shape.shares):
            banks = problem.nodes[seat.node].banks
            at = next(index for index, bank in enumerate(banks) if bank.type == GPU)
            for twin in range(len(banks[at].free)):
                picked = [literal * picks.counts[twin] for picks, literal in seat.picks]
                model.add(LinearExpr.sum(picked) == seat.touched(at, twin))


def devices_are_opened_in_order(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Of the free devices of a twin class the first are shared; they are all alike."""
    for opened in x.opened:
        for earlier, later in pairwise(opened):
            if earlier[:2] == later[:2]:
                model.add(opened[earlier] >= opened[later])


def _device(take: SeatTake) -> tuple[int, int, int]:
    return take.take.bank, take.take.twin, take.take.slot
