"""Gangs that wait in a dump, by PodGroup, label or annotation, and pods by themselves."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from placer.kubernetes.claims import WaitingPodClaimsOfDump
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer.kubernetes.volumes import WaitingPodVolumesOfDump
from placer.kubernetes.waiting import pod_as_left_out, why_waits_for_nominated
from placer_models.cluster import Node
from placer_models.files.tree import field_path_text
from placer_models.kubernetes.object_fields import (
    IllegalPodObjectError,
    KubernetesObjectError,
    object_title,
)
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.pod_gang import GangNamedByPod
from placer_models.kubernetes.pod_spec import ParsedPodSpec, parsed_spec_of_kube_pod
from placer_models.kubernetes.priority import SYSTEM_PRIORITIES
from placer_models.left_out import (
    GangsWithoutIllegalPods,
    IllegalPods,
    PodLeftOutBeforeSolve,
    without_illegal_pods,
)
from placer_models.legal import illegal_pods
from placer_models.placement import NamespacedName
from placer_models.pod import Gang, GangGroup, Pod, PodSpec, pods_of_gangs
from placer_models.reasons import Illegal

_GangKey = tuple[bool, str, str]
"""Whether it is Kubernetes' own, namespace, name."""


@dataclass(slots=True)
class _Waiting:
    """A waiting gang, as far as it has been read.

    Attributes:
        minimum: The minimum, or None if it is not given.
        groups: Gangs that are placed together with it.
        lacks: Demands of members that Placer cannot express.
        missing: Objects that members need and the dump does not have.
        waits: Why else members cannot be placed yet.

    """

    minimum: int | None
    groups: tuple[tuple[str, str], ...] = ()
    members: list[tuple[KubePod, Pod]] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WaitingGangsOfDump:
    """The gangs that wait, and the illegal pods among their members.

    Attributes:
        illegal: Key of an illegal pod -> what is wrong with it.
        left_out: Pods that are not placed, because there is no word for what they or their gangs
            ask for, or something that they need is not in the dump.

    """

    gangs: tuple[Gang, ...]
    groups: tuple[GangGroup, ...]
    illegal: IllegalPods
    left_out: tuple[PodLeftOutBeforeSolve, ...]


