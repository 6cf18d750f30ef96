"""The environment of each container: the GPUs that its runtime shows it, and no others (D13)."""

from dataclasses import replace

from placer_models.cluster import Node
from placer_models.device import GPU, is_mig_instance
from placer_models.environment import Env
from placer_models.placement import ContainerPlacement
from placer_models.visible_devices import UNNAMED_GPUS, gpu_environment


def with_environment(
    containers: tuple[ContainerPlacement, ...], node: Node
) -> tuple[tuple[ContainerPlacement, ...], Env]:
    """Return a pod's containers with the environment of each, and what all of them agree on."""
    gpus = [device for device in node.machine.devices if device.type == GPU]
    if not gpus or not containers:
        return containers, ()
    containers = tuple(
        replace(
            part,
            env=gpu_environment(
                {grant.minor for grant in part.devices if grant.type == GPU},
                gpus,
                has_instances=any(is_mig_instance(grant.type) for grant in part.devices),
                unnamed=UNNAMED_GPUS in node.labels,
            ),
        )
        for part in containers
    )
    first, *others = (part.env for part in containers)
    return containers, tuple(sorted(set(first).intersection(*others)))
