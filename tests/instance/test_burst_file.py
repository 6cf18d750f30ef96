"""ConstrainedBurst in files: read, written, refused."""

from collections.abc import Callable

import pytest

from instance_texts import instance_of_text, reread
from placer_models.pod import Container, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass

FILE = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes:
      - {id: 0, package: 0, memory: 4Gi, cpus: "0-3"}
      - {id: 1, package: 1, memory: 4Gi, cpus: "4-7"}
nodes:
  - {name: n, machine: box}
pods:
  - name: web
    qos: LS
    containers:
      - {name: app, requests: {cpu: 500m}, limits: {cpu: 1500m}}
      - {name: log, limits: {cpu: 1}}
    cpuBindPolicy: ConstrainedBurst
running:
  - {name: old, node: n, requests: {cpu: 1}, limits: {cpu: 3}, cpuBindPolicy: ConstrainedBurst,
     cpuset: "4"}
  - {name: own, node: n, qos: LSR, requests: {cpu: 1}, cpuset: "7"}
"""


def test_it_is_read_and_written() -> None:
    """
    Limits are kept, and a running pod has the pool of the NUMA nodes that it names.
    """
    instance = instance_of_text(FILE)
    spec = instance.gangs[0].pods[0].spec
    old = instance.running[0]

    assert spec.constrained_burst
    assert [c.cpu_limit_milli for c in spec.containers] == [1500, 1000]
    assert spec.burst_cpus == 3
    assert old.placement.cpuset == frozenset({4, 5, 6})
    assert old.placement.containers[0].cpuset == frozenset({4, 5, 6})
    assert reread(instance) == instance


def test_a_numa_policy_may_stand_beside_it() -> None:
    """
    Of the pod, or of its node: it says which NUMA nodes hold the limit together.
    """
    text = FILE.replace("qos: LS\n", "qos: LS\n    numaPolicy: Restricted\n")
    instance = instance_of_text(
        text.replace("machine: box}", "machine: box, numaPolicy: Restricted}")
    )
    spec = instance.gangs[0].pods[0].spec

    assert (spec.constrained_burst, spec.alignment) == (True, AlignmentPolicy.RESTRICTED)
    assert reread(instance) == instance


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("qos: LS\n", "qos: BE\n", "which are LS"),
        (", limits: {cpu: 1500m}", "", "containers[0].limits: container 'app' has no CPU limit"),
        ('cpuset: "4"}', 'cpuset: "14"}', "name CPUs of the NUMA nodes of node n"),
        (',\n     cpuset: "4"}', "}", "name CPUs of the NUMA nodes of node n"),
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


LIMITED = Container("main", Resources(1000), cpu_limit_milli=1000)
UNLIMITED = Container("main", Resources(1000))


@pytest.mark.parametrize(("container", "qos"), [(LIMITED, QosClass.BE), (UNLIMITED, QosClass.LS)])
def test_the_word_holds_itself_to_its_meaning(container: Container, qos: QosClass) -> None:
    """
    Also where no file is read: LS alone, and with limits.
    """
    with pytest.raises(ValueError, match="CPU limit"):
        PodSpec((container,), qos=qos, constrained_burst=True)
