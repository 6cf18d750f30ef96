"""Shares of devices: which device gives a share to which pods (D3, D5)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, PlacementVariables
from placer_models.cpsat.family import Hint, KnownPlacement, ModelFamily, Value, always
from placer_models.device_share import ShareAmounts
from placer_models.problem.banks import DeviceBank, DeviceChosenForShare, DeviceShareNeed
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Problem, Shape
from placer_models.rule_family import RuleFamilyName

DevicePosition = tuple[int, int, int]
"""The indices of a bank, of an equivalence class in it, and of a device in that."""


@dataclass(frozen=True, slots=True)
class DeviceShareVariables:
    """Shares of one device that the pods of an assignment have, for one of their needs.

    Attributes:
        take: The device and the need, by their indices.
        need: The need itself.
        count: How many such shares there are.
        most: Upper bound of count.
        amounts: What each share takes of the device.

    """

    take: DeviceChosenForShare
    need: DeviceShareNeed
    count: IntVar
    most: int
    amounts: ShareAmounts

    @property
    def device(self) -> DevicePosition:
        """The indices of the device's bank, of its class there, and of the device in that."""
        return self.take.bank, self.take.class_index, self.take.device_index


@dataclass(frozen=True, slots=True)
class AssignmentDeviceSharesVariables:
    """The shares that the pods of an assignment could have."""

    counts: tuple[DeviceShareVariables, ...]


Opened = Mapping[DevicePosition, IntVar]
"""A device that was free -> whether it gives shares."""


@dataclass(frozen=True, slots=True)
class DeviceOpenedForSharesVariables:
    """For each node, which of its free devices give shares."""

    of_node: tuple[Opened, ...]


def existing_share_vars(assignment: Assignment) -> tuple[DeviceShareVariables, ...]:
    """Return the shares that the pods could have."""
    shares = assignment.part(AssignmentDeviceSharesVariables)
    return shares.counts if shares else ()


def share_vars_by_device(
    assignments: Iterable[Assignment],
) -> dict[DevicePosition, list[DeviceShareVariables]]:
    """Return the shares of each device that the pods of some assignments could have."""
    found: defaultdict[DevicePosition, list[DeviceShareVariables]] = defaultdict(list)
    for assignment in assignments:
        for share in existing_share_vars(assignment):
            found[share.device].append(share)
    return found


