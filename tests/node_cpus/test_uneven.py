"""Machines whose cores differ: kinds, missing and offline siblings, every SMT width."""

from collections.abc import Sequence

import pytest

from judge.hand import node, pod, put, world
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine
from placer_models.goals import BIND
from placer_models.placement import GaveUp, Infeasible, Placed, Placement
from placer_models.policy import BindPolicy, HybridCoreKind, NodeBindPolicy
from placer_models.topology import Cpu, NumaNode, Topology

FULL, SPREAD = BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS
P, E = HybridCoreKind.PERFORMANCE, HybridCoreKind.EFFICIENCY

ENGINES = [Engine.GREEDY, Engine.EXACT]


def machine(*cores: tuple[int, HybridCoreKind], offline: Sequence[int] = ()) -> Machine:
    """Return a machine of cores with so many threads each, numbered core by core."""
    threads = [(core, kind) for core, (width, kind) in enumerate(cores) for _ in range(width)]
    cpus = tuple(
        Cpu(i, core, 0, numa_node=0, kind=kind, online=i not in offline)
        for i, (core, kind) in enumerate(threads)
    )
    return Machine("uneven", "", Topology("x86_64", cpus, (NumaNode(0, 0),)))


def owned(instance: Instance, engine: Engine) -> tuple[frozenset[int], int] | None:
    """Return the CPUs of the one pod and the tier ``bind``; None: it has no place."""
    match solve(instance, SolveOptions(engine=engine, workers=1)):
        case Placed(placement, tiers):
            return placement.pods[0].cpuset, {t.tier: t.value for t in tiers}[BIND]
        case Infeasible() | GaveUp():
            return None
        case other:
            raise AssertionError(other)


HYBRID = machine((2, P), (2, P), (1, E), (1, E), (1, E))
"""CPUs (0 1) (2 3) are performance cores, 4, 5 and 6 efficiency cores."""

DENSE = machine((2, P), (2, E), (2, E))
"""Efficiency cores of two threads: (2 3) (4 5)."""


@pytest.mark.parametrize("engine", ENGINES)
def test_an_odd_count_is_whole_on_a_hybrid_machine(engine: Engine) -> None:
    """
    Three CPUs are a performance core and an efficiency core, also where they must be whole.
    """
    for required in (False, True):
        found = owned(
            world(pod("a", 3, bind=FULL, required=required), nodes=[node(machine=HYBRID)]), engine
        )

        assert found is not None
        assert found[1] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_spread_takes_both_kinds(engine: Engine) -> None:
    """
    Five cores for five CPUs; six are one too many.
    """
    five = world(pod("a", 5, bind=SPREAD, required=True), nodes=[node(machine=HYBRID)])
    six = world(pod("a", 6, bind=SPREAD, required=True), nodes=[node(machine=HYBRID)])

    assert owned(five, engine) is not None
    assert owned(six, engine) is None


def test_default_does_not_mind_a_part_of_an_efficiency_core() -> None:
    """
    Who asks for FullPCPUs does: one CPU of it counts, where a whole core could be had.
    """
    by_default = world(pod("a", 3), nodes=[node(machine=DENSE)])
    asked = world(pod("a", 4, bind=FULL), nodes=[node(machine=DENSE)])

    def bind(instance: Instance, cpus: str) -> int:
        return dict(measure(instance, Placement((put("a", cpus),))))[BIND]

    assert bind(by_default, "0-2") == 0
    assert bind(by_default, "2-4") == 0
    assert bind(by_default, "0,2,4") == 1
    assert bind(asked, "0-3") == 0
    assert bind(asked, "0-2,4") == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_default_takes_single_threads_of_efficiency_cores(engine: Engine) -> None:
    """
    A running pod has half of each core; two halves of efficiency cores count nothing.
    """
    runs = [(pod("r", 3), put("r", "0,2,4"))]
    by_default = world(pod("a", 2), nodes=[node(machine=DENSE)], running=runs)
    asked = world(pod("a", 2, bind=FULL), nodes=[node(machine=DENSE)], running=runs)

    assert owned(by_default, engine) == ({3, 5}, 0)
    found = owned(asked, engine)
    assert found is not None
    assert found[1] == 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_whole_cores_of_every_width(width: int, engine: Engine) -> None:
    """
    One CPU more than two cores is nowhere where cores are whole, but for cores of one thread.
    """
    kind = machine(*[(width, P)] * 3)
    whole = [node(machine=kind, cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY)]

    assert owned(world(pod("a", 2 * width), nodes=whole), engine) is not None
    beyond = owned(world(pod("a", 2 * width + 1), nodes=whole), engine)
    assert (beyond is not None) == (width == 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_with_an_offline_sibling_is_whole_without_it(engine: Engine) -> None:
    """
    CPUs 0 and 1 are two threads, of which 1 is offline: three CPUs are that core and one more.
    """
    whole = NodeBindPolicy.FULL_PCPUS_ONLY
    kind = machine((2, P), (2, P), offline=[1])

    assert owned(world(pod("a", 3), nodes=[node(machine=kind, cpu_bind=whole)]), engine) == (
        {0, 2, 3},
        0,
    )
    assert owned(world(pod("a", 1), nodes=[node(machine=kind, cpu_bind=whole)]), engine) == ({0}, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_with_a_reserved_sibling_is_never_whole(engine: Engine) -> None:
    """
    Two of four threads are left beside it, and a third CPU is nowhere.
    """
    whole = NodeBindPolicy.FULL_PCPUS_ONLY
    box = node(machine=machine((2, P), (2, P)), cpu_bind=whole, reserved="1")

    assert owned(world(pod("a", 2), nodes=[box]), engine) == ({2, 3}, 0)
    assert owned(world(pod("a", 3), nodes=[box]), engine) is None
