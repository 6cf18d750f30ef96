"""Hugepages in files: sizes, whole pages, nodes that say otherwise, and running pods."""

from collections.abc import Callable

import pytest

from placer_models.cluster import Instance
from placer_models.topology import Hugepages

MIB, GIB = 2**20, 2**30

FILE = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes:
      - {id: 0, memory: 8Gi, cpus: 0-3, hugepages: {1Gi: 2, 2Mi: 512}}
      - {id: 1, memory: 8Gi, cpus: 4-7}
nodes:
  - {name: plain, machine: box}
  - {name: other, machine: box, hugepages: {0: {1Gi: 1}, 1: {1Gi: 3}}}
pods:
  - {name: a, requests: {cpu: 1, hugepages-2048Ki: 8Mi}, limits: {hugepages-1Gi: 2Gi}}
running:
  - {name: r, node: other, requests: {hugepages-1Gi: 2Gi}, hugepages: {0: {1Gi: 1}, 1: {1Gi: 1}}}
  - {name: s, node: other, qos: LSR, cpuset: 4-5, requests: {cpu: 2, hugepages-1Gi: 1Gi}}
"""


def test_pods_ask_for_pages_by_size(read: Callable[[str], Instance]) -> None:
    """
    Bytes become pages; a size has one meaning however it is spelt; a limit is a request.
    """
    requests = read(FILE).gangs[0].pods[0].spec.requests

    assert requests.hugepages == (Hugepages(2 * MIB, 4), Hugepages(GIB, 2))


def test_a_node_may_set_aside_other_pages_than_its_machine(
    read: Callable[[str], Instance],
) -> None:
    """
    What it names is in place of the machine's; pages come out of the memory once.
    """
    plain, other = read(FILE).nodes

    assert plain.pages_in() == {(0, 2 * MIB): 512, (0, GIB): 2}
    assert plain.memory_bytes_in() == {0: 5 * GIB, 1: 8 * GIB}
    assert other.pages_in() == {(0, 2 * MIB): 512, (0, GIB): 1, (1, GIB): 3}
    assert other.memory_bytes_in() == {0: 6 * GIB, 1: 5 * GIB}


def test_pages_of_running_pods_are_read_or_laid(read: Callable[[str], Instance]) -> None:
    """
    A pod that does not say where its pages are has them near its CPUs.
    """
    said, laid = read(FILE).running

    assert said.placement.hugepages == ((0, GIB, 1), (1, GIB, 1))
    assert laid.placement.hugepages == ((1, GIB, 1),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hugepages: {0: {1Gi: 1}, 1: {1Gi: 3}}", "hugepages: {2: {1Gi: 1}}", "no NUMA node '2'"),
        ("1: {1Gi: 3}", "1: {1Gi: 9}", "NUMA node 1 are 1Gi more than its memory"),
        ("1: {1Gi: 3}", "1: {1Gi: 3, 1024Mi: 3}", "each size stands here once"),
        ("1: {1Gi: 1}}}", "1: {1Gi: 2}}}", "got 3 pages of 1Gi; expected the 2 of its request"),
        ("hugepages-2048Ki: 8Mi", "hugepages-2Mi: 3Mi", "whole pages of 2Mi, such as 4Mi"),
        ("cpu: 1, hug", "hugepages-2Mi: 2Mi, hug", "hugepages-2Mi is asked for twice"),
        ("{hugepages-1Gi: 2Gi}", "{hugepages-2Mi: 2Mi}", "expected a limit equal to the request"),
    ],
)
def test_a_fault_is_one_message(
    old: str, new: str, message: str, refusal: Callable[[str], str]
) -> None:
    """
    Where it is, what is wrong, and what is allowed.
    """
    assert old in FILE
    assert message in refusal(FILE.replace(old, new))
