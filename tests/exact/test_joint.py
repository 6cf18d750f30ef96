"""Devices side by side: exact on tiny worlds, and never refused where a choice exists (D9)."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from answers import expect
from even_topologies import even_topology
from placer.counting.account import accounts_of
from placer.counting.placements import choices_from_placement
from placer.greedy import chooser
from placer.greedy.devices import pick_devices
from placer.greedy.place import place_greedily
from placer.judge.breaches import breaches
from placer.search.coarse import refine_coarse_choices, without_links
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import Device
from placer_models.placement import DeviceGrant, Infeasible, PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, JointDevicesScope, RequiredOrPreferred
from tiny_pods import lone

SWITCHES = 4
GPUS, NICS = 2 * SWITCHES, SWITCHES
"""Two GPUs and one NIC below each switch, two switches on each NUMA node."""

TOPOLOGY = even_topology(16, 0, 0)


def machine(gpus: int = GPUS, nics: int = NICS) -> Machine:
    """Return a machine of four switches; GPUs and NICs go round them in blocks."""
    devices = [
        Device(kind, i, numa_node=2 * i // count, pcie_switch="abcd"[SWITCHES * i // count])
        for kind, count in (("gpu", gpus), ("rdma", nics))
        for i in range(count)
    ]
    return Machine("switched", "", TOPOLOGY, tuple(devices))


def wanting(
    name: str,
    gpus: int,
    nics: int,
    strength: RequiredOrPreferred = RequiredOrPreferred.REQUIRED,
    scope: JointDevicesScope = JointDevicesScope.SAME_PCIE,
) -> Pod:
    counts = (("gpu", gpus), ("rdma", nics))
    requests = Resources(devices=tuple(DeviceRequest(kind, n) for kind, n in counts if n))
    joint = JointDevicesRequest(("gpu", "rdma"), scope, strength)
    return Pod(name, "default", PodSpec((Container("main", requests),), joint=joint))


def held(gpus: Sequence[int], nics: Sequence[int]) -> RunningPod:
    """Return a pod that holds devices already."""
    pod = wanting("held", len(gpus), len(nics))
    grants = [DeviceGrant("gpu", i) for i in gpus] + [DeviceGrant("rdma", i) for i in nics]
    pool = TOPOLOGY.online
    return RunningPod(
        replace(pod, spec=replace(pod.spec, joint=None)),
        PodPlacement("held", "default", None, "n", pool, devices=tuple(grants)),
    )


def asking(*pods: Pod, running: RunningPod | None = None) -> Instance:
    return Instance(
        nodes=(Node("n", machine()),),
        gangs=tuple(map(lone, pods)),
        running=(running,) if running else (),
    )


def is_feasible(gpus: Sequence[int], nics: Sequence[int], want: int, wanted_nics: int) -> bool:
    """Return whether free devices allow the choice: try every set of switches."""
    pairs = [
        (sum(2 * s <= g < 2 * s + 2 for g in gpus), sum(s == n for n in nics))
        for s in range(SWITCHES)
    ]
    return any(
        all(g and n for g, n in chosen)
        and len(chosen) <= min(want, wanted_nics)
        and sum(g for g, _ in chosen) >= want
        and sum(n for _, n in chosen) >= wanted_nics
        for mask in range(1, 2**SWITCHES)
        for chosen in [[pair for s, pair in enumerate(pairs) if mask >> s & 1]]
    )


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.AUTO])
@pytest.mark.parametrize("seed", range(4))
def test_no_pod_is_refused_where_a_choice_exists(engine: Engine, seed: int) -> None:
    """
    40 % of the GPUs and 30 % of the NICs are held at random. Choosing the GPUs first, and
    for ever, refuses 3 of 10 such pods.
    """
    rng = Random(seed)
    placed = 0
    for _ in range(10):
        busy_gpus = [g for g in range(GPUS) if rng.random() < 0.4]
        busy_nics = [n for n in range(NICS) if rng.random() < 0.3]
        nics = rng.choice((1, 2))
        gpus = rng.randint(nics, 2 * nics)
        free = [g for g in range(GPUS) if g not in busy_gpus]
        free_nics = [n for n in range(NICS) if n not in busy_nics]
        instance = asking(wanting("a", gpus, nics), running=held(busy_gpus, busy_nics))
        answer = solve(instance, SolveOptions(engine=engine, workers=1, time_limit_s=60))
        assert isinstance(answer, Placed) == is_feasible(free, free_nics, gpus, nics)
        if isinstance(answer, Placed):
            assert breaches(instance, answer.placement) == ()
            placed += 1
    assert placed > 2


@pytest.mark.parametrize(
    ("pod", "running", "reason"),
    [
        (
            wanting("a", 2, 1),
            held([0], [2, 3]),
            "1 of 1 nodes: joint asks 2 gpu and 1 rdma side by side (SamePCIe)",
        ),
        (wanting("a", 2, 1), held([0, 2], [2, 3]), "not now: running pods leave no room"),
        (wanting("a", 3, 2), held([0], [1, 2, 3]), "device-count asks 2 rdma"),
    ],
)
def test_who_finds_no_place_side_by_side_is_told_so(
    pod: Pod, running: RunningPod, reason: str
) -> None:
    """
    With GPU 0 and NICs 2 and 3 held, only switch b has two GPUs and a NIC.
    """
    answer = solve(asking(pod, running=running), SolveOptions(workers=1, time_limit_s=60))
    if reason.startswith("1 of 1"):
        both = solve(
            asking(pod, wanting("b", 2, 1), running=running),
            SolveOptions(workers=1, time_limit_s=60),
        )
        assert isinstance(answer, Placed)
        assert isinstance(both, PartlyPlaced)
        assert reason in both.unplaced[0].reasons[0]
    else:
        assert isinstance(answer, Infeasible)
        assert reason in answer.unplaced[0].reasons[0]


def test_a_wish_costs_no_place() -> None:
    """
    Two pods would like 2 GPUs and a NIC of one switch; for the second one is far away.
    """
    pods = [wanting(name, 2, 1, RequiredOrPreferred.PREFERRED) for name in "ab"]
    instance = asking(*pods, running=held([2, 3, 4, 5], [2, 3]))
    answer = expect(Placed, solve(instance, SolveOptions(workers=1, time_limit_s=60)))

    assert {t.tier.name: (t.value, t.proven) for t in answer.tiers}["joint"] == (2, True)


def test_gpus_that_are_beside_something_stay_apart_without_links() -> None:
    """
    The model without links merges the GPUs of a NUMA node; here those of a switch.
    """
    instance = asking(wanting("a", 3, 2))
    problem = build_problem(instance)
    bank = without_links(problem).nodes[0].bank("gpu")
    assert bank is not None
    assert bank.board.classes == ((0, 1), (2, 3), (4, 5), (6, 7))

    plain = replace(wanting("a", 3, 2).spec, joint=None)
    merged = without_links(build_problem(asking(Pod("a", "default", plain)))).nodes[0].bank("gpu")
    assert merged is not None
    assert merged.board.classes == ((0, 1, 2, 3), (4, 5, 6, 7))


def test_greedy_tries_no_cells_where_no_choice_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Sets of NUMA nodes are many; none of them has what the whole node has not.
    """
    tried = []

    def counted(*args: object) -> object:
        tried.append(args)
        return pick_devices(*args)

    monkeypatch.setattr(chooser, "pick_devices", counted)
    pod = wanting("a", 2, 1)
    pod = replace(pod, spec=replace(pod.spec, alignment=AlignmentPolicy.BEST_EFFORT))
    problem = build_problem(asking(pod, running=held([0, 2], [2, 3])))

    assert place_greedily(problem) == {}
    assert len(tried) == 1


def test_refining_keeps_the_switches() -> None:
    """
    From counts for each switch back to counts for each equivalence class, and nothing moves.
    """
    instance = asking(wanting("a", 3, 2))
    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1)))
    accounts = accounts_of(instance)
    problem = build_problem(instance, accounts)
    coarse = without_links(problem)
    choices = choices_from_placement(instance, accounts, coarse, answer.placement)
    fine = choices_from_placement(instance, accounts, problem, answer.placement)

    assert refine_coarse_choices(problem, coarse, choices) == fine
