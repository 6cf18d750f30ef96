"""Each kind of object becomes a part: what it says, in the words of the library."""

from typing import Any

import pytest

from kubernetes_worlds import REQUIRED, Json, device, gpu, lsr, node, pod, topology
from placer_models.device import VirtualFunction
from placer_models.host_ports import HostPort, PortProtocol
from placer_models.kubernetes.device import read_kube_koordinator_device
from placer_models.kubernetes.node import read_kube_node
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.pod import read_kube_pod
from placer_models.kubernetes.pod_class import KoordinatorPriorityClass
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.pod_gang import read_kube_pod_group
from placer_models.kubernetes.pod_spec import parsed_spec_of_kube_pod
from placer_models.kubernetes.topology import read_kube_node_resource_topology
from placer_models.pod import DeviceRequest
from placer_models.policy import (
    AlignmentPolicy,
    AlignmentScope,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    NumaStrategy,
    PartitionPolicy,
    QosClass,
    RequiredOrPreferred,
)
from placer_models.taints import UNSCHEDULABLE, TaintEffect

GPUS = ClusterFactsForRequests(types=frozenset({"gpu", "rdma"}))
DOMAIN = "scheduling.koordinator.sh/"


def test_an_object_keeps_who_it_is() -> None:
    """
    Uid and resourceVersion stay with the part, for who writes back and for who watches.
    """
    identity = read_kube_pod(pod("a", namespace="team")).identity
    assert (identity.key, identity.uid, identity.resource_version) == (("team", "a"), "uid-a", "9")


def test_the_labels_of_a_node_say_its_policies() -> None:
    """
    Today's names; the seed's names and its word PCPUOnly are read, too (C10, C11, C12).
    """
    domain = "node.koordinator.sh/"
    for policy, word in (
        ("numa-topology-policy", "FullPCPUsOnly"),
        ("numa-topology-alignment-policy", "PCPUOnly"),
    ):
        part = read_kube_node(
            node(
                labels={
                    f"{domain}{policy}": "SingleNUMANode",
                    f"{domain}cpu-bind-policy": word,
                    f"{domain}numa-allocate-strategy": "DistributeEvenly",
                    f"{domain}gpu-partition-policy": "Honor",
                }
            )
        )
        assert part.alignment is AlignmentPolicy.SINGLE_NUMA_NODE
        assert part.bind is NodeBindPolicy.FULL_PCPUS_ONLY
        assert part.numa_strategy is NumaStrategy.DISTRIBUTE_EVENLY
        assert part.partition_policy is PartitionPolicy.HONOR


def test_annotations_of_a_node_reserve_cpus_and_memory() -> None:
    """
    By number, by id, and of system pods; ids alone where the policy says so.
    """

    def reserved(**said: Any) -> tuple[object, int, int]:
        part = read_kube_node(
            node(
                annotations={
                    f"node.koordinator.sh/{k.replace('_', '-')}": v for k, v in said.items()
                }
            )
        )
        return sorted(part.reserved_cpus), part.reserved_milli, part.reserved_bytes

    assert reserved(reservation='{"resources":{"cpu":"1500m","memory":"1Gi"}}') == ([], 1500, 2**30)
    assert reserved(reservation='{"reservedCPUs":"0-1"}') == ([0, 1], 2000, 0)
    only = '{"reservedCPUs":"0-1","applyPolicy":"ReservedCPUsOnly"}'
    assert reserved(reservation=only) == ([0, 1], 0, 0)
    assert reserved(system_qos_resource='{"cpuset":"6-7"}') == ([6, 7], 0, 0)
    assert reserved(system_qos_resource='{"cpuset":"6-7","cpusetExclusive":false}') == ([], 0, 0)


