"""The rule about shares of devices (D3, D5, B11)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.device_share import (
    DeviceCapacity,
    DeviceShare,
    ShareAmounts,
    amounts_of_share,
    device_capacity_of,
    whole_device_amounts,
    with_memory_in_both_units,
)
from placer_models.placement import DeviceGrant


def device_share_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Each share is one that its pod asks for, and the shares of a device fit it together."""
    for judged in scene.entered:
        yield from _sums(judged)


def _sums(judged: JudgedNode) -> Iterator[Finding]:
    """Add up exactly what is held of each device. Only pods that add to it are blamed."""
    added_to = {(g.type, g.minor) for t in judged.new for g in t.place.devices if g.share}
    if not added_to:
        return
    held: defaultdict[tuple[str, int], list[tuple[ShareAmounts, bool]]] = defaultdict(list)
    for placed in judged.placed_pods:
        if not any((grant.type, grant.minor) in added_to for grant in placed.place.devices):
            continue
        for grant, asked in shares_held_with_shares_asked(judged, placed):
            key = grant.type, grant.minor
            totals = device_capacity_of(judged.inside.devices.get(key))
            amounts = amounts_of_share(asked or grant.share or DeviceShare(), totals)
            if asked is None and placed.new:
                yield pod_breach_finding(
                    placed,
                    f"holds a share of {grant.type} {grant.minor} of node {judged.node.name!r} "
                    f"that it does not ask for: {_text(grant.share)}",
                )
            if amounts is None and placed.new:
                yield pod_breach_finding(
                    placed,
                    f"holds {_text(asked or grant.share)} of {grant.type} {grant.minor} of node "
                    f"{judged.node.name!r}, which has {_all_of(totals)}",
                )
                continue
            held[key].append((amounts or whole_device_amounts(totals), placed.new))
    for (kind, minor), parts in sorted(held.items()):
        totals = device_capacity_of(judged.inside.devices.get((kind, minor)))
        sums = [sum(of) for of in zip(*(amounts for amounts, _ in parts), strict=True)]
        new = [any(of) for of in zip(*(amounts for amounts, new in parts if new), strict=True)]
        has = whole_device_amounts(totals)
        if any(s > h and n for s, h, n in zip(sums, has, new or [False] * len(has), strict=True)):
            told = [f"{sums[0]} percent"]
            told += [f"{sums[1] / has[1]:.2%} of its memory"] if sums[1] else []
            for quantity, total, amount in zip(totals.capacity, has[2:], sums[2:], strict=True):
                told.append(f"{amount / total:.2%} of its {quantity.name}")
            yield Finding(
                judged.node.name,
                f"the shares of {kind} {minor} of node {judged.node.name!r} sum to "
                f"{' and '.join(told)}; a device has 100",
            )


def shares_held_with_shares_asked(
    judged: JudgedNode, placed: PlacedPod
) -> Iterator[tuple[DeviceGrant, DeviceShare | None]]:
    """Yield each share that the pod holds, with the share asked for that it stands for, if any.

    A share may be written with its memory in bytes and in percent, rounded down. The share
    asked for says exactly how much that is.
    """
    if all(grant.share is None for grant in placed.place.devices):
        return
    open_shares: defaultdict[str, list[DeviceShare]] = defaultdict(list)
    strategies = dict(placed.pod.spec.strategies)
    for request in placed.requests.devices:
        if request.share is not None:
            held = len(placed.place.minors(request.type))
            count = held if request.type in strategies else request.count
            open_shares[request.type] += [request.share] * count
    for grant in placed.place.devices:
        if grant.share is None:
            continue
        mine = open_shares[grant.type]
        found = grant.share if grant.share in mine else _alike(judged, grant, mine)
        if found is not None:
            mine.remove(found)
        yield grant, found


def _alike(
    judged: JudgedNode, grant: DeviceGrant, asked: Iterable[DeviceShare]
) -> DeviceShare | None:
    """Return the first share asked for that says the same as the one held, or None."""
    device = judged.inside.devices.get((grant.type, grant.minor))
    total_bytes = device_capacity_of(device).memory_bytes
    held = _numbers(grant.share or DeviceShare(), total_bytes)
    return next((share for share in asked if _numbers(share, total_bytes) == held), None)


def _numbers(share: DeviceShare, total_bytes: int) -> tuple[object, ...]:
    """Return all that a share says as a file says it, whatever unit its memory was asked in."""
    share = with_memory_in_both_units(share, total_bytes)
    return share.percent, share.memory_bytes, share.memory_percent, share.amounts


def _text(share: DeviceShare | None) -> str:
    if share is None:
        return "nothing"
    parts = [f"{share.percent} percent"] if share.percent is not None else []
    parts += [f"{share.memory_bytes} bytes"] if share.memory_bytes is not None else []
    parts += [f"{share.memory_percent} percent of its memory"] if share.memory_percent else []
    parts += [f"{quantity.text} of its {quantity.name}" for quantity in share.capacity]
    return " and ".join(parts) or "nothing"


def _all_of(totals: DeviceCapacity) -> str:
    parts = [f"{totals.memory_bytes} bytes of memory"] if totals.memory_bytes else []
    parts += [f"{quantity.text} of {quantity.name}" for quantity in totals.capacity]
    return " and ".join(parts) or "unknown memory"


JUDGED = JudgedFamily(rules={"device-share": device_share_breaches})
