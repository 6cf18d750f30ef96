"""The rules about LS and BE pods that are bound to the pool of some NUMA nodes (C8, C12)."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from placer.judge.cells import (
    aligned_pod_or_containers,
    alignment_policy_of,
    cells_of_subject,
    is_subject_bound_to_pool,
    numa_nodes_bound_to,
    subject_as_unbound,
)
from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.homes import has_same_place_as_home
from placer.judge.pools import cpus_text, cpus_withheld_from_pool, pool_cpus, pool_cpus_of_pod
from placer.judge.scene import CellId, InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.placement import PodPlacement
from placer_models.policy import BINDING, QosClass
from placer_models.quantity import cpu_count_with_noun

Homes = frozenset[int]
"""The NUMA nodes to whose pool a pod is bound."""

_Asked = tuple[Collection[int], int]
"""NUMA nodes, and a CPU request in milli CPUs that is shared out over them."""


def constrained_burst_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """The pool of a ConstrainedBurst pod on its NUMA nodes holds its limit."""
    for judged in scene.entered:
        for placed in judged.placed_pods:
            if placed.pod.spec.constrained_burst:
                yield from _limit_is_held(judged, placed)


def bound_pool_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A bound pod runs in all of its pool on its NUMA nodes, each of which has a CPU.

    The requests of the bound pods of a pool can be shared out over their NUMA nodes.
    """
    homes = {home.key: home for home in scene.instance.homes}
    for judged in scene.entered:
        for qos in (QosClass.LS, QosClass.BE):
            new = [placed for placed in judged.new if placed.qos is qos]
            for placed in new:
                yield from _is_bound_rightly(judged, placed)
            bound = _bound_pods(judged, qos)
            if not bound:
                continue
            for placed in bound:
                yield from _has_its_cpus(judged, placed)
            # The requests of running pods, and of those that stay, may be shared out anew.
            come = [placed for placed in new if not _stays(placed, homes.get(placed.pod.key))]
            for placed in come:
                yield from _counts_its_request(placed)
            yield from _requests_fit(judged, qos, bound, come)


def _bound_pods(judged: JudgedNode, qos: QosClass) -> list[PlacedPod]:
    return [t for t in judged.placed_pods if t.qos is qos and numa_nodes_bound_to(judged, t)]


def _stays(placed: PlacedPod, home: PodPlacement | None) -> bool:
    return home is not None and has_same_place_as_home(placed.place, home, owns_cpus=False)


def _limit_is_held(judged: JudgedNode, placed: PlacedPod) -> Iterator[Finding]:
    who, node = f"ConstrainedBurst pod {placed.title!r}", judged.node.name
    pool, limit = pool_cpus_of_pod(judged, placed), placed.pod.spec.burst_cpus
    if len(pool) < limit and (placed.new or _taken_there(judged, placed)):
        yield Finding(
            placed.title,
            f"{who} has the {len(pool)} CPUs {cpus_text(pool)} of node {node!r}; "
            f"its limit needs {limit}",
        )


def _taken_there(judged: JudgedNode, placed: PlacedPod) -> Homes:
    """Return the NUMA nodes of a bound pod on which another new pod makes its pool smaller."""
    cpu = judged.inside.topology.cpu
    gone = cpus_withheld_from_pool(judged, placed.qos)
    owned_anew = {
        cpu[c].numa_node for t in judged.new for c in t.owned & gone if c in cpu and t is not placed
    }
    return frozenset(home for home in numa_nodes_bound_to(judged, placed) if home in owned_anew)


def _is_bound_rightly(judged: JudgedNode, placed: PlacedPod) -> Iterator[Finding]:
    """Check that a new pod is bound if, and only if, something binds it.

    Under a policy its NUMA nodes include those of all that it holds. It runs in all of its pool
    there.
    """
    spec, node = placed.pod.spec, judged.node.name
    homes, policy = numa_nodes_bound_to(judged, placed), alignment_policy_of(judged, placed)
    if not homes and policy not in BINDING and not spec.constrained_burst:
        return
    subjects = aligned_pod_or_containers(judged, placed) if policy in BINDING else []
    subjects = [
        subject for subject in subjects if is_subject_bound_to_pool(judged, placed, subject)
    ]
    held = frozenset(
        c for subject in subjects for c in cells_of_subject(judged, subject_as_unbound(subject))
    )
    by_policy = bool(held) or any(subject.requests.cpu_milli for subject in subjects)
    who = f"{placed.qos} pod {placed.title!r} on node {node!r}"
    if not homes and (spec.constrained_burst or by_policy):
        why = policy if by_policy else "ConstrainedBurst"
        yield Finding(placed.title, f"{who} is bound to no NUMA node; {why} binds it to some")
    elif not (not homes or by_policy or spec.constrained_burst or _runs_everywhere(judged, placed)):
        yield Finding(
            placed.title,
            f"{who} is bound to NUMA nodes {_list(homes)}; nothing there binds it",
        )
    elif by_policy and held - homes:
        yield Finding(
            placed.title,
            f"{who} holds something of NUMA nodes {_list(held - homes)}, to whose pool it is not "
            f"bound; {policy} wants both on one set",
        )
    if homes and placed.place.cpuset != (pool := pool_cpus_of_pod(judged, placed)):
        yield Finding(
            placed.title,
            f"{who} runs on CPUs {cpus_text(placed.place.cpuset)}; it runs in all of the pool of "
            f"its NUMA nodes {_list(homes)}, which is {cpus_text(pool)}",
        )


