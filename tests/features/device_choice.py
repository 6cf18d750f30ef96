"""Tiny instances whose pods would like certain devices for their shares."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from features.quantities import quantity_instance
from features.shares import sharing_instance
from placer_models.cluster import Instance
from placer_models.pod import Pod, PodSpec
from placer_models.policy import DeviceChoicePolicy


def with_device_choice(rng: Random, instance: Instance) -> Instance:
    """Let pods that ask for shares of devices choose; equal pods choose alike."""
    one = rng.choice((*DeviceChoicePolicy, None))
    specs: dict[PodSpec, PodSpec] = {}

    def chosen(pod: Pod) -> Pod:
        if pod.spec not in specs:
            choice = one or rng.choice((*DeviceChoicePolicy, None))
            shares = any(request.share for request in pod.spec.requests.devices)
            specs[pod.spec] = replace(pod.spec, device_choice=choice if shares else None)
        return replace(pod, spec=specs[pod.spec])

    gangs = tuple(replace(g, pods=tuple(map(chosen, g.pods))) for g in instance.gangs)
    return replace(instance, gangs=gangs)


def choosing_instance(seed: int) -> Instance:
    """Draw a tiny instance of pods that take shares and choose their devices."""
    world = quantity_instance if seed % 3 == 2 else sharing_instance
    return with_device_choice(Random(f"choice-{seed}"), world(seed))


FEATURE = Feature("device_choice", with_device_choice)
