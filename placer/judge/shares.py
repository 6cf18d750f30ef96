"""The rule about shares of devices (D3, D5)."""

from collections import defaultdict
from collections.abc import Iterator

from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.device_share import DeviceShare, filled, room, taken
from placer_models.placement import DeviceGrant


def device_share(scene: Scene) -> Iterator[Finding]:
    """Each share is the one asked for, and those of one device fit it together."""
    for site, tenant in scene.newcomers():
        for grant, asked in _matched(site, tenant):
            if asked is None:
                yield Finding(
                    tenant.title,
                    f"pod {tenant.title!r} holds a share of {grant.type} {grant.minor} of node "
                    f"{site.node.name!r} that it does not ask for: {_text(grant.share)}",
                )
    for site in scene.touched():
        yield from _sums(site)


def _sums(site: Site) -> Iterator[Finding]:
    """Add up what is held of each device, exactly; only who adds to it is blamed."""
    held: defaultdict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    anew: defaultdict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for tenant in site.tenants:
        for grant, asked in _matched(site, tenant):
            key = grant.type, grant.minor
            total_bytes = _total_bytes(site, grant)
            amounts = taken(asked or grant.share or DeviceShare(), total_bytes)
            if amounts is None and tenant.new:
                yield Finding(
                    tenant.title,
                    f"pod {tenant.title!r} holds {_text(asked or grant.share)} of {grant.type} "
                    f"{grant.minor} of node {site.node.name!r}, which has "
                    + (f"{total_bytes} bytes of memory" if total_bytes else "unknown memory"),
                )
                continue
            for i, amount in enumerate(amounts or room(total_bytes)):
                held[key][i] += amount
                anew[key][i] += amount if tenant.new else 0
    for (kind, minor), sums in sorted(held.items()):
        device = site.inside.devices.get((kind, minor))
        has = room(device.memory_bytes if device else 0)
        new = anew[kind, minor]
        if any(s > h and n for s, h, n in zip(sums, has, new, strict=True)):
            yield Finding(
                site.node.name,
                f"the shares of {kind} {minor} of node {site.node.name!r} sum to {sums[0]} percent "
                f"and {sums[1] / has[1]:.2%} of its memory; a device has 100",
            )


def _matched(site: Site, tenant: Tenant) -> Iterator[tuple[DeviceGrant, DeviceShare | None]]:
    """Yield each share that the pod holds with the one asked for that it stands for.

    A share may be written with its memory in bytes and in percent, rounded down; the one
    asked for says what that is exactly.
    """
    if all(grant.share is None for grant in tenant.place.devices):
        return
    open_shares: defaultdict[str, list[DeviceShare]] = defaultdict(list)
    strategies = dict(tenant.pod.spec.strategies)
    for request in tenant.requests.devices:
        if request.share is not None:
            held = len(tenant.place.minors(request.type))
            count = held if request.type in strategies else request.count
            open_shares[request.type] += [request.share] * count
    for grant in tenant.place.devices:
        if grant.share is None:
            continue
        mine = open_shares[grant.type]
        as_held = filled(grant.share, _total_bytes(site, grant))
        found = next((s for s in mine if s == grant.share), None) or next(
            (s for s in mine if filled(s, _total_bytes(site, grant)) == as_held), None
        )
        if found is not None:
            mine.remove(found)
        yield grant, found


def _total_bytes(site: Site, grant: DeviceGrant) -> int:
    device = site.inside.devices.get((grant.type, grant.minor))
    return device.memory_bytes if device else 0


def _text(share: DeviceShare | None) -> str:
    if share is None:
        return "nothing"
    parts = [f"{share.percent} percent"] if share.percent is not None else []
    parts += [f"{share.memory_bytes} bytes"] if share.memory_bytes is not None else []
    parts += [f"{share.memory_percent} percent of its memory"] if share.memory_percent else []
    return " and ".join(parts) or "nothing"
