"""The environment of each container: the GPUs that its runtime shows it, and no others (D13)."""

from collections import Counter
from dataclasses import replace

from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.mig import is_instance
from placer_models.placement import ContainerPlacement
from placer_models.visible_devices import Env, gpu_environment


def with_environment(
    containers: tuple[ContainerPlacement, ...], node: Node
) -> tuple[tuple[ContainerPlacement, ...], Env]:
    """Return a pod's containers with the environment of each, and what all of them agree on."""
    gpus = [device for device in node.machine.devices if device.type == GPU]
    if not gpus:
        return containers, ()
    containers = tuple(
        replace(
            part,
            env=gpu_environment(
                {grant.minor for grant in part.devices if grant.type == GPU},
                gpus,
                has_instances=any(is_instance(grant.type) for grant in part.devices),
            ),
        )
        for part in containers
    )
    said = Counter(line for part in containers for line in part.env)
    agreed = tuple(line for line in sorted(said) if said[line] == len(containers))
    return containers, agreed
