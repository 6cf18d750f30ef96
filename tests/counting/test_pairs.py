"""Threads of cores of two, dealt out so that few cores are shared against a wish (C9)."""

from collections import Counter
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from placer.counting.core_pairs import pick_cpus_for_exclusive_pods
from placer.counting.cores import FreeCore, PodCoresToAssign
from placer_models.policy import RequiredOrPreferred
from placer_models.problem.problem import CoreTake

Keeps = RequiredOrPreferred | None
Pod = tuple[int, bool, Keeps]
"""Single threads, whether they have to be on as many cores, how the pod keeps its cores."""

WISH, DEMAND = RequiredOrPreferred.PREFERRED, RequiredOrPreferred.REQUIRED

PODS = st.lists(
    st.one_of(
        st.tuples(st.integers(1, 3), st.just(True), st.sampled_from([WISH, WISH, DEMAND, None])),
        st.tuples(st.integers(1, 3), st.just(False), st.none()),
    ),
    min_size=1,
    max_size=4,
)


def dealt(cores: int, pods: list[Pod]) -> list[list[int]] | None:
    wants = [
        PodCoresToAssign(CoreTake(0, n, n if apart else 1), spread=apart) for n, apart, _ in pods
    ]
    free = [FreeCore(i, (2 * i, 2 * i + 1)) for i in range(cores)]
    return pick_cpus_for_exclusive_pods(free, wants, [keeps for _, _, keeps in pods])


def shared(cores_of: list[set[int]], keeps: list[Keeps]) -> int | None:
    """Return the cores shared against wishes; None: against a demand."""
    beyond = 0
    for core in set().union(*cores_of):
        here = [k for used, k in zip(cores_of, keeps, strict=True) if core in used and k]
        if len(here) > 1 and DEMAND in here:
            return None
        beyond += max(0, len(here) - 1)
    return beyond


def fewest_shared(cores: int, pods: list[Pod]) -> int | None:
    """Return the least sharing of any dealing, by trying all; None: there is none."""
    loose = sum(n for n, apart, _ in pods if not apart)
    fixed = [(n, keeps) for n, apart, keeps in pods if apart]
    found = []
    for sets in product(*(list(combinations(range(cores), n)) for n, _ in fixed)):
        taken = Counter(core for used in sets for core in used)
        if max(taken.values(), default=0) > 2 or taken.total() + loose > 2 * cores:
            continue
        sharing = shared([set(used) for used in sets], [keeps for _, keeps in fixed])
        if sharing is not None:
            found.append(sharing)
    return min(found, default=None)


@given(st.integers(1, 4), PODS)
def test_no_dealing_shares_fewer_cores(cores: int, pods: list[Pod]) -> None:
    """
    Where some dealing has what the pods ask for, ours has it, at the least sharing.
    """
    fewest = fewest_shared(cores, pods)
    picked = dealt(cores, pods)

    if fewest is None:
        assert picked is None or shared_by(picked, pods) is None
        return
    assert picked is not None
    cpus = [cpu for own in picked for cpu in own]
    assert len(cpus) == len(set(cpus))
    assert [len(own) for own in picked] == [n for n, _, _ in pods]
    assert all(
        len({cpu // 2 for cpu in own}) == n
        for own, (n, apart, _) in zip(picked, pods, strict=True)
        if apart
    )
    assert shared_by(picked, pods) == fewest


def shared_by(picked: list[list[int]], pods: list[Pod]) -> int | None:
    return shared([{cpu // 2 for cpu in own} for own in picked], [keeps for _, _, keeps in pods])


def test_a_spread_pod_that_keeps_its_cores_has_both_threads_of_some() -> None:
    """
    3 CPUs on 2 cores are both threads of one and one of the other, which a wish does not
    share as long as there is a third core.
    """
    wants = [
        PodCoresToAssign(CoreTake(0, 3, 2), spread=True),
        PodCoresToAssign(CoreTake(0, 1, 1), spread=True),
    ]
    free = [FreeCore(i, (2 * i, 2 * i + 1)) for i in range(3)]

    assert pick_cpus_for_exclusive_pods(free, wants, [WISH, WISH]) == [[0, 1, 2], [4]]
    assert pick_cpus_for_exclusive_pods(free[:2], wants, [WISH, WISH]) == [[0, 1, 2], [3]]
    assert pick_cpus_for_exclusive_pods(free[:2], wants, [WISH, DEMAND]) is None


def test_whole_cores_that_are_not_there_are_not_given() -> None:
    """
    Counts that promise too much are told.
    """
    free = [FreeCore(0, (0, 1))]

    assert (
        pick_cpus_for_exclusive_pods(
            free, [PodCoresToAssign(CoreTake(2, 0, 0), spread=False)], [WISH]
        )
        is None
    )
    assert (
        pick_cpus_for_exclusive_pods(
            free, [PodCoresToAssign(CoreTake(0, 4, 2), spread=True)], [WISH]
        )
        is None
    )
