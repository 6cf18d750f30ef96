"""No refusal says what is not so: reasons against hand-made cases and trying everything (G7)."""

from collections import Counter
from dataclasses import replace

import pytest

from even_topologies import even_topology
from leaves import TooManyLeavesError
from mixed_worlds import mixed_instance
from placer.search.baseline import starting_accounts_of
from placer.search.budget import SolveBudget
from placer.search.options import Engine, SolveOptions
from placer.search.reasons.blocking import blocker_of
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.register import rule_demands_of_pod
from placer.search.reasons.stages import nodes_at_occupancy_stages
from placer.search.reasons.text import blocked_nodes_text
from placer.search.solver import solve
from placer.state.network import network_levels_required_by_gang
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import parse_cpu_list
from placer_models.device import Device
from placer_models.placement import DeviceGrant, Placed, Placement, PodPlacement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass, RequiredOrPreferred
from placer_models.reasons import Blocker, RuleDemand
from placer_models.variants import spec_on
from reasons_by_trying import check_blocker, check_reasons

GIB = 1 << 30
LSR, LS, BE = QosClass.LSR, QosClass.LS, QosClass.BE
SINGLE = AlignmentPolicy.SINGLE_NUMA_NODE
NEVER, NOT_NOW = "never fits", "not now: running pods leave no room"


