"""Running pods that may move: which of them, and that none is lost or moved too many (G5).

Who may move is asked of the judge himself: a pod that already breaks a rule where it is,
or would by being looked at as new, stays as it is and is never blamed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from placer.judge.finding import Finding, title_of
from placer.judge.pools import pool_here
from placer.judge.scene import Scene, scene_of
from placer_models.cluster import Instance
from placer_models.moves import could_move, members_of, moved, with_homes, with_their_gangs
from placer_models.placement import Placement, PodPlacement

Blamed = Callable[[Instance, Placement], Sequence[str]]
"""Names whom a placement breaks a rule at: pods, nodes, gangs."""


def moves(scene: Scene) -> Iterator[Finding]:
    """Every running pod that may move has a place, and no more of them move than may."""
    instance = scene.instance
    placed = {place.key for place in scene.placement.pods}
    for home in instance.homes:
        if home.key not in placed:
            title = title_of(*home.key)
            yield Finding(
                title, f"pod {title!r} runs on node {home.node!r} and is given no place any more"
            )
    gone = moved(instance, scene.placement)
    if len(gone) > instance.move_budget:
        names = ", ".join(title_of(*home.key) for home in gone)
        yield Finding(
            title_of(*gone[0].key),
            f"{len(gone)} running pods move ({names}); the budget of moves is "
            f"{instance.move_budget}",
        )


def pods_moved(scene: Scene) -> int:
    """Tier ``moves``: running pods that get another place."""
    return len(moved(scene.instance, scene.placement))


def unsettled(instance: Instance, blamed: Blamed) -> Instance:
    """Return the question in which the running pods that may move want a place, too.

    As it is where there is nothing to move for, or nobody to move, or where it has been
    done already.
    """
    if not instance.move_budget or not instance.gangs or instance.homes:
        return instance
    nodes = {node.name: node for node in instance.nodes}
    candidates = {
        running.pod.key
        for running in instance.running
        if running.placement.node in nodes and could_move(running, nodes[running.placement.node])
    }
    while candidates := with_their_gangs(instance, candidates):
        found = with_homes(instance, candidates)
        faults = set(blamed(found, at_home(found, Placement())))
        if not faults:
            return found
        wrong = {
            home.key for home in found.homes if title_of(*home.key) in faults or home.node in faults
        }
        for gang, members in members_of(instance):
            if title_of(*gang.key) in faults:
                wrong |= candidates & {one.pod.key for one in members}
        candidates -= wrong or candidates
    return instance


def at_home(instance: Instance, placement: Placement) -> Placement:
    """Return the placement with every pod that has a home and is not placed left there.

    Pools are what the whole placement leaves of them.
    """
    placed = {place.key for place in placement.pods}
    staying = [home for home in instance.homes if home.key not in placed]
    if not staying:
        return placement
    scene = scene_of(instance, Placement((*placement.pods, *staying)))
    return Placement((*placement.pods, *(_settled(home, scene) for home in staying)))


def _settled(home: PodPlacement, scene: Scene) -> PodPlacement:
    """Return the home of a pod that stays, with the pool as it has become."""
    if scene.waiting[home.key].spec.qos.owns_cpus:
        return home
    site = scene.sites[home.node]
    tenant = next(tenant for tenant in site.new if tenant.place is home)
    pool = pool_here(site, tenant)
    containers = tuple(replace(part, cpuset=pool) for part in home.containers)
    return replace(home, cpuset=pool, containers=containers)
