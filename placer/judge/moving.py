"""Running pods that may move: which of them, and that none is lost or moved too many (G5).

Who may move is asked of the judge himself: a pod that already breaks a rule where it is,
or would by being looked at as new, stays as it is and is never blamed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from placer.judge.finding import Finding, title_of
from placer.judge.scene import Scene
from placer_models.cluster import Instance
from placer_models.cpuset import CpuSet
from placer_models.moves import Key, could_move, moved, with_homes
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import pods_of
from placer_models.policy import QosClass

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
    while candidates:
        found = with_homes(instance, candidates)
        faults = set(blamed(found, at_home(found, Placement())))
        if not faults:
            return found
        wrong = {
            home.key for home in found.homes if title_of(*home.key) in faults or home.node in faults
        }
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
    qos = {pod.key: pod.spec.qos for pod in pods_of(instance.gangs)}
    owned = _owned(instance, [*placement.pods, *staying], qos)
    online = {node.name: node.machine.topology.online for node in instance.nodes}
    pools = {
        (name, kind): online[name] - owned(name, kinds)
        for name in {home.node for home in staying}
        for kind, kinds in (
            (QosClass.LS, {QosClass.LSE, QosClass.LSR}),
            (QosClass.BE, {QosClass.LSE}),
        )
    }
    return Placement(
        (
            *placement.pods,
            *(
                home if qos[home.key].owns_cpus else _in_pool(home, pools[home.node, qos[home.key]])
                for home in staying
            ),
        )
    )


def _owned(
    instance: Instance, places: Sequence[PodPlacement], qos: Mapping[Key, QosClass]
) -> Callable[[str, Set[QosClass]], CpuSet]:
    """Return what tells the CPUs of a node that pods of some classes own."""
    held: dict[tuple[str, QosClass], CpuSet] = {}
    running = [(r.placement, r.pod.spec.qos) for r in instance.running]
    for place, kind in (*running, *((p, qos[p.key]) for p in places if p.key in qos)):
        key = place.node, kind
        held[key] = held.get(key, frozenset()) | place.cpuset
    return lambda node, kinds: frozenset().union(*(held.get((node, k), ()) for k in kinds))


def _in_pool(home: PodPlacement, pool: CpuSet) -> PodPlacement:
    containers = tuple(replace(part, cpuset=pool) for part in home.containers)
    return replace(home, cpuset=pool, containers=containers)
