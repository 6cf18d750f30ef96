"""Resources that are gone: too few for pods that were meant to come to a node (B16)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from placer.counting.account import Account
from placer.counting.node_resources import (
    NODE_RESOURCES,
    ResourceKey,
    resource_amount_on_node,
    resources_of_pod,
)
from placer.scheduling.refusal import DecisionResourceShortage
from placer.search.reasons.devices import count_possible_shares
from placer_models.cluster import Node
from placer_models.device import FunctionSelector
from placer_models.device_share import DeviceShare
from placer_models.pod import Pod
from placer_models.policy import QosClass
from placer_models.quantity import format_bytes
from placer_models.variants import pod_with_spec_on

_Asked = tuple[str, DeviceShare, FunctionSelector | None]
"""A device type, what is asked of each device, and the virtual function that comes with it."""


def shortages_on_node(
    node: Node, account: Account, pods: Sequence[Pod]
) -> tuple[DecisionResourceShortage, ...]:
    """Return what the node has too little of for all the pods together, by counting alone.

    An empty answer means that each resource by itself suffices. It does not mean that all of
    them can be had together.
    """
    here = [pod_with_spec_on(pod, node) for pod in pods]
    found = (gone for gone in _counts(node, account, here) if gone.asked > gone.left)
    return tuple(dict.fromkeys(found))


def _counts(
    node: Node, account: Account, pods: Sequence[Pod]
) -> Iterator[DecisionResourceShortage]:
    """Yield how much is asked and left of each resource that some of the pods ask for."""

    def count(resource: str, asked: int, left: int) -> DecisionResourceShortage:
        return DecisionResourceShortage(node.name, resource, asked, max(0, left))

    requests = [pod.spec.requests for pod in pods]
    milli = Counter[QosClass]()
    for pod in pods:
        qos, asked = pod.spec.qos, pod.spec.requests.cpu_milli
        milli[qos] += asked * node.milli_per_cpu // 1000 if qos.owns_cpus else asked
    best_effort, exclusive = milli[QosClass.BE], milli[QosClass.LSE]
    left = account.pools.shared.left_milli
    yield count("cpu", milli.total() - best_effort, left)
    if best_effort or account.pools.best_effort.milli:
        pool = account.pools.best_effort.left_milli
        yield count("cpu.best-effort", best_effort + exclusive, pool)
    yield count("memory", sum(r.memory_bytes for r in requests), account.memory.free_bytes)
    for size in sorted({pages.page_bytes for r in requests for pages in r.hugepages}):
        pages = sum(max(0, n) for (_, of), n in account.memory.pages.items() if of == size)
        asked = sum(r.pages_of(size) for r in requests)
        yield count(f"hugepages-{format_bytes(size)}", asked, pages)
    wanted: Counter[ResourceKey] = Counter()
    for pod in pods:
        wanted.update(resources_of_pod(pod.spec))
    for key, asked in sorted(wanted.items()):
        rule, name = key
        left, whole = resource_amount_on_node(key, account.resources), NODE_RESOURCES[rule].whole
        if asked > left:
            yield count(name or rule, -(-asked // whole), left // whole)
    yield from _devices(node, account, pods)


def _devices(
    node: Node, account: Account, pods: Sequence[Pod]
) -> Iterator[DecisionResourceShortage]:
    """Yield the same for whole devices and for shares, each kind of share by itself.

    A request with a device strategy does not say how many devices the pod will have.
    """
    whole: Counter[str] = Counter()
    shares: defaultdict[_Asked, list[int]] = defaultdict(list)
    for pod in pods:
        strategies, functions = dict(pod.spec.strategies), dict(pod.spec.functions)
        for request in pod.spec.requests.devices:
            kind = request.type
            if kind in strategies:
                continue
            if request.share is None:
                whole[kind] += request.count
            else:
                shares[kind, request.share, functions.get(kind)].append(request.count)
    for kind, count in sorted(whole.items()):
        yield DecisionResourceShortage(node.name, kind, count, account.devices.free_count(kind))
    for (kind, share, function), counts in shares.items():
        # A pod has each of its shares of another device.
        for asked, most in ((max(counts), 1), (sum(counts), len(counts))):
            left = count_possible_shares(share, kind, account, function, most)
            yield DecisionResourceShortage(node.name, kind, asked, left, share)
