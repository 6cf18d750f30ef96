"""Why pods were left out, from arithmetic per node (G7).

For each pod the first question that is answered yes gives the verdict: can no empty
node host it (never fits)? Do the running pods leave no room (not now)? Do the pods of
this answer leave none (outvoted)? Otherwise its gang, its group or the time is why.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from placer.search.apart import EXCLUSIVE, apart_cpus, too_few_beside
from placer.search.burst import burst_blocker
from placer.search.devices import device_blocker
from placer.search.strangers import KnownNames
from placer.state.account import Account, account_of, alike_when_idle
from placer.state.binding import Unbindable, binding_of, has_cores_for
from placer.state.container_fits import by_container, scopes_conflict
from placer.state.fits import admits
from placer.state.network import has_levels, required_levels
from placer_models.alignment import effective_policy
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.network import Grouping, LevelRule
from placer_models.placement import Placement, Unplaced
from placer_models.pod import Gang, Pod, PodSpec, pods_of
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass
from placer_models.problem import Problem
from placer_models.quantity import format_bytes

NEVER = "never fits"
"""How the verdict begins on a pod that no empty node could host."""

Blocker = str
"""What keeps a pod off a node, in a few words that name the rule."""

_States = tuple[Callable[[int], Account], Callable[[int], Account], Callable[[int], Account]]
"""What is left on each node: empty, beside what runs, beside what is placed as well."""


def why_unplaced(
    instance: Instance,
    problem: Problem,
    before: Sequence[Account],
    placement: Placement,
    stop: Callable[[], bool],
) -> tuple[Unplaced, ...]:
    """List the pods without a place, each with its reasons.

    Args:
        instance: The instance.
        problem: The same in integers.
        before: What the running pods leave, node by node.
        placement: The answer.
        stop: Asked node by node whether the time is over; what is left is not looked into.

    """
    placed = {pod.key for pod in placement.pods}
    if all(pod.key in placed for pod in pods_of(instance.gangs)):
        return ()
    after = _after(instance, placement)
    # Counted as far as they are looked at: the first node with room ends a question.
    idle: dict[Hashable, Account] = {}

    def empty(index: int) -> Account:
        node = instance.nodes[index]
        alike = alike_when_idle(node)
        if alike not in idle:
            idle[alike] = account_of(node, ())
        return idle[alike]

    states: _States = (
        empty,
        before.__getitem__,
        lambda index: after.get(index, before[index]),
    )
    known: dict[int, tuple[str, ...]] = {}
    names: KnownNames | None = None
    left_out = []
    shapes = iter(problem.pods)
    for gang in instance.gangs:
        missing = [
            (pod, shape)
            for pod, shape in zip(gang.pods, shapes, strict=False)
            if pod.key not in placed
        ]
        for pod, shape in missing:
            if shape not in known:
                ask = _Ask(pod.spec, shape, required_levels(gang))
                verdict = _verdict(instance, problem, ask, states, stop)
                known[shape] = (verdict,)
                if verdict.startswith(NEVER):
                    names = names or KnownNames(instance.nodes)
                    known[shape] = (verdict, *names.strangers(pod.spec))
                else:
                    known[shape] = (verdict, *_move_reasons(instance))
            reasons = (
                *known[shape],
                *_company_reasons(pod.spec),
                *_gang_reasons(instance, gang, len(missing)),
            )
            left_out.append(
                Unplaced(pod.name, pod.namespace, None if gang.lone else gang.name, reasons)
            )
    return tuple(left_out)


class _Ask:
    """What pods of one spec ask for, and what keeps them off kinds of nodes, worked out once."""

    def __init__(self, spec: PodSpec, shape: int, levels: tuple[str, ...]) -> None:
        self.spec = spec
        self.shape = shape
        self.levels = levels
        self.requests = spec.requests
        self.of_kinds: dict[int, Blocker | None] = {}


def _after(instance: Instance, placement: Placement) -> dict[int, Account]:
    """Return what running and newly placed pods leave on the nodes with new ones."""
    specs: dict[tuple[str, str], Pod] = {pod.key: pod for pod in pods_of(instance.gangs)}
    on_node: dict[str, list[RunningPod]] = {place.node: [] for place in placement.pods}
    for running in instance.running:
        if running.placement.node in on_node:
            on_node[running.placement.node].append(running)
    for place in placement.pods:
        on_node[place.node].append(RunningPod(specs[place.key], place))
    return {
        index: account_of(node, on_node[node.name])
        for index, node in enumerate(instance.nodes)
        if node.name in on_node
    }


def _move_reasons(instance: Instance) -> Iterable[str]:
    """Say how far running pods could make room; nothing where none may move."""
    if instance.homes:
        most = min(instance.move_budget, len(instance.homes))
        yield f"moves: of {len(instance.homes)} running pods that could move, {most} may"


def _company_reasons(spec: PodSpec) -> Iterable[str]:
    """Name the rules about pods beside the pod; amounts say nothing of them."""
    for term in spec.affinity:
        if term.required:
            labels = ",".join(f"{key}={value}" for key, value in term.labels)
            where = f"each {term.level.place} of its CPUs" if term.inside else "its node"
            yield (
                f"anti-affinity: no pod with {labels} may be on {where}"
                if term.apart
                else f"affinity: a pod with {labels} has to be on {where}"
            )


def _gang_reasons(instance: Instance, gang: Gang, missing: int) -> Iterable[str]:
    if gang.lone:
        return
    yield from map(_said, (rule for rule in gang.levels if rule.required))
    running = len(gang.pods) - missing
    if running == 0:
        yield f"gang {gang.name} runs with its minimum of {gang.minimum} or not at all"
        for group in instance.groups:
            if gang.key in group.gangs:
                names = ", ".join(name for _, name in group.gangs)
                yield f"gang group {group.name} runs whole or not at all: {names}"
    else:
        yield f"gang {gang.name} runs with {running} of {len(gang.pods)}, minimum {gang.minimum}"


def _said(rule: LevelRule) -> str:
    """Name a rule that holds for the members of a gang together."""
    match rule.grouping:
        case Grouping.GATHER:
            return f"gather: all members that run are in one {rule.level}"
        case Grouping.SPREAD:
            return f"spread: at most {rule.count} members in one {rule.level}"
        case Grouping.MULTIPLES:
            return f"multiples: the members in a {rule.level} are a multiple of {rule.count}"


def _verdict(
    instance: Instance, problem: Problem, ask: _Ask, states: _States, stop: Callable[[], bool]
) -> str:
    """Say when the pod stops fitting, and what blocks it then on how many nodes."""
    words = (NEVER, "not now: running pods leave no room", "outvoted")
    for word, account_at in zip(words, states, strict=True):
        blockers: Counter[Blocker] = Counter()
        for index, node in enumerate(instance.nodes):
            if stop():
                return "time: it ran out before the reason was looked into"
            kind = problem.nodes[index].kind
            if kind not in ask.of_kinds:
                ask.of_kinds[kind] = _node_rules(node, ask)
            blocker = ask.of_kinds[kind] or _lack(node, ask, account_at(index))
            if blocker is None and problem.fits[ask.shape][kind] is None:
                blocker = "alignment: no set of NUMA nodes is of the fewest for every resource"
            if word != words[0] and (
                problem.affinity.bars(ask.shape, index) or too_few_beside(problem, ask.shape, index)
            ):
                blocker = "anti-affinity of this pod or of one that runs there"
            if blocker is None:
                break
            blockers[blocker] += 1
        else:
            return f"{word} ({_counts(blockers)})"
    return "some node has room for this pod alone, by amounts"


def _counts(counted: Counter[Blocker]) -> str:
    if not counted:
        return "the instance has no node"
    parts = [
        f"{count} of {counted.total()} nodes: {text}" for text, count in counted.most_common(3)
    ]
    more = len(counted) - len(parts)
    return "; ".join(parts) + (f"; and {more} more kinds of reason" if more else "")


def _lack(node: Node, ask: _Ask, account: Account) -> Blocker | None:
    """Return the first resource, in a fixed order, of which too little is left."""
    lacks = (look(node, ask, account) for look in _LACKS)
    return next((lack for lack in lacks if lack is not None), None)


def _node_rules(node: Node, ask: _Ask) -> Blocker | None:
    """Return the first rule that keeps the pod off all nodes of the node's kind."""
    spec = ask.spec
    if node.cordoned:
        return "cordon"
    if not admits(node, spec):
        wanted = ",".join(f"{key}={value}" for key, value in spec.node_selector)
        return f"node-selector {wanted}"
    binding = binding_of(spec, node)
    if isinstance(binding, Unbindable):
        return binding.reason
    if not has_levels(node, ask.levels):
        missing = [level for level in ask.levels if node.domain(level) is None]
        return f"domain: belongs to no {' and no '.join(missing)}"
    if effective_policy(spec.alignment, node.alignment) is None:
        return f"alignment: pod asks {spec.alignment.value}, node has {node.alignment.value}"
    if scopes_conflict(spec, node):
        return f"alignment: pod asks for scope {spec.scope}, node has {node.scope}"
    if spec.constrained_burst and node.alignment is not AlignmentPolicy.NONE:
        return f"constrained-burst: node has the NUMA policy {node.alignment.value}"
    if by_container(spec, node) and any(asked.share for asked in spec.requests.devices):
        return "alignment: shares of devices are not parted among containers"
    if by_container(spec, node) and spec.strategies:
        return "alignment: devices by a strategy are not parted among containers"
    return None


