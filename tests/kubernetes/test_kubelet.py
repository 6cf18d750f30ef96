"""What a kubelet is told holds on its node, in the order that C2, C10 to C12 and C17 say."""

from collections.abc import Mapping

import pytest

from kubernetes_dumps import faults, notes, places, read
from kubernetes_worlds import Json, lsr, node, owned, pod, topology
from placer.judge.misfits import misfits_of_instance
from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list
from placer_models.policy import AlignmentPolicy, AlignmentScope, CpuLocalityWish, QosClass

DOMAIN = "node.koordinator.sh/"
TWO = {"cpu": "2", "memory": "1Gi"}


def told(policy: str, reserved: str = "", **options: str) -> Mapping[str, object]:
    """Return the annotation of a NodeResourceTopology about the kubelet's CPU manager."""
    said = {name.replace("_", "-"): value for name, value in options.items()}
    document = {"policy": policy, "options": said, "reservedCPUs": reserved}
    return {"kubelet.koordinator.sh/cpu-manager-policy": document}


def node_of(
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, object] | None = None,
    **more: object,
) -> Node:
    """Return a node with labels of Koordinator's, and a kubelet that is told something."""
    named = {f"{DOMAIN}{key}": value for key, value in (labels or {}).items()}
    instance, _ = read(node(labels=named), topology(annotations=annotations, **more))
    return instance.nodes[0]


def manager(policy: str, scope: str = "") -> Json:
    """Return what today's objects say of the topology manager."""
    said = {"topologyManagerPolicy": policy, "topologyManagerScope": scope}
    return {"attributes": [{"name": key, "value": text} for key, text in said.items() if text]}


@pytest.mark.parametrize(
    ("label", "policy", "bind"),
    [
        ("", "static", "FullPCPUsOnly"),
        ("None", "static", "FullPCPUsOnly"),
        ("SpreadByPCPUs", "static", "FullPCPUsOnly"),
        ("FullPCPUsOnly", "none", "FullPCPUsOnly"),
        ("PCPUOnly", "none", "FullPCPUsOnly"),
        ("SpreadByPCPUs", "none", "SpreadByPCPUs"),
        ("", "none", "None"),
        ("", "", "None"),
    ],
)
def test_the_kubelet_rejects_what_is_no_whole_core_whatever_the_label_says(
    label: str, policy: str, bind: str
) -> None:
    """
    Its option goes before the node's label, and counts under its static policy only (C10).
    """
    labels = {"cpu-bind-policy": label} if label else {}
    assert node_of(labels, told(policy, full_pcpus_only="true")).cpu_bind == bind


@pytest.mark.parametrize(
    ("label", "policy", "strategy"),
    [
        ("MostAllocated", "static", "MostAllocated"),
        ("LeastAllocated", "static", "LeastAllocated"),
        ("", "static", "DistributeEvenly"),
        ("", "none", None),
        ("DistributeEvenly", "none", "DistributeEvenly"),
    ],
)
def test_the_label_says_which_numa_nodes_before_the_kubelet_does(
    label: str, policy: str, strategy: str | None
) -> None:
    """
    Then distribute-cpus-across-numa of a static kubelet, then nothing (C11).
    """
    labels = {"numa-allocate-strategy": label} if label else {}
    found = node_of(labels, told(policy, distribute_cpus_across_numa="true"))
    assert found.numa_strategy == strategy


@pytest.mark.parametrize("key", ["numa-topology-policy", "numa-topology-alignment-policy"])
@pytest.mark.parametrize("label", list(AlignmentPolicy))
def test_the_label_says_the_numa_policy_before_the_kubelet_does(
    key: str, label: AlignmentPolicy
) -> None:
    """
    By today's name and by the proposal's; None is a policy, too (C12).
    """
    found = node_of({key: label}, policies=["RestrictedContainerLevel"])
    assert (found.alignment, found.scope) == (label, None)
    assert node_of(policies=["RestrictedContainerLevel"]).alignment == "Restricted"


