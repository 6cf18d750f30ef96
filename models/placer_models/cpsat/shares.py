"""Rules about shares of devices (D3, D5)."""

from collections import defaultdict
from itertools import pairwise
from math import gcd

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.cpsat.share_seats import SeatTake
from placer_models.device import GPU
from placer_models.problem import Problem


def a_pod_has_the_shares_it_asks_for(model: CpModel, problem: Problem, x: Variables) -> None:
    """Every need is met on as many devices as it asks for, unless a strategy says on how many."""
    for assignment in x.assignments:
        for index, need in enumerate(assignment.shape.shares):
            if need.strategy is not None:
                continue
            met = [take.count for take in assignment.takes if take.take.need == index]
            model.add(LinearExpr.sum(met) == need.count * assignment.count)


def shares_of_a_pod_are_on_different_devices(
    model: CpModel, problem: Problem, x: Variables
) -> None:
    """A pod has one share of a device at most; pods with one share each are counted."""
    for assignment in x.assignments:
        if len(assignment.shape.shares) > 1:
            here: defaultdict[tuple[int, int, int], list[IntVar]] = defaultdict(list)
            for take in assignment.takes:
                here[_device(take)].append(take.count)
            for counts in here.values():
                model.add(LinearExpr.sum(counts) <= assignment.count)


def shares_fit_their_device(model: CpModel, problem: Problem, x: Variables) -> None:
    """The shares of a device take no more than is left of it."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        here: defaultdict[tuple[int, int, int], list[SeatTake]] = defaultdict(list)
        for assignment in assignments:
            for take in assignment.takes:
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


def a_device_with_shares_is_opened(model: CpModel, problem: Problem, x: Variables) -> None:
    """A free device of which a pod has a share is no free device any more."""
    for assignment in x.assignments:
        node = problem.nodes[assignment.node]
        for take in assignment.takes:
            opened = x.opened[assignment.node].get(_device(take))
            if opened is not None:
                bank, twin, at = _device(take)
                need = assignment.shape.shares[take.take.need]
                slot = node.banks[bank].slots[twin][at]
                most = slot.room_for(need.share, assignment.most, need.function)
                model.add(take.count <= most * opened)


def gpus_in_part_are_a_set_too(model: CpModel, problem: Problem, x: Variables) -> None:
    """The GPUs that a pod has a part of, and its whole ones, are the set that it picks."""
    for assignment in x.assignments:
        if assignment.picks and any(need.type == GPU for need in assignment.shape.shares):
            banks = problem.nodes[assignment.node].banks
            at = next(index for index, bank in enumerate(banks) if bank.type == GPU)
            for twin in range(len(banks[at].free)):
                picked = [literal * picks.counts[twin] for picks, literal in assignment.picks]
                model.add(LinearExpr.sum(picked) == assignment.touched(at, twin))


def devices_are_opened_in_order(model: CpModel, problem: Problem, x: Variables) -> None:
    """Of the free devices of a twin class the first are shared; they are all alike."""
    for opened in x.opened:
        for earlier, later in pairwise(opened):
            if earlier[:2] == later[:2]:
                model.add(opened[earlier] >= opened[later])


def _device(take: SeatTake) -> tuple[int, int, int]:
    return take.take.bank, take.take.twin, take.take.slot
