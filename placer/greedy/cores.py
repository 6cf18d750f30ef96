"""How many whole cores and single threads of each core class a pod takes."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from placer.greedy.residual import (
    NO_CORES,
    ClassFacts,
    ClassLeft,
    Residual,
    after_cores,
    free_threads,
    whole_cores,
)
from placer_models.policy import BindPolicy
from placer_models.problem import CoreTake, Fit, Shape


def capacity(facts: ClassFacts, left: ClassLeft, fit: Fit) -> int:
    """Return how many CPUs of the class a pod of the fit could own at most."""
    if not fit.bind_required:
        return free_threads(facts, left)
    if fit.bind is BindPolicy.SPREAD_BY_PCPUS:
        return _on_cores_of_their_own(facts, left)
    return whole_cores(facts, left) * facts.threads


def pick_cores(
    residual: Residual,
    shape: Shape,
    fit: Fit,
    cells: Collection[int],
    near: Collection[int],
    only: Collection[int] | None = None,
) -> tuple[CoreTake, ...] | None:
    """Return what the pod takes of every class; None: the cells have not enough.

    The bind policy is kept as far as it can be; then as few whole cores as can be are
    lost to others; then cells in ``near`` come first and few cells are touched.

    Args:
        residual: What is left on the node.
        shape: What the pod asks for.
        fit: What that means here.
        cells: Where its CPUs may be.
        near: Where they had better be.
        only: Classes that they may be of, by index; None: any.

    """
    if not shape.owned_cpus:
        return (NO_CORES,) * len(residual.cores)
    classes = residual.layout.classes
    usable = [
        i for i, facts in enumerate(classes) if facts.cell in cells and (only is None or i in only)
    ]
    if sum(capacity(classes[i], residual.cores[i], fit) for i in usable) < shape.owned_cpus:
        return None
    takes: dict[int, CoreTake] | None
    if fit.bind is BindPolicy.SPREAD_BY_PCPUS:
        takes = _spread(residual, usable, shape.owned_cpus, near)
    else:
        takes = _full(residual, usable, shape.owned_cpus, near, required=fit.bind_required)
    if takes is None:
        return None
    return tuple(takes.get(i, NO_CORES) for i in range(len(classes)))


def against_policy(residual: Residual, shape: Shape, fit: Fit, takes: Sequence[CoreTake]) -> int:
    """Return how many CPUs the pod owns against its bind policy, as tier ``bind`` counts."""
    facts = residual.layout.classes
    if fit.spread_wished or fit.bind is BindPolicy.SPREAD_BY_PCPUS:
        return shape.owned_cpus - sum(take.whole + take.touched for take in takes)
    return sum(
        t.threads for t, f in zip(takes, facts, strict=True) if fit.bind_asked or not f.efficient
    )


def whole_cores_lost(residual: Residual, takes: Sequence[CoreTake]) -> int:
    """Return how many wholly free cores the node has less than before."""
    return sum(
        _lost(facts, left, take)
        for facts, left, take in zip(residual.layout.classes, residual.cores, takes, strict=True)
        if take is not NO_CORES
    )


def whole_cores_free(residual: Residual) -> int:
    """Return how many cores of the node are free as a whole."""
    return sum(map(whole_cores, residual.layout.classes, residual.cores))


def _lost(facts: ClassFacts, left: ClassLeft, take: CoreTake) -> int:
    return whole_cores(facts, left) - whole_cores(facts, after_cores(facts, left, take))


def _on_cores_of_their_own(facts: ClassFacts, left: ClassLeft) -> int:
    """Return how many single threads can be had with no two of them on one core."""
    return min(left.cores, free_threads(facts, left))


def _full(
    residual: Residual, usable: list[int], want: int, near: Collection[int], *, required: bool
) -> dict[int, CoreTake] | None:
    """Whole cores first; the rest are single threads, if the policy allows any."""
    classes = residual.layout.classes
    cores_of_size: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for i in usable:
        if cores := whole_cores(classes[i], residual.cores[i]):
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
        i, threads = _best_for_singles(residual, usable, takes, rest, close)
        takes[i] = CoreTake(takes.get(i, NO_CORES).whole, threads, 1)
        rest -= threads
    return takes


def _whole_counts(supply: Sequence[tuple[int, int]], want: int) -> tuple[int, ...]:
    """Return how many cores of each size hold the most threads without passing ``want``.

    Args:
        supply: (threads of a core, cores), widest first.
        want: Threads.

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
    residual: Residual,
    usable: list[int],
    takes: dict[int, CoreTake],
    rest: int,
    close: Collection[int],
) -> tuple[int, int]:
    """Return the class to take single threads from next, and how many of them."""

    def price(i: int) -> tuple[int, bool, int]:
        facts, left = residual.layout.classes[i], lefts[i]
        threads = rooms[i]
        lost = _lost(facts, left, CoreTake(threads=threads, touched=1))
        return (lost - threads, facts.cell not in close, free_threads(facts, left))

    lefts: dict[int, ClassLeft] = {}
    rooms: dict[int, int] = {}
    for i in usable:
        facts, left = residual.layout.classes[i], residual.cores[i]
        taken = takes.get(i, NO_CORES)
        left = after_cores(facts, left, taken)
        room = free_threads(facts, left)
        if taken.threads or not room:
            continue
        lefts[i] = left
        rooms[i] = min(rest, room)
    best = min(rooms, key=price)
    return best, rooms[best]


def _spread(
    residual: Residual, usable: list[int], want: int, near: Collection[int]
) -> dict[int, CoreTake]:
    """One thread a core as far as there are cores; cores that are broken already first."""
    classes = residual.layout.classes
    threads = dict.fromkeys(usable, 0)
    most = {i: _on_cores_of_their_own(classes[i], residual.cores[i]) for i in usable}
    rest = want
    close = set(near)
    for limit in ({i: _free_of_loss(residual, i, most[i]) for i in usable}, most):
        room = {i: limit[i] - threads[i] for i in usable if limit[i] > threads[i]}
        count = min(rest, sum(room.values()))
        for i, got in _concentrated(count, room, classes, close):
            threads[i] += got
            close.add(classes[i].cell)
        rest -= count
    touched = dict(threads)
    for i in usable:
        more = min(rest, free_threads(classes[i], residual.cores[i]) - threads[i])
        threads[i] += more
        rest -= more
    return {i: CoreTake(0, threads[i], touched[i]) for i in usable if threads[i]}


def _free_of_loss(residual: Residual, i: int, most: int) -> int:
    """Return how many threads, each on its own core, break no core that is whole."""
    facts, left = residual.layout.classes[i], residual.cores[i]
    if not facts.whole:
        return most
    return min(left.broken, left.broken * facts.free - left.threads)


def _concentrated(
    want: int, room: dict[int, int], classes: Sequence[ClassFacts], close: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield (class, amount): from one class if one is enough, the tightest; else the largest."""
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
