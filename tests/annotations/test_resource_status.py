"""resource-status: which CPUs and NUMA nodes a pod was given (C14)."""

import json
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.documents import text_of
from placer_models.annotations.json_parts import AnnotationError
from placer_models.annotations.resource_status import (
    AnnotatedSharedPool,
    ResourceStatusAnnotation,
    ResourceStatusNumaNode,
    read_resource_status_annotation,
    resource_status_of_placement,
    write_resource_status_annotation,
)
from placer_models.cluster import Node
from placer_models.machines.catalogue import load_machine
from placer_models.placement import PodPlacement
from placer_models.pod import Container, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass

GIB = 2**30
NODE = Node("a", load_machine("xeon-6430-2s"))
"""Two packages of 32 cores without SMT: CPUs 0-31 on NUMA node 0, 32-63 on 1."""

AMOUNTS = st.integers(1, 2**45)
STATUSES = st.builds(
    ResourceStatusAnnotation,
    cpuset=st.frozensets(st.integers(0, 300)),
    numa=st.lists(
        st.builds(
            ResourceStatusNumaNode,
            node=st.integers(0, 63),
            cpu_milli=st.integers(0, 10**6),
            memory_bytes=st.integers(0, 2**45),
            hugepages_bytes=st.dictionaries(
                st.sampled_from([2**16, 2**21, 2**25, 2**30, 3]), AMOUNTS, max_size=2
            ).map(lambda pages: tuple(sorted(pages.items()))),
            more_milli=st.dictionaries(
                st.text(string.ascii_letters + "./-é\n", min_size=1).map("x/{}".format),
                AMOUNTS,
                max_size=2,
            ).map(lambda more: tuple(sorted(more.items()))),
        ),
        unique_by=lambda share: share.node,
        max_size=3,
    ).map(lambda numa: tuple(sorted(numa, key=lambda share: share.node))),
    shared_pools=st.lists(
        st.builds(
            AnnotatedSharedPool,
            package=st.integers(0, 3),
            node=st.integers(0, 63),
            cpuset=st.frozensets(st.integers(0, 300), max_size=3),
        ),
        unique_by=lambda pool: pool.node,
        max_size=2,
    ).map(lambda pools: tuple(sorted(pools, key=lambda pool: pool.node))),
)


def placed(cpuset: set[int], memory_bytes: tuple[tuple[int, int], ...] = ()) -> PodPlacement:
    """Return a pod with these CPUs on the node."""
    return PodPlacement("p", "default", None, "a", frozenset(cpuset), memory_bytes=memory_bytes)


def asked(qos: QosClass, milli: int = 0) -> PodSpec:
    """Return a pod of the class; its requests hardly matter here."""
    return PodSpec((Container("c", Resources(milli)),), qos=qos)


@given(STATUSES)
def test_what_is_written_is_read_again(status: ResourceStatusAnnotation) -> None:
    """
    Nothing is lost on the way out and in.
    """
    assert read_resource_status_annotation(write_resource_status_annotation(status)) == status


def test_a_pod_that_owns_cpus_says_which_and_where() -> None:
    """
    CPUs 30 to 33 are two on each NUMA node; memory and hugepages stand beside them.
    """
    pod = replace(placed({30, 31, 32, 33}, ((1, 8 * GIB),)), hugepages=((1, 2**21, 3),))

    text = write_resource_status_annotation(
        resource_status_of_placement(pod, asked(QosClass.LSR), NODE)
    )

    assert json.loads(text) == {
        "cpuset": "30-33",
        "numaNodeResources": [
            {"node": 0, "resources": {"cpu": "2"}},
            {"node": 1, "resources": {"cpu": "2", "memory": "8Gi", "hugepages-2Mi": "6Mi"}},
        ],
    }


@pytest.mark.parametrize("qos", [QosClass.LS, QosClass.BE])
@pytest.mark.parametrize("policy", [AlignmentPolicy.NONE, AlignmentPolicy.BEST_EFFORT])
def test_a_pod_that_floats_names_no_numa_node(qos: QosClass, policy: AlignmentPolicy) -> None:
    """
    Not even for its memory: the node agent would keep it to the pool of that NUMA node.
    """
    pod = placed(set(range(64)), memory_bytes=((1, GIB),))
    node = replace(NODE, alignment=policy)

    assert (
        write_resource_status_annotation(resource_status_of_placement(pod, asked(qos), node))
        == "{}"
    )


@pytest.mark.parametrize("qos", [QosClass.LS, QosClass.BE])
def test_a_bound_pod_names_its_numa_nodes_twice(qos: QosClass) -> None:
    """
    As `numaNodeResources`, which the agent of today reads, and as `cpuSharedPools`.
    """
    pod = replace(
        placed(set(range(64)), memory_bytes=((1, GIB),)), cpu_milli=((0, 24_500), (1, 10_000))
    )
    node = replace(NODE, alignment=AlignmentPolicy.RESTRICTED)

    text = write_resource_status_annotation(resource_status_of_placement(pod, asked(qos), node))

    assert json.loads(text) == {
        "numaNodeResources": [
            {"node": 0, "resources": {"cpu": "24500m"}},
            {"node": 1, "resources": {"cpu": "10", "memory": "1Gi"}},
        ],
        "cpuSharedPools": [{"socket": 0, "node": 0}, {"socket": 1, "node": 1}],
    }


