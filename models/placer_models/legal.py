"""Legal pods: whether a pod may ask for what it asks for, wherever it might go (C3, C13, D4).

Files, `solve` and the Scheduler all ask here: a pod that asks for what no pod may ask for is bad
input, not a pod that fits nowhere.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.legal_shares import (
    FaultPath,
    SharedQuantityUnits,
    quantity_units_by_device_type,
    share_faults,
    unsupported_share_faults,
)
from placer_models.message_text import escaped_value_text
from placer_models.placement import pod_or_gang_title
from placer_models.pod import Container, ContainerRole, Pod, PodSpec
from placer_models.policy import BindPolicy, ExclusivePolicy
from placer_models.quantity import cpu_count_with_noun
from placer_models.reasons import Illegal
from placer_models.topology import ARM

ARCHITECTURE = "kubernetes.io/arch"
"""The label that says the architecture of a node."""


@dataclass(frozen=True, slots=True)
class PodSpecFault:
    """One thing that no pod may ask for.

    Attributes:
        field: Where it is in the spec.
        value: The value there.
        message: What is wrong, what is expected, and what to do, in one line.

    """

    field: FaultPath
    value: object
    message: str

    @property
    def path(self) -> str:
        """The field as text for people: ``containers[0].requests.cpu_milli``."""
        text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.field)
        return text.removeprefix(".")


class IllegalPodError(ValueError):
    """A pod asks for what no pod may ask for. ``str()`` is the whole message.

    Attributes:
        pod: Namespace and name.
        fault: What is wrong.

    """

    def __init__(self, pod: tuple[str, str], fault: PodSpecFault) -> None:
        title = pod_or_gang_title(*pod)
        super().__init__(f"pod {title!r}: {fault.path} is {_shown(fault.value)}: {fault.message}")
        self.pod = pod
        self.fault = fault

    def __reduce__(self) -> tuple[type["IllegalPodError"], tuple[object, ...]]:
        """Pickle what it was made of: it may come from another process."""
        return type(self), (self.pod, self.fault)


def check_pods_legal(pods: Iterable[Pod], nodes: Iterable[Node]) -> None:
    """Check that pods may ask for what they ask for; pods that share a spec are checked once.

    Args:
        pods: The pods that wait.
        nodes: All nodes; their devices say what can be shared.

    Raises:
        IllegalPodError: A pod asks for what no pod may ask for.

    """
    for pod, fault in _faults(pods, nodes):
        raise IllegalPodError(pod.key, fault)


def illegal_pods(pods: Iterable[Pod], nodes: Iterable[Node]) -> dict[tuple[str, str], Illegal]:
    """Return the pods that ask for what no pod may ask for, by key, each with its first fault.

    Args:
        pods: The pods that wait.
        nodes: All nodes; their devices say what can be shared.

    """
    return {pod.key: Illegal(fault.path, fault.message) for pod, fault in _faults(pods, nodes)}


def _faults(pods: Iterable[Pod], nodes: Iterable[Node]) -> Iterator[tuple[Pod, PodSpecFault]]:
    """Yield each illegal pod with its first fault; a spec that pods share is looked at once."""
    known: dict[int, PodSpecFault | None] = {}
    shared_units: SharedQuantityUnits | None = None
    for pod in pods:
        spec = pod.spec
        if id(spec) not in known:
            fault = first_spec_fault(spec)
            for one in spec.each if fault is None else ():
                if _asks_for_amounts(one):
                    if shared_units is None:
                        shared_units = quantity_units_by_device_type(nodes)
                    fault = fault or next(_not_offered(one, shared_units), None)
            known[id(spec)] = fault
        if fault := known[id(spec)]:
            yield pod, fault


def first_spec_fault(spec: PodSpec) -> PodSpecFault | None:
    """Return the first thing that no pod may ask for, or None if the pod may ask for all of it.

    It is kept with the spec, as what the spec asks for is.
    """
    kept = spec.__dict__
    if _FAULT not in kept:
        kept[_FAULT] = next((fault for one in spec.each for fault in spec_faults(one)), None)
    found: PodSpecFault | None = kept[_FAULT]
    return found


_FAULT = "first fault"


def _asks_for_amounts(spec: PodSpec) -> bool:
    """Return whether a pod asks for shares of something that only some device types share."""
    return any(
        request.share is not None
        and (request.share.capacity or (request.type != GPU and request.share.has_memory))
        for container in spec.containers
        for request in container.requests.devices
    )


def _not_offered(spec: PodSpec, shared_units: SharedQuantityUnits) -> Iterator[PodSpecFault]:
    for i, container in enumerate(spec.containers):
        for k, request in enumerate(container.requests.devices):
            at = ("containers", i, "requests", "devices", k, "share")
            if request.share is not None:
                for field, value, message in unsupported_share_faults(
                    request.type, request.share, shared_units
                ):
                    yield PodSpecFault((*at, *field), value, message)


def spec_faults(spec: PodSpec, *, on_arm_alone: bool = False) -> Iterator[PodSpecFault]:
    """Yield what is wrong with what a pod asks for; nothing if it may ask for all of it.

    Args:
        spec: The pod's spec. CPU limits of containers, if given, are compared with the requests.
        on_arm_alone: Whether all nodes are Arm nodes. A pod may itself ask for Arm nodes only,
            by its node selector; that counts as well.

    """
    if len(spec.containers) != 1 or spec.containers[0].role is not ContainerRole.APP:
        yield from _containers(spec)
    for i, container in enumerate(spec.containers):
        yield from _amounts(container, ("containers", i, "requests"))
    if len(spec.containers) > 1:
        yield from _shares_at_one_container(spec)
    if spec.scopes:
        yield from _scopes(spec)
    if spec.device_choice is not None and not any(d.share for d in spec.requests.devices):
        yield PodSpecFault(
            ("device_choice",),
            spec.device_choice,
            "the pod asks for no share of a device; nobody else uses a whole one, so leave it out",
        )
    for i, container in enumerate(spec.containers):
        if container.cpu_limit_milli is not None:
            yield from _cpu_limit(spec, container, container.cpu_limit_milli, i)
    if spec.qos.owns_cpus:
        yield from _owned_cpus(spec)
    else:
        yield from _only_for_owners(spec)
    if on_arm_alone:
        yield from _on_arm(spec, "every node is")
    elif dict(spec.node_selector).get(ARCHITECTURE) in ("arm64", ARM):
        yield from _on_arm(spec, "it asks for nodes of")


def _containers(spec: PodSpec) -> Iterator[PodSpecFault]:
    names = [container.name for container in spec.containers]
    first_of: dict[str, int] = {}
    for i, container in enumerate(spec.containers):
        first = first_of.setdefault(container.name, i)
        if first != i:
            yield PodSpecFault(
                ("containers", i, "name"),
                container.name,
                f"a container {container.name!r} is already given at containers[{first}]; the pod "
                f"has the containers {', '.join(names)}: rename one",
            )
    if not names:
        yield PodSpecFault(("containers",), (), "the pod has the containers none; give it one")
    elif all(container.role is not ContainerRole.APP for container in spec.containers):
        yield PodSpecFault(
            ("containers",),
            tuple(first_of),
            "none has the role 'app'; expected one or more",
        )


def _amounts(container: Container, at: FaultPath) -> Iterator[PodSpecFault]:
    """Check that amounts are 0 or more, and that shares of devices are possible."""
    asked = container.requests
    yield from _negative_amounts(container, at)
    for i, request in enumerate(asked.devices):
        if request.share is not None:
            for field, value, message in share_faults(request.type, request.share):
                yield PodSpecFault((*at, "devices", i, "share", *field), value, message)


def _negative_amounts(container: Container, at: FaultPath) -> Iterator[PodSpecFault]:
    """Yield the amounts below 0."""

    def fault(field: FaultPath, amount: int, what: str) -> PodSpecFault:
        message = f"container {container.name!r} asks for {amount} {what}; amounts are 0 or more"
        return PodSpecFault((*at, *field), amount, message)

    asked = container.requests
    for word in ("cpu_milli", "memory_bytes"):
        if getattr(asked, word) < 0:
            yield fault((word,), getattr(asked, word), word)
    for i, pages in enumerate(asked.hugepages):
        if pages.count < 0:
            what = f"hugepages of {pages.page_bytes} bytes"
            yield fault(("hugepages", i, "count"), pages.count, what)
    for i, (name, amount) in enumerate(asked.extended):
        if amount < 0:
            yield fault(("extended", i), amount, name)
    for i, request in enumerate(asked.devices):
        if request.count < 0:
            what = f"devices of type {request.type!r}"
            yield fault(("devices", i, "count"), request.count, what)


def _shares_at_one_container(spec: PodSpec) -> Iterator[PodSpecFault]:
    """Check that a device type with shares is asked for at one container: shares do not add up."""
    asked = [d for container in spec.containers for d in container.requests.devices]
    for kind in sorted({request.type for request in asked if request.share is not None}):
        names = tuple(c.name for c in spec.containers if c.requests.count_of(kind))
        if len(names) > 1:
            yield PodSpecFault(
                ("containers",),
                names,
                f"the containers {', '.join(names)} ask for devices of type '{kind}', and for "
                "shares; write all that the pod wants of the type at one of them",
            )


def _cpu_limit(
    spec: PodSpec, container: Container, limit: int, index: int
) -> Iterator[PodSpecFault]:
    """Check that a CPU limit is at least the request, and equals it for owned CPUs (C3)."""
    milli = container.requests.cpu_milli
    at = ("containers", index, "cpu_limit_milli")
    if limit == milli:
        return
    if spec.qos.owns_cpus:
        if milli % 1000 == 0:  # otherwise the request itself is wrong
            yield PodSpecFault(
                at,
                limit,
                f"got {cpu_count_with_noun(limit)}; the CPU limit of {spec.qos} pods "
                f"equals the request, {milli // 1000} (rule cpu-count)",
            )
    elif limit < milli:
        yield PodSpecFault(
            at, limit, f"got {cpu_count_with_noun(limit)}; expected at least the request, {milli} m"
        )


def _owned_cpus(spec: PodSpec) -> Iterator[PodSpecFault]:
    """Check that each container asks for whole CPUs, and some container for one or more (C3)."""
    for i, container in enumerate(spec.containers):
        milli = container.requests.cpu_milli
        if milli % 1000:
            yield PodSpecFault(
                ("containers", i, "requests", "cpu_milli"),
                milli,
                f"got {cpu_count_with_noun(milli)}; "
                f"{spec.qos} pods ask for a whole number of CPUs (rule cpu-count)",
            )
    if all(container.requests.cpu_milli == 0 for container in spec.containers):
        yield PodSpecFault(
            ("qos",),
            spec.qos.value,
            f"{spec.qos} pods own CPUs; ask for one or more by 'cpu' in requests (rule cpu-count)",
        )


def _only_for_owners(spec: PodSpec) -> Iterator[PodSpecFault]:
    """Refuse wishes about the pod's own CPUs if it owns none."""
    qos = f"the qos of this pod is {spec.qos}"
    if spec.exclusive not in (None, ExclusivePolicy.NONE):
        message = f"{qos}; exclusive needs CPUs of its own: qos LSE or LSR"
        yield PodSpecFault(("exclusive",), spec.exclusive, message)
    for i, term in enumerate(spec.affinity):
        if term.inside:
            yield PodSpecFault(
                ("affinity", i, "level"),
                term.level.value,
                f"{qos}; level {term.level} needs CPUs of its own: qos LSE or LSR, or level node",
            )