def box(name: str = "box", *, cpus: int = 16, gpus: int = 0) -> Node:
    """Return a node of two NUMA nodes with 32Gi each, adjacent siblings, GPUs by halves."""
    topology = even_topology(cpus, 32 * GIB, 32 * GIB, threads=2, packages=2)
    devices = tuple(Device("gpu", i, numa_node=2 * i // gpus) for i in range(gpus))
    return Node(name, Machine(f"box-{gpus}", "two NUMA nodes", topology, devices))


def pod(
    name: str,
    cpus: int = 0,
    gpus: int = 0,
    qos: QosClass = LSR,
    alignment: AlignmentPolicy = AlignmentPolicy.NONE,
    memory_gib: int = 0,
) -> Pod:
    devices = (DeviceRequest("gpu", gpus),) if gpus else ()
    requests = Resources(1000 * cpus, memory_gib * GIB, devices=devices)
    return Pod(name, "default", PodSpec((Container("app", requests),), qos, alignment=alignment))


def spreading(waiting: Pod) -> Pod:
    """Return the pod with every CPU on a core of its own."""
    spec = replace(
        waiting.spec, bind=BindPolicy.SPREAD_BY_PCPUS, bind_strength=RequiredOrPreferred.REQUIRED
    )
    return replace(waiting, spec=spec)


def bursting(waiting: Pod, limit: int) -> Pod:
    """Return the LS pod under ConstrainedBurst, with a limit of so many CPUs."""
    (app,) = waiting.spec.containers
    app = replace(app, cpu_limit_milli=1000 * limit)
    return replace(waiting, spec=replace(waiting.spec, containers=(app,), constrained_burst=True))


def running(runner: Pod, node: str, cpus: str = "", gpus: tuple[int, ...] = ()) -> RunningPod:
    grants = tuple(DeviceGrant("gpu", minor) for minor in gpus)
    place = PodPlacement(runner.name, "default", None, node, parse_cpu_list(cpus), devices=grants)
    return RunningPod(runner, place)


def reasons(
    *waiting: Pod | Gang,
    nodes: tuple[Node, ...],
    runs: tuple[RunningPod, ...] = (),
    engine: Engine = Engine.AUTO,
) -> dict[str, tuple[str, ...]]:
    """Return what is said of each pod that is left out."""
    gangs = tuple(w if isinstance(w, Gang) else lone_gang(w) for w in waiting)
    answer = solve(Instance(nodes, gangs, running=runs), SolveOptions(engine, workers=1))
    assert not isinstance(answer, Placed)
    return {left.name: left.reasons for left in answer.unplaced}


TOO_WIDE = [
    pytest.param(
        pod("p", 10, alignment=SINGLE),
        box(),
        "alignment asks 10 CPUs on one NUMA node",
        id="more CPUs than a NUMA node has",
    ),
    pytest.param(
        pod("p", gpus=3, qos=LS, alignment=SINGLE),
        box(gpus=4),
        "alignment asks 3 gpu on one NUMA node",
        id="3 GPUs on 2 and 2",
    ),
    pytest.param(
        spreading(pod("p", 5)),
        box(cpus=8),
        "cpu-bind SpreadByPCPUs asks 5 CPUs each on a core of its own",
        id="5 CPUs spread over 4 cores",
    ),
    pytest.param(
        pod("p", 1000, qos=BE), box(cpus=224), "be-pool asks 1000 CPUs", id="1,000 CPUs of 224"
    ),
    pytest.param(
        pod("p", 1000, qos=LS), box(cpus=224), "shared-pool asks 1000 CPUs", id="and for LS"
    ),
    pytest.param(
        pod("p", 20, gpus=2), box(), "device-count asks 2 gpu", id="no GPU goes before few CPUs"
    ),
    pytest.param(
        bursting(pod("p", 1, qos=LS, alignment=SINGLE), 9),
        box(),
        "alignment asks a pool of 9 CPUs on one NUMA node",
        id="a limit of 9 CPUs on 8 and 8",
    ),
    pytest.param(
        bursting(pod("p", 1, qos=LS, memory_gib=4), 9),
        replace(box(), alignment=AlignmentPolicy.RESTRICTED),
        "alignment asks 4Gi and a pool of 9 CPUs on the same NUMA nodes, as few as each needs "
        "(Restricted)",
        id="a limit of two NUMA nodes, memory of one",
    ),
    pytest.param(
        bursting(pod("p", 1, qos=LS, memory_gib=33, alignment=SINGLE), 2),
        box(),
        "alignment asks 33Gi on one NUMA node",
        id="memory alone keeps a limit off",
    ),
    pytest.param(
        bursting(pod("p", 1, qos=LS), 17),
        replace(box(), alignment=SINGLE),
        "constrained-burst asks a pool of 17 CPUs",
        id="a limit of 17 CPUs of 16",
    ),
    pytest.param(
        spreading(pod("p", 5, alignment=SINGLE)),
        box(),
        "alignment asks 5 CPUs on one NUMA node, beside cpu-bind SpreadByPCPUs",
        id="a NUMA node has 8 CPUs on 4 cores",
    ),
]


@pytest.mark.parametrize(("waiting", "node", "rule"), TOO_WIDE)
def test_what_fits_no_empty_node_never_fits(waiting: Pod, node: Node, rule: str) -> None:
    """
    Alone, beside what runs, and beside others of its batch that take all there is.
    """
    never = f"{NEVER} (1 of 1 nodes: {rule})"
    full = running(pod("r", 2), node.name, "0-1")
    other = pod("other", 4, qos=LS)

    assert reasons(waiting, nodes=(node,))["p"][0] == never
    assert reasons(waiting, nodes=(node,), runs=(full,))["p"][0] == never
    assert reasons(waiting, other, nodes=(node,))["p"][0] == never


def test_what_a_running_pod_leaves_too_little_of_is_not_now() -> None:
    """
    Two CPUs are free on each NUMA node: four are not on one, now.
    """
    runs = (running(pod("r", 12), "box", "0-5,8-13"),)
    found = reasons(pod("p", 4, alignment=SINGLE), nodes=(box(),), runs=runs)

    assert found["p"] == (f"{NOT_NOW} (1 of 1 nodes: alignment asks 4 CPUs on one NUMA node)",)


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.AUTO])
def test_a_pod_that_asks_for_nothing_needs_a_pool(engine: Engine) -> None:
    """
    An LS pod without requests has no place where all CPUs are owned.
    """
    runs = (running(pod("r", 16), "box", "0-15"),)
    found = reasons(pod("p", qos=LS), nodes=(box(),), runs=runs, engine=engine)

    assert found["p"] == (f"{NOT_NOW} (1 of 1 nodes: shared-pool is empty)",)


def test_rules_that_fit_alone_but_not_together_are_named_together() -> None:
    """
    CPUs are left on NUMA node 0, the GPU on NUMA node 1; memory is on both.
    """
    runs = (running(pod("r", 8, gpus=1), "box", "8-15", (0,)),)
    waiting = pod("p", 4, gpus=1, memory_gib=8, alignment=SINGLE)
    found = reasons(waiting, nodes=(box(gpus=2),), runs=runs)

    assert found["p"] == (
        f"{NOT_NOW} (1 of 1 nodes: alignment asks 1 gpu and 4 CPUs on one NUMA node)",
    )


def test_a_node_that_never_fits_is_not_said_to_be_full() -> None:
    """
    Of two nodes one is taken, and the other never had a GPU, nor CPUs now.
    """
    runs = (running(pod("r", gpus=2), "a", gpus=(0, 1)), running(pod("s", 16), "b", "0-15"))
    found = reasons(pod("p", 4, gpus=1), nodes=(box("a", gpus=2), box("b")), runs=runs)

    assert found["p"] == (f"{NOT_NOW} (2 of 2 nodes: device-count asks 1 gpu)",)