def test_a_pod_that_says_nothing_is_bound_by_its_cpuset() -> None:
    """
    Under a policy it is bound to the NUMA node of its cpuset, with all of its request.
    """
    node = replace(NODE, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)

    status = resource_status_of_placement(
        placed(set(range(32, 64))), asked(QosClass.LS, milli=3500), node
    )

    assert status.numa == (ResourceStatusNumaNode(1, cpu_milli=3500),)
    assert status.shared_pools == (AnnotatedSharedPool(1, 1),)


def test_a_constrained_pod_names_the_numa_nodes_of_its_pool_alone() -> None:
    """
    Its memory elsewhere is left out, for the agent would widen its cpuset by that NUMA node.
    """
    container = Container("c", Resources(1500), cpu_limit_milli=4000)
    spec = PodSpec((container,), constrained_burst=True)
    pod = placed(set(range(32)), memory_bytes=((1, GIB),))

    assert json.loads(
        write_resource_status_annotation(resource_status_of_placement(pod, spec, NODE))
    ) == {
        "numaNodeResources": [{"node": 0, "resources": {"cpu": "1500m"}}],
        "cpuSharedPools": [{"socket": 0, "node": 0}],
    }


def test_a_cpu_of_no_numa_node_stands_in_the_cpuset_only() -> None:
    """
    There is no NUMA node to count it on.
    """
    node = Node("a", load_machine("r630-offline-cpus"))
    lost = next(cpu.id for cpu in node.machine.topology.cpus if cpu.numa_node is None)

    status = resource_status_of_placement(placed({lost}), asked(QosClass.LSE), node)

    assert status == ResourceStatusAnnotation(cpuset=frozenset({lost}))


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (placed({63, 64}), "pod p has CPUs 64; node a has 0-63"),
        (PodPlacement("p", "default", None, "b", frozenset()), "pod p is on node b, not on a"),
    ],
)
def test_a_placement_of_another_node_is_refused(pod: PodPlacement, words: str) -> None:
    """
    The message names the pod, the CPUs and the node.
    """
    with pytest.raises(ValueError, match=words):
        resource_status_of_placement(pod, asked(QosClass.LSE), NODE)


def test_the_shared_pools_of_the_proposal_are_read() -> None:
    """
    Koordinator wrote them once, and left out what is 0.
    """
    text = text_of({"cpuSharedPools": [{"node": 1, "socket": 1, "cpuset": "26-51"}, {}]})

    assert read_resource_status_annotation(text).shared_pools == (
        AnnotatedSharedPool(0, 0),
        AnnotatedSharedPool(1, 1, frozenset(range(26, 52))),
    )


def test_fields_of_later_versions_are_passed_over() -> None:
    """
    The document of a running pod stays readable; the case of a name does not matter.
    """
    text = text_of({"CPUSet": "0-3", "news": [1], "numaNodeResources": None})

    assert read_resource_status_annotation(text) == ResourceStatusAnnotation(
        cpuset=frozenset(range(4))
    )


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"cpuset": "3-0"}, "$.cpuset: got '3-0'; expected CPUs up to 65535 such as 0-3,8"),
        ({"cpuset": "0-3,"}, "$.cpuset: got ''; expected CPUs"),
        ({"cpuset": "0-99999"}, "$.cpuset: got '0-99999'"),
        ({"cpuset": "0-65535," * 20_000 + "1"}, "$.cpuset: the list names CPUs over and over"),
        ({"cpuset": [0]}, "$.cpuset: got a list; expected a text"),
        ({"cpuset": "0", "CPUSET": "1"}, "$.CPUSET: the field cpuset is there twice"),
        ({"numaNodeResources": {}}, "$.numaNodeResources: got an object; expected a list"),
        ({"numaNodeResources": [None]}, "$.numaNodeResources[0]: the field node is missing"),
        ({"numaNodeResources": [{"node": "0"}]}, "$.numaNodeResources[0].node: got '0'"),
        ({"numaNodeResources": [{"node": True}]}, "got true; expected a whole number"),
        ({"numaNodeResources": [{"node": -1}]}, "got -1; expected 0 to 2147483647"),
        (
            {"numaNodeResources": [{"node": 0}, {"node": 0}]},
            "$.numaNodeResources[1]: NUMA node 0 is there twice; keep one of them",
        ),
        (
            {"numaNodeResources": [{"node": 0, "resources": {"cpu": "many"}}]},
            "$.numaNodeResources[0].resources.cpu: 'many' is no amount",
        ),
        (
            {"numaNodeResources": [{"node": 0, "resources": {"memory": True}}]},
            "$.numaNodeResources[0].resources.memory: got true; expected an amount",
        ),
        (
            {"numaNodeResources": [{"node": 0, "resources": {"hugepages-big": "1"}}]},
            "resources['hugepages-big']: the size of a page: 'big' is no amount",
        ),
        (
            {"numaNodeResources": [{"node": 0, "resources": {"hugepages-0": "1"}}]},
            "a page has a size",
        ),
        (
            {
                "numaNodeResources": [
                    {"node": 0, "resources": {"hugepages-2Mi": 1, "hugepages-2048Ki": 1}}
                ]
            },
            "pages of this size are there twice",
        ),
    ],
)
def test_a_damaged_status_is_refused_at_its_place(document: object, words: str) -> None:
    """
    The JSON path, the value, and what is expected.
    """
    with pytest.raises(AnnotationError) as caught:
        read_resource_status_annotation(text_of(document))

    assert words in str(caught.value)
