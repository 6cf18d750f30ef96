"""Final state of an answer: who is placed runs, and only those in question wait."""

from collections.abc import Sequence
from dataclasses import replace

from placer_models.cluster import Instance, RunningGang, RunningPod
from placer_models.placement import Placement
from placer_models.pod import Gang


def instance_after_answer(
    instance: Instance, placement: Placement, gangs: Sequence[Gang]
) -> Instance:
    """Return the instance in which the answer has come true, and only these gangs wait.

    Running pods that the answer moves are in their new places. Nobody may move any more.

    Args:
        instance: The instance that was solved.
        placement: The answer to it.
        gangs: Gangs of the instance, none of whose members the answer places.

    """
    place_of = {place.key: place for place in placement.pods}
    moved = tuple(
        replace(one, placement=place_of[one.pod.key]) if one.pod.key in place_of else one
        for one in instance.running
    )
    came = tuple(
        RunningPod(pod, place_of[pod.key])
        for gang in instance.gangs
        for pod in gang.pods
        if pod.key in place_of
    )
    running_gangs = {gang.key for gang in instance.running_gangs}
    more = tuple(
        RunningGang(gang.name, gang.namespace, gang.gather, gang.levels)
        for gang in instance.gangs
        if (gang.gather or gang.levels)
        and gang.key not in running_gangs
        and any(pod.key in place_of for pod in gang.pods)
    )
    settled = replace(
        instance,
        running=(*moved, *came) if place_of else instance.running,
        running_gangs=(*instance.running_gangs, *more),
        move_budget=0,
        left_out=(),
    )
    return with_only(settled, gangs)


def with_only(instance: Instance, gangs: Sequence[Gang]) -> Instance:
    """Return the instance in which only some of its gangs wait, with the groups that are whole."""
    asked = {gang.key for gang in gangs}
    groups = tuple(
        group for group in instance.groups if group.gangs and asked.issuperset(group.gangs)
    )
    return replace(instance, gangs=tuple(gangs), groups=groups)
