"""Changes of pods and gangs: who runs or waits, how many, how much they ask, and of what."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from placer_models.capacity import DeviceQuantityUnit, device_quantity_unit_of_text
from placer_models.cluster import Instance
from placer_models.message_text import spelling_suggestion
from placer_models.placement import NamespacedName, pod_or_gang_title
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import ExclusivePolicy, RequiredOrPreferred
from placer_models.quantity import cpu_count_with_noun, format_bytes, format_milli
from placer_models.taints import (
    UNSCHEDULABLE,
    Toleration,
    TolerationOperator,
    untolerated_taints_of_strength,
)
from placer_models.whatif.change import (
    Aspect,
    WhatIfChangeError,
    running_pods_named,
    unknown_pod_error,
    waiting_gang_and_pod_keys,
    waiting_gang_named,
    waiting_pods_named,
    with_changed_pods,
)
from placer_models.whatif.shares import (
    is_resource_in_bytes,
    resource_unit,
    share_amount_asked_per_device,
    with_share_amount_at_most,
)

_FOR_ITS_NODE = "runs for its node, as static pods and those of DaemonSets do"


@dataclass(frozen=True, slots=True)
class RemovePods:
    """The pod or the gang is gone: it runs no longer, or waits no longer."""

    key: NamespacedName

    @property
    def aspects(self) -> frozenset[Aspect]:
        """Whether it is there, and how many of it."""
        return frozenset({("place", self.key), ("members", self.key)})

    def apply(self, instance: Instance) -> Instance:
        """Take the running pods away, or the gang that waits."""
        ended = {pod.key for pod in running_pods_named(instance, self.key)}
        if ended:
            for one in instance.running:
                if one.pod.key in ended and one.of_node:
                    raise WhatIfChangeError(
                        f"running pod '{one.pod.title}' {_FOR_ITS_NODE}: it would come back"
                    )
            left = tuple(one for one in instance.running if one.pod.key not in ended)
            gangs = {(one.pod.namespace, one.placement.gang) for one in left}
            return replace(
                instance,
                running=left,
                running_gangs=tuple(g for g in instance.running_gangs if g.key in gangs),
            )
        gang = waiting_gang_named(instance, self.key)
        if gang is None:
            running = [one.pod.key for one in instance.running]
            raise unknown_pod_error(
                "pod or gang", self.key, running + waiting_gang_and_pod_keys(instance)
            )
        groups = (
            replace(group, gangs=tuple(key for key in group.gangs if key != gang.key))
            for group in instance.groups
        )
        return replace(
            instance,
            gangs=tuple(one for one in instance.gangs if one is not gang),
            groups=tuple(group for group in groups if group.gangs),
        )

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"remove={_text(self.key)}"


@dataclass(frozen=True, slots=True)
class AllowPodMoves:
    """The running pod, or all of the running gang, may get another place if that makes room."""

    key: NamespacedName

    @property
    def aspects(self) -> frozenset[Aspect]:
        """Where it is."""
        return frozenset({("place", self.key)})

    def apply(self, instance: Instance) -> Instance:
        """Let these pods move; without a budget of the instance's own, no others may."""
        return with_named_pods_movable([self], instance)

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"move={_text(self.key)}"


def with_named_pods_movable(moves: Sequence[AllowPodMoves], instance: Instance) -> Instance:
    """Return the instance in which the pods of all these may move, together.

    Without a budget of the instance's own no others may, so that one alone would stop the next.

    Raises:
        WhatIfChangeError: One of them names nothing that runs, or a pod that may not move.

    """
    keys: set[NamespacedName] = set()
    for move in moves:
        named = {pod.key for pod in running_pods_named(instance, move.key)}
        if not named:
            known = [one.pod.key for one in instance.running]
            raise WhatIfChangeError(
                f"{move}: {unknown_pod_error('running pod or gang', move.key, known)}"
            )
        for one in instance.running:
            if one.pod.key in named and not one.movable:
                why = f"{_FOR_ITS_NODE}: it does not move" if one.of_node else "may not move"
                raise WhatIfChangeError(f"{move}: running pod '{one.pod.title}' {why}")
        keys |= named
    others_stay = not instance.move_budget
    running = tuple(
        replace(one, movable=False)
        if others_stay and one.movable and one.pod.key not in keys
        else one
        for one in instance.running
    )
    return replace(instance, running=running, move_budget=instance.move_budget + len(keys))