def test_taints_conditions_and_amplification_of_a_node() -> None:
    """
    Who cordons a node taints it; a condition keeps nobody off, but the taint for it does.
    """
    part = read_kube_node(
        node(
            taints=[
                {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                {"key": "old", "effect": "PreferNoSchedule"},
                {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"},
            ],
            unschedulable=True,
            conditions=[
                {"type": "Ready", "status": "Unknown"},
                {"type": "DiskPressure", "status": "True"},
                {"type": "PIDPressure", "status": "False"},
            ],
            annotations={
                "node.koordinator.sh/resource-amplification-ratio": '{"cpu":1.5,"memory":1}'
            },
        )
    )
    assert [taint.effect for taint in part.taints] == [
        TaintEffect.NO_SCHEDULE,
        TaintEffect.PREFER_NO_SCHEDULE,
        TaintEffect.NO_SCHEDULE,
        TaintEffect.NO_SCHEDULE,
    ]
    assert str(part.taints[0]) == "gpu=yes:NoSchedule"
    assert part.taints[-1] == UNSCHEDULABLE
    assert part.untainted == ("NotReady",)
    assert (part.milli_per_cpu, part.amplified) == (1500, ())


@pytest.mark.parametrize(
    ("said", "policy", "scope"),
    [
        ({"policies": ["SingleNUMANodePodLevel"]}, "SingleNUMANode", "pod"),
        ({"policies": ["SingleNUMANodeContainerLevel"]}, "SingleNUMANode", "container"),
        ({"policies": ["SingleNUMANode"]}, "SingleNUMANode", None),
        ({"policies": ["BestEffort"]}, "BestEffort", None),
        (
            {
                "attributes": [
                    {"name": "topologyManagerPolicy", "value": "restricted"},
                    {"name": "topologyManagerScope", "value": "pod"},
                ]
            },
            "Restricted",
            "pod",
        ),
        ({}, None, None),
    ],
)
def test_the_topology_manager_of_a_node(said: Json, policy: str | None, scope: str | None) -> None:
    """
    In the words of every version of the object (C12, C17).
    """
    part = read_kube_node_resource_topology(topology(**said))
    assert part.alignment == (None if policy is None else AlignmentPolicy(policy))
    assert part.scope == (None if scope is None else AlignmentScope(scope))


def test_a_device_object_says_where_devices_are_and_how_they_are() -> None:
    """
    Health by the flag and by the condition; -1 is a place that is not known (D1, D6, D10, D11).
    """
    sick = gpu(1, conditions=[{"type": "Healthy", "status": "False"}])
    nic = {
        "type": "rdma",
        "minor": 0,
        "id": "0000:09:00.0",
        "health": True,
        "resources": {"koordinator.sh/rdma": "100"},
        "topology": {"socketID": -1, "nodeID": -1, "pcieID": "s1", "busID": "0000:09:00.0"},
        "vfGroups": [{"labels": {"type": "fast"}, "vfs": [{"minor": 0, "busID": "0000:09:00.1"}]}],
    }
    table = '{"1":[{"minors":[0]},{"minors":[1]}],"2":[{"minors":[1,0]}]}'
    part = read_kube_koordinator_device(
        device(
            devices=[nic, gpu(0), sick, gpu(2, health=False)],
            annotations={
                f"{DOMAIN}gpu-partitions": table,
                "node.koordinator.sh/devices-checkpoints": '[{"podUID":"u","containerName":"c",'
                '"resourceName":"nvidia.com/gpu","deviceIDs":["GPU-2"]}]',
            },
        )
    )
    first, *_, last = part.devices
    assert [d.healthy for d in part.devices] == [True, False, False, True]
    assert (first.memory_bytes, first.numa_node, first.package) == (2**34, 0, 0)
    assert (last.numa_node, last.package, last.pcie_switch) == (None, None, "s1")
    assert last.virtual_functions == (VirtualFunction(0, "0000:09:00.1", (("type", "fast"),)),)
    assert part.partitions == ((0,), (1,), (0, 1))
    assert part.checkpoints[0].ids == ("GPU-2",)


def test_init_containers_sidecars_and_overhead_count_as_in_kubernetes() -> None:
    """
    The larger of the app phase and each init phase, sidecars from their start on, overhead always.
    """

    def container(name: str, cpu: str, **more: object) -> Json:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    found = pod(
        initContainers=[
            container("first", "5"),
            container("side", "1", restartPolicy="Always"),
            container("second", "3"),
        ],
        overhead={"cpu": "250m", "memory": "64Mi"},
    )
    found["spec"]["containers"] = [container("a", "1"), container("b", "2500m")]
    asked = parsed_spec_of_kube_pod(read_kube_pod(found), ClusterFactsForRequests()).spec.requests

    assert asked.cpu_milli == 5000 + 250  # first alone; else 1 + 3, and 1 + 1 + 2.5
    assert asked.memory_bytes == 64 * 2**20


def test_amounts_are_rounded_up_as_kubernetes_rounds_them() -> None:
    """
    A part of a byte, a part of a thousandth of a CPU; more than that is the same amount.
    """
    found = pod(requests={"cpu": "0.0005", "memory": "0.1Gi"})
    asked = parsed_spec_of_kube_pod(read_kube_pod(found), ClusterFactsForRequests()).spec.requests
    assert (asked.cpu_milli, asked.memory_bytes) == (1, 107374183)
    assert parsed_spec_of_kube_pod(
        read_kube_pod(pod(requests={"memory": "128974848000m"})), ClusterFactsForRequests()
    ).spec.requests == (
        parsed_spec_of_kube_pod(
            read_kube_pod(pod(requests={"memory": "128974848"})), ClusterFactsForRequests()
        ).spec.requests
    )


def test_requests_of_the_pod_go_before_those_of_its_containers() -> None:
    """
    Resource by resource, as pod-level resources do.
    """
    found = pod(requests={"cpu": "1", "memory": "1Gi"}, resources={"requests": {"cpu": "3"}})
    asked = parsed_spec_of_kube_pod(read_kube_pod(found), ClusterFactsForRequests()).spec.requests
    assert (asked.cpu_milli, asked.memory_bytes) == (3000, 2**30)


def test_a_limit_alone_is_the_request() -> None:
    """
    As Kubernetes fills it in.
    """
    found = pod(requests={}, limits={"cpu": "2", "example.com/token": "3", "hugepages-2Mi": "4Mi"})
    asked = parsed_spec_of_kube_pod(read_kube_pod(found), ClusterFactsForRequests()).spec.requests
    assert (asked.cpu_milli, asked.extended) == (2000, (("example.com/token", 3),))
    assert asked.pages_of(2 * 2**20) == 2


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({"nvidia.com/gpu": "2"}, [("gpu", 2, None)]),
        ({"koordinator.sh/gpu": "50"}, [("gpu", 1, (50, 50))]),
        (
            {"kubernetes.io/gpu-core": "60", "kubernetes.io/gpu-memory-ratio": "40"},
            [("gpu", 1, (60, 40))],
        ),
        ({"koordinator.sh/gpu": "200"}, [("gpu", 2, None)]),
        ({"kubernetes.io/rdma": "100"}, [("rdma", 1, None)]),
    ],
)
def test_devices_are_asked_for_by_every_name(requests: Json, expected: list[object]) -> None:
    """
    Of vendors, of Koordinator, and the deprecated ones (D2, D3).
    """
    devices = parsed_spec_of_kube_pod(
        read_kube_pod(pod(requests=requests)), GPUS
    ).spec.requests.devices
    shares = [
        (d.type, d.count, d.share and (d.share.percent, d.share.memory_percent)) for d in devices
    ]
    assert shares == expected


