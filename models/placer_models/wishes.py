"""Which of the tiers that only some instances have an instance has."""

from placer_models.cluster import Instance
from placer_models.goals import JOINT, Tier
from placer_models.pod import PodSpec, pods_of
from placer_models.policy import Strength


def asked_tiers(instance: Instance) -> tuple[Tier, ...]:
    """Return the tiers beyond `goals.ALWAYS` that something in the instance asks for."""
    specs = {id(pod.spec): pod.spec for pod in pods_of(instance.gangs)}.values()
    return (JOINT,) if any(map(_would_like_to_be_joint, specs)) else ()


def _would_like_to_be_joint(spec: PodSpec) -> bool:
    return spec.joint is not None and spec.joint.strength is Strength.PREFERRED
