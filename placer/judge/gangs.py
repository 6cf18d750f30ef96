"""Rules about gangs: all or nothing."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily
from placer.judge.scene import Scene
from placer_models.placement import title_of


def gang_minimum(scene: Scene) -> Iterator[Finding]:
    """A gang has no members placed, or at least its minimum."""
    for gang in scene.instance.gangs:
        placed = len(scene.members.get(gang.key, {}))
        if 0 < placed < gang.minimum:
            title = title_of(*gang.key)
            yield Finding(
                title,
                f"gang {title!r} has {placed} members placed; "
                f"it runs with none, or with at least {gang.minimum} of its {len(gang.pods)}",
            )


def gang_group(scene: Scene) -> Iterator[Finding]:
    """Either all gangs of a group have members placed, or none has."""
    for group in scene.instance.groups:
        without = [title_of(*key) for key in group.gangs if not scene.members.get(key)]
        if 0 < len(without) < len(group.gangs):
            title = title_of(group.namespace, group.name)
            yield Finding(
                title,
                f"group {title!r} has {len(group.gangs) - len(without)} gangs placed and not "
                f"{', '.join(without)}; its {len(group.gangs)} gangs run all together or not",
            )


JUDGED = JudgedFamily(
    rules={
        "gang-minimum": gang_minimum,
        "gang-group": gang_group,
    }
)
