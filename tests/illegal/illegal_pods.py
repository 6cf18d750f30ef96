"""Pods that ask for what no pod may ask for, one of each kind, and worlds with some of them."""

from collections.abc import Collection
from dataclasses import replace
from random import Random

from placer_models.affinity import AffinityTerm, InNodeAffinityLevel
from placer_models.capacity import DeviceQuantity
from placer_models.cluster import Instance
from placer_models.device_share import DeviceShare
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import DeviceChoicePolicy, ExclusivePolicy, QosClass, SameTypeDevicesScope
from placer_models.topology import Hugepages

LSE, LSR, LS = QosClass.LSE, QosClass.LSR, QosClass.LS


def asking(**amounts: object) -> PodSpec:
    """Return a pod of one container."""
    return PodSpec((Container("main", Resources(**amounts)),))


def share_of(kind: str, **share: object) -> PodSpec:
    """Return a pod that asks for a share of one device."""
    return asking(devices=(DeviceRequest(kind, 1, DeviceShare(**share)),))


INSIDE = AffinityTerm((("app", "db"),), apart=True, level=InNodeAffinityLevel.NUMA)

ILLEGAL: dict[str, PodSpec] = {
    "half a CPU of its own": replace(asking(cpu_milli=1500), qos=LSR),
    "no CPU of its own": replace(asking(), qos=LSE),
    "a limit above its CPUs": PodSpec(
        (Container("main", Resources(1000), cpu_limit_milli=2000),), LSR
    ),
    "less CPU than none": asking(cpu_milli=-4000),
    "less memory than none": asking(memory_bytes=-(1 << 40)),
    "fewer pages than none": asking(hugepages=(Hugepages(1 << 21, -8),)),
    "less of a resource than none": asking(extended=(("licences", -3),)),
    "fewer devices than none": asking(devices=(DeviceRequest("gpu", -2),)),
    "more than one GPU as a share": share_of("gpu", percent=150, memory_percent=150),
    "a negative share": share_of("gpu", percent=-50, memory_percent=-50),
    "a share of a GPU without memory": share_of("gpu", percent=50),
    "no amount of a quantity": share_of("disk", capacity=(DeviceQuantity("space", -1),)),
    "quantities out of order": share_of(
        "disk", capacity=(DeviceQuantity("space", 1), DeviceQuantity("queues", 1))
    ),
    "no container": PodSpec(()),
    "two containers of one name": PodSpec((Container("main", Resources(1000)),) * 2),
    "two scopes of a type": replace(
        asking(), scopes=(("gpu", SameTypeDevicesScope.NODE), ("gpu", SameTypeDevicesScope.PCIE))
    ),
    "a choice among devices without a share": replace(
        asking(), device_choice=DeviceChoicePolicy.MOST_USED
    ),
    "apart on NUMA nodes without CPUs of its own": replace(
        asking(cpu_milli=1000), affinity=(INSIDE,)
    ),
    "exclusive without CPUs of its own": replace(
        asking(cpu_milli=1000), exclusive=ExclusivePolicy.NUMA_NODE_LEVEL
    ),
}
"""What is wrong -> a spec that has nothing else wrong."""


def with_some_illegal(
    rng: Random, instance: Instance, only: Collection[str] = ILLEGAL.keys()
) -> tuple[Instance, Instance]:
    """Return an instance with illegal pods among those that wait, and the one without them.

    They are new members of gangs, in place of members, or by themselves. A gang that is left with
    fewer than its minimum is gone from the second instance, and so are the gangs of its group.
    """
    gangs: list[Gang] = []
    legal: list[Gang] = []
    gone: set[tuple[str, str]] = set()
    for gang in instance.gangs:
        bad = [_illegal(rng, pod, only) if rng.random() < 0.3 else None for pod in gang.pods]
        kept = tuple(pod for pod, other in zip(gang.pods, bad, strict=True) if other is None)
        pods = [other or pod for pod, other in zip(gang.pods, bad, strict=True)]
        if not gang.lone and rng.random() < 0.3:
            extra = _illegal(rng, replace(gang.pods[0], name=f"{gang.name}-more"), only)
            pods.insert(rng.randrange(len(pods) + 1), extra)
        gangs.append(replace(gang, pods=tuple(pods)))
        if len(kept) < gang.minimum:
            gone.add(gang.key)
        legal.append(replace(gang, pods=kept))
    if rng.random() < 0.5:
        alone = _illegal(rng, Pod("bad", "default", PodSpec(())), only)
        gangs.insert(0, Gang(alone.name, alone.namespace, (alone,), 1, lone=True))
    groups = tuple(group for group in instance.groups if gone.isdisjoint(group.gangs))
    for group in instance.groups:
        gone.update(group.gangs if group not in groups else ())
    left = tuple(gang for gang in legal if gang.key not in gone)
    return replace(instance, gangs=tuple(gangs)), replace(instance, gangs=left, groups=groups)


def _illegal(rng: Random, pod: Pod, only: Collection[str]) -> Pod:
    return replace(pod, spec=ILLEGAL[rng.choice([*only])])
