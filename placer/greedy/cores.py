"""Cores: how many whole ones and single threads of each core class a pod takes."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from placer.greedy.inside import CandidatePlace, TierCosts
from placer_models.goals import BIND
from placer_models.policy import BindPolicy
from placer_models.problem.node_state import CoreClass, NodeState
from placer_models.problem.problem import CoreTake, Fit, Shape

NO_CORES = CoreTake()
"""Nothing of a core class."""


def core_class_after(c: CoreClass, take: CoreTake) -> CoreClass:
    """Return what is left of a class, which is right only if ``broken`` is within ``cores``."""
    taken = c.taken + take.threads
    broken = max(-(-taken // c.free), c.broken, take.touched)
    return c._replace(cores=c.cores - take.whole, taken=taken, broken=broken)


def ownable_cpu_count_of_core_class(c: CoreClass, fit: Fit) -> int:
    """Return how many CPUs of the class a pod of the fit could own at most."""
    if not fit.bind_required:
        return c.free_threads
    if fit.bind is BindPolicy.SPREAD_BY_PCPUS:
        return _on_cores_of_their_own(c)
    return c.whole_cores * c.threads


def choose_core_class_counts(
    node: NodeState,
    shape: Shape,
    fit: Fit,
    cells: Collection[int],
    near: Collection[int],
    only: Collection[int] | None = None,
) -> tuple[CoreTake, ...] | None:
    """Return what the pod takes of each class, or None if the cells do not have enough.

    The bind policy is kept as far as possible. Then as few whole cores as possible are lost
    to others. Then cells in ``near`` come first, and few cells are touched.

    Args:
        node: What is left on the node.
        shape: What the pod asks for.
        fit: What that means on the node.
        cells: Cells where its CPUs may be.
        near: Cells where they had better be.
        only: Indices of the classes that they may be of; None: any.

    """
    if not shape.owned_cpus:
        return (NO_CORES,) * len(node.cores)
    classes = node.cores
    usable = [i for i, c in enumerate(classes) if c.cell in cells and (only is None or i in only)]
    if sum(ownable_cpu_count_of_core_class(classes[i], fit) for i in usable) < shape.owned_cpus:
        return None
    takes: dict[int, CoreTake] | None
    if fit.bind is BindPolicy.SPREAD_BY_PCPUS:
        takes = _spread(node, usable, shape.owned_cpus, near)
    else:
        takes = _full(node, usable, shape.owned_cpus, near, required=fit.bind_required)
    if takes is None:
        return None
    return tuple(takes.get(i, NO_CORES) for i in range(len(classes)))


def whole_core_count_lost(node: NodeState, takes: Sequence[CoreTake]) -> int:
    """Return how many fewer wholly free cores the node has than before."""
    return sum(
        _lost(c, take) for c, take in zip(node.cores, takes, strict=True) if take is not NO_CORES
    )


def whole_core_count_free(node: NodeState) -> int:
    """Return how many cores of the node are free as a whole."""
    return sum(c.whole_cores for c in node.cores)


def _lost(c: CoreClass, take: CoreTake) -> int:
    return c.whole_cores - core_class_after(c, take).whole_cores


def _on_cores_of_their_own(c: CoreClass) -> int:
    """Return how many single threads can be had with no two of them on one core."""
    return min(c.cores, c.free_threads)


def _full(
    node: NodeState, usable: list[int], want: int, near: Collection[int], *, required: bool
) -> dict[int, CoreTake] | None:
    """Take whole cores first, then single threads, or return None if these are not allowed."""
    classes = node.cores
    cores_of_size: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for i in usable:
        if cores := classes[i].whole_cores:
            cores_of_size[classes[i].threads][i] = cores
    sizes = sorted(cores_of_size, reverse=True)
    counts = _whole_counts([(size, sum(cores_of_size[size].values())) for size in sizes], want)
    rest = want - sum(size * count for size, count in zip(sizes, counts, strict=True))
    if rest and required:
        return None
    takes: dict[int, CoreTake] = {}
    close = set(near)
    for size, count in zip(sizes, counts, strict=True):
        for i, cores in _concentrated(count, cores_of_size[size], classes, close):
            takes[i] = CoreTake(whole=cores)
            close.add(classes[i].cell)
    while rest:
        i, threads = _best_for_singles(node, usable, takes, rest, close)
        takes[i] = CoreTake(takes.get(i, NO_CORES).whole, threads, 1)
        rest -= threads
    return takes


def _whole_counts(supply: Sequence[tuple[int, int]], want: int) -> tuple[int, ...]:
    """Return how many cores of each size hold the most threads without passing ``want``.

    Args:
        supply: (threads of a core, cores), widest first.
        want: Threads asked for.

    """
    if not supply:
        return ()
    (size, cores), rest = supply[0], supply[1:]
    most = min(cores, want // size)
    if not rest:
        return (most,)
    best: tuple[int, tuple[int, ...]] = (want + 1, ())
    for count in range(most, -1, -1):
        others = _whole_counts(rest, want - count * size)
        held = sum(s * c for (s, _), c in zip(rest, others, strict=True))
        short = want - count * size - held
        if short < best[0]:
            best = (short, (count, *others))
        if not short:
            break
    return best[1]


def _best_for_singles(
    node: NodeState,
    usable: list[int],
    takes: dict[int, CoreTake],
    rest: int,
    close: Collection[int],
) -> tuple[int, int]:
    """Return the class to take single threads from next, and how many of them."""

    def price(i: int) -> tuple[int, bool, int]:
        c, threads = left[i], rooms[i]
        lost = _lost(c, CoreTake(threads=threads, touched=1))
        return (lost - threads, c.cell not in close, c.free_threads)

    left: dict[int, CoreClass] = {}
    rooms: dict[int, int] = {}
    for i in usable:
        taken = takes.get(i, NO_CORES)
        c = core_class_after(node.cores[i], taken)
        if taken.threads or not c.free_threads:
            continue
        left[i] = c
        rooms[i] = min(rest, c.free_threads)
    best = min(rooms, key=price)
    return best, rooms[best]


def _spread(
    node: NodeState, usable: list[int], want: int, near: Collection[int]
) -> dict[int, CoreTake]:
    """Take one thread per core as far as there are cores, those already broken first."""
    classes = node.cores
    threads = dict.fromkeys(usable, 0)
    most = {i: _on_cores_of_their_own(classes[i]) for i in usable}
    rest = want
    close = set(near)
    for limit in ({i: _free_of_loss(classes[i], most[i]) for i in usable}, most):
        room = {i: limit[i] - threads[i] for i in usable if limit[i] > threads[i]}
        count = min(rest, sum(room.values()))
        for i, got in _concentrated(count, room, classes, close):
            threads[i] += got
            close.add(classes[i].cell)
        rest -= count
    touched = dict(threads)
    for i in usable:
        more = min(rest, classes[i].free_threads - threads[i])
        threads[i] += more
        rest -= more
    return {i: CoreTake(0, threads[i], touched[i]) for i in usable if threads[i]}


def _free_of_loss(c: CoreClass, most: int) -> int:
    """Return how many threads, each on its own core, break no core that is whole."""
    if not c.whole:
        return most
    return min(c.broken, c.broken * c.free - c.taken)


def _concentrated(
    want: int, room: dict[int, int], classes: Sequence[CoreClass], close: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield (class, amount): the tightest class that is enough alone, else the largest first."""
    left = dict(room)
    while want:
        enough = [i for i in left if left[i] >= want]
        if enough:
            best = min(enough, key=lambda i: (classes[i].cell not in close, left[i], i))
        else:
            best = min(left, key=lambda i: (classes[i].cell not in close, -left[i], i))
        amount = min(want, left.pop(best))
        yield best, amount
        want -= amount


def _against_policy(place: CandidatePlace) -> int:
    """Return how many CPUs the pod owns against its bind policy, beyond what it has to."""
    shape, fit = place.shape, place.fit
    if not shape.owned_cpus or (fit.bind_required and not fit.spread_wished):
        return 0
    if fit.spread_wished or fit.bind is BindPolicy.SPREAD_BY_PCPUS:
        against = shape.owned_cpus - sum(take.whole + take.touched for take in place.cores)
    else:
        against = sum(
            take.threads
            for take, c in zip(place.cores, place.node.cores, strict=True)
            if fit.bind_asked or not c.efficient
        )
    beyond = against - fit.bind_remainder
    return max(0, beyond - fit.bind_waived) if fit.bind_waived else beyond


COSTS: TierCosts = {BIND: _against_policy}