def test_todays_label_goes_before_the_proposals() -> None:
    """
    Where both are there.
    """
    both = {"numa-topology-policy": "BestEffort", "numa-topology-alignment-policy": "Restricted"}
    assert node_of(both).alignment == "BestEffort"


@pytest.mark.parametrize(
    ("said", "policy", "scope"),
    [
        ({"policies": ["SingleNUMANodePodLevel"]}, "SingleNUMANode", "pod"),
        ({"policies": ["SingleNUMANodeContainerLevel"]}, "SingleNUMANode", "container"),
        ({"policies": ["RestrictedPodLevel"]}, "Restricted", "pod"),
        ({"policies": ["BestEffortContainerLevel"]}, "BestEffort", "container"),
        ({"policies": ["Restricted"]}, "Restricted", None),
        ({"policies": ["BestEffort", "Restricted"]}, "BestEffort", None),
        ({"policies": ["None"]}, None, None),
        (manager("single-numa-node", "pod"), "SingleNUMANode", "pod"),
        (manager("restricted", "container"), "Restricted", "container"),
        (manager("best-effort"), "BestEffort", "container"),
        (manager("none", "pod"), None, None),
        (
            {"policies": ["SingleNUMANodePodLevel"], **manager("restricted", "container")},
            "Restricted",
            "container",
        ),
        ({"policies": ["RestrictedPodLevel"], **manager("none")}, None, None),
    ],
)
def test_the_topology_managers_policy_and_scope_are_read_from_both_forms(
    said: Json, policy: str | None, scope: str | None
) -> None:
    """
    Attributes go before topologyPolicies, of which the first counts. Attributes without a scope
    mean the kubelet's default; old words without one leave it open. A kubelet that aligns nothing
    leaves it to the scheduler (C12, C17, C22).
    """
    found = node_of(**said)
    assert found.alignment == policy
    assert found.scope == (AlignmentScope(scope) if scope else None)


def test_the_scope_decides_who_fits() -> None:
    """
    Two containers of three CPUs on NUMA nodes of four: each fits one, the pod does not.
    """
    part = {"resources": {"requests": {"cpu": "3"}}}
    both = pod(containers=[{"name": "a", **part}, {"name": "b", **part}])
    for scope, placed in (("container", {"p"}), ("pod", set())):
        instance, _ = read(node(), topology(**manager("single-numa-node", scope)), both)
        assert set(places(instance)) == placed


@pytest.mark.parametrize(
    ("of_node", "of_pod", "placed"),
    [
        ("", "SingleNUMANode", False),
        ("BestEffort", "", True),
        ("BestEffort", "SingleNUMANode", False),
        ("SingleNUMANode", "", False),
        ("", "", True),
    ],
)
def test_a_pods_policy_holds_where_its_node_has_none_and_never_against_it(
    of_node: str, of_pod: str, *, placed: bool
) -> None:
    """
    Five CPUs, NUMA nodes of four; two policies that differ do not go together (C12).
    """
    spec = {"scheduling.koordinator.sh/numa-topology-spec": {"numaTopologyPolicy": of_pod}}
    labels = {f"{DOMAIN}numa-topology-policy": of_node} if of_node else {}
    wide = lsr(cpus=5, annotations=spec if of_pod else {})
    assert bool(places(read(node(labels=labels), topology(), wide)[0])) is placed


def test_two_policies_that_differ_keep_a_pod_off_where_it_would_fit_either() -> None:
    """
    One CPU fits every policy; the node's and the pod's have to be the same (C12).
    """
    label = f"{DOMAIN}numa-topology-policy"
    key = "scheduling.koordinator.sh/numa-topology-spec"
    for own, placed in (("Restricted", {"p"}), ("SingleNUMANode", set())):
        asks = lsr(cpus=1, annotations={key: {"numaTopologyPolicy": own}})
        instance, _ = read(node(labels={label: "Restricted"}), topology(), asks)
        assert set(places(instance)) == placed


