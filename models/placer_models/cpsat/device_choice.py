"""Device choice: the tier about which devices give shares (B14)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.devices import taken_free_device_counts
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.cpsat.shares import (
    DeviceOpenedForSharesVariables,
    DevicePosition,
    DeviceShareVariables,
    Opened,
    existing_share_vars,
    share_vars_by_device,
)
from placer_models.device_share import (
    MILLION,
    ShareAmounts,
    device_usage_millionths,
    share_amounts_left,
    whole_device_amounts,
)
from placer_models.goals import DEVICE_CHOICE
from placer_models.policy import DeviceChoicePolicy
from placer_models.problem.banks import ShareableDevice
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName


def share_distance_from_chosen_device_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum how far the device of each share is off the one its pod would choose, coming last."""
    terms: list[IntVar] = []
    for node, assignments, opened in zip(
        problem.nodes, x.on_node, x.part(DeviceOpenedForSharesVariables).of_node, strict=True
    ):
        devices = _Devices(model, node, assignments, opened)
        for assignment in assignments:
            for taken in existing_share_vars(assignment):
                if taken.need.choice is not None:
                    off = model.new_int_var(
                        0, MILLION, f"off[{assignment.unit},{node.name},{taken.take}]"
                    )
                    devices.compare(assignment, taken, off)
                    terms.append(off)
    return LinearExpr.sum(terms)


@dataclass(slots=True)
class _Devices:
    """The devices of a node that can give shares.

    Attributes:
        takes: Device that gives shares -> those that pods may have.
        used: (device, which quantities are asked of it) -> how much of it is used.
        known: (device, amounts) -> whether it can give the amounts beside all that it gives.
        spare: (bank, equivalence class) -> whether a free device of the class stays free.

    """

    model: CpModel
    node: NodeState
    assignments: Sequence[Assignment]
    opened: Opened
    takes: dict[DevicePosition, list[DeviceShareVariables]] = field(init=False)
    used: dict[tuple[DevicePosition, tuple[bool, ...]], IntVar] = field(default_factory=dict)
    known: dict[tuple[DevicePosition, ShareAmounts], IntVar] = field(default_factory=dict)
    spare: dict[tuple[int, int], IntVar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.takes = share_vars_by_device(self.assignments)

    def compare(self, assignment: Assignment, taken: DeviceShareVariables, off: IntVar) -> None:
        """Make ``off`` at least how far the device is off the best one, if the share is on it."""
        need, here = taken.need, taken.device
        least = need.choice is DeviceChoicePolicy.LEAST_USED
        totals = self.node.banks[here[0]].shareable[here[1]][here[2]].totals
        own = device_usage_millionths(taken.amounts, whole_device_amounts(totals), taken.amounts)
        used_here = self._used(here, taken.amounts) - own
        mine = [other for other in existing_share_vars(assignment) if other is not taken]
        for other, device in self._of_bank(here[0]):
            amounts = device.takes(need.share, need.function)
            if other == here or amounts is None:
                continue
            conditions = [
                taken.count,
                self._fits(other, device, amounts),
                *(~another.count for another in mine if another.device == other),
            ]
            if other in self.opened:
                conditions.append(self.opened[other])
            used = self._used(other, amounts)
            beyond = used_here - used if least else used - used_here
            self.model.add(off >= beyond).only_enforce_if(conditions)
        for class_index in self._free_classes(taken) if least else ():
            free = self._spare(here[0], class_index)
            self.model.add(off >= used_here).only_enforce_if([taken.count, free])

    def _of_bank(self, bank: int) -> Iterator[tuple[DevicePosition, ShareableDevice]]:
        for class_index, devices in enumerate(self.node.banks[bank].shareable):
            for at, device in enumerate(devices):
                yield (bank, class_index, at), device

    def _free_classes(self, taken: DeviceShareVariables) -> Iterator[int]:
        """Yield the equivalence classes with a free device that could give the share."""
        need = taken.need
        for class_index, devices in enumerate(self.node.banks[taken.take.bank].shareable):
            if any(
                not device.shared and device.takes(need.share, need.function) for device in devices
            ):
                yield class_index

    def _used(self, position: DevicePosition, asked: ShareAmounts) -> IntVar:
        """Return how much of a device is used in all, in millionths, adding up pod by pod."""
        key = position, tuple(map(bool, asked))
        if key not in self.used:
            bank, class_index, at = position
            device = self.node.banks[bank].shareable[class_index][at]
            has = whole_device_amounts(device.totals)
            new = [
                device_usage_millionths(taken.amounts, has, asked) * taken.count
                for taken in self.takes.get(position, ())
            ]
            used = self.model.new_int_var(0, MILLION, f"used[{self.node.name},{key}]")
            before = device_usage_millionths(share_amounts_left(has, device.left), has, asked)
            self.model.add(used == before + LinearExpr.sum(new))
            self.used[key] = used
        return self.used[key]

    def _fits(
        self, position: DevicePosition, device: ShareableDevice, amounts: ShareAmounts
    ) -> IntVar:
        """Return a literal that is true where a device can give the amounts beside all it gives."""
        key = position, amounts
        if key not in self.known:
            fits = self.known[key] = self.model.new_bool_var(f"fits[{self.node.name},{key}]")
            lacks = []
            takes = self.takes.get(position, ())
            for i, (left, amount) in enumerate(zip(device.left, amounts, strict=True)):
                wanted = [taken.amounts[i] for taken in takes]
                unit = gcd(*wanted)
                if amount and unit:
                    lack = self.model.new_bool_var(f"lacks[{self.node.name},{key},{i}]")
                    load = LinearExpr.weighted_sum(
                        [taken.count for taken in takes], [want // unit for want in wanted]
                    )
                    enough = left - amount + 1  # Others that take this much leave too little.
                    self.model.add(load >= -(-enough // unit)).only_enforce_if(lack)
                    lacks.append(lack)
            self.model.add_bool_or([fits, *lacks])
        return self.known[key]

    def _spare(self, bank: int, class_index: int) -> IntVar:
        """Return a literal that is true where a free device of a class stays free."""
        if (bank, class_index) not in self.spare:
            kind = self.node.banks[bank]
            spare = self.model.new_bool_var(f"spare[{self.node.name},{bank},{class_index}]")
            takers = [
                assignment
                for assignment in self.assignments
                if assignment.shape.whole_of(kind.type)
            ]
            gone = taken_free_device_counts(takers, self.opened, bank, class_index)
            self.model.add(LinearExpr.sum(gone) >= kind.free[class_index]).only_enforce_if(~spare)
            self.spare[bank, class_index] = spare
        return self.spare[bank, class_index]


def has_no_device_preference(problem: Problem, shape: int) -> bool:
    """Return whether pods of a shape have no preference for the devices that give them shares."""
    return not any(need.choice for need in problem.shapes[shape].shares)


FAMILY = ModelFamily(
    name=RuleFamilyName.DEVICE_CHOICE,
    tiers={DEVICE_CHOICE: share_distance_from_chosen_device_expr},
    countable=has_no_device_preference,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