def test_shares_of_several_containers_are_asked_for_by_the_pod() -> None:
    """
    Koordinator adds up what containers ask for before it looks at it.
    """
    found = pod()
    half = {"requests": {"koordinator.sh/gpu": "50"}}
    found["spec"]["containers"] = [{"name": n, "resources": half} for n in "ab"]
    assert parsed_spec_of_kube_pod(read_kube_pod(found), GPUS).spec.requests.devices == (
        DeviceRequest("gpu", 1),
    )


def test_without_known_devices_gpus_are_an_extended_resource() -> None:
    """
    A plain amount, like any other.
    """
    asked = parsed_spec_of_kube_pod(
        read_kube_pod(pod(requests={"nvidia.com/gpu": "2"})), ClusterFactsForRequests()
    ).spec.requests
    assert (asked.devices, asked.extended) == ((), (("nvidia.com/gpu", 2),))


@pytest.mark.parametrize(
    ("labels", "priority", "qos"),
    [
        ({"koordinator.sh/qosClass": "LSE"}, None, QosClass.LSE),
        ({"koordinator.sh/qosClass": "SYSTEM"}, None, QosClass.LS),
        ({}, 5500, QosClass.LS),
        ({"koordinator.sh/priority-class": "koord-batch"}, 9500, QosClass.LS),
        ({}, 9500, QosClass.LS),
        ({}, None, QosClass.LS),
    ],
)
def test_the_qos_class_of_a_pod_that_asks_for_cpus_is_that_of_its_label_else_ls(
    labels: dict[str, str], priority: int | None, qos: QosClass
) -> None:
    """
    A Guaranteed pod that waits is LS (C2), whatever its priority: a cluster without Koordinator
    has priorities of its own, and its scheduler counts all CPUs that are asked for together.
    """
    amounts = {"cpu": "2", "memory": "1Gi"}
    more = {} if priority is None else {"priority": priority}
    found = pod(requests=amounts, limits=amounts, labels=labels, **more)
    assert parsed_spec_of_kube_pod(read_kube_pod(found), ClusterFactsForRequests()).spec.qos is qos