@pytest.mark.parametrize("policy", ["static", "none"])
def test_options_of_locality_count_under_the_static_policy(policy: str) -> None:
    """
    align-by-socket and prefer-align-cpus-by-uncorecache (C17).
    """
    options = told(policy, align_by_socket="true", prefer_align_cpus_by_uncorecache="true")
    found = node_of(annotations=options).locality
    assert found == ((CpuLocalityWish.PACKAGE, CpuLocalityWish.LLC) if policy == "static" else ())


@pytest.mark.parametrize("value", ["false", "False", ""])
def test_an_option_that_is_off_says_nothing(value: str) -> None:
    """
    Options are there with the value of a switch.
    """
    assert node_of(annotations=told("static", full_pcpus_only=value)).cpu_bind == "None"


def test_reserved_cpus_are_those_of_kubelet_node_and_system_together() -> None:
    """
    No pod owns one, and no request counts against one (C5).
    """
    said = {
        f"{DOMAIN}reservation": '{"reservedCPUs":"2"}',
        f"{DOMAIN}system-qos-resource": '{"cpuset":"3","cpusetExclusive":true}',
    }
    objects = node(annotations=said), topology(annotations=told("static", "0-1"))
    assert read(*objects)[0].nodes[0].reserved_cpus == {0, 1, 2, 3}
    assert places(read(*objects, lsr(cpus=4))[0])["p"].cpuset == {4, 5, 6, 7}
    assert not places(read(*objects, lsr(cpus=5))[0])


@pytest.mark.parametrize("strict", ["true", "false"])
@pytest.mark.parametrize(("asked", "fits"), [("6", True), ("6001m", False)])
def test_no_request_counts_on_reserved_cpus_whether_strict_or_not(
    strict: str, asked: str, *, fits: bool
) -> None:
    """
    strict-cpu-reservation keeps pods off them; without it they only count for nothing.
    """
    said = told("static", "0-1", strict_cpu_reservation=strict)
    waits = pod("p", {"cpu": asked, "memory": "1Gi"})
    assert bool(places(read(node(), topology(annotations=said), waits)[0])) is fits


def runs(name: str = "g", **more: Json) -> Json:
    """Return a Guaranteed pod without a class that runs."""
    return pod(name, TWO, limits=TWO, nodeName="n1", **more)


def allocs(cpus: str, name: str = "g") -> Mapping[str, object]:
    """Return what the node's agent says of the CPUs that the kubelet gave to a pod."""
    entry = {"namespace": "default", "name": name, "uid": f"uid-{name}", "cpuset": cpus}
    return {f"{DOMAIN}pod-cpu-allocs": [{**entry, "managedByKubelet": True}]}


BEST_EFFORT = {"koordinator.sh/qosClass": "BE"}


@pytest.mark.parametrize(
    ("label", "shared", "best_effort"), [("", "0-1,4-7", "0-1,4-7"), ("LSR", "0-1,4-7", "0-7")]
)
def test_best_effort_pods_do_not_share_what_the_kubelet_has_pinned(
    label: str, shared: str, best_effort: str
) -> None:
    """
    Those of other LSR pods they do share; Burstable pods share neither (C5, C6).
    """
    labels = {"koordinator.sh/qosClass": label} if label else {}
    told_it = topology(annotations={**told("static"), **allocs("2-3")})
    waits = [
        pod("ls", {"cpu": "1"}),
        pod("be", {"cpu": "1"}, labels=BEST_EFFORT),
        pod("b", {"cpu": "1"}, labels=BEST_EFFORT, nodeName="n1"),
    ]

    instance, _ = read(node(), told_it, runs(labels=labels), *waits)
    found = places(instance)

    assert instance.running[0].pod.spec.qos is QosClass.LSR
    assert instance.running[0].movable is bool(label)
    beside = instance.running[1].placement.cpuset
    assert [format_cpu_list(one) for one in (found["ls"].cpuset, found["be"].cpuset, beside)] == [
        shared,
        best_effort,
        best_effort,
    ]


