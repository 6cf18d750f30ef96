"""The rule about MIG instances, and what is left of GPUs in MIG mode."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.device import GPU, INSTANCE_PREFIX
from placer_models.goals import MIG_POINTS
from placer_models.mig import TABLES, MigProfile
from placer_models.placement import DeviceGrant

SLICES = 8
"""Memory slices of a GPU, which the minors of its instances count in."""

MEDIA = "media"
"""The media engine of a GPU, of which it has one."""

_Part = int | str
"""A slice of a GPU, or its media engine."""


def mig_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A GPU in MIG mode is given out in instances that do not overlap, never whole."""
    for judged in scene.entered:
        if not judged.node.mig:
            continue
        holder: dict[tuple[int, _Part], tuple[PlacedPod, DeviceGrant]] = {}
        for placed in judged.placed_pods:
            for grant in placed.place.devices:
                gpu, parts = _parts(judged, grant)
                if placed.new and grant.type == GPU and parts:
                    yield pod_breach_finding(
                        placed,
                        f"holds {_text(grant)} of node {judged.node.name!r}; it is in MIG mode "
                        "and given out in instances",
                    )
                clashes = {
                    id(first[1]): first
                    for part in parts
                    if (first := holder.setdefault((gpu, part), (placed, grant)))[1] is not grant
                }
                for other, its in clashes.values():
                    # The rule device-exclusive reports an instance that is given out twice.
                    same = (its.type, its.minor) == (grant.type, grant.minor)
                    if not same and (other.new or placed.new):
                        yield pod_breach_finding(
                            placed,
                            f"holds {_text(grant)} of node {judged.node.name!r}, and pod "
                            f"{other.title!r} {_text(its)}; instances of a GPU share no slice, "
                            "and one has its media engine",
                        )


def usable_mig_points(judged: JudgedNode) -> int:
    """Return the points of all instances that the node's GPUs could still be cut into."""
    if not judged.node.mig:
        return 0
    busy: dict[int, set[_Part]] = {minor: set() for minor, _ in judged.node.mig}
    for placed in judged.placed_pods:
        for grant in placed.place.devices:
            gpu, parts = _parts(judged, grant)
            if parts:
                busy[gpu].update(parts)
    points = 0
    for minor, table in judged.node.mig:
        gpu_device = judged.inside.devices.get((GPU, minor))
        if gpu_device is None or not gpu_device.healthy or (GPU, minor) in judged.node.unhealthy:
            continue
        for profile in TABLES[table]:
            for start in profile.starts if profile.usual else ():
                if busy[minor].isdisjoint(_parts_of(profile, start)):
                    points += MIG_POINTS * profile.compute
    return points


def _parts(judged: JudgedNode, grant: DeviceGrant) -> tuple[int, tuple[_Part, ...]]:
    """Return the GPU in MIG mode that a device is part of, and the parts that it takes."""
    tables = dict(judged.node.mig)
    if grant.type.startswith(INSTANCE_PREFIX):
        gpu, start = divmod(grant.minor, SLICES)
        for profile in TABLES.get(tables.get(gpu, ""), ()):
            if grant.type == INSTANCE_PREFIX + profile.name and start in profile.starts:
                return gpu, _parts_of(profile, start)
        return gpu, ()
    if grant.type == GPU and grant.minor in tables:
        return grant.minor, (*range(SLICES), MEDIA)
    return 0, ()


def _parts_of(profile: MigProfile, start: int) -> tuple[_Part, ...]:
    """Return the slices of an instance that begins there, and the media engine if it has it."""
    slices = range(start, start + profile.slices)
    return (*slices, MEDIA) if profile.media else tuple(slices)


def _text(grant: DeviceGrant) -> str:
    if grant.type == GPU:
        whole = grant.share is None
        return f"gpu {grant.minor} whole" if whole else f"a share of gpu {grant.minor}"
    gpu, start = divmod(grant.minor, SLICES)
    return f"{grant.type} at start {start} of gpu {gpu}"


JUDGED = JudgedFamily(rules={"mig": mig_breaches})