def test_who_could_have_been_placed_is_outvoted() -> None:
    """
    Each of two pods would fit; the one that counts more has the node.
    """
    first, second = lone_gang(pod("a", 12), priority=1), pod("b", 8)
    found = reasons(first, second, nodes=(box(),))

    assert found["b"] == ("outvoted (1 of 1 nodes: cpu-count asks 8 CPUs of its own)",)


def test_who_would_leave_a_pod_without_its_company_is_told_so() -> None:
    """
    A database that has to be with others is the first one, and fills its node: the next
    would have to be with it.
    """
    labels = (("app", "db"),)
    near = AffinityTerm(labels)
    first, second = pod("a", 16), pod("b", 8)
    first = replace(first, spec=replace(first.spec, labels=labels, affinity=(near,)))
    second = replace(second, spec=replace(second.spec, labels=labels))
    found = reasons(lone_gang(first, priority=1), second, nodes=(box("a"), box("b")))

    assert found["b"] == (
        "outvoted (1 of 2 nodes: affinity of a pod on another node, which would have to be with "
        "it; 1 of 2 nodes: cpu-count asks 8 CPUs of its own)",
    )


def test_counts_add_up_to_all_nodes() -> None:
    """
    All reasons are told, in the order of rules.
    """
    cordoned = replace(box("a"), cordoned=True)
    unlabelled, small = box("b"), replace(box("c", cpus=4), labels=(("zone", "x"),))
    labelled = tuple(replace(box(name), labels=(("zone", "x"),)) for name in "def")
    taken = (running(pod("r", 14), "d", "0-13"), running(pod("s", 14), "e", "0-13"))
    lsr = pod("p", 8, memory_gib=40)
    waiting = replace(lsr, spec=replace(lsr.spec, node_selector=(("zone", "x"),)))
    heavy = running(pod("t", memory_gib=40, qos=LS), "f")
    place = replace(heavy.placement, memory_bytes=((0, 32 * GIB), (1, 8 * GIB)))
    found = reasons(
        waiting,
        nodes=(cordoned, unlabelled, small, *labelled),
        runs=(*taken, replace(heavy, placement=place)),
    )

    assert found["p"] == (
        f"{NOT_NOW} (1 of 6 nodes: cordon; 1 of 6 nodes: node-selector zone=x; "
        "3 of 6 nodes: cpu-count asks 8 CPUs of its own; 1 of 6 nodes: memory asks 40Gi)",
    )


def test_a_cordon_is_told_however_few_nodes_have_one() -> None:
    """
    Whoever reads it can lift it, so it is not among the others; rules come in the funnel's order.
    """
    found, spec = five_blockers()
    told = "2 of 31 nodes: cordon; 9 of 31 nodes: taints gpu; 10 of 31 nodes: node-selector zone=y"

    assert blocked_nodes_text(found, spec, few=2).endswith("; 19 of 31 nodes: 3 other reasons")
    assert blocked_nodes_text(found, spec, few=3) == f"{told}; 10 of 31 nodes: 2 other reasons"
    assert blocked_nodes_text(found, spec, few=4) == blocked_nodes_text(found, spec)
    assert blocked_nodes_text(found, spec) == (
        f"{told}; 9 of 31 nodes: node-selector zone=x; 1 of 31 nodes: memory asks 2Gi"
    )


def test_the_taint_of_a_cordon_is_told_as_a_cordon_is() -> None:
    found, spec = five_blockers()
    found[Blocker(RuleDemand("taints", word="node.kubernetes.io/unschedulable:NoSchedule"))] = 1

    assert "1 of 32 nodes: taints node.kubernetes.io/unschedulable" in blocked_nodes_text(
        found, spec, few=3
    )


def five_blockers() -> tuple[Counter[Blocker], PodSpec]:
    """Return what blocks a pod on 31 nodes, and its spec."""
    spec = pod("p", 1, qos=LS, memory_gib=2).spec
    of_labels = [Blocker(RuleDemand("cordon")), Blocker(RuleDemand("taints", word="gpu"))]
    of_labels += [Blocker(RuleDemand("node-selector", word=f"zone={zone}")) for zone in "xy"]
    found = Counter(dict(zip(of_labels, (2, 9, 9, 10), strict=True)))
    found[Blocker(RuleDemand("memory"))] = 1
    return found, spec


def gang(minimum: int, *members: Pod, name: str = "train", priority: int = 0) -> Gang:
    return Gang(name, "default", members, minimum, priority)


def ranks(count: int, cpus: int) -> tuple[Pod, ...]:
    return tuple(pod(f"rank-{i}", cpus) for i in range(count))