def test_no_pool_has_cpus_of_pinned_pods_that_are_not_in_the_dump() -> None:
    """
    Nor those that are for the system alone (strict-cpu-reservation); other reserved ones are.
    """
    waits = [pod("ls", {"cpu": "1"}), pod("be", {"cpu": "1"}, labels=BEST_EFFORT)]

    for strict, cpus in (("true", "1,4-7"), ("false", "0-1,4-7")):
        kubelet = {**told("static", "0", strict_cpu_reservation=strict), **allocs("2-3")}
        found = places(read(node(), topology(annotations=kubelet), *waits)[0])
        assert [format_cpu_list(one.cpuset) for one in found.values()] == [cpus, cpus]


@pytest.mark.parametrize(
    ("policy", "label", "qos"),
    [
        ("static", "", QosClass.LSR),
        ("none", "", QosClass.LS),
        ("", "", QosClass.LS),
        ("static", "LS", QosClass.LS),
        ("static", "BE", QosClass.BE),
        ("none", "LSR", QosClass.LSR),
    ],
)
def test_a_running_guaranteed_pod_owns_its_cpus_under_static_and_shares_under_none(
    policy: str, label: str, qos: QosClass
) -> None:
    """
    Its own class goes before the kubelet's policy (C2).
    """
    labels = {"koordinator.sh/qosClass": label} if label else {}
    given = allocs("2-3") if qos.owns_cpus else {}
    instance, _ = read(node(), topology(annotations={**told(policy), **given}), runs(labels=labels))
    (running,) = instance.running
    assert running.pod.spec.qos is qos
    assert running.placement.cpuset == ({2, 3} if qos.owns_cpus else set(range(8)))
    assert not misfits_of_instance(instance)


@pytest.mark.parametrize("policy", ["static", "none"])
def test_a_guaranteed_pod_that_waits_shares_under_either(policy: str) -> None:
    """
    Newly created ones count as LS; their CPUs leave the pool either way (C2).
    """
    instance, _ = read(node(), topology(annotations=told(policy)), pod("g", TWO, limits=TWO))
    assert instance.gangs[0].pods[0].spec.qos is QosClass.LS


def test_what_a_pod_says_of_its_cpus_goes_before_what_its_node_says() -> None:
    """
    The scheduler's annotation is followed by who sets cpusets; the kubelet is not (C14).
    """
    more = told("static") | allocs("2-3")
    instance, _ = read(node(), topology(annotations=more), runs(annotations=owned("4-5")))
    assert instance.running[0].placement.cpuset == {4, 5}


def test_a_static_kubelet_that_names_no_cpus_closes_its_node_to_owners() -> None:
    """
    It gave some to the Guaranteed pod, nobody says which; under none it gave none.
    """
    for policy, placed in (("static", set()), ("none", {"waits"})):
        instance, summary = read(node(), topology(annotations=told(policy)), runs(), lsr("waits"))
        assert set(places(instance)) == placed
        assert ("pods whose own CPUs nobody names" in notes(summary)) is not placed


PART = {"requests": {"cpu": "500m", "memory": "1Gi"}}
PART["limits"] = PART["requests"]
WHOLE = {"requests": TWO, "limits": TWO}


