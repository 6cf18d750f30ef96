"""GPUs in MIG mode and instances asked for, put on tiny instances."""

from dataclasses import replace
from random import Random

from features.feature import Feature, gangs_with_specs
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.device import GPU, is_mig_instance
from placer_models.mig import TABLES, gpu_minor_of_mig_instance, mig_slices_covered
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from worlds import tiny_instance


def with_mig(rng: Random, instance: Instance) -> Instance:
    """Put GPUs that nobody holds into MIG mode, and let pods ask for instances of them."""
    table = rng.choice(sorted(TABLES))
    held = {
        (runner.placement.node, grant.minor)
        for runner in instance.running
        for grant in runner.placement.devices
        if grant.type == GPU
    }
    nodes = tuple(_node(rng, node, table, held) for node in instance.nodes)
    if not any(node.mig for node in nodes):
        return instance
    if sum(len(node.mig) for node in nodes) > 1 and rng.random() < 0.7:
        nodes = (*nodes[:-1], replace(nodes[-1], mig=()))
    residents = tuple(r for node in nodes for r in _residents(rng, node))
    specs = {pod.spec for gang in instance.gangs for pod in gang.pods}
    of_spec = {spec: _spec(rng, spec, table) for spec in sorted(specs, key=repr)}
    return replace(
        instance,
        nodes=nodes,
        gangs=gangs_with_specs(instance.gangs, of_spec.__getitem__),
        running=(*instance.running, *residents),
    )


def mig_instance(seed: int) -> Instance:
    """Draw a tiny instance that has GPUs in MIG mode if it has GPUs to spare."""
    return with_mig(Random(f"mig-{seed}"), tiny_instance(seed))


def _node(rng: Random, node: Node, table: str, held: set[tuple[str, int]]) -> Node:
    spare = [d.minor for d in node.machine.devices if d.type == GPU]
    spare = [minor for minor in spare if (node.name, minor) not in held]
    modes = rng.sample(spare, min(len(spare), rng.choice((0, 1, 1, 1, 1, 2))))
    return replace(node, mig=tuple((minor, table) for minor in sorted(modes)))


def _residents(rng: Random, node: Node) -> list[RunningPod]:
    """Draw pods that hold instances already, wherever there is room, good start or not."""
    found: list[RunningPod] = []
    busy: set[tuple[int, int]] = set()
    slots = [d for d in node.devices if is_mig_instance(d.type)]
    for i in range(rng.choice((0, 0, 1, 2)) if slots else 0):
        slot = rng.choice(slots)
        parts = {
            (gpu_minor_of_mig_instance(slot.minor), p)
            for p in mig_slices_covered(node.mig, slot.type, slot.minor)
        }
        if busy.isdisjoint(parts):
            busy |= parts
            requests = Resources(devices=(DeviceRequest(slot.type, 1),))
            pod = Pod(
                f"mig-{node.name}-{i}",
                "default",
                PodSpec((Container("app", requests),), qos=QosClass.BE),
            )
            place = PodPlacement(
                pod.name,
                "default",
                None,
                node.name,
                node.machine.topology.online,
                devices=(DeviceGrant(slot.type, slot.minor, slot.id),),
            )
            found.append(RunningPod(pod, place))
    return found


def _spec(rng: Random, spec: PodSpec, table: str) -> PodSpec:
    """Let the first container ask for an instance or two, beside or instead of whole GPUs."""
    if rng.random() < 0.4:
        return spec
    types = [rng.choice(TABLES[table]).type for _ in range(rng.choice((1, 1, 1, 2)))]
    wanted = [DeviceRequest(kind, types.count(kind)) for kind in sorted(set(types))]
    first, *rest = spec.containers
    others = [request for request in first.requests.devices if request.type != GPU]
    devices = tuple(sorted((*others, *wanted), key=lambda request: request.type))
    first = replace(first, requests=replace(first.requests, devices=devices))
    return replace(spec, containers=(first, *rest))


FEATURE = Feature("mig", with_mig)
