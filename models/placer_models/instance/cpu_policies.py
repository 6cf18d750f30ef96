"""CPU policies of pods in files: binding, exclusivity and ConstrainedBurst (C8, C9)."""

from collections.abc import Sequence
from dataclasses import replace

from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json, none_if_default
from placer_models.instance.fields import PodBindPolicy, PodExclusivePolicy
from placer_models.instance.schema import PodSpecPart
from placer_models.instance.wish_schema import BindPolicyPart, ExclusivePolicyPart
from placer_models.pod import Container, PodSpec
from placer_models.policy import BindPolicy, ExclusivePolicy, QosClass, RequiredOrPreferred


def read_bind_policy(part: PodSpecPart) -> tuple[BindPolicy, RequiredOrPreferred]:
    """Return the bind policy of a pod that owns CPUs; Default for others."""
    wish = part.cpu_bind_policy
    word = None if wish is None else wish.required or wish.preferred
    if wish is None or word is None or word is PodBindPolicy.CONSTRAINED_BURST:
        return BindPolicy.DEFAULT, RequiredOrPreferred.PREFERRED
    return BindPolicy(word.value), _strength(wish)


def read_exclusive_policy(part: PodSpecPart) -> tuple[ExclusivePolicy | None, RequiredOrPreferred]:
    """Return the exclusive policy of a pod, None where it is the default, and its strength."""
    wish = part.cpu_exclusive_policy
    if wish is None:
        return None, RequiredOrPreferred.PREFERRED
    word = wish.required or wish.preferred
    named = None if word in (None, PodExclusivePolicy.DEFAULT) else ExclusivePolicy(str(word))
    return named, _strength(wish)


def pod_cpu_policies_to_dict(spec: PodSpec) -> Json:
    """Return a pod's CPU policies as files write them; without own CPUs only ConstrainedBurst."""
    if not spec.qos.owns_cpus:
        burst = PodBindPolicy.CONSTRAINED_BURST if spec.constrained_burst else None
        return PodSpecPart.written(cpu_bind_policy=burst)
    return PodSpecPart.written(
        cpu_bind_policy=_wish(spec.bind, spec.bind_strength, BindPolicy.DEFAULT),
        cpu_locality=spec.locality,
        cpu_exclusive_policy=_wish(
            spec.exclusive or PodExclusivePolicy.DEFAULT,
            spec.exclusive_strength,
            PodExclusivePolicy.DEFAULT,
        ),
    )


def _strength(wish: BindPolicyPart | ExclusivePolicyPart) -> RequiredOrPreferred:
    return RequiredOrPreferred.REQUIRED if wish.required else RequiredOrPreferred.PREFERRED


def _wish(policy: object, strength: RequiredOrPreferred, default: object) -> object:
    return (
        {"required": policy}
        if strength is RequiredOrPreferred.REQUIRED
        else none_if_default(policy, default)
    )


def with_cpu_limits(
    containers: Sequence[Container], limits: Sequence[int | None]
) -> tuple[Container, ...]:
    """Return the containers with their CPU limits, which decide where the pod can be."""
    return tuple(
        replace(container, cpu_limit_milli=limit)
        for container, limit in zip(containers, limits, strict=True)
    )


def read_constrained_burst(
    part: PodSpecPart,
    containers: Sequence[Container],
    limits: Sequence[int | None],
    qos: QosClass,
    place: DocumentLocation,
) -> bool:
    """Return whether the pod is under ConstrainedBurst, and can be."""
    wish = part.cpu_bind_policy
    if PodBindPolicy.CONSTRAINED_BURST not in (wish and wish.required, wish and wish.preferred):
        return False
    ok = True
    if qos is not QosClass.LS:
        place.at("cpuBindPolicy").fault(
            f"the qos of this pod is {qos}; "
            "ConstrainedBurst is for pods of the shared pool, which are LS",
            illegal=True,
        )
        ok = False
    for i, (container, limit) in enumerate(zip(containers, limits, strict=True)):
        if limit is None:
            at = place.at("containers", i) if place.at("containers").exists else place
            at.at("limits").fault(
                f"container {container.name!r} has no CPU limit; ConstrainedBurst looks for NUMA "
                "nodes that can hold the limit: give one, such as {cpu: 4}",
                illegal=True,
            )
            ok = False
    return ok