@pytest.mark.parametrize(
    ("labels", "priority"),
    [
        ({}, 5500),
        ({}, 3000),
        ({"koordinator.sh/priority-class": "koord-batch"}, 9500),
    ],
)
def test_batch_and_free_pods_that_ask_for_no_cpus_run_on_what_others_leave(
    labels: dict[str, str], priority: int
) -> None:
    """
    CPUs that others leave are asked for by a name of their own; memory makes no other class.
    """
    amounts = {"kubernetes.io/batch-cpu": "2000", "memory": "1Gi"}
    found = pod(requests=amounts, labels=labels, priority=priority)
    assert (
        parsed_spec_of_kube_pod(read_kube_pod(found), ClusterFactsForRequests()).spec.qos
        is QosClass.BE
    )


@pytest.mark.parametrize(
    ("asked", "allocated", "has", "reason", "counts"),
    [
        ("1", "2", "2", "", 2000),
        ("3", "2", "2", "", 3000),
        ("1", "1", "2", "", 2000),
        ("3", "2", "2", "Deferred", 3000),
        ("3", "2", "2", "Infeasible", 2000),
        ("3", "2", "", "Infeasible", 3000),
    ],
)
def test_a_container_that_is_being_resized_counts_as_what_is_larger(
    asked: str, allocated: str, has: str, reason: str, counts: int
) -> None:
    """
    Of what it asks for and what its status says; as the scheduler counts it. A status without
    resources says nothing, and a pod that waits has none.
    """
    found = pod(requests={"cpu": asked, "memory": "1Gi"}, nodeName="n1")
    status: Json = {"name": "main", "allocatedResources": {"cpu": allocated, "memory": "1Gi"}}
    if has:
        status["resources"] = {"requests": {"cpu": has, "memory": "1Gi"}}
    found["status"]["containerStatuses"] = [status]
    found["status"]["conditions"] = [{"type": "PodResizePending", "reason": reason}]

    assert read_kube_pod(found).containers[0].requests.cpu_milli == counts
    assert read_kube_pod(found).containers[0].requests.memory_bytes == 2**30
    del found["spec"]["nodeName"]
    assert read_kube_pod(found).containers[0].requests.cpu_milli == int(asked) * 1000


def test_the_limit_of_a_resource_of_kubernetes_own_may_be_more_than_its_request() -> None:
    """
    Koordinator's batch pods have what they asked and were limited to of CPUs; as Kubernetes has
    it, other vendors' resources have one amount.
    """
    name = "kubernetes.io/batch-cpu"
    found = read_kube_pod(pod(requests={name: "1000"}, limits={name: "2000"}))
    assert found.containers[0].requests.other == {name: 1000}

    with pytest.raises(
        KubernetesObjectError, match=r"the limit of example\.com/card is 2; expected"
    ):
        read_kube_pod(pod(requests={"example.com/card": "1"}, limits={"example.com/card": "2"}))