def waiting_gangs_of_dump(
    objects: ClusterObjects,
    waiting: Sequence[KubePod],
    claims: WaitingPodClaimsOfDump,
    volumes: WaitingPodVolumesOfDump,
    reading: ClusterFactsForRequests,
    specs: dict[PodSpec, PodSpec],
    summary: DumpSummary,
) -> WaitingGangsOfDump:
    """Return the gangs that wait, lone pods first, and the groups of gangs.

    A pod or a gang with a demand that Placer cannot express is not placed, nor is a gang with
    too few pods in the dump. The summary says so, and it names illegal pods.
    """
    lone: list[Gang] = []
    found: dict[_GangKey, _Waiting] = {}
    illegal: dict[NamespacedName, Illegal] = {}
    left_out: list[PodLeftOutBeforeSolve] = []
    asked_of: dict[NamespacedName, ParsedPodSpec] = {}
    nominated = [part for part in objects.pods.values() if part.expected]
    for part in claims.in_turn(waiting):
        try:
            asked = parsed_spec_of_kube_pod(part, reading)
            asked = volumes.with_volumes(part, claims.with_claims(part, asked, reading))
        except IllegalPodObjectError as error:
            illegal[part.identity.key] = _illegal(part, error, objects, summary)
            asked = _ANYTHING
        except KubernetesObjectError as error:
            objects.bear(error)
            left_out.append(pod_as_left_out(part, f"it cannot be read: {error.message}"))
            continue
        illegal_one = part.identity.key in illegal
        more = (*objects.doubts.about(asked.spec), *why_waits_for_nominated(part, nominated))
        asked = replace(asked, waits=(*asked.waits, *more))
        if illegal_one or asked.missing or asked.lacks or asked.waits:
            claims.passes(part)
        asked_of[part.identity.key] = asked
    for part in waiting:
        if part.identity.key not in asked_of:
            continue
        asked = asked_of[part.identity.key]
        pod = replace(asked, spec=specs.setdefault(asked.spec, asked.spec)).pod(part)
        gang = _gang_of(part.gang, objects, found) if part.gang else None
        if gang is not None:
            gang.members.append((part, pod))
            gang.lacks += [f"{part.identity.title} has {what}" for what in asked.lacks]
            gang.missing += [f"{part.identity.title} needs {what}" for what in asked.missing]
            gang.waits += [f"{part.identity.title}: {what}" for what in asked.waits]
        elif asked.missing or asked.lacks or asked.waits:
            why = "; ".join(asked.waits)
            if asked.lacks:
                why = f"there is no word yet for {', '.join(asked.lacks)}"
            if asked.missing:
                why = f"{', '.join(asked.missing)}: not in the dump"
            summary.refused.append((part.identity.title, why))
            left_out.append(pod_as_left_out(part, why))
        else:
            priority = pod_priority_of(part, objects)
            lone.append(Gang(pod.name, pod.namespace, (pod,), 1, priority, lone=True))
    for ref in objects.doubts.refs:
        if (gang := found.get(_key_of(ref))) is not None:
            gang.lacks += ref.lacks
    bound = _bound(objects)
    taken = {gang.key for gang in lone}
    gangs: dict[_GangKey, Gang] = {}
    without: dict[_GangKey, str] = {}
    for key, gang in found.items():
        made = _made(key, gang, bound[key], taken, illegal, objects)
        if isinstance(made, Gang):
            gangs[key] = made
            taken.add(made.key)
        else:
            without[key] = made
    groups = _groups(found, gangs, bound, without)
    for key, why in without.items():
        summary.refused.append((object_title("PodGroup", *key[1:]), why))
        left_out += [
            PodLeftOutBeforeSolve(pod.name, pod.namespace, key[-1], (illegal[pod.key],))
            if pod.key in illegal
            else pod_as_left_out(part, why)
            for part, pod in found[key].members
        ]
    return WaitingGangsOfDump((*lone, *gangs.values()), groups, illegal, tuple(left_out))


_ANYTHING = ParsedPodSpec(PodSpec(()), ())
"""What stands for the demands of an illegal pod: it is left out before anybody looks at them."""


def _illegal(
    part: KubePod, error: IllegalPodObjectError, objects: ClusterObjects, summary: DumpSummary
) -> Illegal:
    file, line = objects.places[part.identity.title]
    found = Illegal(field_path_text(error.path), error.message, f"{file}:{line}")
    summary.illegal.append((part.identity.title, f"{found.field}: {found.message}"))
    return found


def legal_gangs(
    waits: WaitingGangsOfDump, nodes: Sequence[Node], objects: ClusterObjects, summary: DumpSummary
) -> GangsWithoutIllegalPods:
    """Return what waits without illegal pods, and without what cannot run without them.

    Besides those that are known, pods are illegal that ask for what no device of the nodes shares.
    """
    illegal = dict(waits.illegal)
    pods = (pod for pod in pods_of_gangs(waits.gangs) if pod.key not in illegal)
    for key, fault in illegal_pods(pods, nodes).items():
        part = objects.pods[key]
        message = f"{fault.field}: {fault.message}"
        error = IllegalPodObjectError(part.identity.title, ("spec",), message)
        illegal[key] = _illegal(part, error, objects, summary)
    legal = without_illegal_pods(waits.gangs, waits.groups, illegal)
    return replace(legal, left_out=(*legal.left_out, *waits.left_out))


def pod_priority_of(part: KubePod, objects: ClusterObjects) -> int:
    """Return the priority of a pod: its own, that of its class, or that of the default class."""
    if part.priority is not None:
        return part.priority
    named = objects.priorities.get(part.priority_class)
    if named is not None:
        return named.value
    if part.priority_class:
        return SYSTEM_PRIORITIES.get(part.priority_class, 0)
    return next((one.value for one in objects.priorities.values() if one.is_default), 0)


def _key_of(gang: GangNamedByPod) -> _GangKey:
    return gang.is_kubernetes, *gang.key


