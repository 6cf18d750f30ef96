"""Changes in general: what every change of an instance is, and what goes wrong with one."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Protocol

from placer_models.cluster import Instance, Node
from placer_models.message_text import spelling_suggestion
from placer_models.placement import NamespacedName, pod_or_gang_title, pod_spelling_suggestion
from placer_models.pod import Gang, Pod

Aspect = tuple[str, object]
"""What a change decides, such as whether a node is cordoned: two changes of one contradict."""


class WhatIfChangeError(ValueError):
    """A change that cannot be made: it names nothing, or changes nothing. One line."""


class InstanceChange(Protocol):
    """One change: a pure function from an instance to an instance."""

    @property
    def aspects(self) -> frozenset[Aspect]:
        """What it decides."""

    def apply(self, instance: Instance) -> Instance:
        """Return the instance with the change made.

        Raises:
            WhatIfChangeError: There is nothing there to be changed.

        """

    def __str__(self) -> str:
        """Return the change as people write it: ``uncordon=node-1``."""


def unknown_name_error(noun: str, name: str, known: Iterable[str]) -> WhatIfChangeError:
    """Return the error for a name that there is none of, with the nearest that there is."""
    return WhatIfChangeError(f"there is no {noun} '{name}'{spelling_suggestion(name, known)}")


def unknown_pod_error(
    noun: str, key: NamespacedName, known: Iterable[NamespacedName]
) -> WhatIfChangeError:
    """Return the error for a pod or gang that there is none of, with the nearest that there is."""
    return WhatIfChangeError(
        f"there is no {noun} '{pod_or_gang_title(*key)}'{pod_spelling_suggestion(key, known)}"
    )


def node_named(instance: Instance, name: str) -> Node:
    """Return the node of a name.

    Raises:
        WhatIfChangeError: There is none.

    """
    for node in instance.nodes:
        if node.name == name:
            return node
    raise unknown_name_error("node", name, (node.name for node in instance.nodes))


def with_node_replaced(instance: Instance, changed: Node) -> Instance:
    """Return the instance with a node in place of the one of its name."""
    nodes = tuple(changed if node.name == changed.name else node for node in instance.nodes)
    return replace(instance, nodes=nodes)


def running_pods_named(instance: Instance, key: NamespacedName) -> list[Pod]:
    """Return the running pod of a name, or all running pods of the gang of that name."""
    alone = [one.pod for one in instance.running if one.pod.key == key]
    return alone or [
        one.pod for one in instance.running if (one.pod.namespace, one.placement.gang) == key
    ]


def waiting_gang_named(instance: Instance, key: NamespacedName) -> Gang | None:
    """Return the gang that waits of a name; a pod of no gang is one by itself."""
    return next((gang for gang in instance.gangs if gang.key == key), None)


def waiting_pods_named(instance: Instance, key: NamespacedName) -> list[Pod]:
    """Return the pod that waits of a name, or all pods of the gang of that name.

    Raises:
        WhatIfChangeError: There is none.

    """
    gang = waiting_gang_named(instance, key)
    if gang is not None:
        return list(gang.pods)
    found = [pod for one in instance.gangs for pod in one.pods if pod.key == key]
    if not found:
        raise unknown_pod_error("pod or gang that waits", key, waiting_gang_and_pod_keys(instance))
    return found


def waiting_gang_and_pod_keys(instance: Instance) -> list[NamespacedName]:
    """Return the names of gangs and pods that wait."""
    gangs = [gang.key for gang in instance.gangs]
    return gangs + [pod.key for gang in instance.gangs for pod in gang.pods]


def with_changed_pods(instance: Instance, changed: Collection[Pod]) -> Instance:
    """Return the instance with pods in place of the ones that wait by their names."""
    by_key = {pod.key: pod for pod in changed}
    gangs = tuple(
        replace(gang, pods=tuple(by_key.get(pod.key, pod) for pod in gang.pods))
        if any(pod.key in by_key for pod in gang.pods)
        else gang
        for gang in instance.gangs
    )
    return replace(instance, gangs=gangs)
