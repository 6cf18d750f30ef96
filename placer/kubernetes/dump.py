"""Dumps: an Instance made of the objects of a cluster, and a summary of what became of them.

Machines are given names; nodes with equal insides share one machine.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from placer.kubernetes.bound_pods import RunningPodsOfKubeNode, read_pods_bound_to_node
from placer.kubernetes.claims import WaitingPodClaimsOfDump
from placer.kubernetes.closing import (
    close_doubted_nodes,
    close_nodes_of_invalid_claim,
    close_nodes_of_invalid_slice,
)
from placer.kubernetes.device_pools import PublishedDevicesOfDump
from placer.kubernetes.doubts import EVERY_NODE
from placer.kubernetes.extended_resources import with_extended_resource_claims
from placer.kubernetes.gangs import legal_gangs, waiting_gangs_of_dump
from placer.kubernetes.held_claims import DevicesHeldByClaimsOfDump
from placer.kubernetes.node_facts import KubeNodeBuilder
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.salvage import as_node_offering_nothing, pod_without_allocation_records
from placer.kubernetes.strangers import PodsMissingInDump
from placer.kubernetes.summary import DumpSummary
from placer.kubernetes.volumes import WaitingPodVolumesOfDump
from placer.kubernetes.waiting import pods_to_place_and_left_out, with_nominated_pods_bound
from placer_models.affinity import SYSTEM_NAMESPACE
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.device import GPU
from placer_models.files.documents import shown_file_name
from placer_models.files.errors import InputError, SeveralInputError
from placer_models.kubernetes.counted_devices import (
    labels_of_node_listing_devices,
    with_amounts_as_counted_devices,
)
from placer_models.kubernetes.device import KubeKoordinatorDevice
from placer_models.kubernetes.join import NodeFromObjects, node_from_joined_objects
from placer_models.kubernetes.names import HOSTNAME, REQUESTED_CPU
from placer_models.kubernetes.namespaces import NamespacesOfDump
from placer_models.kubernetes.object_fields import KubernetesObjectError, object_title
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.pod_spec import qos_of
from placer_models.kubernetes.pod_terms import PodAffinityTermContext
from placer_models.kubernetes.resources import counts_devices_of
from placer_models.kubernetes.stream import load_kubernetes_objects
from placer_models.kubernetes.topology import KubeNodeResourceTopology
from placer_models.kubernetes.who_waits import ALL, IgnorablePodRequirementKind, WaitingPodFilter
from placer_models.pod import PodSpec
from placer_models.policy import BINDING, QosClass

_WORKLOADS = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController"}
    | {"StatefulSet"}
)
"""Kinds of which a cluster makes pods."""

SHOWN = 20
"""The most faults that are reported; a dump may have thousands of the same kind."""


class DumpError(SeveralInputError):
    """A dump that is refused. ``str()`` is its first fault.

    Attributes:
        faults: All faults, in the order of the files.

    """

    @property
    def messages(self) -> tuple[str, ...]:
        """The faults, a line for each object."""
        more = len(self.faults) - SHOWN
        told = tuple(str(fault) for fault in self.faults[:SHOWN])
        return (*told, f"and {more:,} more objects are faulty") if more > 0 else told


def read_dump(
    paths: Sequence[Path],
    objects: ClusterObjects | None = None,
    defaults: Defaults | None = None,
    who: WaitingPodFilter = ALL,
) -> tuple[Instance, DumpSummary]:
    """Return the cluster that files of Kubernetes' objects describe together.

    Args:
        paths: The files.
        objects: Gets the objects that were read.
        defaults: What its scheduler is set to, which no object says (C22).
        who: Which of the pods that wait are to be placed.

    Raises:
        DumpError: Something is wrong with them; the error has every fault.

    """
    objects = ClusterObjects() if objects is None else objects
    for path in paths:
        for found in load_kubernetes_objects(path):
            objects.add(found)
    if not objects.nodes and not objects.faults:
        workloads = ", ".join(
            f"{count:,} {kind}"
            for told, count in objects.skipped.items()
            if (kind := told.partition(" ")[0]) in _WORKLOADS
        )
        message = (
            f"holds {workloads} and no Pod or Node; Placer places the pods that a cluster makes of "
            "them: get those, with the nodes: kubectl get nodes,pods -A -o yaml"
            if workloads and not objects.pods
            else "holds no Node; get the nodes, too: kubectl get nodes,pods -A -o yaml, or name "
            "their file (to validate: --together)"
        )
        objects.faults.append(InputError(shown_file_name(paths[0]), None, "", message))
    return instance_of_cluster_objects(objects, defaults, who)


def instance_of_cluster_objects(
    objects: ClusterObjects, defaults: Defaults | None = None, who: WaitingPodFilter = ALL
) -> tuple[Instance, DumpSummary]:
    """Return the instance that the objects of a cluster describe together.

    Pods that wait and cannot be asked about, illegal ones among them, are left out of it
    (`Instance.left_out`); illegal pods that run are marked.

    Args:
        objects: The objects.
        defaults: As in `read_dump`.
        who: As in `read_dump`.

    Raises:
        DumpError: Something is wrong with them; the error has every fault.

    """
    if objects.cut_off:
        raise DumpError(objects.faults)  # nobody is to be blamed for what may be there
    summary = DumpSummary(objects.counts_by_kind(), objects.skipped)
    objects, nominated = with_nominated_pods_bound(objects, summary)
    objects = with_extended_resource_claims(objects, summary)
    if objects.doubts.domains:
        widened = {key: objects.doubts.widen(part) for key, part in objects.pods.items()}
        objects = replace(objects, pods=widened)
    pools = PublishedDevicesOfDump.of(objects, partial(close_nodes_of_invalid_slice, objects))
    pools.tell(summary)
    held = DevicesHeldByClaimsOfDump(objects, pools)
    held.check(partial(close_nodes_of_invalid_claim, objects))
    close_doubted_nodes(objects)
    joined = _joined(objects, pools, summary, defaults or NO_DEFAULTS)
    reading = _reading(objects, joined, defaults or NO_DEFAULTS, summary)
    waiting, unasked = pods_to_place_and_left_out(objects.pods.values(), who, summary)
    for part in waiting:
        for name, value in part.constraints.features:
            what = f"the label {name}={value} stands for the nodes that declare this feature"
            summary.assume(what, part.identity.title)
    specs: dict[PodSpec, PodSpec] = {}
    claims = WaitingPodClaimsOfDump(objects, pools, summary)
    volumes = WaitingPodVolumesOfDump(
        objects, waiting, summary, ignored=IgnorablePodRequirementKind.VOLUMES in who.ignored
    )
    waits = waiting_gangs_of_dump(objects, waiting, claims, volumes, reading, specs, summary)
    bound = _bound(objects, summary)
    machines, strangers = DumpMachineNamer(), PodsMissingInDump.of(objects)
    facts: list[KubeNodeBuilder] = []
    running: list[RunningPod] = []
    for name, one in joined.items():
        if object_title("Device", "", name) in objects.refused and not objects.bears:
            continue  # what pods have of its devices cannot be checked against it
        pods = bound[name]
        topology = objects.topologies.get(name) or pools.topology(name)
        devices = objects.devices.get(name)
        here = _bound_here(objects, one, topology, devices, pods, held, reading, specs, summary)
        node = KubeNodeBuilder(one, machines.named(claims.marked(name, one.node.machine)))
        _keep_plain_amounts(node, reading, summary)
        if reading.sums_cpus:
            node.offer([(REQUESTED_CPU, objects.nodes[name].allocatable.cpu_milli or 0)])
        node.label([*claims.labels(name), *volumes.labels(name)])
        node.label(reading.around.labels(dict(one.node.labels)))
        node.label(labels_of_node_listing_devices(one, reading.counted))
        node.label([EVERY_NODE] if objects.doubts.widened else [])
        node.offer(volumes.amounts(name))
        strangers.withhold(node, objects, summary)
        if name in objects.closed:
            what = "nodes closed as they, or pods there, cannot be read: nothing more comes there"
            summary.assume(what, name)
            node.closed = True
        _withhold_unseen(node, here)
        facts.append(node)
        running += here.running
    if len(objects.faults) > objects.borne:
        raise DumpError(objects.faults)
    summary.faults += map(str, objects.faults)
    _withhold_claimed(facts, running, held, summary)
    nodes = [node.node() for node in facts]
    legal = legal_gangs(waits, nodes, objects, summary)
    instance = Instance(
        tuple(nodes),
        legal.gangs,
        legal.groups,
        tuple(running),
        left_out=(*legal.left_out, *unasked, *nominated, *objects.unread),
        defaults=defaults,
    )
    return instance, summary


def _bound_here(
    objects: ClusterObjects,
    joined: NodeFromObjects,
    topology: KubeNodeResourceTopology | None,
    devices: KubeKoordinatorDevice | None,
    pods: Sequence[KubePod],
    held: DevicesHeldByClaimsOfDump,
    reading: ClusterFactsForRequests,
    specs: dict[PodSpec, PodSpec],
    summary: DumpSummary,
) -> RunningPodsOfKubeNode:
    """Return the pods of a node; if one of them contradicts it, the node is closed.

    Nobody knows what the pods of a closed node hold there, and it does not matter: nothing comes.
    """
    name = joined.node.name
    if name in objects.closed:
        topology, devices, summary = None, None, DumpSummary()
        pods = [pod_without_allocation_records(part) for part in pods]
    before = len(objects.faults)
    here = read_pods_bound_to_node(
        joined, topology, devices, pods, held, reading, specs, summary, objects.bear
    )
    if objects.bears and len(objects.faults) > before:
        objects.closed.add(name)
    if name in objects.closed:
        here.running = [replace(one, movable=False) for one in here.running]
    return here


def _joined(
    objects: ClusterObjects, pools: PublishedDevicesOfDump, summary: DumpSummary, defaults: Defaults
) -> dict[str, NodeFromObjects]:
    """Return the nodes; objects about other nodes are ignored."""
    joined = {}
    for name, node in objects.nodes.items():
        try:
            topology = objects.topologies.get(name) or pools.topology(name)
            offered = pools.offered_cpus(name)
            one = node_from_joined_objects(
                node,
                topology,
                objects.devices.get(name),
                pools.devices(name),
                offered,
                defaults,
            )
        except KubernetesObjectError as error:
            objects.fault(error)
            if not objects.bears:
                continue
            objects.borne += 1
            objects.closed.add(name)
            # What drivers list stays: waiting pods may ask for devices that no other node has.
            one = node_from_joined_objects(
                as_node_offering_nothing(node), listed=pools.devices(name), defaults=defaults
            )
        joined[name] = one
        for what in one.assumed:
            summary.assume(f"nodes {what}", name)
    for kind, known in (
        ("NodeResourceTopology", objects.topologies),
        ("Device", objects.devices),
    ):
        for name in known:
            if name not in objects.nodes:
                summary.assume(f"{kind} of no Node in the dump, passed over", name)
    types = {device.type for one in joined.values() for device in one.node.machine.devices}
    return {name: with_amounts_as_counted_devices(one, types) for name, one in joined.items()}


def _reading(
    objects: ClusterObjects,
    joined: Mapping[str, NodeFromObjects],
    defaults: Defaults,
    summary: DumpSummary,
) -> ClusterFactsForRequests:
    nodes = [one.node for one in joined.values()]
    constraints = [part.constraints for part in objects.pods.values()]
    return ClusterFactsForRequests(
        types=frozenset(device.type for node in nodes for device in node.machine.devices),
        label_keys=frozenset[str]().union(*(one.label_keys for one in constraints)),
        sums_cpus=any(map(_is_both, objects.pods.values())),
        aligned_by_default=defaults.alignment in BINDING,
        counted=frozenset(pair for one in joined.values() for pair in one.counted),
        around=_surroundings(objects, nodes, summary),
    )


def _surroundings(
    objects: ClusterObjects, nodes: Sequence[Node], summary: DumpSummary
) -> PodAffinityTermContext:
    """Return what decides what terms about other pods mean."""
    pods = objects.pods.values()
    names = NamespacesOfDump.of(objects.namespaces, (part.identity.namespace for part in pods))
    hosts = [host for node in nodes for key, host in node.labels if key == HOSTNAME]
    terms = (one for part in pods for one in part.constraints.affinity)
    if names.untold and any(one.asks_for_labels_of_namespaces for one in terms):
        for name in sorted(names.untold):
            summary.assume(
                "namespaces that pod affinity selects by labels, and nobody tells the labels of "
                "(get namespaces, too): selected by required anti-affinity alone",
                name,
            )
    return PodAffinityTermContext(
        names,
        hostnames_are_nodes=len(set(hosts)) == len(nodes),
        some_leave=any(part.node and part.leaving for part in pods),
        some_come=any(part.expected for part in pods),
    )


def _is_both(part: KubePod) -> bool:
    """Return whether a pod runs on what others leave and yet asks for plain CPUs."""
    asked = [part.own, part.overhead, *(one.requests for one in part.containers)]
    return qos_of(part) is QosClass.BE and any(one.cpu_milli for one in asked)


def _bound(objects: ClusterObjects, summary: DumpSummary) -> dict[str, list[KubePod]]:
    """Return the pods of each node; those on nodes that are not in the dump are told of."""
    bound: defaultdict[str, list[KubePod]] = defaultdict(list)
    for part in objects.pods.values():
        if not part.node or part.ended:
            continue
        bound[part.node].append(part)
        known = part.node in objects.nodes or object_title("Node", "", part.node) in objects.refused
        if not known:
            summary.assume(
                "pods on nodes that are not in the dump, passed over",
                f"{part.identity.title} on {part.node}",
            )
    return bound


def _keep_plain_amounts(
    node: KubeNodeBuilder, reading: ClusterFactsForRequests, summary: DumpSummary
) -> None:
    """Keep plain amounts only of resources that no node has as devices."""
    for _, name in node.joined.counted:
        summary.assume(f"nodes with {name} and no object that says which: counted alone", node.name)
    for name in sorted(name for name in node.extended if counts_devices_of(name, reading.types)):
        summary.assume(
            f"nodes with {name} and no object that says which: none is given out there", node.name
        )
        del node.extended[name]


def _withhold_unseen(node: KubeNodeBuilder, here: RunningPodsOfKubeNode) -> None:
    """Withhold the devices and CPUs that pods of the node might hold unseen."""
    unseen = here.unseen
    held = {(g.type, g.minor) for one in here.running for g in one.placement.devices}
    lost = {
        (device.type, device.minor)
        for device in node.machine.devices
        if (device.type in unseen.unknown or (device.type, device.minor) in unseen.unasked)
        and (device.type, device.minor) not in held
    }
    kept = {key for key in lost if key in unseen.checkpoint or key[0] in unseen.unresolved}
    node.withhold(lost, by_checkpoint=kept)
    node.unpool(here.pinned)
    if unseen.hides_cpus:
        node.hide_cpu_ids()
    node.system_pods = sum(one.pod.namespace == SYSTEM_NAMESPACE for one in here.running)


def _withhold_claimed(
    nodes: Iterable[KubeNodeBuilder],
    running: Iterable[RunningPod],
    held: DevicesHeldByClaimsOfDump,
    summary: DumpSummary,
) -> None:
    """Withhold what claims hold on each node for pods that are unknown."""
    devices, cpus = held.reserved(summary), held.cpus.known()
    owned: dict[str, set[int]] = {name: set() for name in cpus}
    for one in running if cpus else ():
        if one.pod.spec.qos.owns_cpus and one.placement.node in cpus:
            owned[one.placement.node] |= one.placement.cpuset
    hidden = held.cpus.hidden(held.holders, summary)
    for node in nodes:
        node.withhold(devices.get(node.name, frozenset()))
        of_pods = owned.get(node.name, set())
        node.reserve(cpus.get(node.name, set()) - of_pods)
        if fewer := hidden.get(node.name, 0):
            # Pods that share CPUs have that many fewer, whichever they are.
            left = sorted(node.machine.topology.online - node.reserved_cpus - of_pods)
            node.reserve(set(left[:fewer]))
            node.hide_cpu_ids()


@dataclass(slots=True)
class DumpMachineNamer:
    """The machines met so far."""

    _known: dict[Machine, Machine] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def named(self, machine: Machine) -> Machine:
        """Return the machine with a unique name; equal machines get the same name."""
        found = self._known.get(machine)
        if found is None:
            base = machine.name or _described(machine)
            name, number = base, 2
            while name in self._names:
                name, number = f"{base}-{number}", number + 1
            self._names.add(name)
            found = replace(machine, name=name, title=machine.title or name)
            self._known[machine] = found
        return found


def _described(machine: Machine) -> str:
    """Return a name for an unnamed machine, made from what is inside."""
    topology = machine.topology
    gpus = sum(device.type == GPU for device in machine.devices)
    parts = [f"{len(topology.cpus)}-cpus"]
    parts += [f"{len(topology.numa_nodes)}-numa"] if len(topology.numa_nodes) > 1 else []
    parts += [f"{gpus}-gpus"] if gpus else []
    return "-".join(parts)
