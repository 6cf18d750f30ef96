"""A feature of tiny worlds: the words of one family, which the world generator mixes."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import NamedTuple

from placer_models.cluster import Instance
from placer_models.pod import Gang, Pod, PodSpec

Dress = Callable[[Random, Instance], Instance]
"""Returns an instance with words of a family; may change anything."""


class Feature(NamedTuple):
    """What a family brings to worlds; its file ends in this record, `FEATURE`.

    Attributes:
        name: As its file is called.
        dress: Gives an instance the family's words.

    """

    name: str
    dress: Dress


def with_specs(
    instance: Instance,
    dressed: Callable[[PodSpec], PodSpec],
    forgets: Callable[[], bool] = lambda: False,
) -> Instance:
    """Return the instance with all specs dressed, each once, so that pods alike stay alike.

    Args:
        instance: The pods that wait are dressed first, then those that run.
        dressed: Returns a spec with the words of a family.
        forgets: Asked before each gang whether pods like those before it are dressed anew.

    """
    known: dict[PodSpec, PodSpec] = {}

    def dress(pod: Pod) -> Pod:
        if pod.spec not in known:
            known[pod.spec] = dressed(pod.spec)
        return replace(pod, spec=known[pod.spec])

    def dress_gang(gang: Gang) -> Gang:
        if forgets():
            known.clear()
        return replace(gang, pods=tuple(map(dress, gang.pods)))

    return replace(
        instance,
        gangs=tuple(map(dress_gang, instance.gangs)),
        running=tuple(replace(one, pod=dress(one.pod)) for one in instance.running),
    )
