"""Tier ``expected``: what nodes with new pods are worth to the expected pods, less than before."""

from functools import lru_cache
from weakref import WeakKeyDictionary

from placer.judge.family import JudgedFamily
from placer.judge.node_strategy import cpu_milli_left, memory_bytes_left
from placer.judge.scene import (
    InstanceWithPlacement,
    JudgedNode,
    NodeCapacity,
    NodesBefore,
    PlacedPod,
)
from placer.judge.shares import shares_held_with_shares_asked
from placer_models.demand import WHOLE_MILLI, ExpectedDemand
from placer_models.device import GPU
from placer_models.device_share import (
    DeviceShare,
    ShareAmounts,
    amounts_of_share,
    device_capacity_of,
    whole_device_amounts,
)
from placer_models.expected import (
    ExpectedGpuFillCache,
    ExpectedNodeWorthCache,
    ResourcesLeftForExpectedPods,
    admitted_shape_mask,
    expected_shape_prices,
    group_equal_left_nodes,
)
from placer_models.forecast import given_or_learned_demand
from placer_models.goals import EXPECTED

MOST_OUTLOOKS = 1_000
"""How many demands on kinds of nodes are kept at a time."""


def expected_worth_lost(scene: InstanceWithPlacement) -> int:
    """Return what the nodes with new pods are worth before these come, less what after."""
    if not scene.entered:
        return 0
    demand = given_or_learned_demand(scene.instance)
    if demand.prices is None:
        demand = demand.priced(_prices(demand, scene.nodes_before))
    lost = 0
    for judged in scene.entered:
        outlook = _outlook(demand, admitted_shape_mask(demand, judged.node))
        before = scene.nodes_before.judged_nodes[judged.node.name]
        lost += outlook.worth(_left(before, demand)) - outlook.worth(_left(judged, demand))
    return lost


def _prices(demand: ExpectedDemand, nodes: NodesBefore) -> tuple[int, ...]:
    """Return the prices as the nodes are before anything new is placed."""
    judged_nodes = nodes.judged_nodes.values()
    rows = (
        (admitted_shape_mask(demand, judged.node), _left(judged, demand)) for judged in judged_nodes
    )
    return expected_shape_prices(demand, group_equal_left_nodes(rows))


@lru_cache(maxsize=MOST_OUTLOOKS)
def _outlook(demand: ExpectedDemand, open_: tuple[bool, ...]) -> ExpectedNodeWorthCache:
    """Return the judge's own outlook: nothing in it was worked out by anyone else."""
    return ExpectedNodeWorthCache(demand, _fills(demand.priced(None), open_))


@lru_cache(maxsize=MOST_OUTLOOKS)
def _fills(demand: ExpectedDemand, open_: tuple[bool, ...]) -> ExpectedGpuFillCache:
    return ExpectedGpuFillCache(demand, open_)


_lefts: WeakKeyDictionary[JudgedNode, ResourcesLeftForExpectedPods] = WeakKeyDictionary()
"""Judged node -> the CPU and GPUs left there, kept because they never change."""


def _left(judged: JudgedNode, demand: ExpectedDemand) -> ResourcesLeftForExpectedPods:
    """Return what the pods of a node leave of what the demand looks at."""
    found = _lefts.get(judged)
    if found is None:
        found = _lefts[judged] = _counted(judged)
    if demand.looks_at_memory:
        return found._replace(memory_bytes=memory_bytes_left(judged))
    return found


_having: WeakKeyDictionary[NodeCapacity, dict[int, ShareAmounts]] = WeakKeyDictionary()
"""What a node has to give -> minor -> what each of its healthy GPUs has; nobody writes to it."""


def _has(inside: NodeCapacity) -> dict[int, ShareAmounts]:
    found = _having.get(inside)
    if found is None:
        gpus = inside.healthy.get(GPU, ())
        found = _having[inside] = {
            gpu.minor: whole_device_amounts(device_capacity_of(gpu)) for gpu in gpus
        }
    return found


def _counted(judged: JudgedNode) -> ResourcesLeftForExpectedPods:
    has = _has(judged.inside)
    left = dict(has)
    with_shares: list[PlacedPod] = []
    for placed in judged.placed_pods:
        has_share = False
        for grant in placed.place.devices:
            if grant.share is not None:
                has_share = True
            elif grant.type == GPU:
                left.pop(grant.minor, None)
        if has_share:
            with_shares.append(placed)
    for placed in with_shares:
        for grant, asked in shares_held_with_shares_asked(judged, placed):
            if grant.type == GPU and grant.minor in left:
                totals = device_capacity_of(judged.inside.devices[GPU, grant.minor])
                amounts = amounts_of_share(
                    asked or grant.share or DeviceShare(), totals
                ) or whole_device_amounts(totals)
                had = left[grant.minor]
                left[grant.minor] = tuple(h - a for h, a in zip(had, amounts, strict=True))
    milli = (_milli(amounts, has[minor]) for minor, amounts in left.items())
    return ResourcesLeftForExpectedPods(
        cpu_milli_left(judged), tuple(sorted(m for m in milli if m > 0))
    )


def _milli(left: ShareAmounts, has: ShareAmounts) -> int:
    """Return the part left of a GPU in thousandths: that of its scarcest quantity."""
    if left is has:
        return WHOLE_MILLI
    return min([1000 * amount // total for amount, total in zip(left, has, strict=True)])


JUDGED = JudgedFamily(tiers={EXPECTED: expected_worth_lost})
