"""Which nodes are of one kind to the solver."""

from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.topology import Cpu, NumaNode, Topology

TOPOLOGY = Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 0),))


def instance(selector: tuple[tuple[str, str], ...]) -> Instance:
    """Two equal nodes, each with its own host name for a label."""
    spec = PodSpec((Container("main", Resources(100)),), node_selector=selector)
    nodes = tuple(
        Node(name, Machine("one", "", TOPOLOGY), labels=(("hostname", name),)) for name in "ab"
    )
    return Instance(nodes, (Gang("p", "default", (Pod("p", "default", spec),), 1, lone=True),))


def test_labels_that_nobody_selects_by_tell_no_nodes_apart() -> None:
    """
    Every node of a real cluster has its host name for a label.
    """
    first, second = build_problem(instance(())).nodes

    assert first == second


def test_labels_that_a_pod_selects_by_do() -> None:
    """
    Only one of the two can host a pod that names it.
    """
    problem = build_problem(instance((("hostname", "b"),)))

    assert problem.nodes[0] != problem.nodes[1]
    assert [problem.fit(0, node) is None for node in (0, 1)] == [True, False]
