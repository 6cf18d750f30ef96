"""How files say what a node allows of its CPUs."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from instance_texts import reread
from placer_models.cluster import Instance
from placer_models.files.documents import API_VERSION
from placer_models.instance.writer import instance_to_dict
from placer_models.policy import CpuLocalityWish, NodeBindPolicy, NumaStrategy

HEAD = f"apiVersion: {API_VERSION}\nkind: Instance\n"


def nodes(fields: str, machine: str = "dgx-a100") -> str:
    return f"{HEAD}nodes: [{{name: n, machine: {machine}{fields}}}]\n"


@pytest.mark.parametrize(
    ("fields", "policy"),
    [
        ("", NodeBindPolicy.NONE),
        (", cpuBindPolicy: None", NodeBindPolicy.NONE),
        (", cpuBindPolicy: FullPCPUsOnly", NodeBindPolicy.FULL_PCPUS_ONLY),
        (", cpuBindPolicy: PCPUOnly", NodeBindPolicy.FULL_PCPUS_ONLY),
        (", cpuBindPolicy: full-pcpus-only", NodeBindPolicy.FULL_PCPUS_ONLY),
        (", cpuBindPolicy: SpreadByPCPUs", NodeBindPolicy.SPREAD_BY_PCPUS),
        (
            ', kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: "true"}}',
            NodeBindPolicy.FULL_PCPUS_ONLY,
        ),
        (
            ", kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: true}}",
            NodeBindPolicy.FULL_PCPUS_ONLY,
        ),
        (", kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: false}}", NodeBindPolicy.NONE),
        (
            ", cpuBindPolicy: None, kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: true}}",
            NodeBindPolicy.FULL_PCPUS_ONLY,
        ),
    ],
)
def test_a_node_says_its_bind_policy(
    fields: str, policy: NodeBindPolicy, read: Callable[..., Instance]
) -> None:
    """
    In each of its spellings; the kubelet's option holds whatever the node says, for the
    kubelet rejects all else (C10, C17).
    """
    (node,) = read(nodes(fields)).nodes

    assert node.cpu_bind is policy


def test_a_policy_that_the_kubelet_overrules_is_warned_of(
    read: Callable[..., Instance], caplog: pytest.LogCaptureFixture
) -> None:
    """
    SpreadByPCPUs beside full-pcpus-only: whole cores are what holds, and a line says so.
    """
    option = ", kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: true}}"
    (node,) = read(nodes(", cpuBindPolicy: SpreadByPCPUs" + option)).nodes

    assert node.cpu_bind is NodeBindPolicy.FULL_PCPUS_ONLY
    (line,) = caplog.messages
    assert "cpuBindPolicy: SpreadByPCPUs does not hold" in line
    assert "full-pcpus-only" in line


@pytest.mark.parametrize("policy", NodeBindPolicy)
def test_the_policy_is_written_as_it_is_read(
    policy: NodeBindPolicy, read: Callable[..., Instance]
) -> None:
    """
    None is the default and is left out.
    """
    instance = read(nodes(""))
    (node,) = instance.nodes
    named = replace(instance, nodes=(replace(node, cpu_bind=policy),))

    (written,) = instance_to_dict(named, lambda _: True)["nodes"]

    assert written.get("cpuBindPolicy", "None") == policy.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (nodes(", cpuBindPolicy: Full"), "got 'Full'; expected 'None', 'FullPCPUsOnly' or"),
        (nodes(", nodeCpuBindPolicy: None"), "is not a field here; write 'cpuBindPolicy'"),
        (
            nodes(", kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: yes}}"),
            "full-pcpus-only: got 'yes'; expected true or false",
        ),
        (
            nodes(", kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: {enabled: true}}}"),
            "full-pcpus-only: got a mapping; expected true or false",
        ),
        (
            nodes(", kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: [true]}}"),
            "full-pcpus-only: got a list of 1; expected true or false",
        ),
        (
            nodes(", kubelet: {cpuManagerPolicyOptions: {full-pcpu-only: true}}"),
            "is not a field here; did you mean 'full-pcpus-only'?",
        ),
        (
            nodes(", cpuBindPolicy: SpreadByPCPUs", "kunpeng-920"),
            "a.yaml:3: nodes[0].cpuBindPolicy: the machine kunpeng-920 is aarch64, whose pods",
        ),
        (
            nodes("", "kunpeng-920")
            + "pods: [{name: p, qos: LSR, requests: {cpu: 2}, cpuBindPolicy: SpreadByPCPUs}]\n",
            "a.yaml:4: pods[0].cpuBindPolicy: every node is aarch64, where pods take whole cores",
        ),
        (
            nodes("", "kunpeng-920")
            + "pods: [{name: p, qos: LSR, requests: {cpu: 2}, cpuExclusivePolicy: PCPULevel}]\n",
            "a.yaml:4: pods[0].cpuExclusivePolicy: every node is aarch64, where pods keep apart by",
        ),
        (
            nodes("", "kunpeng-920") + "pods: [{name: p, requests: {cpu: 2}, limits: {cpu: 4}, "
            "cpuBindPolicy: ConstrainedBurst}]\n",
            "a.yaml:4: pods[0].cpuBindPolicy: every node is aarch64, where no pod of the shared",
        ),
    ],
)
def test_a_wrong_word_is_refused(text: str, message: str, refusal: Callable[..., str]) -> None:
    """
    With the file's line, the field, and what to write instead.
    """
    assert message in refusal(text)


def test_arm64_is_aarch64(refusal: Callable[..., str]) -> None:
    """
    As Kubernetes and container images spell it; the rule holds for both.
    """
    machine = "{name: box, architecture: arm64, numaNodes: [{id: 0, memory: 1Gi, cpus: 0-7}]}"
    text = f"{nodes(', cpuBindPolicy: SpreadByPCPUs', 'box')}machines: [{machine}]\n"

    assert "the machine box is aarch64, whose pods take whole cores" in refusal(text)


def test_a_pod_that_spreads_may_stand_beside_arm_nodes(read: Callable[..., Instance]) -> None:
    """
    Some node could take it; one that runs already is not blamed.
    """
    spread = "qos: LSR, requests: {cpu: 2}, cpuBindPolicy: SpreadByPCPUs"
    both = f"{HEAD}nodes: [{{name: n, machine: kunpeng-920}}, {{name: m, machine: dgx-a100}}]\n"

    assert read(f"{both}pods: [{{name: p, {spread}}}]\n").gangs
    runs = f"running: [{{name: p, node: n, {spread}, cpuset: 0-1}}]\n"
    assert read(nodes("", "kunpeng-920") + runs).running


@pytest.mark.parametrize(
    ("written", "wishes"),
    [
        ("cpuLocality: LLC", (CpuLocalityWish.LLC,)),
        ("cpuLocality: Socket", (CpuLocalityWish.PACKAGE,)),
        ("cpuLocality: [UncoreCache, Package, LLC]", tuple(CpuLocalityWish)),
        ("cpuLocality: []", ()),
    ],
)
def test_a_pod_and_a_node_say_what_they_would_like_to_stay_within(
    written: str, wishes: tuple[CpuLocalityWish, ...], read: Callable[..., Instance]
) -> None:
    """
    One word or a list, in any order, in each spelling; it is written as it is read.
    """
    pods = f"pods: [{{name: p, qos: LSR, requests: {{cpu: 2}}, {written}}}]\n"
    instance = read(nodes(f", {written}") + pods)
    (gang,) = instance.gangs

    assert instance.nodes[0].locality == wishes
    assert gang.pods[0].spec.locality == wishes
    assert reread(instance, lambda _: True) == instance


@pytest.mark.parametrize(
    ("fields", "wishes"),
    [
        ("{align-by-socket: true}", (CpuLocalityWish.PACKAGE,)),
        ('{prefer-align-cpus-by-uncorecache: "true"}', (CpuLocalityWish.LLC,)),
        ("{prefer-align-cpus-by-uncorecache: true, align-by-socket: true}", tuple(CpuLocalityWish)),
        ("{full-pcpus-only: true}", ()),
    ],
)
def test_the_kubelets_options_are_wishes_of_the_node(
    fields: str, wishes: tuple[CpuLocalityWish, ...], read: Callable[..., Instance]
) -> None:
    """
    Where the node says nothing itself (C17).
    """
    kubelet = f", kubelet: {{cpuManagerPolicyOptions: {fields}}}"

    assert read(nodes(kubelet)).nodes[0].locality == wishes
    assert read(nodes(f"{kubelet}, cpuLocality: LLC")).nodes[0].locality == (CpuLocalityWish.LLC,)


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        ("qos: LSR, cpuLocality: L3", "pods[0].cpuLocality: got 'L3'; expected 'Package' or 'LLC'"),
        ("qos: LSR, cpuLocality: [LLC, L3]", "cpuLocality[1]: got 'L3'; expected 'Package' or"),
        ("cpuLocality: LLC", "the qos of this pod is LS, for none is given; cpuLocality needs"),
    ],
)
def test_a_wrong_locality_is_refused(pod: str, message: str, refusal: Callable[..., str]) -> None:
    """
    A cache by another name, or a pod that owns no CPU.
    """
    text = nodes("") + f"pods: [{{name: p, requests: {{cpu: 2}}, {pod}}}]\n"

    assert message in refusal(text)


@pytest.mark.parametrize(
    ("fields", "strategy"),
    [
        ("", None),
        *((f", numaAllocateStrategy: {word}", word) for word in NumaStrategy),
        (
            ", kubelet: {cpuManagerPolicyOptions: {distribute-cpus-across-numa: true}}",
            NumaStrategy.DISTRIBUTE_EVENLY,
        ),
        (
            ", numaAllocateStrategy: MostAllocated, "
            "kubelet: {cpuManagerPolicyOptions: {distribute-cpus-across-numa: true}}",
            NumaStrategy.MOST_ALLOCATED,
        ),
    ],
)
def test_a_node_says_its_numa_strategy(
    fields: str, strategy: NumaStrategy | None, read: Callable[..., Instance]
) -> None:
    """
    The kubelet's option holds where the node says nothing; it is written as it is read (C11, C17).
    """
    instance = read(nodes(fields))

    assert instance.nodes[0].numa_strategy is strategy
    assert reread(instance, lambda _: True) == instance
