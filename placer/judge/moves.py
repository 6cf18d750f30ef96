"""Running pods that may move: none is lost, and no more move than the budget allows (G5)."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily
from placer.judge.homes import homes_of_moved_pods
from placer.judge.scene import InstanceWithPlacement
from placer_models.goals import MOVES


def moves_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Every running pod that may move has a place, and no more move than the budget allows."""
    instance = scene.instance
    if not instance.homes:
        return
    placed = {place.key for place in scene.placement.pods}
    for home in instance.homes:
        if home.key not in placed:
            title = home.title
            yield Finding(
                title, f"pod {title!r} runs on node {home.node!r} and is given no place any more"
            )
    gone = homes_of_moved_pods(instance, scene.placement.pods)
    if len(gone) > instance.move_budget:
        names = ", ".join(home.title for home in gone)
        yield Finding(
            gone[0].title,
            f"{len(gone)} running pods move ({names}); the budget of moves is "
            f"{instance.move_budget}",
        )


def moved_pod_count(scene: InstanceWithPlacement) -> int:
    """Return tier ``moves``: how many running pods get another place."""
    return len(homes_of_moved_pods(scene.instance, scene.placement.pods))


JUDGED = JudgedFamily(rules={"moves": moves_breaches}, tiers={MOVES: moved_pod_count})
