"""A name that no node knows is told beside the reason, with the nearest that one knows."""

from dataclasses import replace

import pytest

from judge.cases_functions import WITH_FUNCTIONS, sharing
from judge.hand import MACHINE, node, pod, with_pages, world
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.device import FunctionSelector
from placer_models.placement import Infeasible
from placer_models.pod import DeviceRequest, Pod, Resources
from placer_models.policy import QosClass
from placer_models.topology import Hugepages

LS = QosClass.LS
HERE = replace(
    node(
        machine=WITH_FUNCTIONS,
        labels={"disk": "ssd", "zone": "a"},
        hugepages=((0, 2, 1),),
    ),
    extended=(("example.com/licences", 4),),
)

_FIRST, *_OTHERS = MACHINE.topology.numa_nodes
PAGED = node(
    "paged",
    machine=replace(
        MACHINE,
        topology=replace(
            MACHINE.topology,
            numa_nodes=(replace(_FIRST, hugepages=(Hugepages(3, 1),)), *_OTHERS),
        ),
    ),
)
"""A node whose machine has hugepages of its own."""


def asking(kind: str) -> Pod:
    """Return a pod that asks for a device of the type."""
    plain = pod("a", qos=LS)
    requests = Resources(devices=(DeviceRequest(kind, 1),))
    containers = (replace(plain.spec.containers[0], requests=requests),)
    return replace(plain, spec=replace(plain.spec, containers=containers))


def wanting(wish: FunctionSelector) -> Pod:
    return sharing("a", wish)


def reasons(waiting: Pod) -> tuple[str, ...]:
    answer = solve(world(waiting, nodes=[HERE]), SolveOptions(Engine.AUTO, workers=1))

    assert isinstance(answer, Infeasible)
    return answer.unplaced[0].reasons[1:]


@pytest.mark.parametrize(
    ("waiting", "reason"),
    [
        (asking("rdmas"), "no node has a device of type 'rdmas'; did you mean 'rdma'?"),
        (
            asking("example.com/licence"),
            "no node has a device of type 'example.com/licence'; "
            "did you mean 'example.com/licences'?",
        ),
        (
            asking("tpu"),
            "no node has a device of type 'tpu'; did you mean 'gpu'?",
        ),
        (
            asking("fpga-x9"),
            "no node has a device of type 'fpga-x9'; "
            "there are 'example.com/licences', 'gpu', 'rdma'",
        ),
        (
            pod("a", qos=LS, selector={"zones": "a"}),
            "no node has the label 'zones'; did you mean 'zone'?",
        ),
        (
            pod("a", qos=LS, selector={"zone": "b"}),
            "no node has 'zone=b'; there is 'a'",
        ),
        (with_pages(pod("a", qos=LS), (4, 1)), "no node has hugepages of 4; there is '2'"),
        (
            wanting((("kin", ("a",)),)),
            "no virtual function of type 'rdma' has the label 'kin'; did you mean 'kind'?",
        ),
        (
            wanting((("kind", ("c", "d")),)),
            "no virtual function of type 'rdma' has 'kind=c or kind=d'; there are 'a', 'b'",
        ),
    ],
)
def test_what_no_node_has_is_named(waiting: Pod, reason: str) -> None:
    """
    A pod that names what no node has gets a reason of its own for it.
    """
    assert reasons(waiting) == (reason,)


@pytest.mark.parametrize(
    "waiting",
    [
        pod("a", gpus=5, qos=LS),
        pod("a", 100),
        replace(sharing("a"), spec=replace(sharing("a").spec, node_selector=(("zone", "a"),))),
        with_pages(pod("a", qos=LS), (3, 9)),
        pod("a", qos=LS, selector={"placer:claimable": "true"}),
    ],
)
def test_what_nodes_have_is_no_stranger(waiting: Pod) -> None:
    """
    Too much of what there is, or nothing wrong at all: names are not to blame. Hugepages may be
    the machine's, and a label that a reader of dumps writes is nobody's mistake.
    """
    answer = solve(world(waiting, nodes=[HERE, PAGED]), SolveOptions(Engine.AUTO, workers=1))

    assert not isinstance(answer, Infeasible) or len(answer.unplaced[0].reasons) == 1