def _scopes(spec: PodSpec) -> Iterator[PodSpecFault]:
    scoped = [kind for kind, _ in spec.scopes]
    if len(set(scoped)) < len(scoped):
        yield PodSpecFault(
            ("scopes",),
            tuple(scoped),
            f"the pod has scopes for devices of the types {', '.join(scoped)}; "
            "give each type one at most",
        )


def _on_arm(spec: PodSpec, why: str) -> Iterator[PodSpecFault]:
    """Check that a pod on Arm takes whole cores and keeps apart by NUMA node only (C13)."""
    if spec.constrained_burst:
        yield PodSpecFault(
            ("constrained_burst",),
            True,
            f"{why} {ARM}, where no pod of the shared pool is kept to NUMA nodes: leave "
            "ConstrainedBurst out (rule arm-cpu-policy)",
        )
    if spec.bind is BindPolicy.SPREAD_BY_PCPUS:
        yield PodSpecFault(
            ("bind",),
            spec.bind,
            f"{why} {ARM}, where pods take whole cores: "
            "FullPCPUs, or leave it out (rule arm-cpu-policy)",
        )
    if spec.exclusive is ExclusivePolicy.PCPU_LEVEL:
        yield PodSpecFault(
            ("exclusive",),
            spec.exclusive,
            f"{why} {ARM}, where pods keep apart by NUMA node: NUMANodeLevel, or "
            "leave it out (rule arm-cpu-policy)",
        )


def _shown(value: object) -> str:
    return escaped_value_text(str(value) if isinstance(value, StrEnum) else value)
