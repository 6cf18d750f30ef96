"""CDI spec by which container runtimes give a container the environment of its placement.

CDI says nothing about cgroups: sets and limits go another way.
"""

import re
from collections.abc import Sequence

from placer.node.render.environment import container_environment_of
from placer.node.targets import ContainerCgroupTarget
from placer_models.cluster import Node

CDI_VERSION = "1.0.0"
"""No field in use is newer than version 0.5, but no older readers need to be supported."""

KIND = "placer.dev/container"

_NO_NAME = re.compile(r"[^A-Za-z0-9_.:-]+")


def cdi_spec(targets: Sequence[ContainerCgroupTarget], node: Node) -> dict[str, object]:
    """Return the spec in which each container of a node is a device of its own.

    A runtime is given one by ``--device placer.dev/container=NAMESPACE:POD:CONTAINER``.
    """
    return {
        "cdiVersion": CDI_VERSION,
        "kind": KIND,
        "devices": [
            {
                "name": cdi_device_name_of_container(target),
                "containerEdits": {
                    "env": [
                        f"{name}={value}" for name, value in container_environment_of(target, node)
                    ]
                },
            }
            for target in targets
        ],
    }


def cdi_device_name_of_container(target: ContainerCgroupTarget) -> str:
    """Return the name of a container's device."""
    pod = target.one.pod
    return _NO_NAME.sub("-", f"{pod.namespace}:{pod.name}:{target.container}")
