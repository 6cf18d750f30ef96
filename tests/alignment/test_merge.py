"""What a merge is, on hints of any kind: the peers' combinations without their cost."""

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from alignment.combinations import aim_slowly, koordinators_choice, kubelets_choice
from alignment.combinations import combinations as every_combination
from alignment.hints import Hint, Koordinator, Kubelet, Merged, ProviderHints, merge
from alignment.hints.kubelet import fitness, unpreferred
from alignment.hints.wishes import mask_of
from alignment.peer_rows import hints_of
from placer_models.policy import AlignmentPolicy, RequiredOrPreferred

POLICIES = [policy for policy in AlignmentPolicy if policy is not AlignmentPolicy.NONE]
PEERS = [Kubelet(), Koordinator()]

Providers = list[ProviderHints | None]


@st.composite
def nodes_and_hints(draw: st.DrawFn, most_score: int = 0) -> tuple[tuple[int, ...], Providers]:
    """Draw up to 4 NUMA nodes, some with holes between their ids, and hints of 3 providers.

    Most resources have hints, and a world likes or dislikes most of them, so that often
    some set is preferred by all, and often none is.
    """
    ids = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True)
    numa_nodes = tuple(sorted(draw(ids)))
    masks = st.sampled_from(
        [frozenset(m) for n in range(1, 5) for m in combinations(numa_nodes, n)] * 4
        + [None, frozenset()]
    )
    liked = st.sampled_from(
        draw(st.sampled_from([(True, False), (True,) * 4 + (False,), (False,)]))
    )
    hint = st.builds(Hint, masks, liked, st.integers(0, most_score))
    named = st.lists(hint, min_size=1, max_size=4)
    hints: st.SearchStrategy[list[Hint] | None] = st.one_of(
        named, named, named, st.sampled_from([None, []])
    )
    resources = draw(st.lists(hints, min_size=1, max_size=4))
    lone: Providers = [{f"r{i}": some} for i, some in enumerate(resources[1:])]
    return numa_nodes, draw(st.sampled_from([[{"a": resources[0]}, *lone], [{}, *lone], [None]]))


@st.composite
def distances(draw: st.DrawFn, count: int) -> tuple[tuple[int, ...], ...]:
    """Draw a table of distances, which need not be symmetric."""
    row = st.tuples(*[st.integers(10, 14)] * count)
    return draw(st.tuples(*[row] * count))


@pytest.mark.check
@settings(max_examples=400)
@given(nodes_and_hints(), st.sampled_from(POLICIES), st.data())
def test_the_kubelets_merge_is_the_best_of_every_combination(
    world: tuple[tuple[int, ...], Providers], policy: AlignmentPolicy, data: st.DataObject
) -> None:
    """
    The masks that can be reached are enough: no combination that was not tried is better.
    """
    numa_nodes, providers = world
    everywhere = frozenset(numa_nodes)
    single = policy is AlignmentPolicy.SINGLE_NUMA_NODE
    peer = Kubelet(data.draw(st.just(()) | distances(len(numa_nodes))))
    affinity, preferred = kubelets_choice(
        every_combination(policy, providers, everywhere),
        aim_slowly(policy, providers),
        everywhere,
        Kubelet() if single else peer,
    )

    merged = merge(policy, providers, numa_nodes=numa_nodes, peer=peer)

    assert merged.affinity == (None if single and affinity == everywhere else affinity)
    assert merged.preferred is preferred
    assert merged.admitted is (preferred or policy is AlignmentPolicy.BEST_EFFORT)
    assert bool(merged.reasons) is not merged.admitted


@pytest.mark.check
@settings(max_examples=400)
@given(nodes_and_hints(most_score=2), st.sampled_from(POLICIES), st.data())
def test_koordinators_merge_is_the_best_of_every_combination(
    world: tuple[tuple[int, ...], Providers], policy: AlignmentPolicy, data: st.DataObject
) -> None:
    """
    So it is with scores, exclusivity and hints that starve a resource.
    """
    numa_nodes, providers = world
    everywhere = frozenset(numa_nodes)
    some = st.frozensets(st.sampled_from(numa_nodes))
    peer = Koordinator(
        data.draw(st.sampled_from(RequiredOrPreferred)), data.draw(some), data.draw(some)
    )
    lacks = any(hints == [] for provider in providers for hints in (provider or {}).values())
    assume(not lacks or policy is AlignmentPolicy.BEST_EFFORT)
    best, preferred = koordinators_choice(
        every_combination(policy, providers, everywhere), everywhere, peer
    )

    merged = merge(policy, providers, numa_nodes=numa_nodes, peer=peer)

    if policy is AlignmentPolicy.BEST_EFFORT and not best.satisfied:
        assert merged == Merged(everywhere, preferred=False, admitted=True)
    elif policy is AlignmentPolicy.SINGLE_NUMA_NODE and best.affinity == everywhere:
        assert merged == Merged(None, preferred, preferred, reasons=merged.reasons)
    else:
        assert (merged.affinity, merged.preferred) == (best.affinity, preferred)
        assert (merged.score, merged.unsatisfied) == (best.score, not best.satisfied)
    assert merged.admitted is (preferred or policy is AlignmentPolicy.BEST_EFFORT)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize(("numa_nodes", "widest"), [(8, 8), (34, 2)])
