"""Each container has its own devices and is shown its own GPUs (D5, D7, D13)."""

from dataclasses import replace
from itertools import combinations

import pytest

from answers import expect
from placer.counting.container_devices import best_disjoint_sets
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU
from placer_models.links import counts_by_class, linked_classes_of_devices, pair_minimum, pair_sum
from placer_models.machines.catalogue import load_machine
from placer_models.placement import ContainerPlacement, Placed, PodPlacement
from placer_models.pod import Container, ContainerRole, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, AlignmentScope
from tiny_pods import lone

APP, INIT, SIDECAR = ContainerRole.APP, ContainerRole.INIT, ContainerRole.RESTARTABLE_INIT
GREEDY = SolveOptions(engine=Engine.GREEDY, workers=1)
DGX_1 = load_machine("dgx-1-v100")
"""GPUs 0-3 and 1-2, 2-3 have two links, 0-1, 0-2 and 1-3 one; a NIC for each two GPUs."""


def pod(*containers: tuple[ContainerRole, int, int], spec: PodSpec | None = None) -> Pod:
    """Return a pod whose containers ``c0``, ``c1``, ... have so many GPUs and NICs each."""
    parts = []
    for i, (role, gpus, nics) in enumerate(containers):
        asked = [DeviceRequest(GPU, gpus), DeviceRequest("rdma", nics)]
        devices = tuple(request for request in asked if request.count)
        parts.append(Container(f"c{i}", Resources(devices=devices), role))
    return Pod("a", "default", replace(spec or PodSpec(()), containers=tuple(parts)))


def placed(asked: Pod, machine: Machine, free: range = range(4)) -> PodPlacement:
    """Return where the pod is on a machine of which some GPUs are free."""
    gpus = {d.minor for d in machine.devices if d.type == GPU}
    broken = frozenset((GPU, minor) for minor in gpus - set(free))
    instance = Instance((Node("n", machine, unhealthy=broken),), (lone(asked),))
    found = expect(Placed, solve(instance, GREEDY))
    assert breaches(instance, found.placement) == ()
    return found.placement.pods[0]


def minors(part: ContainerPlacement, kind: str = GPU) -> tuple[int, ...]:
    return tuple(grant.minor for grant in part.devices if grant.type == kind)


def shown(part: ContainerPlacement) -> str | None:
    return dict(part.env).get("NVIDIA_VISIBLE_DEVICES")


def test_containers_of_two_one_and_no_gpus_see_what_is_theirs() -> None:
    """
    No list for all of the pod: two names, none, one name; and nothing that all agree on.
    """
    place = placed(pod((APP, 2, 0), (APP, 0, 0), (APP, 1, 0)), DGX_1, range(3))
    two, none, one = place.containers

    assert (minors(two), minors(none), minors(one)) == ((1, 2), (), (0,))
    assert (shown(two), shown(none), shown(one)) == ("1,2", "none", "0")
    assert place.env == ()
    assert place.minors(GPU) == (0, 1, 2)


def test_each_container_has_the_gpus_with_the_best_links() -> None:
    """
    By number it would be 0 and 1 at one link, 2 and 3 at two; 0-3 and 1-2 have two each.
    """
    place = placed(pod((APP, 2, 0), (APP, 2, 0)), DGX_1)

    assert [minors(part) for part in place.containers] == [(0, 3), (1, 2)]


def test_nics_go_where_the_gpus_of_a_container_are() -> None:
    """
    GPUs 0 and 1 share a switch with NIC 0, 2 and 3 with NIC 1; the GPUs are parted first.
    """
    place = placed(pod((APP, 1, 1), (APP, 1, 1)), DGX_1, range(1, 3))

    assert [minors(part) for part in place.containers] == [(1,), (2,)]
    assert [minors(part, "rdma") for part in place.containers] == [(0,), (1,)]


def test_init_containers_use_later_devices_but_none_of_a_sidecar() -> None:
    """
    The first may have any of the pod's, the one behind the sidecar not the sidecar's.
    """
    place = placed(pod((INIT, 2, 0), (SIDECAR, 1, 0), (INIT, 2, 0), (APP, 2, 0)), DGX_1, range(3))
    first, sidecar, second, app = (set(minors(part)) for part in place.containers)

    assert first <= {0, 1, 2}
    assert sidecar == {0}
    assert second == app == {1, 2}
    assert shown(place.containers[2]) == "1,2"


def test_what_all_containers_agree_on_stands_at_the_pod() -> None:
    """
    Two that have none agree; so do an init container and the app that uses its GPUs again.
    """
    none = placed(pod((APP, 0, 0), (APP, 0, 0)), DGX_1)
    same = placed(pod((INIT, 2, 0), (APP, 2, 0)), DGX_1)

    assert none.env == (("NVIDIA_VISIBLE_DEVICES", "none"),)
    assert same.env == same.containers[0].env == same.containers[1].env
    assert shown(same.containers[0]) == ",".join(map(str, same.minors(GPU)))


