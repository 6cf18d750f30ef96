"""What containers have of their pod's devices, and their environment, in the plainest way."""

from collections.abc import Sequence
from dataclasses import replace

from placer_models.cluster import Instance, Node
from placer_models.device import GPU
from placer_models.placement import DeviceGrant, Placement, PodPlacement
from placer_models.pod import ContainerRole, PodSpec, pods_of_gangs

AMD = ("MI", "Instinct", "Radeon", "Vega", "gfx")


def dressed(place: PodPlacement, spec: PodSpec, node: Node) -> PodPlacement:
    """Return the place with devices dealt out in order, and GPUs named by their minors."""
    parts = zip(place.containers, _dealt(spec, place.devices), strict=False)
    containers = tuple(replace(part, devices=part.devices or own) for part, own in parts)
    return shown(replace(place, containers=containers), spec, node)


def shown(place: PodPlacement, spec: PodSpec, node: Node) -> PodPlacement:
    """Return the place with an environment that names what each container has.

    That of a container alone in asking for a type is the pod's.
    """
    amd = {
        device.minor: device.model.startswith(AMD)
        for device in node.machine.devices
        if device.type == GPU
    }
    variables = [("NVIDIA_VISIBLE_DEVICES", False)] if False in amd.values() else []
    variables += [("AMD_VISIBLE_DEVICES", True)] if True in amd.values() else []
    containers = []
    for part in place.containers:
        held = set(part.devices)
        for grant in place.devices:
            asking = [c.name for c in spec.containers if c.requests.count_of(grant.type)]
            if asking == [part.name] and grant.type not in {own.type for own in part.devices}:
                held.add(grant)
        minors = sorted({grant.minor for grant in held if grant.type == GPU})
        env = []
        for name, wanted in variables:
            own = [str(minor) for minor in minors if amd.get(minor) is wanted]
            if own and dict(node.labels).get("placer:gpu-names") == "unknown":
                continue  # they are only counted
            if wanted or not any(grant.type.startswith("mig-") for grant in held):
                env.append((name, ",".join(own) or "none"))
        containers.append(replace(part, env=tuple(sorted(env))))
    return replace(place, containers=tuple(containers))


def all_shown(instance: Instance, placement: Placement) -> Placement:
    """Return a placement written by hand with the environment of each known pod."""
    spec_of = {pod.key: pod.spec for pod in pods_of_gangs(instance.gangs)}
    spec_of |= {running.pod.key: running.pod.spec for running in instance.running}
    node_of = {node.name: node for node in instance.nodes}
    return Placement(
        tuple(
            shown(place, spec_of[place.key], node_of[place.node])
            if place.key in spec_of and place.node in node_of
            else place
            for place in placement.pods
        )
    )


def _dealt(spec: PodSpec, grants: Sequence[DeviceGrant]) -> list[tuple[DeviceGrant, ...]]:
    """Give each container the first devices that nobody beside it has."""
    held: list[list[DeviceGrant]] = [[] for _ in spec.containers]
    for kind in {grant.type for grant in grants}:
        mine = [grant for grant in grants if grant.type == kind]
        counts = [c.requests.count_of(kind) for c in spec.containers]
        alone = sum(map(bool, counts)) == 1
        taken: list[DeviceGrant] = []
        sidecars: list[DeviceGrant] = []
        roles = [container.role for container in spec.containers]
        for i, (count, role) in enumerate(zip(counts, roles, strict=True)):
            if role is not ContainerRole.INIT and count:
                own = mine if alone else [g for g in mine if g not in taken][:count]
                held[i] += own
                taken += own
        for i, (count, role) in enumerate(zip(counts, roles, strict=True)):
            if role is ContainerRole.INIT and count:
                own = mine if alone else [g for g in mine if g not in sidecars][:count]
                held[i] += own
            elif role is ContainerRole.RESTARTABLE_INIT:
                sidecars += [grant for grant in held[i] if grant.type == kind]
    return [tuple(sorted(own, key=lambda g: (g.type, g.minor))) for own in held]