def test_a_pod_that_asks_for_nothing_is_best_effort() -> None:
    """
    As Kubernetes has it: no CPUs, no memory.
    """
    assert (
        parsed_spec_of_kube_pod(read_kube_pod(pod(requests={})), ClusterFactsForRequests()).spec.qos
        is QosClass.BE
    )


def test_annotations_say_what_a_pod_wants_of_cpus() -> None:
    """
    Bind and exclusive policies for pods that own CPUs; an LS pod's mean nothing (C8, C9, C12).
    """
    said = {
        f"{DOMAIN}resource-spec": {
            "requiredCPUBindPolicy": "FullPCPUs",
            "preferredCPUExclusivePolicy": "PCPULevel",
        },
        f"{DOMAIN}numa-topology-spec": {"numaTopologyPolicy": "SingleNUMANode"},
    }
    spec = parsed_spec_of_kube_pod(
        read_kube_pod(lsr(annotations=said)), ClusterFactsForRequests()
    ).spec
    assert (spec.bind, spec.bind_strength) == (BindPolicy.FULL_PCPUS, RequiredOrPreferred.REQUIRED)
    assert spec.exclusive is ExclusivePolicy.PCPU_LEVEL
    assert spec.alignment is AlignmentPolicy.SINGLE_NUMA_NODE

    spec = parsed_spec_of_kube_pod(
        read_kube_pod(pod(annotations=said)), ClusterFactsForRequests()
    ).spec
    assert (spec.bind, spec.exclusive) == (BindPolicy.DEFAULT, None)


def test_constrained_burst_is_for_ls_pods_with_a_limit() -> None:
    """
    It stays in the pool of NUMA nodes that hold its limit (C8).
    """
    said = {f"{DOMAIN}resource-spec": {"preferredCPUBindPolicy": "ConstrainedBurst"}}
    asked = {"cpu": "1", "memory": "1Gi"}
    burst = parsed_spec_of_kube_pod(
        read_kube_pod(pod(requests=asked, limits={"cpu": "4"}, annotations=said)), GPUS
    )
    assert burst.spec.burst_cpus == 4
    assert not parsed_spec_of_kube_pod(
        read_kube_pod(pod(requests=asked, annotations=said)), GPUS
    ).spec.burst_cpus
    said[f"{DOMAIN}numa-topology-spec"] = {"numaTopologyPolicy": "Restricted"}
    aligned = parsed_spec_of_kube_pod(
        read_kube_pod(pod(requests=asked, limits={"cpu": "4"}, annotations=said)), GPUS
    )
    assert (aligned.spec.burst_cpus, aligned.spec.alignment) == (4, AlignmentPolicy.RESTRICTED)


def test_what_has_no_word_yet_is_named() -> None:
    """
    A demand keeps the pod from being placed, and is not forgotten.
    """
    found = pod(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}})
    assert read_kube_pod(found).constraints.lacks == ("required pod affinity that means no pod",)


def test_ports_of_the_node_are_those_of_app_containers_and_sidecars() -> None:
    """
    A container of the host's network has the ports that it names; init containers that end do not.
    """

    def ports(*parts: Json) -> Json:
        return {"name": "c", "ports": list(parts)}

    one = ports({"hostPort": 80, "containerPort": 8080}, {"containerPort": 8081})
    udp = ports({"hostPort": 53, "containerPort": 53, "protocol": "UDP", "hostIP": "10.0.0.7"})
    sidecar, once = {**udp, "name": "s", "restartPolicy": "Always"}, {**udp, "name": "i"}
    of_apps = (HostPort(80),)
    beside = HostPort(53, PortProtocol.UDP, "10.0.0.7")

    def read(**spec: object) -> tuple[HostPort, ...]:
        return read_kube_pod(pod(**spec)).constraints.host_ports

    assert read(containers=[one], initContainers=[once]) == of_apps
    assert read(containers=[one], initContainers=[sidecar]) == (beside, *of_apps)
    assert read(containers=[one], hostNetwork=True) == (*of_apps, HostPort(8081))
    assert read(containers=[ports({"hostPort": 80, "hostIP": ""}, {"hostPort": 80})]) == of_apps
    with pytest.raises(
        KubernetesObjectError, match=r"ports\[0\]: got port 70000; ports are 1 to 65535"
    ):
        read(containers=[ports({"hostPort": 70000})])
    with pytest.raises(
        KubernetesObjectError, match=r"ports\[0\]: 'here' does not appear to be an IPv4"
    ):
        read(containers=[ports({"hostPort": 80, "hostIP": "here"})])