def test_a_gang_short_of_its_minimum_says_how_many_members_fit() -> None:
    """
    Each of five ranks needs a node of its own; there are three.
    """
    found = reasons(gang(4, *ranks(5, 10)), nodes=(box("a"), box("b"), box("c")))

    assert set(found.values()) == {
        (
            "never fits: only 3 of 5 members of gang train fit on empty nodes (4 are needed)",
            "gang train runs with its minimum of 4 or not at all",
        )
    }


def test_a_gang_that_can_never_run_is_not_outvoted() -> None:
    """
    Others take every node; the gang would have been too large for all of them together.
    """
    others = (lone_gang(pod(name, 16), priority=1) for name in "abc")
    nodes = (box("a"), box("b"), box("c"))
    found = reasons(*others, gang(4, *ranks(4, 10)), nodes=nodes)

    assert found["rank-0"] == (
        "never fits: only 3 of 4 members of gang train fit on empty nodes (4 are needed)",
        "gang train runs with its minimum of 4 or not at all",
    )


def test_a_gang_short_beside_what_runs_is_not_now() -> None:
    """
    Of three nodes one is taken.
    """
    runs = (running(pod("r", 16), "a", "0-15"),)
    nodes = (box("a"), box("b"), box("c"))
    found = reasons(gang(3, *ranks(3, 10)), nodes=nodes, runs=runs)

    assert found["rank-0"][0] == (
        "not now: only 2 of 3 members of gang train fit beside what runs (3 are needed)"
    )


def test_a_gang_short_beside_what_is_placed_is_outvoted() -> None:
    """
    A pod of a higher priority takes one of the three nodes.
    """
    nodes = (box("a"), box("b"), box("c"))
    first = lone_gang(pod("first", 16), priority=1)
    found = reasons(first, gang(3, *ranks(3, 10)), nodes=nodes)

    assert found["rank-0"][0] == (
        "outvoted: only 2 of 3 members of gang train fit beside what is placed (3 are needed)"
    )


def check_world(instance: Instance) -> None:
    """Hold the blocker of each gang's first pod on each node against trying everything."""
    baseline = starting_accounts_of(instance)
    budget = SolveBudget(SolveOptions(workers=1))
    stages = nodes_at_occupancy_stages(instance, instance, baseline, Placement(), budget)
    for gang in instance.gangs:
        waiting, levels = gang.pods[0], network_levels_required_by_gang(gang)
        for stage in stages[:2]:
            for index, node in enumerate(instance.nodes):
                runs = stage.running[index]
                spec = spec_on(waiting.spec, node)
                asked = PodOnNode(spec, waiting.namespace, levels, node, runs, stage.crowd)
                found = blocker_of(
                    asked, stage.account_at(index), rule_demands_of_pod(asked), budget
                )
                others = [r for r in instance.running if r.placement.node != node.name]
                elsewhere = others if stage.crowd else []
                try:
                    check_blocker(found, asked, instance.nodes, elsewhere)
                except TooManyLeavesError:
                    continue


@pytest.mark.parametrize("first", range(0, 12, 3))
def test_the_first_rule_that_blocks_is_named(first: int) -> None:
    """
    Earlier rules alone do not block, with it they do; the rules named with it are needed.
    """
    for seed in range(first, first + 3):
        check_world(mixed_instance(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_400, 20))
def test_the_first_rule_that_blocks_is_named_in_many_worlds(first: int) -> None:
    """
    The same of 400 others.
    """
    for seed in range(first, first + 20):
        check_world(mixed_instance(seed))


def check_answers(seeds: range, engine: Engine) -> int:
    """Hold every reason of the answers against trying everything; return how many."""
    checked = 0
    for seed in seeds:
        instance = mixed_instance(seed)
        try:
            checked += check_reasons(instance, solve(instance, SolveOptions(engine, workers=1)))
        except TooManyLeavesError:
            continue
    return checked


@pytest.mark.parametrize("first", range(0, 12, 3))
def test_no_reason_says_what_is_not_so(first: int) -> None:
    """
    Never, not now and outvoted are so, counts add up, and members fit as many as is said.
    """
    assert check_answers(range(first, first + 3), Engine.GREEDY) > 0


@pytest.mark.slow
@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.AUTO])
@pytest.mark.parametrize("first", range(1_000, 1_200, 20))
def test_no_reason_says_what_is_not_so_in_many_worlds(first: int, engine: Engine) -> None:
    """
    The same of 200 others, with both engines.
    """
    assert check_answers(range(first, first + 20), engine) > 0