@pytest.mark.parametrize(
    ("spec", "shared"),
    [
        (
            {
                "containers": [
                    {"name": "whole", "resources": WHOLE},
                    {"name": "part", "resources": PART},
                ]
            },
            500,
        ),
        (
            {
                "containers": [{"name": "whole", "resources": WHOLE}],
                "initContainers": [{"name": "part", "resources": PART}],
            },
            0,
        ),
        (
            {
                "containers": [{"name": "whole", "resources": WHOLE}],
                "overhead": {"cpu": "250m", "memory": "64Mi"},
            },
            250,
        ),
    ],
)
def test_containers_of_whole_cpus_own_them_beside_containers_that_share(
    spec: Json, shared: int
) -> None:
    """
    As a static kubelet gives them out, container by container; what the others ask for
    counts in the shared pool (C2, C5).
    """
    guaranteed = pod("g", nodeName="n1", **spec)
    objects = node(), topology(annotations=told("static") | allocs("2-3"))
    instance, _ = read(*objects, guaranteed)
    owner = next(one for one in instance.running if one.pod.name == "g")
    assert owner.pod.spec.qos is QosClass.LSR
    assert owner.placement.cpuset == {2, 3}
    assert not misfits_of_instance(instance)
    left = 6000 - shared
    for milli, placed in ((left, {"ls"}), (left + 1, set())):
        waits = pod("ls", {"cpu": f"{milli}m", "memory": "1Gi"})
        assert set(places(read(*objects, guaranteed, waits)[0])) == placed


def test_requests_of_a_pod_as_a_whole_are_in_the_shared_pool() -> None:
    """
    A static kubelet gives no CPUs to pods that say what they want as a whole.
    """
    whole = pod("g", {}, resources=WHOLE, nodeName="n1")
    instance, summary = read(node(), topology(annotations=told("static")), whole)
    assert instance.running[0].pod.spec.qos is QosClass.LS
    assert "pods whose own CPUs nobody names" not in notes(summary)


def test_cpus_that_the_kubelet_gave_twice_are_a_fault_of_the_object_that_says_it() -> None:
    """
    Of the NodeResourceTopology, not of a pod.
    """
    entries = [
        {"namespace": "default", "name": name, "cpuset": cpus}
        for name, cpus in (("a", "0-1"), ("b", "1-2"))
    ]
    (fault,) = faults(node(), topology(annotations={f"{DOMAIN}pod-cpu-allocs": entries}))
    assert "NodeResourceTopology n1: CPU 1 is given to default/a and to default/b" in fault


@pytest.mark.parametrize("qos", ["LSE", "LSR", "LS", "BE"])
@pytest.mark.parametrize("priority", ["prod", "mid", "batch", "free"])
@pytest.mark.parametrize("said_by", ["label", "value", "name"])
def test_classes_that_do_not_go_together_are_refused(qos: str, priority: str, said_by: str) -> None:
    """
    LSE and LSR with prod only, BE not with prod, LS with any; whoever says the priority class.
    """
    values = {"prod": 9500, "mid": 7500, "batch": 5500, "free": 3500}
    labels = {"koordinator.sh/qosClass": qos}
    spec: Json = {}
    match said_by:
        case "label":
            labels["koordinator.sh/priority-class"] = f"koord-{priority}"
        case "value":
            spec["priority"] = values[priority]
        case _:
            spec["priorityClassName"] = f"koord-{priority}"
    asks = pod(requests=TWO, limits=TWO, labels=labels, **spec)

    fits = {"LS": True, "BE": priority != "prod"}.get(qos, priority == "prod")
    if fits:
        instance, _ = read(node(), topology(), asks)
        assert instance.gangs[0].pods[0].spec.qos == qos
    else:
        (fault,) = faults(node(), topology(), asks)
        assert f"{qos} and the priority class koord-{priority} do not go together" in fault


@pytest.mark.parametrize(
    ("priority", "qos"), [("prod", "LS"), ("mid", "LS"), ("batch", "BE"), ("free", "BE")]
)
def test_a_pod_without_a_class_has_that_of_its_priority(priority: str, qos: str) -> None:
    """
    Batch and free run on what others leave.
    """
    asks = {"kubernetes.io/batch-cpu": "1000"} if qos == "BE" else {"cpu": "1"}
    waits = pod("p", asks, priorityClassName=f"koord-{priority}")
    instance, _ = read(node(amounts={"kubernetes.io/batch-cpu": "8000"}), topology(), waits)
    assert instance.gangs[0].pods[0].spec.qos == qos
