"""Tiny instances whose pods would like certain devices for their shares."""

from dataclasses import replace
from random import Random

from features.feature import Feature, gangs_with_specs
from features.quantities import quantity_instance
from features.shares import sharing_instance
from placer_models.cluster import Instance
from placer_models.pod import PodSpec
from placer_models.policy import DeviceChoicePolicy


def with_device_choice(rng: Random, instance: Instance) -> Instance:
    """Let pods that ask for shares of devices choose; equal pods choose alike."""
    one = rng.choice((*DeviceChoicePolicy, None))

    def choosing(spec: PodSpec) -> PodSpec:
        choice = one or rng.choice((*DeviceChoicePolicy, None))
        shares = any(request.share for request in spec.requests.devices)
        return replace(spec, device_choice=choice if shares else None)

    return replace(instance, gangs=gangs_with_specs(instance.gangs, choosing))


def choosing_instance(seed: int) -> Instance:
    """Draw a tiny instance of pods that take shares and choose their devices."""
    world = quantity_instance if seed % 3 == 2 else sharing_instance
    return with_device_choice(Random(f"choice-{seed}"), world(seed))


FEATURE = Feature("device_choice", with_device_choice)