def _runs_everywhere(judged: JudgedNode, placed: PlacedPod) -> bool:
    """Return whether a pod has all of its pool, and nothing says that it is bound."""
    return placed.place.cpu_milli is None and placed.place.cpuset == pool_cpus(judged, placed.qos)


def _has_its_cpus(judged: JudgedNode, placed: PlacedPod) -> Iterator[Finding]:
    """Check that a bound pod has a CPU on each of its NUMA nodes.

    A running pod is checked only where new owners make its pool smaller.
    """
    homes = numa_nodes_bound_to(judged, placed)
    cpu = judged.inside.topology.cpu
    there = {cpu[c].numa_node for c in pool_cpus_of_pod(judged, placed)}
    asked = homes if placed.new else _taken_there(judged, placed)
    emptied = sorted(asked - there)
    if emptied:
        yield Finding(
            placed.title,
            f"{placed.qos} pod {placed.title!r} has no CPU on NUMA node {emptied[0]} of node "
            f"{judged.node.name!r}, to whose pool it is bound; leave it one",
        )


def _counts_its_request(placed: PlacedPod) -> Iterator[Finding]:
    said = placed.place.cpu_milli or ()
    total = sum(milli for _, milli in said)
    if said and (total != placed.requests.cpu_milli or any(milli < 0 for _, milli in said)):
        yield pod_breach_finding(
            placed,
            f"counts {total} milli CPUs on its NUMA nodes; its request is "
            f"{placed.requests.cpu_milli}",
        )


def has_new_pod_overdrawing_pool(scene: InstanceWithPlacement) -> bool:
    """Return whether the bound pods of a node would lack fewer CPUs without some new one."""
    for judged in scene.entered:
        for placed in judged.new:
            bound = _bound_pods(judged, placed.qos)
            others = [t for t in bound if t is not placed]
            if _lacking(judged, placed.qos, bound) > _lacking(judged, placed.qos, others):
                return True
    return False


def _requests_fit(
    judged: JudgedNode, qos: QosClass, bound: Sequence[PlacedPod], come: Sequence[PlacedPod]
) -> Iterator[Finding]:
    """Check that the NUMA nodes have enough for the requests of the bound pods.

    If running pods alone do not fit, no new pod may take CPUs of the pool.
    """
    gone = cpus_withheld_from_pool(judged, qos)
    takes = any(t.new and t.requests.cpu_milli for t in bound) or any(
        t.owned & gone for t in judged.new
    )
    short = _lacking(judged, qos, bound, come) if takes else 0
    if short:
        asked_milli = sum(placed.requests.cpu_milli for placed in bound)
        yield Finding(
            judged.node.name,
            f"the bound {qos} pods of node {judged.node.name!r} ask for "
            f"{cpu_count_with_noun(asked_milli)}; "
            f"their NUMA nodes lack {short / 1000:g} of them",
        )


def _lacking(
    judged: JudgedNode, qos: QosClass, bound: Iterable[PlacedPod], come: Sequence[PlacedPod] = ()
) -> int:
    """Return how many milli CPUs the NUMA nodes of bound pods lack for their requests.

    Those who come count as they say; what others ask for is shared out in any way.
    """
    asked: list[_Asked] = []
    for placed in bound:
        said = placed.place.cpu_milli
        in_parts = any(part.cpu_milli is not None for part in placed.place.containers)
        if said and (in_parts or placed in come):
            asked += [((numa,), milli) for numa, milli in said]
        else:
            asked.append((numa_nodes_bound_to(judged, placed), placed.requests.cpu_milli))
    cpu = judged.inside.topology.cpu
    free = Counter(
        cpu[c].numa_node for c in judged.inside.allocatable - cpus_withheld_from_pool(judged, qos)
    )
    room = {
        home: judged.node.milli_per_cpu * count for home, count in free.items() if home is not None
    }
    return _short(room, asked)


def _short(room: Mapping[int, int], asked: Sequence[_Asked]) -> int:
    """Return by how many milli CPUs the requests exceed the room, each within its NUMA nodes.

    As a flow: each request is raised along paths, found depth first, that move others over.
    """
    left = dict(room)
    held: list[Counter[int]] = [Counter() for _ in asked]

    def raise_by(pod: int, amount: int, seen: set[int]) -> int:
        for home in sorted(set(asked[pod][0]) - seen):
            seen.add(home)
            direct = min(amount, left.get(home, 0))
            if direct:
                left[home] -= direct
                held[pod][home] += direct
                return direct
            for other in _holders(home):
                moved = raise_by(other, min(amount, held[other][home]), seen)
                if moved:
                    held[other][home] -= moved
                    held[pod][home] += moved
                    return moved
        return 0

    def _holders(home: int) -> Collection[int]:
        return [i for i, mine in enumerate(held) if mine[home] > 0]

    short = 0
    for pod, (_, milli) in enumerate(asked):
        missing = milli
        while missing > 0 and (got := raise_by(pod, missing, set())):
            missing -= got
        short += max(0, missing)
    return short


def _list(homes: Iterable[CellId]) -> str:
    return ", ".join(sorted(map(str, homes)))


JUDGED = JudgedFamily(
    rules={
        "bound-pool": bound_pool_breaches,
        "constrained-burst": constrained_burst_breaches,
    }
)
