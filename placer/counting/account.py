"""The account of a node: what its running pods leave to others, by id."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

from placer.counting.cores import CoresLeft, cores_left
from placer.counting.devices import DevicesLeft, devices_after, devices_left
from placer.counting.memory import MemoryLeft, memory_after, memory_left
from placer.counting.node_resources import (
    ResourceKey,
    amounts_left_by_pods,
    resources_left_after_more_pods,
    resources_of_empty_node,
)
from placer.counting.pools import NodeCpuPools, pools_after_floating_pods, pools_left
from placer_models.bound import numa_nodes_bound_to
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.pod import PodSpec
from placer_models.relations import asks_something_of_newcomers
from placer_models.variants import pod_with_spec_on

Side = tuple[PodSpec, str]
"""The spec of a pod and its namespace: all that affinity looks at."""

_NOBODY: frozenset[Side] = frozenset()


@dataclass(frozen=True, slots=True)
class Account:
    """What is left on one node.

    Attributes:
        resources: (rule, subject) of each resource of nodes -> what is left of it.
        tenants: Side of pods that run there -> how many pods have it.
        affine: The sides that go on asking of pods that come.
        offered: Whether the node is offered, and no pod that runs or may move has opened it.

    """

    cores: CoresLeft
    pools: NodeCpuPools
    memory: MemoryLeft
    devices: DevicesLeft
    resources: Mapping[ResourceKey, int]
    tenants: Mapping[Side, int]
    affine: frozenset[Side]
    offered: bool


def account_of(
    node: Node,
    running: Iterable[RunningPod],
    alike: dict[Hashable, CoresLeft] | None = None,
) -> Account:
    """Count what the pods that run on the node leave.

    Args:
        node: The node.
        running: What runs there.
        alike: Cores of nodes counted before, as long as their machines live. Where nothing but the
            free CPUs tells what is left of them, they become one object, put in classes once.

    """
    pods = [_on_its_node(pod, node) for pod in running]
    pools = pools_left(node, pods)
    cores = cores_left(node, pools.shared.free, pods)
    if alike is not None and not (cores.held or cores.numa_nodes_held or cores.owners):
        cores = alike.setdefault((id(node.machine), cores.free_cpus), cores)
    tenants, affine = _sides_with({}, _NOBODY, pods)
    return Account(
        cores=cores,
        pools=pools,
        memory=memory_left(node, pods),
        devices=devices_left(node, pods),
        resources=amounts_left_by_pods(node, (pod.pod.spec for pod in pods)),
        tenants=tenants,
        affine=affine,
        offered=node.offered and not node.opened and not pods,
    )


def account_after(node: Node, account: Account, came: Collection[RunningPod]) -> Account | None:
    """Return what is left on a node once pods have come, or None if that has to be counted anew.

    What pods take that own no CPU is subtracted from what was left; `account_of` tells the same.

    Args:
        node: The node.
        account: What was left on it.
        came: The pods, none of which ran there.

    """
    if node.mig or node.offered or account.pools.bound:
        return None
    if not all(_floats(node, runner) for runner in came):
        return None
    specs = [runner.pod.spec for runner in came]
    tenants, affine = _sides_with(account.tenants, account.affine, came)
    return Account(
        cores=account.cores,
        pools=pools_after_floating_pods(account.pools, specs),
        memory=memory_after(account.memory, came),
        devices=devices_after(account.devices, came),
        resources=resources_left_after_more_pods(account.resources, specs),
        tenants=tenants,
        affine=affine,
        offered=False,
    )


def _floats(node: Node, runner: RunningPod) -> bool:
    """Return whether a pod is no other on this node, and shares a pool of which it holds no part.

    Which CPUs the pool has by now makes no difference to what is left.
    """
    spec = runner.pod.spec
    return not (
        spec.qos.owns_cpus or spec.variants or numa_nodes_bound_to(runner.placement, spec, node)
    )


def _sides_with(
    tenants: Mapping[Side, int], affine: frozenset[Side], came: Iterable[RunningPod]
) -> tuple[Mapping[Side, int], frozenset[Side]]:
    """Return the tenants of an account, and those that go on asking, once pods have come."""
    found, new = dict(tenants), set[Side]()
    for runner in came:
        side = runner.pod.spec, runner.pod.namespace
        found[side] = found.get(side, 0) + 1
        if asks_something_of_newcomers(side[0]):
            new.add(side)
    return found, affine | new if new else affine


def _on_its_node(runner: RunningPod, node: Node) -> RunningPod:
    """Return a running pod with what it asks for on its node."""
    return (
        replace(runner, pod=pod_with_spec_on(runner.pod, node))
        if runner.pod.spec.variants
        else runner
    )


def accounts_of(instance: Instance) -> tuple[Account, ...]:
    """Count what is left on every node, in the instance's order.

    Nodes that run nothing and differ in their names alone share one account.
    """
    running: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for pod in instance.running:
        running[pod.placement.node].append(pod)
    idle: dict[object, Account] = {}
    alike: dict[Hashable, CoresLeft] = {}
    accounts = []
    for node in instance.nodes:
        key = idle_account_key(node)
        if key not in idle:
            idle[key] = account_of(node, ())
        account = idle[key]
        if here := running.get(node.name):
            account = account_after(node, account, here) or account_of(node, here, alike)
        accounts.append(account)
    return tuple(accounts)


def idle_account_key(node: Node) -> Hashable:
    """Return a key that nodes share if their accounts are equal when nothing runs there.

    It is valid as long as their machines live, because these are told apart by identity.
    """
    facts = (id(node.machine), node.reserved_cpus, node.unhealthy, node.hugepages)
    return (
        *facts,
        *resources_of_empty_node(node).items(),
        node.offered,
        node.opened,
        node.mig,
        node.milli_per_cpu,
        node.unpooled_cpus,
    )
