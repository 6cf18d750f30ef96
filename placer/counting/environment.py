"""The environment of each container: the GPUs that its runtime shows it, and no others (D13)."""

from collections import Counter
from dataclasses import replace

from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.mig import is_instance
from placer_models.placement import PodPlacement
from placer_models.visible_devices import gpu_environment


def with_environment(place: PodPlacement, node: Node) -> PodPlacement:
    """Return the place with the environment of each container, and of the pod where all agree."""
    gpus = [device for device in node.machine.devices if device.type == GPU]
    if not gpus:
        return place
    containers = tuple(
        replace(
            part,
            env=gpu_environment(
                {grant.minor for grant in part.devices if grant.type == GPU},
                gpus,
                has_instances=any(is_instance(grant.type) for grant in part.devices),
            ),
        )
        for part in place.containers
    )
    said = Counter(line for part in containers for line in part.env)
    agreed = tuple(line for line in sorted(said) if said[line] == len(containers))
    return replace(place, containers=containers, env=agreed)
