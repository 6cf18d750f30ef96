"""Device choice: the tier about which devices give shares (B14)."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import add

from placer.judge.family import JudgedFamily
from placer.judge.functions import is_wanted_virtual_function
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer.judge.shares import shares_held_with_shares_asked
from placer_models.device import Device, DeviceKey
from placer_models.device_share import (
    DeviceShare,
    ShareAmounts,
    amounts_of_share,
    device_capacity_of,
    device_usage_millionths,
    share_fits,
    whole_device_amounts,
)
from placer_models.goals import DEVICE_CHOICE
from placer_models.policy import DeviceChoicePolicy


def share_count_off_preferred_device(scene: InstanceWithPlacement) -> int:
    """Return tier ``device-choice``.

    Each share is looked at as if it came last. The use of its device by others is compared
    with that of the device of the node that its pod would choose then.
    """
    total = 0
    for judged in scene.entered:
        choosers = [placed for placed in judged.new if placed.pod.spec.device_choice is not None]
        if choosers:
            use = _Use.of(judged)
            total += sum(off for placed in choosers for off in _off(use, placed))
    return total


@dataclass(slots=True)
class _Use:
    """The amounts that pods hold of the devices of a node.

    Attributes:
        running: What running pods together have of each device, at most all of it.
        new: What each new pod has of each device.
        whole: Devices that a pod holds whole.
        functions: Virtual functions that running pods hold.

    """

    judged: JudgedNode
    running: dict[DeviceKey, ShareAmounts] = field(default_factory=dict)
    new: defaultdict[DeviceKey, dict[tuple[str, str], ShareAmounts]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    whole: set[DeviceKey] = field(default_factory=set)
    functions: set[tuple[str, int, int]] = field(default_factory=set)

    @classmethod
    def of(cls, judged: JudgedNode) -> "_Use":
        """Add up what the placed pods of a node have."""
        use = cls(judged)
        for placed in judged.placed_pods:
            for grant in placed.place.devices:
                if grant.share is None:
                    use.whole.add((grant.type, grant.minor))
                if not placed.new:
                    use.functions.update((grant.type, grant.minor, vf) for vf in grant.vfs)
            for grant, asked in shares_held_with_shares_asked(judged, placed):
                key = grant.type, grant.minor
                totals = device_capacity_of(judged.inside.devices.get(key))
                has = whole_device_amounts(totals)
                amounts = amounts_of_share(asked or grant.share or DeviceShare(), totals) or has
                if placed.new:
                    use.new[key][placed.pod.key] = amounts
                else:
                    before = use.running.get(key, (0,) * len(has))
                    use.running[key] = tuple(map(min, has, map(add, before, amounts)))
        return use

    def by_others(self, device: Device, placed: PlacedPod, asked: ShareAmounts) -> int:
        """Return how much of a device others use, in millionths.

        Running pods are counted together, each new pod by itself.
        """
        key, has = (device.type, device.minor), whole_device_amounts(device_capacity_of(device))
        parts = [mine for pod, mine in self.new[key].items() if pod != placed.pod.key]
        parts.append(self.running.get(key, (0,) * len(has)))
        return sum(device_usage_millionths(part, has, asked) for part in parts)

    def could_give(self, device: Device, share: DeviceShare, placed: PlacedPod) -> bool:
        """Return whether a device could give the share beside all that it already gives."""
        key, totals = (device.type, device.minor), device_capacity_of(device)
        amounts = amounts_of_share(share, totals)
        if amounts is None or key in self.whole or placed.pod.key in self.new[key]:
            return False
        wish = dict(placed.pod.spec.functions).get(device.type)
        if wish is not None and not any(
            is_wanted_virtual_function(wish, dict(function.labels))
            and (*key, function.minor) not in self.functions
            for function in device.virtual_functions
        ):
            return False
        held = [*self.new[key].values(), self.running.get(key, (0,) * len(amounts))]
        sums = tuple(map(sum, zip(*held, strict=True)))
        left = tuple(
            has - gone for has, gone in zip(whole_device_amounts(totals), sums, strict=True)
        )
        return share_fits(amounts, left)


def _off(use: _Use, placed: PlacedPod) -> Iterator[int]:
    """Yield for each share of a pod how far its device is off what the pod would choose."""
    judged = use.judged
    sign = 1 if placed.pod.spec.device_choice is DeviceChoicePolicy.LEAST_USED else -1
    for grant, share in shares_held_with_shares_asked(judged, placed):
        device = judged.inside.devices.get((grant.type, grant.minor))
        if device is None or share is None:
            continue
        asked = amounts_of_share(share, device_capacity_of(device))
        here = sign * use.by_others(device, placed, asked) if asked else 0
        others = [
            sign * use.by_others(other, placed, amounts)
            for other in judged.inside.healthy.get(grant.type, ())
            if use.could_give(other, share, placed)
            and (amounts := amounts_of_share(share, device_capacity_of(other))) is not None
        ]
        yield max(0, here - min(others, default=here))


JUDGED = JudgedFamily(tiers={DEVICE_CHOICE: share_count_off_preferred_device})