@dataclass(frozen=True, slots=True)
class ScalePods:
    """So many members of the gang, or so many pods like the pod.

    A gang's minimum becomes as many at most; if it was all of its members, it stays all.
    """

    key: NamespacedName
    count: int

    @property
    def aspects(self) -> frozenset[Aspect]:
        """How many there are."""
        return frozenset({("members", self.key)})

    def apply(self, instance: Instance) -> Instance:
        """Leave the last members out, or add copies of the last one."""
        gang = waiting_gang_named(instance, self.key)
        if gang is None:
            known = [one.key for one in instance.gangs]
            raise unknown_pod_error("gang or pod of no gang that waits", self.key, known)
        if self.count == len(gang.pods):
            title = pod_or_gang_title(*self.key)
            raise WhatIfChangeError(
                f"pod '{title}' is one already"
                if gang.lone
                else f"gang '{title}' has {self.count:,} members already"
            )
        taken = {pod.key for one in instance.gangs for pod in one.pods}
        taken |= {one.pod.key for one in instance.running}
        pods = (*gang.pods, *_copies(gang.pods[-1], self.count - len(gang.pods), taken))
        changed = _lone_gangs(gang, pods) if gang.lone else [_sized(gang, pods[: self.count])]
        gangs = [one for gang_ in instance.gangs for one in (changed if gang_ is gang else [gang_])]
        return replace(instance, gangs=tuple(gangs))

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"scale={_text(self.key)}:{self.count}"


def _copies(pod: Pod, count: int, taken: set[NamespacedName]) -> list[Pod]:
    """Return copies of a pod, named on from its number: after worker-3 comes worker-4."""
    stem = re.sub(r"-\d+$", "", pod.name)
    names = (f"{stem}-{i}" for i in range(len(taken) + max(count, 0) + 1))
    free = [name for name in names if (pod.namespace, name) not in taken]
    return [replace(pod, name=name, uid="") for name in free[: max(count, 0)]]


def _lone_gangs(gang: Gang, pods: tuple[Pod, ...]) -> list[Gang]:
    return [replace(gang, name=pod.name, pods=(pod,)) for pod in pods]


def _sized(gang: Gang, pods: tuple[Pod, ...]) -> Gang:
    whole = gang.minimum == len(gang.pods)
    return replace(gang, pods=pods, minimum=len(pods) if whole else min(gang.minimum, len(pods)))


@dataclass(frozen=True, slots=True)
class AskLess:
    """The pod, or each member of the gang, asks for less of one resource.

    Attributes:
        resource: ``cpu`` (milli), ``memory`` (bytes), a type of devices (whole ones), the name of a
            plain amount, or of each device that is shared a part: ``gpu.percent``,
            ``gpu.memory`` (bytes), ``gpu.memoryPercent``, and the names of its capacity.
        amount: What the pod asks for then, in that unit.

    """

    key: NamespacedName
    resource: str
    amount: int
    written: str = field(default="", compare=False)

    @property
    def aspects(self) -> frozenset[Aspect]:
        """How much is asked for of the resource."""
        return frozenset({("asked", (self.key, self.resource))})

    def apply(self, instance: Instance) -> Instance:
        """Take the difference from the containers that ask for most."""
        changed = []
        for pod in waiting_pods_named(instance, self.key):
            asked = _asked(pod.spec.requests, self.resource)
            if asked <= self.amount:
                number = self._said(self.amount).split()[0]
                raise WhatIfChangeError(
                    f"pod '{pod.title}' asks for {self._said(asked)} already; {number} is not less"
                    if asked
                    else f"pod '{pod.title}' asks for no {self.resource}"
                )
            unit = resource_unit(pod.spec.requests, self.resource)
            if device_quantity_unit_of_text(self.written) not in (DeviceQuantityUnit.UNITS, unit):
                raise WhatIfChangeError(
                    f"{self.resource} is in {unit}, which {self.written} is not"
                )
            if pod.spec.variants:
                raise WhatIfChangeError(f"pod '{pod.title}' asks for other devices on other nodes")
            changed.append(replace(pod, spec=self._less(pod.spec)))
        return with_changed_pods(instance, changed)

    def _said(self, amount: int) -> str:
        """Return an amount of the resource as people say it."""
        if self.resource == "cpu":
            return cpu_count_with_noun(amount)
        if self.resource == "memory":
            return f"{format_bytes(amount)} of memory"
        said = format_bytes(amount) if is_resource_in_bytes(self.resource) else amount
        return f"{said} {self.resource}"

    def _less(self, spec: PodSpec) -> PodSpec:
        if share_amount_asked_per_device(
            spec.requests, self.resource
        ):  # it is asked of each device, not in all
            return replace(
                spec,
                containers=tuple(
                    replace(
                        one,
                        requests=with_share_amount_at_most(
                            one.requests, self.resource, self.amount
                        ),
                    )
                    for one in spec.containers
                ),
            )
        containers = list(spec.containers)
        by_size = sorted(
            range(len(containers)), key=lambda i: -_asked(containers[i].requests, self.resource)
        )
        for i in by_size:
            over = _asked(spec.requests, self.resource) - self.amount
            if over <= 0:
                break
            own = _asked(containers[i].requests, self.resource)
            containers[i] = _asking(containers[i], self.resource, max(0, own - over), spec)
            spec = replace(spec, containers=tuple(containers))
        return spec

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"ask-less={_text(self.key)}:{self.resource}={self.written or self._amount_text}"

    @property
    def _amount_text(self) -> str:
        """The amount as it is written in files."""
        if self.resource == "cpu":
            return format_milli(self.amount)
        return (
            format_bytes(self.amount) if is_resource_in_bytes(self.resource) else str(self.amount)
        )


