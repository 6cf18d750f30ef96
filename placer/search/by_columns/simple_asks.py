"""Simple asks: those of pods that ask for CPU, memory and GPUs, and say which nodes they admit.

Whoever adds a word to pods need not know of this: a pod that has it is not simple.
"""

from functools import lru_cache
from typing import NamedTuple

from placer_models.device import GPU
from placer_models.device_share import WHOLE_PERCENT, DeviceShare
from placer_models.pod import Container, DeviceRequest, PodSpec, Resources
from placer_models.policy import QosClass

MOST_ASKS = 4_096
"""How many specs are remembered."""


class SimplePodAsk(NamedTuple):
    """What a simple pod asks for.

    Attributes:
        container: The name of its only container.
        cpu_milli: Of the shared pool.
        gpus: How many GPUs, whole or in part.
        gpu_percent: How much of each, of its compute and its memory alike; 0 without GPUs.
        share: The same in words; None: whole GPUs, or none.

    """

    container: str
    cpu_milli: int
    memory_bytes: int
    gpus: int
    gpu_percent: int
    share: DeviceShare | None


@lru_cache(maxsize=MOST_ASKS)
def simple_ask(spec: PodSpec) -> SimplePodAsk | None:
    """Return what the pod asks for, or None if it is not simple.

    It is an LS pod with one container, which asks for CPU, memory, and whole GPUs or a part of
    one. Beside that it may say on which nodes it can be.
    """
    container = spec.containers[0] if len(spec.containers) == 1 else None
    if container is None:
        return None
    asked = container.requests
    requests = Resources(asked.cpu_milli, asked.memory_bytes, devices=asked.devices)
    same = PodSpec(
        (Container(container.name, requests),),
        QosClass.LS,
        node_selector=spec.node_selector,
        node_affinity=spec.node_affinity,
        tolerations=spec.tolerations,
        labels=spec.labels,
    )
    if spec != same or len(asked.devices) > 1:
        return None
    gpus, percent, share = 0, 0, None
    if asked.devices:
        (device,) = asked.devices
        gpus, percent, share = device.count, WHOLE_PERCENT, device.share
        if share is not None:
            percent = share.percent or 0
            is_part = gpus == 1 and 0 < percent < WHOLE_PERCENT
            if not is_part or share != DeviceShare(percent, memory_percent=percent):
                return None
        if device != DeviceRequest(GPU, gpus, share):
            return None
    return SimplePodAsk(container.name, asked.cpu_milli, asked.memory_bytes, gpus, percent, share)
