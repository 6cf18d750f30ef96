"""Rules about devices."""

from collections import Counter
from collections.abc import Iterator

from placer.judge.finding import Finding
from placer.judge.scene import Scene, Tenant


def device_known(scene: Scene) -> Iterator[Finding]:
    """Devices exist on the node; an id that is given is the device's own."""
    for site, tenant in scene.newcomers():
        for grant in tenant.place.devices:
            what = f"{grant.type} {grant.minor}"
            device = site.inside.devices.get((grant.type, grant.minor))
            if device is None:
                minors = [str(m) for kind, m in site.inside.devices if kind == grant.type]
                yield Finding(
                    tenant.title,
                    f"pod {tenant.title!r} holds {what}; "
                    f"node {site.node.name!r} has {grant.type} {', '.join(minors) or 'none'}",
                )
            elif grant.id not in ("", device.id):
                yield Finding(
                    tenant.title,
                    f"pod {tenant.title!r} holds {what} by the id {grant.id!r}; "
                    f"on node {site.node.name!r} its id is {device.id!r}",
                )


def device_health(scene: Scene) -> Iterator[Finding]:
    """Devices that are given out are healthy."""
    for site, tenant in scene.newcomers():
        for grant in tenant.place.devices:
            device = site.inside.devices.get((grant.type, grant.minor))
            if device is not None and not site.node.is_healthy(device):
                healthy = [str(d.minor) for d in site.inside.healthy.get(grant.type, ())]
                yield Finding(
                    tenant.title,
                    f"pod {tenant.title!r} holds {grant.type} {grant.minor} of node "
                    f"{site.node.name!r}, which is unhealthy; "
                    f"healthy are {', '.join(healthy) or 'none'}",
                )


def device_exclusive(scene: Scene) -> Iterator[Finding]:
    """A device has one holder, running pods included."""
    for site in scene.touched():
        holder: dict[tuple[str, int], Tenant] = {}
        for tenant in site.tenants:
            for grant in tenant.place.devices:
                key = grant.type, grant.minor
                first = holder.get(key)
                holder.setdefault(key, tenant)
                if first is not None and (first.new or tenant.new):
                    yield Finding(
                        tenant.title,
                        f"pod {tenant.title!r} holds {grant.type} {grant.minor} of node "
                        f"{site.node.name!r}, which pod {first.title!r} holds; "
                        "a device has one holder, once",
                    )


def device_count(scene: Scene) -> Iterator[Finding]:
    """A pod holds as many devices of each type as it asks for."""
    for _, tenant in scene.newcomers():
        held = Counter(grant.type for grant in tenant.place.devices)
        asked = {request.type: request.count for request in tenant.requests.devices}
        for kind in sorted({*held, *asked}):
            if held[kind] != asked.get(kind, 0):
                yield Finding(
                    tenant.title,
                    f"pod {tenant.title!r} holds {held[kind]} devices of type {kind!r}; "
                    f"its request is {asked.get(kind, 0)}",
                )