def _asked(asked: Resources, resource: str) -> int:
    """Return how much is asked for: CPU in milli, memory in bytes, devices that are whole."""
    if resource == "cpu":
        return asked.cpu_milli
    if resource == "memory":
        return asked.memory_bytes
    whole = [d.count for d in asked.devices if d.type == resource and d.share is None]
    return sum(whole) or asked.amount_of(resource) or share_amount_asked_per_device(asked, resource)


def _asking(container: Container, resource: str, amount: int, spec: PodSpec) -> Container:
    """Return the container with another amount of a resource."""
    asked = container.requests
    if resource == "cpu":
        # A pod that owns its CPUs has its limit at its request.
        limit = amount if spec.qos.owns_cpus else container.cpu_limit_milli
        return replace(container, requests=replace(asked, cpu_milli=amount), cpu_limit_milli=limit)
    if resource == "memory":
        return replace(container, requests=replace(asked, memory_bytes=amount))
    if any(d.type == resource and d.share is None for d in asked.devices):
        devices = [
            DeviceRequest(d.type, amount) if d.type == resource and d.share is None else d
            for d in asked.devices
        ]
        left = tuple(d for d in devices if d.count)
        return replace(container, requests=replace(asked, devices=left))
    extended = tuple((name, amount if name == resource else had) for name, had in asked.extended)
    left_amounts = tuple((name, had) for name, had in extended if had)
    return replace(container, requests=replace(asked, extended=left_amounts))


@dataclass(frozen=True, slots=True)
class RelaxPolicy:
    """The pod, or each member of the gang, would only like what it requires of a policy.

    Attributes:
        policy: One of `POLICIES`.

    """

    key: NamespacedName
    policy: str

    @property
    def aspects(self) -> frozenset[Aspect]:
        """What the policy demands."""
        return frozenset({("policy", (self.key, self.policy))})

    def apply(self, instance: Instance) -> Instance:
        """Change the policy of all pods that require it."""
        pods = waiting_pods_named(instance, self.key)
        changed = [replace(pod, spec=POLICIES[self.policy](pod.spec)) for pod in pods]
        if changed == pods:
            raise WhatIfChangeError(
                f"'{pod_or_gang_title(*self.key)}' requires nothing of {self.policy}"
            )
        return with_changed_pods(instance, changed)

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"relax={_text(self.key)}.{self.policy}"


def _preferring_to_be_apart(spec: PodSpec) -> PodSpec:
    if spec.exclusive in (None, ExclusivePolicy.NONE):
        return spec
    return replace(spec, exclusive_strength=RequiredOrPreferred.PREFERRED)


def _preferring_its_bind_policy(spec: PodSpec) -> PodSpec:
    return (
        replace(spec, bind_strength=RequiredOrPreferred.PREFERRED) if spec.bind_required else spec
    )


