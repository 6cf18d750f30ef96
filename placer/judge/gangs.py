"""Rules about gangs: all or nothing."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, gang_breach_finding
from placer.judge.scene import InstanceWithPlacement
from placer_models.placement import pod_or_gang_title


def gang_minimum_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A gang has no members placed, or at least its minimum."""
    for gang in scene.instance.gangs:
        placed = len(scene.members.get(gang.key, {}))
        if 0 < placed < gang.minimum:
            runs = f"with none, or with at least {gang.minimum} of its {len(gang.pods)}"
            yield gang_breach_finding(gang, f"has {placed} members placed; it runs {runs}")


def gang_group_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Either all gangs of a group have members placed, or none has."""
    for group in scene.instance.groups:
        without = [pod_or_gang_title(*key) for key in group.gangs if not scene.members.get(key)]
        if 0 < len(without) < len(group.gangs):
            yield Finding(
                group.title,
                f"group {group.title!r} has {len(group.gangs) - len(without)} gangs placed and not "
                f"{', '.join(without)}; its {len(group.gangs)} gangs run all together or not",
            )


JUDGED = JudgedFamily(
    rules={
        "gang-minimum": gang_minimum_breaches,
        "gang-group": gang_group_breaches,
    }
)
