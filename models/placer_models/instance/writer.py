"""Writes an instance as a file says it: what is read back is the same instance."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, count

import yaml

from placer_models.bound import binds, bound_to, numa_nodes_of, within
from placer_models.cluster import Instance, Machine, Node, RunningGang, RunningPod
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.files.documents import API_VERSION
from placer_models.instance.affinity import write_affinity
from placer_models.instance.fields import PodBind
from placer_models.instance.functions import selectors_to_dict
from placer_models.instance.joint import joint_to_dict
from placer_models.instance.machine_partitions import write_partitions
from placer_models.instance.machine_writer import Json, machine_to_dict
from placer_models.instance.pods import ONLY_CONTAINER
from placer_models.instance.shares import in_order, share_to_dict
from placer_models.instance.strategies import strategies_to_dict
from placer_models.limits import NO_LIMITS, Limits
from placer_models.network import NODE_LEVEL, Grouping
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import DeviceGrant
from placer_models.pod import Container, ContainerRole, Gang, Pod, PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    Strength,
)
from placer_models.quantity import format_bytes


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as such."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


MachineTest = Callable[[Machine], bool]
"""Whether the reader finds the very machine by its name alone."""


def instance_to_yaml(instance: Instance, found_by_name: MachineTest) -> str:
    """Return the text of an instance file."""
    return yaml.dump(
        instance_to_dict(instance, found_by_name),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )


def instance_to_dict(instance: Instance, found_by_name: MachineTest) -> Json:
    """Return the document of an instance: every pod and every node by itself.

    Machines that are found by name are named, others written out. Lone pods come
    before gangs, as they do when a file is read.
    """
    name_of, machines = _name_machines(instance.nodes)
    nodes = {node.name: node for node in instance.nodes}
    gangs: set[tuple[str, str | None]] = {gang.key for gang in instance.running_gangs}
    inline = [
        machine_to_dict(machine, name)
        for name, machine in machines.items()
        if name != machine.name or not found_by_name(machine)
    ]
    written: Json = {"apiVersion": API_VERSION, "kind": "Instance"}
    written.update({"metadata": {"name": instance.name}} if instance.name else {})
    for field, parts in (
        ("machines", inline),
        ("nodes", [node_to_dict(node, name_of[id(node.machine)]) for node in instance.nodes]),
        ("pods", [_lone(gang) for gang in instance.gangs if gang.lone]),
        ("gangs", [_gang(gang) for gang in instance.gangs if not gang.lone]),
        (
            "gangGroups",
            [
                {
                    "name": group.name,
                    **_namespace(group.namespace),
                    "gangs": ["/".join(key) for key in group.gangs],
                }
                for group in instance.groups
            ],
        ),
        (
            "running",
            [
                _running(running, nodes[running.placement.node], gangs)
                for running in instance.running
            ],
        ),
        (
            "runningGangs",
            [
                {"name": gang.name, **_namespace(gang.namespace), **_levels(gang)}
                for gang in instance.running_gangs
            ],
        ),
    ):
        written.update({field: parts} if parts else {})
    written.update({"moveBudget": instance.move_budget} if instance.move_budget else {})
    if instance.strategy is not NodeStrategy.USABLE:
        written["strategy"] = instance.strategy.value
    return written


def _name_machines(nodes: Sequence[Node]) -> tuple[dict[int, str], dict[str, Machine]]:
    """Return the name of each machine by its identity, and the distinct ones by name."""
    name_of: dict[int, str] = {}
    machines: dict[str, Machine] = {}
    for machine in (node.machine for node in nodes):
        if id(machine) in name_of:
            continue
        name = next((name for name, other in machines.items() if other == machine), None)
        if name is None:
            names = chain([machine.name], (f"{machine.name}-{i}" for i in count(2)))
            name = next(name for name in names if name not in machines)
            machines[name] = machine
        name_of[id(machine)] = name
    return name_of, machines


def node_to_dict(node: Node, machine: str) -> Json:
    """Return a node, which names its machine."""
    written: Json = {"name": node.name, "machine": machine}
    if node.labels:
        written["labels"] = dict(node.labels)
    if node.domains:
        written["domains"] = dict(node.domains)
    if node.reserved_cpus:
        written["reservedCpus"] = format_cpu_list(node.reserved_cpus)
    if node.cpu_bind is not NodeBindPolicy.NONE:
        written["cpuBindPolicy"] = node.cpu_bind.value
    if node.numa_strategy is not None:
        written["numaAllocateStrategy"] = node.numa_strategy.value
    if node.locality:
        written["cpuLocality"] = [wish.value for wish in node.locality]
    if node.alignment is not AlignmentPolicy.NONE:
        written["numaPolicy"] = node.alignment.value
    if node.scope is not None:
        written["numaScope"] = node.scope.value
    if node.unhealthy:
        written["unhealthyDevices"] = _minors(
            [DeviceGrant(kind, minor) for kind, minor in sorted(node.unhealthy)]
        )
    if node.hugepages:
        written["hugepages"] = _pages(node.hugepages)
    if node.cordoned:
        written["cordoned"] = True
    if node.partitions is not None:
        written["partitions"] = write_partitions(node.partitions)
    if node.partition_policy is not None:
        written["gpuPartitionPolicy"] = node.partition_policy.value
    if node.offered:
        written["offered"] = True
    if node.extended:
        written["extended"] = dict(node.extended)
    if node.mig:
        written["mig"] = {
            table: [minor for minor, own in node.mig if own == table]
            for table in sorted({table for _, table in node.mig})
        }
    return written


def _lone(gang: Gang) -> Json:
    return {**pod_to_dict(gang.pods[0]), **_namespace(gang.namespace), **_rank(gang)}


def _gang(gang: Gang) -> Json:
    return {
        "name": gang.name,
        **_namespace(gang.namespace),
        "minimum": gang.minimum,
        **_rank(gang),
        **_levels(gang),
        "pods": [pod_to_dict(pod) for pod in gang.pods],
    }


def _levels(gang: Gang | RunningGang) -> Json:
    """Write what the gang asks of levels of the network."""
    must: list[object] = [gang.gather.value] if gang.gather else []
    gather: dict[str, list[object]] = {"required": must} if must else {}
    spread: dict[str, Json] = {}
    multiples: Json = {}
    for rule in gang.levels:
        match rule.grouping:
            case Grouping.GATHER:
                gather.setdefault(rule.strength.value, []).append(rule.level)
            case Grouping.SPREAD:
                spread.setdefault(rule.strength.value, {})[rule.level] = rule.count
            case Grouping.MULTIPLES:
                multiples[rule.level] = rule.count
    written: Json = {}
    if gather == {"required": ["node"]}:
        written["gather"] = NODE_LEVEL
    elif gather:
        written["gather"] = gather
    written.update({"spread": spread} if spread else {})
    written.update({"multiples": multiples} if multiples else {})
    return written


def _rank(gang: Gang) -> Json:
    return {
        **({"priority": gang.priority} if gang.priority else {}),
        **({"weight": gang.weight} if gang.weight != 1 else {}),
    }


def _namespace(namespace: str) -> Json:
    return {} if namespace == "default" else {"namespace": namespace}


def pod_to_dict(pod: Pod) -> Json:
    """Return what a pod asks for, and its limits; its namespace is written by the caller."""
    spec, limits = pod.spec, dict(pod.limits)
    written: Json = {"name": pod.name, "qos": spec.qos.value}
    only = spec.containers[0]
    if spec.containers == (replace(only, name=ONLY_CONTAINER, role=ContainerRole.APP),):
        limited = _limits(only, limits)
        if amounts := _amounts(only.requests, limited):
            written["requests"] = amounts
        written.update({"limits": limited} if limited else {})
        written.update(_shares(only.requests))
    else:
        written["containers"] = [
            {
                "name": container.name,
                **(
                    {"role": container.role.value}
                    if container.role is not ContainerRole.APP
                    else {}
                ),
                "requests": _amounts(container.requests, limited := _limits(container, limits)),
                **({"limits": limited} if limited else {}),
                **_shares(container.requests),
            }
            for container in spec.containers
        ]
    if spec.qos.owns_cpus:
        written.update(_bind(spec))
        if spec.locality:
            written["cpuLocality"] = [wish.value for wish in spec.locality]
        written.update(_exclusive(spec))
    if spec.constrained_burst:
        written["cpuBindPolicy"] = PodBind.CONSTRAINED_BURST.value
    if spec.alignment is not AlignmentPolicy.NONE:
        written["numaPolicy"] = spec.alignment.value
    if spec.scope is not None:
        written["numaScope"] = spec.scope.value
    if spec.node_selector:
        written["nodeSelector"] = dict(spec.node_selector)
    if spec.labels:
        written["labels"] = dict(spec.labels)
    written.update(write_affinity(spec))
    if spec.functions:
        written["vfSelector"] = selectors_to_dict(spec)
    if spec.joint is not None:
        written["jointAllocate"] = joint_to_dict(spec.joint)
    if spec.strategies:
        written["allocateStrategy"] = strategies_to_dict(spec)
    if spec.device_choice is not None:
        written["deviceChoice"] = spec.device_choice.value
    if spec.scopes:
        written["requiredTopologyScope"] = {kind: scope.value for kind, scope in spec.scopes}
    return written


def _bind(spec: PodSpec) -> Json:
    """Write the bind policy of a pod that owns CPUs; for others a file has none."""
    if spec.bind_strength is Strength.REQUIRED:
        return {"cpuBindPolicy": {"required": spec.bind.value}}
    return {} if spec.bind is BindPolicy.DEFAULT else {"cpuBindPolicy": spec.bind.value}


def _exclusive(spec: PodSpec) -> Json:
    if spec.exclusive_strength is Strength.REQUIRED:
        return {"cpuExclusivePolicy": {"required": spec.exclusive.value}}
    if spec.exclusive is ExclusivePolicy.NONE:
        return {}
    return {"cpuExclusivePolicy": spec.exclusive.value}


def _cpus(milli: int) -> int | str:
    return f"{milli}m" if milli % 1000 else milli // 1000


def _limits(container: Container, limits: Mapping[str, Limits]) -> Json:
    limit = limits.get(container.name, NO_LIMITS)
    cpu_milli = container.cpu_limit_milli if limit.cpu_milli is None else limit.cpu_milli
    written: Json = {} if cpu_milli is None else {"cpu": _cpus(cpu_milli)}
    if limit.memory_bytes is not None:
        written["memory"] = format_bytes(limit.memory_bytes)
    if limit.pids is not None:
        written["pids"] = limit.pids
    if limit.swap_bytes is not None:
        written["swap"] = format_bytes(limit.swap_bytes)
    return written


def _amounts(resources: Resources, limited: Json) -> Json:
    """Write requests; one of nothing is said where there is a limit, which it would be else."""
    written: Json = {name: 0 for name in ("cpu", "memory") if name in limited}
    if resources.cpu_milli:
        written["cpu"] = _cpus(resources.cpu_milli)
    if resources.memory_bytes:
        written["memory"] = format_bytes(resources.memory_bytes)
    for pages in resources.hugepages:
        size = pages.page_bytes
        written[f"hugepages-{format_bytes(size)}"] = format_bytes(size * pages.count)
    written.update({d.type: d.count for d in resources.devices if d.share is None})
    written.update(resources.extended)
    return written


def _shares(resources: Resources) -> Json:
    shares = [share_to_dict(request) for request in resources.devices if request.share]
    return {"shares": shares} if shares else {}


def _running(running: RunningPod, node: Node, gangs: Set[tuple[str, str | None]]) -> Json:
    pod, placement = running.pod, running.placement
    written = {**pod_to_dict(pod), **_namespace(pod.namespace), "node": placement.node}
    if (cpus := _cpus_said(running, node)) is not None:
        written["cpuset"] = format_cpu_list(cpus)
    if placement.memory_bytes:
        written["memory"] = {str(numa): format_bytes(size) for numa, size in placement.memory_bytes}
    if placement.hugepages:
        written["hugepages"] = _pages(placement.hugepages)
    if placement.devices:
        written["devices"] = _minors(in_order(pod.spec.requests, placement.devices))
    if any(grant.vfs for grant in placement.devices):
        written["vfs"] = _functions(placement.devices)
    if (pod.namespace, placement.gang) in gangs:
        written["gang"] = placement.gang
    if not running.movable:
        written["movable"] = False
    return written


def _cpus_said(running: RunningPod, node: Node) -> CpuSet | None:
    """Return CPUs that the pod owns, or of the NUMA nodes it is bound to; None: none are said."""
    spec, place = running.pod.spec, running.placement
    if spec.qos.owns_cpus:
        return place.cpuset
    if not (spec.constrained_burst or binds(spec, node)):
        return None
    topology = node.machine.topology
    homes = bound_to(place, spec, node)
    if not homes:
        return frozenset()
    named = numa_nodes_of(place.cpuset, topology) == homes
    return place.cpuset if named else within(topology.online, homes, topology)


def _functions(grants: Sequence[DeviceGrant]) -> dict[str, dict[str, int]]:
    written: dict[str, dict[str, int]] = {}
    for grant in grants:
        for function in grant.vfs:
            written.setdefault(grant.type, {})[str(grant.minor)] = function
    return written


def _pages(held: Sequence[tuple[int, int, int]]) -> dict[str, dict[str, int]]:
    written: dict[str, dict[str, int]] = {}
    for numa, page_bytes, pages in held:
        written.setdefault(str(numa), {})[format_bytes(page_bytes)] = pages
    return written


def _minors(grants: Sequence[DeviceGrant]) -> dict[str, list[int]]:
    minors: dict[str, list[int]] = {}
    for grant in grants:
        minors.setdefault(grant.type, []).append(grant.minor)
    return minors