def _cpus(node: Node, ask: _Ask, account: Account) -> Blocker | None:
    spec, milli = ask.spec, ask.requests.cpu_milli
    if spec.qos.owns_cpus:
        return _own_cpus(node, spec, milli // 1000, account)
    if spec.qos is QosClass.LS and milli > 1000 * _pool_cpus(account):
        return f"shared-pool asks {milli / 1000:g} CPUs"
    if spec.qos is QosClass.LS and not account.pool:
        return "shared-pool is empty"
    if spec.qos is QosClass.BE and not account.best_effort_pool:
        return "be-pool is empty"
    return None


def _pool_cpus(account: Account) -> float:
    return len(account.free_cpus) - account.shared_milli / 1000


def _own_cpus(node: Node, spec: PodSpec, want: int, account: Account) -> Blocker | None:
    if want > len(account.free_cpus):
        return f"cpu-count asks {want} CPUs of its own"
    if want > _pool_cpus(account):
        return f"shared-pool needs CPUs that the pod would own, {want} of them"
    binding = binding_of(spec, node)
    if isinstance(binding, Unbindable):
        return None
    if has_cores_for(binding, want, account.free_cpus, node):
        apart = apart_cpus(node, spec, account)
        if want <= len(apart) and has_cores_for(binding, want, apart, node):
            return None
        return f"{EXCLUSIVE[spec.exclusive]} asks {want} CPUs apart from other pods"
    full = binding.policy is BindPolicy.FULL_PCPUS
    how = "in whole cores, to the very count" if full else "each on a core of its own"
    return f"{binding.rule} {binding.policy} asks {want} CPUs {how}"


def _on_one_numa_node(node: Node, spec: PodSpec) -> bool:
    """Return whether all that the pod holds has to be on one NUMA node."""
    policy = effective_policy(spec.alignment, node.alignment)
    return policy is AlignmentPolicy.SINGLE_NUMA_NODE and not by_container(spec, node)


def _memory(node: Node, ask: _Ask, account: Account) -> Blocker | None:
    want = ask.requests.memory_bytes
    single = _on_one_numa_node(node, ask.spec)
    free = (max if single else sum)(account.memory_bytes.values())
    if want > free:
        where = " on one NUMA node" if single else ""
        return f"memory asks {format_bytes(want)}{where}"
    return None


def _hugepages(node: Node, ask: _Ask, account: Account) -> Blocker | None:
    single = _on_one_numa_node(node, ask.spec)
    for want in ask.requests.hugepages:
        free = [n for (_, size), n in account.pages.items() if size == want.page_bytes]
        if want.count > (max([0, *free]) if single else sum(free)):
            where = " on one NUMA node" if single else ""
            return f"hugepages asks {want.count} of {format_bytes(want.page_bytes)}{where}"
    return None


def _devices(node: Node, ask: _Ask, account: Account) -> Blocker | None:
    return device_blocker(node, ask.spec, ask.requests, account)


def _burst(node: Node, ask: _Ask, account: Account) -> Blocker | None:
    return burst_blocker(node, ask.spec, account)


def _extended(_: Node, ask: _Ask, account: Account) -> Blocker | None:
    for name, want in ask.requests.extended:
        if want > account.extended.get(name, 0):
            return f"extended asks {want} {name}"
    return None


_LACKS: tuple[Callable[[Node, _Ask, Account], Blocker | None], ...] = (
    _cpus,
    _burst,
    _memory,
    _hugepages,
    _devices,
    _extended,
)
