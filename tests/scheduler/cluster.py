"""A small cluster, pods for it, and a count of what is free that shares no code with ours."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from answers import expect
from even_topologies import even_topology
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.scheduling.refusal import Refusal
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Machine, Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.device import GPU, Device
from placer_models.host_ports import ANY_IP
from placer_models.placement import (
    ContainerPlacement,
    Infeasible,
    NamespacedName,
    Placed,
    PodPlacement,
)
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import QosClass
from pools import pools

GIB = 2**30
QUICK = SolveOptions(engine=Engine.GREEDY, workers=1)
EXACT = SolveOptions(workers=1, work_limit=5)
DEADLINE_S = 60.0


def machine(*, cores: int = 4, numa_nodes: int = 2, gpus: int = 4, name: str = "box") -> Machine:
    """Return a machine of that many cores of two threads and 8 GiB on each NUMA node."""
    threads = 2 * cores * numa_nodes
    return Machine(
        name,
        "",
        even_topology(threads, *(8 * GIB,) * numa_nodes, threads=2),
        tuple(Device(GPU, i, numa_node=i * numa_nodes // gpus) for i in range(gpus)),
    )


BOX = machine()


def pod(
    name: str,
    cpus: float = 0,
    qos: QosClass = QosClass.LSR,
    *,
    gib: int = 0,
    gpus: int = 0,
    **wishes: Any,
) -> Pod:
    """Return a pod of one container."""
    devices = (DeviceRequest(GPU, gpus),) if gpus else ()
    requests = Resources(round(1000 * cpus), gib * GIB, devices=devices)
    spec = PodSpec((Container("main", requests),), qos=qos, **wishes)
    return Pod(name, "default", spec)


def gang(name: str, pods: list[Pod], minimum: int | None = None) -> Gang:
    return Gang(name, "default", tuple(pods), len(pods) if minimum is None else minimum)


def batch(*pods: Pod) -> Batch:
    """Return a batch of pods that belong to no gang."""
    return Batch(tuple(lone_gang(one) for one in pods))


def key(name: str) -> NamespacedName:
    return ("default", name)


def running(one: Pod, node: str, cpus: CpuSet = frozenset(), **held: Any) -> RunningPod:
    return RunningPod(one, PodPlacement(one.name, "default", None, node, cpus, **held))


def check_fresh_count(scheduler: Scheduler) -> None:
    """Hold every account, pool and look-up against a count of the words."""
    instance = scheduler.snapshot().instance
    assert [n.name for n in instance.nodes] == sorted({n.name for n in instance.nodes})
    keys = [runner.pod.key for runner in instance.running]
    assert len(keys) == len(set(keys))
    for runner in instance.running:
        assert scheduler.placement_of(runner.pod.key) == runner.placement
        assert runner.placement.key == runner.pod.key
    counted = 0
    for node in instance.nodes:
        here = [r for r in instance.running if r.placement.node == node.name]
        counted += len(here)
        assert sorted(here, key=lambda r: r.pod.key) == list(scheduler.running_on(node.name))
        _check_node(scheduler, node, here)
    assert counted == len(keys)


def _parts_of_ports(spec: PodSpec) -> dict[str, int]:
    """Return what the pod has of the 1,000 parts of each port, and of it on each address."""
    parts = Counter[str]()
    for port in spec.host_ports:
        of_all = f"{port.port}/{port.protocol}"
        parts[of_all] += 1000 if port.ip == ANY_IP else 1
        if port.ip != ANY_IP:
            ip = f"[{port.ip}]" if ":" in port.ip else port.ip
            parts[f"{ip}:{of_all}"] = 1000
    return {name: min(1000, part) for name, part in parts.items()}


def _pool_of(node: Node, pool: CpuSet, place: PodPlacement | ContainerPlacement) -> CpuSet:
    """Return the CPUs of the pool on the NUMA nodes that the place names; all, if it floats."""
    homes = {numa_node for numa_node, _ in place.cpu_milli or ()}
    cpus = node.machine.topology.cpus
    return frozenset(c.id for c in cpus if c.id in pool and (not homes or c.numa_node in homes))


def refused_while_taken(scheduler: Scheduler, pod: Callable[[str], Pod]) -> Refusal:
    """Decide of two pods at once, take one, and have the other refused until the one is gone."""
    options = SolveOptions(engine=Engine.GREEDY, workers=1)

    def decision(name: str) -> Decision:
        return scheduler.place(Batch((lone_gang(pod(name)),)), 60.0, dry_run=True, options=options)

    one, other = decision("a"), decision("b")
    scheduler.confirm(one)
    refusal = expect(Refusal, scheduler.confirm(other))
    assert isinstance(decision("b").answer, Infeasible)
    scheduler.release([("default", "a")])
    assert isinstance(decision("b").answer, Placed)
    return refusal


def _check_node(scheduler: Scheduler, node: Node, here: list[RunningPod]) -> None:
    account = scheduler.account_of(node.name)
    free_pools = pools(node, [(r.pod, r.placement) for r in here])
    assert account.pools.shared.cpus == free_pools[QosClass.LS]
    assert account.pools.best_effort.cpus == free_pools[QosClass.BE]
    asked: Counter[QosClass] = Counter()
    memory = _memory(node)
    extended = dict(node.extended)
    owned: set[int] = set()
    held = set()
    for runner in here:
        qos, place = runner.pod.spec.qos, runner.placement
        asked[qos] += runner.pod.spec.requests.cpu_milli
        if qos.owns_cpus:
            owned |= place.cpuset
        else:
            pool = _pool_of(node, free_pools[qos], place)
            assert place.cpuset == pool
            for part in place.containers:
                own = bool(part.cpu_milli)  # who asks for nothing runs with its pod
                assert part.cpuset == (_pool_of(node, free_pools[qos], part) if own else pool)
        for numa_node, size in place.memory_bytes:
            if numa_node in memory:
                memory[numa_node] -= size
        held |= {(grant.type, grant.minor) for grant in place.devices}
        for name, amount in runner.pod.spec.requests.extended:
            if name in extended:
                extended[name] -= amount
    resources = {("extended", name): left for name, left in extended.items()}
    if node.max_pods is not None:
        resources["max-pods", "pod"] = node.max_pods - len(here)
    for runner in here:
        for name, part in _parts_of_ports(runner.pod.spec).items():
            resources["host-ports", name] = resources.get(("host-ports", name), 1000) - part
    assert account.resources == resources
    assert account.offered == (node.offered and not here)
    assert account.cores.free_cpus == node.machine.topology.online - node.reserved_cpus - owned
    assert (account.pools.shared.milli, account.pools.best_effort.milli) == (
        asked[QosClass.LS],
        asked[QosClass.BE],
    )
    assert account.memory.bytes_in == memory
    free = {(d.type, d.minor) for d in node.devices if node.is_healthy(d)} - held
    if not node.mig:
        assert account.devices.free == free
    assert account.devices.free <= free
    assert account.devices.shared == _left_of_shares(node, here)


def _left_of_shares(node: Node, here: list[RunningPod]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Count in fractions of a device what shares leave, where shares are all that is held."""
    left: dict[tuple[str, int], tuple[int, ...]] = {}
    for device in node.machine.devices:
        grants = [
            grant
            for runner in here
            for grant in runner.placement.devices
            if (grant.type, grant.minor) == (device.type, device.minor)
        ]
        if not grants or not node.is_healthy(device) or any(g.share is None for g in grants):
            continue
        total = max(1, device.memory_bytes)
        percent, memory = Fraction(100), Fraction(total)
        others = {q.name: Fraction(q.amount) for q in device.capacity}
        for share in (grant.share for grant in grants if grant.share):
            asked = {q.name: q.amount for q in share.capacity}
            if (share.memory_bytes or 0) > device.memory_bytes or any(
                amount > next((q.amount for q in device.capacity if q.name == name), 0)
                for name, amount in asked.items()
            ):
                percent = memory = Fraction(0)  # the device is another one now
                others = dict.fromkeys(others, Fraction(0))
            percent -= share.percent or 0
            memory -= share.memory_bytes or Fraction((share.memory_percent or 0) * total, 100)
            of_all = Fraction(share.percent or 0, 100) if device.type != GPU else Fraction(0)
            memory -= of_all * device.memory_bytes
            for q in device.capacity:
                others[q.name] -= asked.get(q.name, of_all * q.amount)
        left[device.type, device.minor] = (
            max(0, int(percent)),
            *(max(0, int(100 * amount)) for amount in (memory, *others.values())),
        )
    return left


def _memory(node: Node) -> dict[int, int]:
    """Return the bytes of each NUMA node that are not set aside as hugepages."""
    memory = {}
    for numa in node.machine.topology.numa_nodes:
        pages = {kind.page_bytes: kind.count for kind in numa.hugepages}
        pages |= {size: count for of, size, count in node.hugepages if of == numa.id}
        memory[numa.id] = numa.memory_bytes - sum(s * c for s, c in pages.items())
    return memory


def busy() -> Scheduler:
    """Return two nodes with a pod of each class."""
    scheduler = Scheduler([Node("n0", BOX), Node("n1", BOX)])
    pods = [pod(f"old-{qos.lower()}", 2, qos, gib=1, gpus=1) for qos in QosClass]
    scheduler.place(batch(*pods), DEADLINE_S, options=QUICK)
    return scheduler