def most_pods_by_shares(problem: Problem, shape: int, node: NodeState, most: int) -> int:
    """Return how many pods of a shape the devices could host, each need by itself, up to `most`."""
    for need in problem.shape_on(shape, node).shares:
        bank = node.bank(need.type)
        devices = [device for members in bank.shareable for device in members] if bank else []
        # A device gives a pod one share at most.
        room = sum(device.room_for(need.share, most, need.function) for device in devices)
        most = min(most, room // need.least_on(bank.board)) if bank else 0
    return most


def share_vars(
    model: CpModel, problem: Problem, assignment: Assignment
) -> AssignmentDeviceSharesVariables | None:
    """Create a count for each device and need that it can meet, or return None without needs."""
    if not assignment.shape.shares:
        return None
    return AssignmentDeviceSharesVariables(
        tuple(_counts(model, problem.nodes[assignment.node], assignment))
    )


def _counts(
    model: CpModel, node: NodeState, assignment: Assignment
) -> Iterator[DeviceShareVariables]:
    for index, need in enumerate(assignment.shape.shares):
        position = node.bank_index(need.type)
        for class_index, devices in enumerate(node.banks[position].shareable):
            for at, device in enumerate(devices):
                amounts = device.takes(need.share, need.function)
                if amounts is None:
                    continue
                most = device.room_for(need.share, assignment.most, need.function)
                name = f"share[{assignment.name},{need.type},{class_index},{at},{index}]"
                count = model.new_int_var(0, most, name)
                take = DeviceChosenForShare(position, class_index, at, index)
                yield DeviceShareVariables(take, need, count, most, amounts)


def opened_device_literals(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> DeviceOpenedForSharesVariables:
    """Create a literal for every free device that could give shares, in order."""
    found = []
    for node, here in zip(problem.nodes, x.on_node, strict=True):
        found.append(
            {
                (bank, class_index, at): model.new_bool_var(
                    f"opened[{node.name},{bank},{class_index},{at}]"
                )
                for bank, class_index, at in sorted(share_vars_by_device(here))
                if not node.banks[bank].shareable[class_index][at].shared
            }
        )
    return DeviceOpenedForSharesVariables(tuple(found))


def opened_device_vars_of_class(opened: Opened, bank: int, class_index: int) -> list[IntVar]:
    """Return the literals of one equivalence class."""
    return [literal for (b, t, _), literal in opened.items() if (b, t) == (bank, class_index)]


def number_of_fitting_devices_by_class(bank: DeviceBank, shape: Shape) -> tuple[int, ...]:
    """Return how many devices of each equivalence class a pod of the shape could have a part of."""
    needs = [need for need in shape.shares if need.type == bank.type]
    if not needs:
        return bank.free
    whole = shape.whole_of(bank.type) > 0
    return tuple(
        sum(
            (whole and not device.shared)
            or any(device.takes(need.share, need.function) for need in needs)
            for device in devices
        )
        for class_index, devices in enumerate(bank.shareable)
    )


def shared_device_literals(
    model: CpModel, takes: Iterable[DeviceShareVariables], bank: int, name: str
) -> dict[int, list[IntVar]]:
    """Return for each equivalence class a literal for every device that gives any of the shares."""
    here: defaultdict[tuple[int, int], list[IntVar]] = defaultdict(list)
    for taken in takes:
        if taken.take.bank == bank:
            here[taken.take.class_index, taken.take.device_index].append(taken.count)
    shared: defaultdict[int, list[IntVar]] = defaultdict(list)
    for (class_index, at), counts in sorted(here.items(), key=lambda item: item[0]):
        literal = model.new_bool_var(f"shared:{name},{class_index},{at}")
        model.add(LinearExpr.sum(counts) >= literal)
        for count in counts:
            model.add(count == 0).only_enforce_if(~literal)
        shared[class_index].append(literal)
    return shared


def a_pod_has_the_shares_it_asks_for(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Every need is met on as many devices as it asks for, unless a strategy says on how many."""
    for assignment in x.assignments:
        for index, need in enumerate(assignment.shape.shares):
            if need.strategy is not None:
                continue
            met = [
                take.count for take in existing_share_vars(assignment) if take.take.need == index
            ]
            model.add(LinearExpr.sum(met) == need.count * assignment.count)


def shares_of_a_pod_are_on_different_devices(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """A pod has at most one share of a device; pods with one share each are counted together."""
    for assignment in x.assignments:
        if len(assignment.shape.shares) > 1:
            for takes in share_vars_by_device([assignment]).values():
                model.add(LinearExpr.sum([take.count for take in takes]) <= assignment.count)


def shares_fit_their_device(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """The shares of a device take no more than is left of it."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for (bank, class_index, at), takes in share_vars_by_device(assignments).items():
            device = node.banks[bank].shareable[class_index][at]
            counts = [take.count for take in takes]
            amounts = zip(*(take.amounts for take in takes), strict=True)
            for left, wanted in zip(device.left, amounts, strict=True):
                # In the largest unit that divides all wanted amounts: no sum exceeds 64 bits.
                if unit := gcd(*wanted):
                    asked = [amount // unit for amount in wanted]
                    model.add(LinearExpr.weighted_sum(counts, asked) <= left // unit)


def a_device_with_shares_is_opened(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A free device of which a pod has a share is opened: it is not free any more."""
    for assignment in x.assignments:
        opened = x.part(DeviceOpenedForSharesVariables).of_node[assignment.node]
        for take in existing_share_vars(assignment):
            if take.device in opened:
                model.add(take.count <= take.most * opened[take.device])


def devices_are_opened_in_order(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """The free devices of an equivalence class, which are all alike, are opened in order."""
    for opened in x.part(DeviceOpenedForSharesVariables).of_node:
        for earlier, later in pairwise(opened):
            if earlier[:2] == later[:2]:
                model.add(opened[earlier] >= opened[later])


def share_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for which devices give shares to which pods, and which free ones are opened."""
    given = {
        (choice.node, t.bank, t.class_index, t.device_index)
        for choice in known.choices.values()
        for t in choice.shares
    }
    for node, opened in enumerate(x.part(DeviceOpenedForSharesVariables).of_node):
        for key, literal in opened.items():
            yield literal.index, int((node, *key) in given)
    for assignment, choices in known.at:
        for share in existing_share_vars(assignment):
            yield share.count.index, sum(share.take in choice.shares for choice in choices)


def read_solved_shares(
    problem: Problem, assignment: Assignment, places: Sequence[Choice], value: Value
) -> Sequence[Choice]:
    """Deal the shares of an assignment out: pods that are counted together have one each."""
    takes = [
        share.take for share in existing_share_vars(assignment) for _ in range(value(share.count))
    ]
    if not takes:
        return places
    if len(places) == 1:
        return [replace(places[0], shares=tuple(sorted(takes)))]
    return [replace(place, shares=(take,)) for place, take in zip(places, takes, strict=True)]


def asks_for_one_share_at_most(problem: Problem, shape: int) -> bool:
    """Return whether a shape has no shares that must be on different devices."""
    return sum(need.count for need in problem.shapes[shape].shares) <= 1


def asks_for_no_shares(problem: Problem, shape: int) -> bool:
    """Return whether a shape asks for no shares."""
    return not problem.shapes[shape].shares


def has_shareable_devices(problem: Problem, bank: DeviceBank) -> bool:
    """Return whether shares of each device are counted."""
    return bool(bank.shareable)


FAMILY = ModelFamily(
    name=RuleFamilyName.SHARES,
    room=most_pods_by_shares,
    decide=share_vars,
    decide_all=opened_device_literals,
    rules=(
        a_pod_has_the_shares_it_asks_for,
        shares_of_a_pod_are_on_different_devices,
        shares_fit_their_device,
        a_device_with_shares_is_opened,
    ),
    cuts=(devices_are_opened_in_order,),
    hint=share_solver_hints,
    read=read_solved_shares,
    countable=asks_for_one_share_at_most,
    plain=asks_for_no_shares,
    sees_links=has_shareable_devices,
    exchangeable=always,
)
