"""Room of a node for running pods whose place is guessed, and sets of NUMA nodes that fit."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence

from placer_models.instance.running_defaults import split_amount_over_numa_nodes
from placer_models.sharing_out import can_distribute_over_places, distribute_over_places

Resource = Hashable
"""What a pod takes of its NUMA nodes: memory, hugepages of a size, CPUs of a pool."""

Where = frozenset[int]
"""The NUMA nodes that a pod is on, or may be on."""

MOST_TRIED = 2_000
"""How many times a pod is tried on a set of NUMA nodes, for one node."""


class AmountLedgerByNumaNode:
    """What NUMA nodes have of each resource, and what pods take of it, each of its NUMA nodes."""

    def __init__(self, has: Mapping[Resource, Mapping[int, int]]) -> None:
        """Begin with nothing taken."""
        self.has = {resource: dict(room) for resource, room in has.items()}
        self._taken: dict[Resource, Counter[Where]] = {resource: Counter() for resource in has}

    def take(self, wants: Mapping[Resource, int], where: Where, sign: int = 1) -> None:
        """Let a pod take what it wants of its NUMA nodes, or give it back if the sign is -1."""
        for resource, amount in wants.items():
            if amount:
                taken = self._taken[resource]
                taken[where] += sign * amount
                if not taken[where]:
                    del taken[where]

    def holds(self, resources: Iterable[Resource]) -> bool:
        """Return whether all that is taken can be shared out, each over its own NUMA nodes."""
        return all(self._holds(resource) for resource in resources)

    def takes(self, wants: Mapping[Resource, int], where: Where) -> bool:
        """Let a pod take what it wants if that fits; return whether it does."""
        self.take(wants, where)
        if self.holds(resource for resource, amount in wants.items() if amount):
            return True
        self.take(wants, where, -1)
        return False

    def close(self, resource: Resource, where: Where) -> None:
        """Leave nothing of a resource on the NUMA nodes, for those who take it elsewhere."""
        for one in [taken for taken in self._taken[resource] if taken & where]:
            del self._taken[resource][one]
        self.has[resource].update(dict.fromkeys(where, 0))

    def left(self, resource: Resource, numa: int) -> int:
        """Return what a NUMA node has left, if who is on several takes of each alike."""
        taken = self._taken[resource].items()
        return self.has[resource].get(numa, 0) - sum(
            amount // len(where) for where, amount in taken if numa in where
        )

    def spare(self, resource: Resource) -> int:
        """Return what all NUMA nodes together have left."""
        has = self.has[resource].values()
        return sum(max(0, amount) for amount in has) - self._taken[resource].total()

    @property
    def state(self) -> Hashable:
        """A key that is equal where the same is taken of the same NUMA nodes."""
        return tuple(frozenset(taken.items()) for taken in self._taken.values())

    def _holds(self, resource: Resource) -> bool:
        taken, has = self._taken[resource], self.has[resource]
        if all(len(where) == 1 for where in taken):
            return all(amount <= has.get(min(where), 0) for where, amount in taken.items())
        return can_distribute_over_places(has, list(taken.items()))


def fit_all_pods_on_numa_nodes(
    room: AmountLedgerByNumaNode,
    wants: Sequence[Mapping[Resource, int]],
    options: Sequence[Callable[[], Collection[Where]]],
) -> list[Where] | None:
    """Return NUMA nodes for each of several pods on which all of them fit; they are taken then.

    The first way that is found is taken: each pod has the first of its options with which the
    later ones still fit. None is returned if there is no way, or none was found in `MOST_TRIED`
    tries; then nothing is taken.

    Args:
        room: What there is, beside what is taken already.
        wants: What each pod takes.
        options: For each pod, its options as the room is then, best first.

    """
    chosen: list[Where] = []
    if not wants:
        return chosen
    failed: set[Hashable] = set()
    open_options = [iter(options[0]())]
    entered: list[Hashable] = [room.state]
    tried = 0
    while open_options:
        at = len(open_options) - 1
        if len(chosen) > at:
            room.take(wants[at], chosen.pop(), -1)
        for where in open_options[at]:
            tried += 1
            if tried > MOST_TRIED:
                break
            if room.takes(wants[at], where):
                chosen.append(where)
                break
        if tried > MOST_TRIED:
            break
        if len(chosen) == at:
            failed.add((at, entered.pop()))
            open_options.pop()
        elif len(chosen) == len(wants):
            return chosen
        elif (at + 1, state := room.state) not in failed:
            open_options.append(iter(options[at + 1]()))
            entered.append(state)
    for asked, where in zip(wants, chosen, strict=False):
        room.take(asked, where, -1)
    return None


def split_over_numa_nodes(
    room: Mapping[int, int], asked: Sequence[tuple[Where, int, bool]]
) -> Iterable[dict[int, int]]:
    """Share amounts out over their NUMA nodes; together they fit.

    Args:
        room: NUMA node -> what it has.
        asked: The NUMA nodes and the amount of each, and whether it should be on all of them.

    """
    plain = list(_one_by_one(room, asked))
    if all(sum(held.values()) == amount for held, (_, amount, _) in zip(plain, asked, strict=True)):
        return plain
    wants = [((numa,), 1) for where, amount, spread in asked if spread for numa in sorted(where)]
    rests = [(where, amount - len(where) * spread) for where, amount, spread in asked]
    given = (
        distribute_over_places(room, [*wants, *rests])
        if all(rest >= 0 for _, rest in rests)
        else None
    )
    if given is None:
        return [
            dict(one)
            for one in distribute_over_places(room, [(w, n) for w, n, _ in asked]) or plain
        ]
    found = given[len(wants) :]
    for (where, _, spread), held in zip(asked, found, strict=True):
        held.update(dict.fromkeys(where, 1) if spread else {})
    return [{numa: amount for numa, amount in held.items() if amount} for held in found]


def _one_by_one(
    room: Mapping[int, int], asked: Sequence[tuple[Where, int, bool]]
) -> Iterator[dict[int, int]]:
    """Yield what each takes in its turn, from its emptiest NUMA node first or of all alike."""
    left = dict(room)
    for where, amount, spread in asked:
        here = {numa: left.get(numa, 0) for numa in sorted(where)}
        if spread:
            each, more = divmod(amount, len(where))
            shares = {numa: each + (i < more) for i, numa in enumerate(here)}
            taken = {n: min(share, here[n]) for n, share in shares.items() if share}
        else:
            taken = split_amount_over_numa_nodes(amount, (), here)
        for numa, got in taken.items():
            left[numa] -= got
        yield taken