def test_four_resources_on_many_numa_nodes_are_merged(
    numa_nodes: int, widest: int, peer: Kubelet | Koordinator
) -> None:
    """
    255 hints a resource are 4,228,250,625 combinations, 595 are 125 thousand million:
    the answer is the one NUMA node on which all agree, or the lowest if none does.
    """
    masks = [
        frozenset(mask)
        for width in range(1, widest + 1)
        for mask in combinations(range(numa_nodes), width)
    ]

    def merged(liked: list[set[int]]) -> Merged:
        provider = {
            f"resource{i}": [Hint(mask, preferred=mask <= likes) for mask in masks]
            for i, likes in enumerate(liked)
        }
        return merge(
            AlignmentPolicy.RESTRICTED, [provider], numa_nodes=range(numa_nodes), peer=peer
        )

    agreed = merged([{0, 5}, {1, 5}, {2, 5}, {3, 5}])
    at_odds = merged([{0}, {1}, {2}, {3}])

    assert (agreed.affinity, agreed.admitted) == (frozenset({5}), True)
    assert (at_odds.affinity, at_odds.admitted) == (frozenset({0}), False)


@pytest.mark.parametrize("peer", PEERS)
def test_without_a_policy_nothing_is_merged(peer: Kubelet | Koordinator) -> None:
    """
    The policy None admits every pod, wherever it goes.
    """
    merged = merge(AlignmentPolicy.NONE, [{"cpu": []}], numa_nodes=[0, 1], peer=peer)

    assert merged == Merged(None, preferred=False, admitted=True)


@pytest.mark.parametrize("peer", PEERS)
def test_a_hint_for_a_numa_node_that_is_not_there_is_refused(peer: Kubelet | Koordinator) -> None:
    """
    The message names the resource, the NUMA nodes of the hint and those of the node.
    """
    with pytest.raises(
        ValueError, match=r"^a hint for 'cpu' names NUMA nodes 1,7; the node has 0-3$"
    ):
        merge(
            AlignmentPolicy.RESTRICTED,
            [{"cpu": hints_of("0 1,7*")}],
            numa_nodes=range(4),
            peer=peer,
        )


def test_distances_have_a_row_for_each_numa_node() -> None:
    """
    A table of another size is refused before it is read.
    """
    with pytest.raises(ValueError, match="NUMA distances: expected 2 rows of 2 numbers"):
        merge(AlignmentPolicy.RESTRICTED, [], numa_nodes=[0, 1], peer=Kubelet(((10,),)))


def test_the_reason_names_every_resource_that_cannot_be_had() -> None:
    """
    Koordinator lists what is nowhere before it looks at what is not together.
    """
    merged = merge(
        AlignmentPolicy.SINGLE_NUMA_NODE,
        [{"gpu": [], "cpu": hints_of("0*")}, {"rdma": []}],
        numa_nodes=[0, 1],
        peer=Koordinator(),
    )

    assert merged.reasons == ("Unsatisfied NUMA gpu", "Unsatisfied NUMA rdma")
    assert (merged.affinity, merged.admitted) == (None, False)


def test_the_reason_lists_resources_by_name() -> None:
    """
    Whoever asked first: Koordinator's own order is random.
    """
    merged = merge(
        AlignmentPolicy.RESTRICTED,
        [{"gpu": hints_of("1* 0-1"), "cpu": hints_of("0*")}],
        numa_nodes=[0, 1],
        peer=Koordinator(),
    )

    assert merged.reasons == (
        "Unaligned NUMA Hint cause cpu prefer [01] among [01] & gpu prefer [10] among [10 11]",
    )


def test_the_kubelet_aims_at_what_the_most_demanding_resource_needs() -> None:
    """
    Then below it, because that many NUMA nodes are shared, and only then above it.
    """
    fit = fitness(range(6), ())

    masks = sorted((mask_of(range(width)) for width in range(1, 7)), key=unpreferred(fit, aim=3))

    assert [mask.bit_count() for mask in masks] == [3, 2, 1, 4, 5, 6]


def test_the_kubelet_looks_at_no_distance_for_one_numa_node() -> None:
    """
    NUMA node 1 is nearer to itself than 0 is; SingleNUMANode takes the lower nonetheless.
    """
    near = Kubelet(((12, 20), (20, 10)))
    both = [{"cpu": hints_of("0* 1*")}]

    def taken(policy: AlignmentPolicy) -> frozenset[int] | None:
        return merge(policy, both, numa_nodes=[0, 1], peer=near).affinity

    assert taken(AlignmentPolicy.SINGLE_NUMA_NODE) == frozenset({0})
    assert taken(AlignmentPolicy.RESTRICTED) == frozenset({1})


@pytest.mark.parametrize(("cpu", "numa_nodes"), [("0 0-1", {0}), ("0-1 0", {0, 1})])
def test_of_equal_combinations_koordinator_keeps_the_first(cpu: str, numa_nodes: set[int]) -> None:
    """
    NUMA node 0 with a CPU that asks for it is aligned; with one that asks for both, and was
    hinted at earlier, it is not, and BestEffort falls back to all NUMA nodes.
    """
    merged = merge(
        AlignmentPolicy.BEST_EFFORT,
        [{"cpu": hints_of(cpu)}, {"gpu": hints_of("0")}],
        numa_nodes=[0, 1],
        peer=Koordinator(),
    )

    assert merged.affinity == frozenset(numa_nodes)


def test_wherever_keeps_no_exclusivity() -> None:
    """
    A pod that may be on any NUMA node has none to itself, required or not.
    """
    assert not Koordinator(RequiredOrPreferred.REQUIRED).allows(None)
    assert not Koordinator().allows(None)


def test_a_reason_writes_masks_as_koordinator_does() -> None:
    """
    NUMA node 0 last, an even number of digits, but one more where the first is alone.
    """
    merged = merge(
        AlignmentPolicy.RESTRICTED,
        [{"cpu": hints_of("0 1 2 0,2 3 4 1,4 any")}],
        numa_nodes=range(5),
        peer=Koordinator(),
    )

    assert merged.reasons == (
        "Unaligned NUMA Hint cause cpu prefer [] among [01 10 100 0101 1000 10000 010010 <nil>]",
    )
