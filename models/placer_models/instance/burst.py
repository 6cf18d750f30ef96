"""Reads what keeps an LS pod in the shared pool of some NUMA nodes (C8)."""

from collections.abc import Sequence
from dataclasses import replace

from placer_models.files.faults import Place
from placer_models.instance.fields import PodBind
from placer_models.instance.schema import SpecPart
from placer_models.pod import Container
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass


def policy_of(word: PodBind) -> BindPolicy:
    """Return the bind policy of a pod that owns CPUs; Default for others."""
    return BindPolicy.DEFAULT if word is PodBind.CONSTRAINED_BURST else BindPolicy(word.value)


def with_limits(
    containers: Sequence[Container], limits: Sequence[int | None]
) -> tuple[Container, ...]:
    """Return the containers with their CPU limits, which decide where the pod can be."""
    return tuple(
        replace(container, cpu_limit_milli=limit)
        for container, limit in zip(containers, limits, strict=True)
    )


def read_burst(
    part: SpecPart,
    containers: Sequence[Container],
    limits: Sequence[int | None],
    qos: QosClass,
    place: Place,
) -> bool:
    """Return whether the pod is under ConstrainedBurst, and can be."""
    said = part.cpu_bind_policy and (
        part.cpu_bind_policy.required or part.cpu_bind_policy.preferred
    )
    if said is not PodBind.CONSTRAINED_BURST:
        return False
    ok = True
    if qos is not QosClass.LS:
        place.at("cpuBindPolicy").fault(
            f"the qos of this pod is {qos}; ConstrainedBurst is for pods of the shared pool, "
            "which are LS"
        )
        ok = False
    if part.numa_policy not in (None, AlignmentPolicy.NONE):
        place.at("numaPolicy").fault(
            "ConstrainedBurst with a NUMA policy is not supported yet; leave one of them out"
        )
        ok = False
    for i, (container, limit) in enumerate(zip(containers, limits, strict=True)):
        if limit is None:
            at = place.at("containers", i) if place.at("containers").exists else place
            at.at("limits").fault(
                f"container {container.name!r} has no CPU limit; ConstrainedBurst looks for NUMA "
                "nodes that can hold the limit: give one, such as {cpu: 4}"
            )
            ok = False
    return ok