def test_a_node_without_gpus_needs_no_variable() -> None:
    """
    There is nothing that an image could show.
    """
    plain = replace(DGX_1, devices=(), gpu_links=None)
    place = placed(pod((APP, 0, 0)), plain)

    assert (place.env, place.containers[0].env) == ((), ())


def test_two_vendors_on_a_node_are_told_apart() -> None:
    """
    A threadripper with a GeForce and a Radeon: each runtime hears of its own.
    """
    machine = load_machine("threadripper-2990wx")
    both = placed(pod((APP, 2, 0)), machine)
    none = placed(pod((APP, 0, 0)), machine)

    assert dict(both.env) == {"NVIDIA_VISIBLE_DEVICES": "0", "AMD_VISIBLE_DEVICES": "1"}
    assert set(dict(none.env).values()) == {"none"}


@pytest.mark.parametrize(
    ("ids", "seen"),
    [
        (("0xef2c1799a1f3e2ed", "0x1234"), "0xef2c1799a1f3e2ed,0x1234"),
        (("0x1234", "0x1234"), "0,1"),
        (("GPU-4b2c1a9f", "0x1234"), "0,1"),
        (("", "0x1234"), "0,1"),
    ],
)
def test_amds_runtime_reads_hexadecimal_ids(ids: tuple[str, str], seen: str) -> None:
    """
    What it could not read, or what names two partitions of a GPU, is said by minor.
    """
    first, second = (
        replace(d, id=id_, model="MI300X") for d, id_ in zip(DGX_1.devices, ids, strict=False)
    )
    machine = replace(DGX_1, devices=(first, second), gpu_links=None)
    place = placed(pod((APP, 2, 0)), machine, range(2))

    assert place.env == (("AMD_VISIBLE_DEVICES", seen),)


def test_a_mig_instance_has_no_name_before_it_is_cut() -> None:
    """
    Its container keeps what whoever cuts it says; its neighbour is told that it has none.
    """
    node = Node("n", load_machine("dgx-a100"), mig=((0, "A100-40GB"),))
    asked = Resources(devices=(DeviceRequest("mig-3g.20gb", 1),))
    spec = PodSpec((Container("c0", asked), Container("c1", Resources())))
    instance = Instance((node,), (lone(Pod("a", "default", spec)),))
    found = expect(Placed, solve(instance, GREEDY))
    cut, none = found.placement.pods[0].containers

    assert (shown(cut), shown(none)) == (None, "none")
    assert found.placement.pods[0].env == ()


@pytest.mark.parametrize("policy", [AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentPolicy.RESTRICTED])
def test_aligned_containers_have_the_best_of_their_numa_node(policy: AlignmentPolicy) -> None:
    """
    Two containers of two GPUs on NUMA node 0: each is aligned for itself, both have two links.
    """
    spec = PodSpec((), alignment=policy, scope=AlignmentScope.CONTAINER)
    place = placed(pod((APP, 2, 0), (APP, 2, 0), spec=spec), DGX_1)

    assert {minors(part) for part in place.containers} == {(0, 3), (1, 2)}


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2, 1), (2, 4, 2), (1, 3, 3), (2, 2, 2, 2)])
def test_no_way_to_part_gpus_is_better(sizes: tuple[int, ...]) -> None:
    """
    By trying all of them: slowest pairs added up, then bandwidth.
    """
    board = linked_classes_of_devices(
        tuple(d for d in DGX_1.devices if d.type == GPU), DGX_1.gpu_links
    )

    def worth(parts: list[tuple[int, ...]]) -> tuple[int, int]:
        counts = [counts_by_class(board, part) for part in parts]
        slowest = sum(pair_minimum(board, each) for each in counts)
        return slowest, sum(pair_sum(board, each) for each in counts)

    def ways(left: frozenset[int], wanted: tuple[int, ...]) -> list[list[tuple[int, ...]]]:
        if not wanted:
            return [[]]
        return [
            [part, *others]
            for part in combinations(sorted(left), wanted[0])
            for others in ways(left - set(part), wanted[1:])
        ]

    found = best_disjoint_sets(
        board,
        board.sizes,
        (0,) * len(board.classes),
        tuple((size,) for size in sizes),
        ((0,) * len(board.classes),) * len(sizes),
    )
    mine = (
        sum(pair_minimum(board, counts) for counts in found),
        sum(pair_sum(board, counts) for counts in found),
    )

    assert mine == max(map(worth, ways(frozenset(range(8)), sizes)))