def _gang_of(
    ref: GangNamedByPod, objects: ClusterObjects, found: dict[_GangKey, _Waiting]
) -> _Waiting | None:
    """Return the gang that a pod names, or None if its PodGroup asks for no minimum."""
    key = _key_of(ref)
    group = objects.groups.get(key)
    if group is not None and group.minimum is None:
        return None
    gang = found.get(key)
    if gang is None:
        gang = found[key] = _Waiting(
            group.minimum if group else ref.minimum,
            (group.groups if group else ()) or ref.groups,
            lacks=[*(group.lacks if group else ()), *ref.lacks],
            waits=[
                why
                for why in (
                    objects.doubts.of(object_title("PodGroup", *ref.key)),
                    objects.doubts.vague.get(key, ""),
                )
                if why
            ],
        )
    return gang


def _bound(objects: ClusterObjects) -> Counter[_GangKey]:
    """Return how many pods of each gang have their place already."""
    return Counter(
        _key_of(part.gang)
        for part in objects.pods.values()
        if part.gang and part.node and not part.ended and not part.leaving
    )


def _made(
    key: _GangKey,
    gang: _Waiting,
    bound: int,
    taken: set[tuple[str, str]],
    illegal: IllegalPods,
    objects: ClusterObjects,
) -> Gang | str:
    """Return the gang, or why its pods cannot be placed."""
    _, namespace, name = key
    pods = tuple(pod for _, pod in gang.members)
    if gang.missing:
        why = f"{gang.missing[0]}, which is not in the dump"
    elif gang.lacks:
        why = f"there is no word yet for {gang.lacks[0]}"
    elif gang.waits:
        why = gang.waits[0]
    elif gang.minimum is None:
        why = "its PodGroup is not in the dump, and no pod says its minimum"
    elif bound + len(pods) < gang.minimum:
        why = f"{bound + len(pods)} of the {gang.minimum} pods that it waits for are there"
        if unread := objects.doubts.gangs.get(key):
            why += f", and {', '.join(unread)} cannot be read"
    else:
        own = name
        while (namespace, own) in taken:
            own = f"{own}.gang"  # a pod by itself has that name
        return Gang(
            own,
            namespace,
            pods,
            max(1, gang.minimum - bound),
            _priority(gang, illegal, objects),
        )
    return why


def _priority(gang: _Waiting, illegal: IllegalPods, objects: ClusterObjects) -> int:
    legal = (part for part, pod in gang.members if pod.key not in illegal)
    return max((pod_priority_of(part, objects) for part in legal), default=0)


def _groups(
    found: Mapping[_GangKey, _Waiting],
    gangs: dict[_GangKey, Gang],
    bound: Counter[_GangKey],
    without: dict[_GangKey, str],
) -> tuple[GangGroup, ...]:
    """Return the groups of gangs; a gang whose group misses another goes to ``without``."""
    wants = {key: frozenset(gang.groups) for key, gang in found.items() if len(gang.groups) > 1}
    while lost := _short_of_another(wants, gangs, bound):
        for key, (namespace, name) in lost.items():
            without[key] = f"its group waits for {object_title('PodGroup', namespace, name)}"
            del gangs[key]
    groups: dict[frozenset[NamespacedName], GangGroup] = {}
    for key, wanted in wants.items():
        others = [(key[0], *name) for name in sorted(wanted)]
        keys = tuple(gangs[other].key for other in others if other in gangs)
        if key in gangs and len(keys) > 1:
            groups[wanted] = GangGroup(keys[0][1], keys[0][0], keys)
    return tuple(groups.values())


def _short_of_another(
    wants: Mapping[_GangKey, Set[NamespacedName]],
    gangs: Mapping[_GangKey, Gang],
    bound: Counter[_GangKey],
) -> dict[_GangKey, NamespacedName]:
    """Return each gang whose group misses another, and the first of those that it misses."""
    lost: dict[_GangKey, NamespacedName] = {}
    for key in gangs:
        for name in sorted(wants.get(key, ()), reverse=True):
            other = (key[0], *name)
            if other not in gangs and not bound[other]:
                lost[key] = name
    return lost
