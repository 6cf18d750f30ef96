"""Koordinator's NUMA resource manager, row by row: its verdicts, and never a worse choice."""

from collections.abc import Callable, Collection

import pytest

from alignment.peer_rows import Row, table
from alignment.row_objects import row_as_objects
from figures import tell
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.placement import GaveUp, Infeasible, PodPlacement
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass, RequiredOrPreferred
from placer_models.topology import Cpu, Hugepages, NumaNode, Topology
from tiny_pods import lone

ROWS = table("koordinator_resources")["rows"]

GIB = 2**30
CPUS = 104
SINGLE = AlignmentPolicy.SINGLE_NUMA_NODE


def title_of(row: Row) -> str:
    """Return what the test of the row is called."""
    return f"{row['name']} on {row.get('numa_nodes', 'any')}"


def machine_of(row: Row) -> Machine:
    """Return the row's machine: memory that pods can have beside the hugepages."""
    pages = row.get("has_pages", [0, 0])
    numa_nodes = (
        NumaNode(i, (128 + count) * GIB, (Hugepages(GIB, count),)) for i, count in enumerate(pages)
    )
    cpus = (Cpu(i, core=i // 2, package=i // 52, numa_node=i // 52) for i in range(CPUS))
    return Machine("two", "", Topology("x86_64", tuple(cpus), tuple(numa_nodes)))


def pod_of(row: Row, policy: AlignmentPolicy) -> Pod:
    """Return the pod that the row asks for."""
    need = row["need"]
    pages = (Hugepages(GIB, need["pages"]),) if "pages" in need else ()
    asked = Resources(1000 * need["cpus"], need.get("memory_gib", 0) * GIB, pages)
    bind = BindPolicy(need["bind"]) if "bind" in need else BindPolicy.DEFAULT
    qos = QosClass.LSR if "bind" in need else QosClass.LS
    spec = PodSpec((Container("c", asked),), qos, bind, RequiredOrPreferred.REQUIRED, policy)
    return Pod("p", "default", spec)


def running_of(row: Row) -> tuple[RunningPod, ...]:
    """Return one pod that owns what is taken, and one that shares."""
    runners = []
    owned = parse_cpu_list(row.get("taken", ""))
    memory, pages = row.get("memory_gib", [0, 0]), row.get("pages", [0, 0])
    shared = sum(row.get("shared", [0, 0]))
    for name, qos, milli, cpus in (
        ("owns", QosClass.LSR, 1000 * len(owned), owned),
        ("shares", QosClass.LS, 1000 * shared, frozenset(range(CPUS)) - owned),
    ):
        if not milli:
            continue
        first = not runners
        held = tuple((i, n * GIB) for i, n in enumerate(memory) if n and first)
        laid = tuple((i, GIB, n) for i, n in enumerate(pages) if n and first)
        asked = Resources(
            milli,
            sum(size for _, size in held),
            (Hugepages(GIB, sum(pages)),) if laid else (),
        )
        pod = Pod(name, "default", PodSpec((Container("c", asked),), qos))
        place = PodPlacement(name, "default", None, "n", cpus, memory_bytes=held, hugepages=laid)
        runners.append(RunningPod(pod, place))
    return tuple(runners)


def row_in_words(row: Row, allowed: Collection[int], policy: AlignmentPolicy) -> Instance:
    """Return the row's node, with the CPUs of other NUMA nodes withheld, and its pods."""
    machine = machine_of(row)
    taken = parse_cpu_list(row.get("taken", ""))
    withheld = frozenset(c for c in range(CPUS) if c // 52 not in allowed) - taken
    each = int(1000 * row.get("amplified", 1))
    node = Node("n", machine, reserved_cpus=withheld, milli_per_cpu=each)
    return Instance((node,), (lone(pod_of(row, policy)),), running=running_of(row))


Build = Callable[[Row, Collection[int], AlignmentPolicy], Instance]

BUILDS = pytest.mark.parametrize("build", [row_in_words, row_as_objects])


def placed(
    row: Row, allowed: Collection[int], policy: AlignmentPolicy, build: Build = row_in_words
) -> PodPlacement | None:
    """Return the pod's best place with its CPUs on the NUMA nodes; None: there is none."""
    instance = build(row, allowed, policy)
    answer = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1, work_limit=20))
    assert not isinstance(answer, GaveUp)
    return None if isinstance(answer, Infeasible) else answer.placement.pods[0]


def cost(row: Row, cpus: CpuSet) -> tuple[int, int]:
    """Return what a choice of CPUs costs: NUMA nodes, then cores; spread wants many cores."""
    cores = len({cpu // 2 for cpu in cpus})
    spread = row["need"]["bind"] == BindPolicy.SPREAD_BY_PCPUS
    return len({cpu // 52 for cpu in cpus}), -cores if spread else cores


def outcome(row: Row, build: Build) -> str:
    """Return how Placer's answer to an allocation compares with the peer's."""
    allowed = sorted(parse_cpu_list(row["numa_nodes"]))
    place = placed(row, allowed, SINGLE if len(allowed) == 1 else AlignmentPolicy.NONE, build)
    if place is None or not row["found"]:
        return "equal" if (place is None) is not row["found"] else "worse"
    if "takes" not in row:
        return "equal"
    mine, peers = cost(row, place.cpuset), cost(row, parse_cpu_list(row["takes"]))
    return "better" if mine < peers else "equal" if mine == peers else "worse"


@pytest.mark.parametrize("row", [row for row in ROWS if "found" in row], ids=title_of)
@BUILDS
def test_an_allocation_is_as_good_as_the_peers(row: Row, build: Build) -> None:
    """
    Found whenever the peer finds one; on as few NUMA nodes, then cores as the policy likes.
    In words, and as a Node, a NodeResourceTopology and Pods say it.
    """
    assert outcome(row, build) in ("equal", "better")


@pytest.mark.parametrize("row", [row for row in ROWS if "hints" in row], ids=title_of)
@BUILDS
def test_a_single_numa_node_is_found_where_the_peer_hints_at_one(row: Row, build: Build) -> None:
    """
    Hints at one that it prefers are the NUMA nodes on which Placer puts the pod; no hints, no
    place.
    """
    preferred = [hint.removesuffix("*") for hint in row["hints"] if hint.endswith("*")]

    found = [str(numa) for numa in (0, 1) if placed(row, [numa], SINGLE, build) is not None]

    assert found == [hint for hint in preferred if len(parse_cpu_list(hint)) == 1]
    anywhere = placed(row, (0, 1), AlignmentPolicy.NONE, build)
    assert bool(row["hints"]) is (anywhere is not None)


def test_the_rows_are_counted() -> None:
    """
    Better, equal and worse, for people; none is worse.
    """
    rows = [row for row in ROWS if "found" in row]
    said = [outcome(row, row_as_objects) for row in rows]

    tell(str({word: said.count(word) for word in sorted(set(said))}))
    assert "worse" not in said
    assert said.count("better") >= 2


def test_a_split_goes_by_numa_nodes_and_not_by_their_places_in_a_list() -> None:
    """
    Free are 8 CPUs of NUMA node 2 and 2 of 3, and 8 are asked for there: the peer looks at
    the first two NUMA nodes of its list instead, and fails with 2 CPUs unplaced.
    """
    free = {0: 0, 1: 0, 2: 8, 3: 2}
    cpus = [(numa, i) for numa in free for i in range(8)]
    topology = Topology(
        "x86_64",
        tuple(Cpu(k, core=k, package=0, numa_node=numa) for k, (numa, _) in enumerate(cpus)),
        tuple(NumaNode(numa, 0) for numa in free),
    )
    held = frozenset(k for k, (numa, i) in enumerate(cpus) if i >= free[numa])
    node = Node("n", Machine("four", "", topology), reserved_cpus=held)
    row = {"need": {"cpus": 8, "bind": "FullPCPUs"}}
    pods = [pod_of(row, policy) for policy in (SINGLE, AlignmentPolicy.NONE)]

    answers = [
        solve(Instance((node,), (lone(pod),)), SolveOptions(workers=1, seed=1, work_limit=5))
        for pod in pods
    ]

    for answer in answers:
        assert not isinstance(answer, GaveUp | Infeasible)
        assert {cpus[k][0] for k in answer.placement.pods[0].cpuset} <= {2, 3}
