"""Every rule of the model matters: without it some tiny world goes wrong."""

from functools import partial

import pytest

from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.realise.realiser import Unrealisable, realise
from placer.search import exact
from placer.search.budget import Budget
from placer.search.cp import SolverError
from placer.search.exact import limits_of, search_exactly
from placer.search.options import SolveOptions
from placer.state.batch import accounts_of, build_problem
from placer_models.cluster import Instance, Machine, Node
from placer_models.cpsat.batch import RULES, Rule, build_batch_model
from placer_models.placement import Placement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, NumaNode, Topology
from worlds import tiny_instance

MOST_WORLDS = 600


def claimed(instance: Instance) -> tuple[tuple[int, ...], bool]:
    """Return the tier values that the search claims, and whether the judge agrees."""
    accounts = accounts_of(instance)
    problem = build_problem(instance, accounts)
    start = [value for _, value in measure(instance, Placement())]
    budget = Budget(SolveOptions(workers=1, time_limit_s=60))
    found = search_exactly(problem, {}, start, budget, str, limits_of(problem))
    placement = realise(instance, accounts, problem, found.choices or {})
    right = not isinstance(placement, Unrealisable) and not breaches(instance, placement)
    return found.values, right


def two_pods_on_three_cores() -> Instance:
    """Two pods of 3 CPUs fit 3 whole cores by the sum, but no pod can have 1.5 cores.

    A third pod has to go to a node of half cores, so that the bind tier is not 0.
    """
    threads = [Cpu(i, core=i // 2, package=0, numa_node=i // 4) for i in range(6)]
    whole = Topology("x86_64", tuple(threads), (NumaNode(0, 0), NumaNode(1, 0)))
    halves = Topology(
        "x86_64",
        tuple(Cpu(i, core=i // 2, package=0, numa_node=0) for i in range(8)),
        (NumaNode(0, 0),),
    )
    return Instance(
        nodes=(
            Node("whole", Machine("whole", "", whole)),
            Node("halves", Machine("halves", "", halves), reserved_cpus=frozenset({0, 2, 4, 6})),
        ),
        gangs=tuple(lone(name, cpus) for name, cpus in (("a", 3), ("b", 3), ("c", 2))),
    )


def best_effort_beside_exclusive() -> Instance:
    """A BE pod wants both CPUs of a node, an LSE pod one of them."""
    cpus = tuple(Cpu(i, core=i, package=0, numa_node=0) for i in range(2))
    machine = Machine("pair", "", Topology("aarch64", cpus, (NumaNode(0, 0),)))
    return Instance(
        nodes=(Node("n", machine),),
        gangs=(lone("batch", 2, QosClass.BE), lone("service", 1, QosClass.LSE)),
    )


def lone(name: str, cpus: int, qos: QosClass = QosClass.LSR) -> Gang:
    spec = PodSpec((Container("main", Resources(1000 * cpus)),), qos=qos)
    return Gang(name, "default", (Pod(name, "default", spec),), 1, lone=True)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_without_the_rule_some_world_goes_wrong(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A rule that no world needs is not tested by any world.
    """
    others = tuple(other for other in RULES if other is not rule)
    made = (two_pods_on_three_cores(), best_effort_beside_exclusive())
    for instance in (*made, *map(tiny_instance, range(MOST_WORLDS))):
        whole = claimed(instance)
        with monkeypatch.context() as patch:
            patch.setattr(exact, "build_batch_model", partial(build_batch_model, rules=others))
            try:
                without = claimed(instance)
            except (ValueError, SolverError):  # more pods than there are, or beyond a limit
                return
        if without != whole:
            return
    pytest.fail(f"{MOST_WORLDS} worlds do as well without {rule.__name__}")
