"""A feature of tiny worlds: the words of one family, which the world generator mixes."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
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


def with_pods(gang: Gang, changed: Callable[[Pod], Pod]) -> Gang:
    """Return the gang with each pod changed; equal pods may come to differ."""
    return replace(gang, pods=tuple(map(changed, gang.pods)))


def with_pods_alike(gang: Gang, changed: Callable[[Pod], Pod]) -> Gang:
    """Return the gang with each pod changed; if all are equal, they are what the first becomes."""
    found = with_pods(gang, changed)
    if len({pod.spec for pod in gang.pods}) > 1:
        return found
    first = found.pods[0].spec
    return with_pods(found, lambda pod: replace(pod, spec=first))


def gangs_with_specs(
    gangs: Iterable[Gang], dressed: Callable[[PodSpec], PodSpec]
) -> tuple[Gang, ...]:
    """Return gangs with all specs dressed, each once, so that pods alike stay alike."""
    once = cache(dressed)
    return tuple(with_pods(gang, lambda pod: replace(pod, spec=once(pod.spec))) for gang in gangs)


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
    once = cache(dressed)

    def dress(pod: Pod) -> Pod:
        return replace(pod, spec=once(pod.spec))

    def dress_gang(gang: Gang) -> Gang:
        if forgets():
            once.cache_clear()
        return with_pods(gang, dress)

    return replace(
        instance,
        gangs=tuple(map(dress_gang, instance.gangs)),
        running=tuple(replace(one, pod=dress(one.pod)) for one in instance.running),
    )
