"""The best placement of a tiny instance, found by trying everything.

Nothing is shared with the solver but the words. Whether a placement is allowed and what
it is worth is asked of the judge alone; which running pods may move is said in words of its
own. Four shortcuts, each plainly exact:

* Equal members of a gang are interchangeable, and so are equal lone pods.
* Which pods are placed decides the first tiers, so those choices are tried best first.
* Given who is on which node, no rule and no tier couples two nodes, and tiers are sums:
  the best inside of each node, together, is the best. (That holds for moves of running pods,
  too: on each node as few as can be is best in its tier, and for the budget.)
* Cores are told apart only by NUMA node, online threads, free threads, and the pods on
  them that keep apart from others, or that others want there or not.

``plain_enumeration`` takes none of them, and has to agree.
"""

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cmp_to_key
from itertools import product, takewhile

from insides import BETWEEN_NODES, OF_NODES, Insides, broken
from leaves import Stay, TooManyLeavesError, there
from moving_question import questions
from placer.judge.breaches import breaches
from placer.judge.measure import Worth, are_tier_values_better, measure
from placer_models.cluster import Instance
from placer_models.placement import Placement
from placer_models.pod import Gang, Pod

MOST_LEAVES = 100_000
"""Insides of single nodes that are tried before a world is given up."""


OF_PODS_AND_NODES = (*OF_NODES, "domain", "anti-affinity")
"""Rules that who is on which node breaks, whatever is inside."""


MOST_ASSIGNMENTS = 20_000
"""Ways to send pods to nodes that are tried before a world is given up."""


@dataclass(frozen=True, slots=True)
class Best:
    """One best placement.

    Attributes:
        vector: Its value in every tier.
        leaves: How many insides of single nodes were tried.

    """

    placement: Placement
    vector: Worth
    leaves: int


def best_vector(instance: Instance) -> tuple[int, ...]:
    """Return the values, tier by tier, that no placement of the instance beats."""
    return tuple(value for _, value in best_placement(instance).vector)


def best_placement(instance: Instance, most_leaves: int = MOST_LEAVES) -> Best:
    """Return a best placement of the instance, with running pods that may move in it.

    Raises:
        TooManyLeavesError: There are more than ``most_leaves`` leaves, or assignments.

    """
    best: Best | None = None
    leaves = 0
    for asked in questions(instance):
        if len(asked.gone) > asked.move_budget:
            continue
        found, tried = _best_of(asked, most_leaves - leaves, best)
        leaves += tried
        if found is not None and (best is None or are_tier_values_better(found[0], best.vector)):
            best = Best(found[1], found[0], leaves)
    assert best is not None, "nothing is placed, and even that is not allowed"
    return replace(best, leaves=leaves)


def _best_of(
    instance: Instance, most_leaves: int, known: Best | None
) -> tuple[tuple[Worth, Placement] | None, int]:
    """Return the best of one question, if it may be better than what is known; and the leaves."""
    insides = Insides(instance, most_leaves)
    best = (known.vector, known.placement) if known else None
    found: tuple[Worth, Placement] | None = None
    for stays, placed in _assignments(instance):
        if best and are_tier_values_better(_placed_tiers(best[0]), placed):
            break
        on_node: dict[str, list[Stay]] = defaultdict(list)
        for stay in stays:
            on_node[stay.node.name].append(stay)
        inside = [
            insides.best(guests, [stay for stay in stays if stay.node is not guests[0].node])
            for guests in on_node.values()
        ]
        if None in inside:
            continue
        placement = Placement(tuple(place for pods in inside if pods for place in pods))
        if broken(instance, placement, ["moves"]):
            continue  # it moves too many
        vector = measure(instance, placement)
        if best is None or are_tier_values_better(vector, best[0]):
            assert not breaches(instance, placement), "each node is well, and all together not"
            best = found = vector, placement
    return found, insides.leaves


def _assignments(instance: Instance) -> list[tuple[tuple[Stay, ...], Worth]]:
    """Return who goes to which node, best tiers ``placed`` first, with their values."""
    wanting = [(gang, pod) for gang in instance.gangs for pod in gang.pods]
    elsewhere = len(instance.nodes)
    at_home = {home.key for home in instance.homes}
    ways = (elsewhere + 1) ** (len(wanting) - len(at_home)) * elsewhere ** len(at_home)
    if ways > MOST_ASSIGNMENTS:
        raise TooManyLeavesError(f"{instance.name}: {len(wanting)} pods on {elsewhere} nodes")
    found: list[tuple[tuple[Stay, ...], Worth]] = []
    interchangeable = _interchangeable(instance, wanting, at_home)
    for ranks in product(range(elsewhere + 1), repeat=len(wanting)):
        if any(ranks[first] > ranks[second] for first, second in interchangeable):
            continue
        stays = tuple(
            Stay(gang, there(pod, instance.nodes[rank]), instance.nodes[rank])
            for (gang, pod), rank in zip(wanting, ranks, strict=True)
            if rank < elsewhere
        )
        if not at_home <= {stay.pod.key for stay in stays}:
            continue
        skeleton = Placement(tuple(stay.place({}, stay.cpus) for stay in stays))
        rules = [rule for rule in BETWEEN_NODES if rule != "moves"]
        if not broken(instance, skeleton, (*OF_PODS_AND_NODES, *rules)):
            found.append((stays, _placed_tiers(measure(instance, skeleton))))

    def compare(a: tuple[object, Worth], b: tuple[object, Worth]) -> int:
        return are_tier_values_better(b[1], a[1]) - are_tier_values_better(a[1], b[1])

    return sorted(found, key=cmp_to_key(compare))


def _interchangeable(
    instance: Instance, wanting: Sequence[tuple[Gang, Pod]], at_home: Set[tuple[str, str]]
) -> list[tuple[int, int]]:
    """Return pairs of pods that are interchangeable: one order of them is enough.

    Equal members of a gang are, and equal lone pods. Not so where they have homes.
    """
    grouped = {key for group in instance.groups for key in group.gangs}
    last: dict[object, int] = {}
    pairs = []
    for index, (gang, pod) in enumerate(wanting):
        if pod.key not in at_home:
            alone = gang.lone and gang.key not in grouped
            like = replace(gang, name="", pods=()) if alone else gang.key
            if (like, pod.spec) in last:
                pairs.append((last[like, pod.spec], index))
            last[like, pod.spec] = index
    return pairs


def _placed_tiers(vector: Worth) -> Worth:
    """Return the first tiers: those that only ask who is placed."""
    return tuple(takewhile(lambda item: item[0].name.startswith("placed."), vector))