POLICIES: Mapping[str, Callable[[PodSpec], PodSpec]] = {
    "numaPolicy": lambda spec: replace(spec, alignment=None),
    "cpuExclusivePolicy": _preferring_to_be_apart,
    "cpuBindPolicy": _preferring_its_bind_policy,
}
"""Policies by the names of their fields, each with what makes a wish of it. Without a NUMA policy
of its own a pod has that of its node."""


@dataclass(frozen=True, slots=True)
class GiveUpConstraint:
    """The pod, or each member of the gang, gives one of its terms up.

    Attributes:
        term: One of `TERMS`.
        which: The label's key, the taint's key, or the number of the term, from 0; empty where
            there is only one.

    """

    key: NamespacedName
    term: str
    which: str = ""

    @property
    def aspects(self) -> frozenset[Aspect]:
        """Whether the term holds."""
        return frozenset({("term", (self.key, self.term, self.which))})

    def apply(self, instance: Instance) -> Instance:
        """Leave the term out of all pods that have it."""
        pods = waiting_pods_named(instance, self.key)
        if self.term == "taint":
            self._check_taint(instance, pods)
        changed = [replace(pod, spec=TERMS[self.term](pod.spec, self.which)) for pod in pods]
        if changed == pods:
            which = f" '{self.which}'" if self.which else ""
            raise WhatIfChangeError(
                f"'{pod_or_gang_title(*self.key)}' has no {self.term}{which} to give up"
            )
        return with_changed_pods(instance, changed)

    def _check_taint(self, instance: Instance, pods: Sequence[Pod]) -> None:
        """Refuse a taint that keeps no pod off, nor would rather.

        Raises:
            WhatIfChangeError: It is on no node, or all pods tolerate it.

        """
        taints = {taint for node in instance.nodes for taint in node.taints}
        if any(node.cordoned for node in instance.nodes):
            taints.add(UNSCHEDULABLE)
        mine = [taint for taint in taints if taint.key == self.which]
        if not mine:
            mend = spelling_suggestion(self.which, (one.key for one in taints))
            raise WhatIfChangeError(f"no node has the taint '{self.which}'{mend}")
        if not any(
            any(untolerated_taints_of_strength(mine, pod.spec.tolerations, keep_off=keep_off))
            for pod in pods
            for keep_off in (True, False)
        ):
            raise WhatIfChangeError(
                f"'{pod_or_gang_title(*self.key)}' tolerates taint '{self.which}' already"
            )

    def __str__(self) -> str:
        """Return it as people write it."""
        which = f"={self.which}" if self.which else ""
        return f"give-up={_text(self.key)}:{self.term}{which}"


def _without_label(spec: PodSpec, key: str) -> PodSpec:
    left = tuple(one for one in spec.node_selector if one[0] != key)
    return replace(spec, node_selector=left)


def _without_node_affinity(spec: PodSpec, _: str) -> PodSpec:
    if spec.node_affinity is None or not spec.node_affinity.required:
        return spec
    return replace(spec, node_affinity=replace(spec.node_affinity, required=()))


def _without_affinity(spec: PodSpec, number: str) -> PodSpec:
    left = tuple(term for i, term in enumerate(spec.affinity) if str(i) != number)
    return replace(spec, affinity=left)


def _without_spread(spec: PodSpec, number: str) -> PodSpec:
    left = tuple(one for i, one in enumerate(spec.spread) if str(i) != number)
    return replace(spec, spread=left)


def _tolerating(spec: PodSpec, key: str) -> PodSpec:
    more = Toleration(key, TolerationOperator.EXISTS)
    return replace(spec, tolerations=tuple(dict.fromkeys((*spec.tolerations, more))))


TERMS: Mapping[str, Callable[[PodSpec, str], PodSpec]] = {
    "nodeSelector": _without_label,
    "nodeAffinity": _without_node_affinity,
    "affinity": _without_affinity,
    "topologySpread": _without_spread,
    "taint": _tolerating,
}
"""What can be given up, by the names of fields: a label of the node selector by its key, what the
node affinity requires, a term of affinity or of topology spread by its number; and staying away
from a taint, by its key."""


def _text(key: NamespacedName) -> str:
    return "/".join(key)