def test_affinity_that_has_words_is_read() -> None:
    """
    Labels of the node; labels of pods on one node.
    """
    expression = {"key": "zone", "operator": "In", "values": ["b"]}
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    found = pod(
        nodeSelector={"disk": "ssd"},
        affinity={
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
            "podAntiAffinity": {REQUIRED: [term]},
        },
    )
    constraints = read_kube_pod(found).constraints
    assert constraints.selector == (("disk", "ssd"),)
    assert str(constraints.node_affinity) == "zone in (b)"
    terms = [one.term for one in constraints.affinity]
    assert [(term.labels, term.apart, term.required) for term in terms] == [
        ((("app", "db"),), True, True)
    ]
    assert constraints.lacks == ()


def test_pod_groups_of_both_kinds_say_their_minimum() -> None:
    """
    minMember of the plugins' kind, minCount of Kubernetes' own; a basic policy has none (G1).
    """

    def group(version: str, spec: Json) -> Json:
        return {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}

    old = group("scheduling.sigs.k8s.io/v1alpha1", {"minMember": 3})
    new = group("scheduling.k8s.io/v1alpha3", {"schedulingPolicy": {"gang": {"minCount": 4}}})
    basic = group("scheduling.k8s.io/v1alpha3", {"schedulingPolicy": {"basic": {}}})
    assert [read_kube_pod_group(g).minimum for g in (old, new, basic)] == [3, 4, None]
    assert [read_kube_pod_group(g).is_kubernetes for g in (old, new, basic)] == [False, True, True]


def test_a_pod_group_of_volcano_is_read_as_far_as_there_are_words() -> None:
    """
    Its minimum; what it demands of each task or of the network is named.
    """

    def group(**spec: object) -> Json:
        version = "scheduling.volcano.sh/v1beta1"
        return {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}

    whole = read_kube_pod_group(group(minMember=4, queue="q", networkTopology={"mode": "soft"}))
    tasks = read_kube_pod_group(group(minMember=4, minTaskMember={"worker": 3, "ps": 0}))
    near = read_kube_pod_group(group(networkTopology={"mode": "hard", "highestTierAllowed": 1}))

    assert (whole.minimum, whole.is_kubernetes, whole.lacks) == (4, False, ())
    assert tasks.lacks == ("spec.minTaskMember",)
    assert near.lacks == ("spec.networkTopology",)


def test_a_pod_names_its_gang_in_many_ways() -> None:
    """
    By label of each plugin, by annotation of Koordinator, by its own field.
    """
    domain = "gang.scheduling.koordinator.sh/"
    for more in (
        {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}},
        {"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
        {"annotations": {f"{domain}name": "g", f"{domain}min-available": "3"}},
        {"annotations": {"scheduling.k8s.io/group-name": "g"}},
        {"annotations": {"scheduling.volcano.sh/group-name": "g"}},
        {"schedulingGroup": {"podGroupName": "g"}},
    ):
        gang = read_kube_pod(pod(**more)).gang
        assert gang is not None
        assert gang.key == ("default", "g")
        said = more.get("annotations", {})
        assert gang.minimum == (3 if f"{domain}min-available" in said else None)


def test_priority_classes_by_value() -> None:
    """
    The ranges of Koordinator.
    """
    values = {9999: "koord-prod", 7000: "koord-mid", 5999: "koord-batch", 8000: ""}
    for value, name in values.items():
        assert read_kube_pod(pod(priority=value)).pod_class.priority is KoordinatorPriorityClass(
            name
        )


