"""Which of a pod's CPUs each container runs on."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from greedy.small import Numa, machine
from placer.counting.containers import container_placements_on_pool, divide_cpus_among_containers
from placer_models.cpuset import CpuSet
from placer_models.pod import Container, ContainerRole, Resources

TOPOLOGY = machine(Numa(cores=(2,) * 8)).topology


def container(name: str, cpus: int, role: ContainerRole = ContainerRole.APP) -> Container:
    return Container(name, Resources(cpu_milli=1000 * cpus), role)


def parts(cpus: list[int], *containers: Container) -> dict[str, CpuSet]:
    return {c.name: c.cpuset for c in divide_cpus_among_containers(containers, cpus, TOPOLOGY)}


def test_containers_in_a_pool_have_all_of_it() -> None:
    """
    LS and BE containers run wherever their pool is.
    """
    placed = container_placements_on_pool([container("a", 1), container("b", 2)], frozenset({4, 5}))

    assert [(c.name, c.cpuset) for c in placed] == [("a", {4, 5}), ("b", {4, 5})]


def test_a_container_with_an_even_request_never_shares_a_core() -> None:
    """
    Of 3, 2 and 3 CPUs on four cores, the middle container has a core for itself.
    """
    found = parts(list(range(8)), container("a", 3), container("b", 2), container("c", 3))

    assert found == {"a": {0, 1, 6}, "b": {2, 3}, "c": {4, 5, 7}}


def test_a_container_without_a_cpu_request_runs_on_all_of_the_pod() -> None:
    """
    A log shipper that asks for no CPU may run on any of the pod's.
    """
    found = parts([0, 1], container("main", 2), container("logs", 0))

    assert found == {"main": {0, 1}, "logs": {0, 1}}


def test_an_init_container_keeps_off_the_sidecars_before_it() -> None:
    """
    The sidecar is up when the init container runs; the app container is not yet.
    """
    found = parts(
        [0, 1, 2, 3],
        container("first", 1, ContainerRole.INIT),
        container("proxy", 2, ContainerRole.RESTARTABLE_INIT),
        container("second", 2, ContainerRole.INIT),
        container("main", 2),
    )

    assert found == {"first": {0, 1, 2, 3}, "proxy": {0, 1}, "second": {2, 3}, "main": {2, 3}}


def test_an_init_container_is_never_left_without_a_cpu() -> None:
    """
    It asks for nothing and the sidecar has everything, so it shares with the sidecar.
    """
    found = parts(
        [0, 1],
        container("proxy", 2, ContainerRole.RESTARTABLE_INIT),
        container("setup", 0, ContainerRole.INIT),
    )

    assert found["setup"] == {0, 1}


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    cpus=st.permutations(range(16)),
    spare=st.integers(0, 3),
)
def test_parts_are_as_large_as_asked_for_and_share_nothing(
    sizes: list[int], cpus: list[int], spare: int
) -> None:
    """
    Whatever CPUs the pod owns, its containers part them exactly.
    """
    total = sum(sizes)
    sizes = sizes if total + spare <= 16 else [1]
    owned = cpus[: sum(sizes) + spare]
    found = list(parts(owned, *(container(str(i), n) for i, n in enumerate(sizes))).values())

    assert [len(part) for part in found] == sizes
    assert frozenset().union(*found) <= frozenset(owned)
    assert all(not a & b for a, b in pairwise(found))