@pytest.mark.parametrize(
    ("read", "found", "message"),
    [
        (read_kube_node, node(amounts={"cpu": "-1"}), "status.capacity.cpu: '-1' is negative"),
        (
            read_kube_pod,
            pod(requests={"cpu": "-0.1m"}),
            "resources.requests.cpu: '-0.1m' is negative",
        ),
        (
            read_kube_node,
            node(labels={"node.koordinator.sh/cpu-bind-policy": "Some"}),
            "got 'Some'; expected None, FullPCPUsOnly, SpreadByPCPUs",
        ),
        (
            read_kube_node,
            node(annotations={"node.koordinator.sh/reservation": "{"}),
            "Node n1: metadata.annotations.node.koordinator.sh/reservation: $: is not JSON",
        ),
        (
            read_kube_node_resource_topology,
            topology(cpus=[(0, 0, 0, 0), (0, 1, 0, 1)]),
            "CPU 0 is there twice, on the NUMA nodes 0 and 1; keep one of them",
        ),
        (
            read_kube_node_resource_topology,
            topology(cpus=[(0, 0, 0, 0), (1, 0, 0, 1)]),
            "CPUs 0 and 1 are of one core, 0, and on the NUMA nodes 0 and 1; a core is on one",
        ),
        (
            read_kube_node_resource_topology,
            topology(
                annotations={
                    "node.koordinator.sh/pod-cpu-allocs": [
                        {"namespace": "d", "name": "a", "cpuset": "0-1"},
                        {"namespace": "d", "name": "b", "cpuset": "1"},
                    ]
                }
            ),
            "CPU 1 is given to d/a and to d/b; a CPU has one owner",
        ),
        (
            read_kube_node_resource_topology,
            topology(policies=["Sometimes"]),
            "got 'Sometimes'; expected a policy",
        ),
        (
            read_kube_koordinator_device,
            device(devices=[gpu(0), gpu(0)]),
            "spec.devices[1].minor: gpu 0 is there",
        ),
        (
            read_kube_koordinator_device,
            device(annotations={f"{DOMAIN}gpu-partitions": '{"2":[{"minors":[0]}]}'}),
            "names 1 GPUs; expected 2",
        ),
        (
            read_kube_pod,
            pod(requests={"memory": "-4Gi"}),
            "resources.requests.memory: '-4Gi' is neg",
        ),
        (
            read_kube_pod,
            pod(requests={"cpu": "4"}, limits={"cpu": "2"}),
            "resources.limits.cpu: got '2'; expected at least the request, '4'",
        ),
        (
            read_kube_pod,
            pod(labels={"koordinator.sh/qosClass": "LSR"}, priority=5000),
            "LSR and the priority class koord-batch do not go together",
        ),
        (read_kube_pod, {"metadata": {}}, "Pod default/without a name: metadata.name: is missing"),
        (
            read_kube_pod,
            {**pod(), "spec": []},
            "Pod default/p: spec: got a list; expected a mapping",
        ),
        (
            read_kube_pod,
            pod(
                annotations={
                    "gang.scheduling.koordinator.sh/name": "g",
                    "gang.scheduling.koordinator.sh/min-available": "two",
                }
            ),
            "got 'two'; expected a whole number",
        ),
    ],
)
def test_a_bad_field_is_named_with_its_object(read: Any, found: Json, message: str) -> None:
    """
    Object, field, what is wrong and what is expected, on one line.
    """
    with pytest.raises(KubernetesObjectError) as caught:
        read(found)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            pod(requests={"cpu": "1500m"}, labels={"koordinator.sh/qosClass": "LSR"}),
            "a whole number of CPUs (rule cpu-count)",
        ),
        (pod(requests={"koordinator.sh/gpu": "150"}), "device-whole"),
        (pod(requests={"koordinator.sh/gpu-core": "50"}), "device-combination"),
    ],
)
def test_what_no_pod_may_ask_for_is_refused_by_its_rule(found: Json, message: str) -> None:
    """
    The rules of every pod hold for those of a cluster (C3, D4).
    """
    with pytest.raises(KubernetesObjectError, match="Pod default/p: ") as caught:
        parsed_spec_of_kube_pod(read_kube_pod(found), GPUS)
    assert message in str(caught.value)
