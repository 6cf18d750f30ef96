"""Waiting gangs and lone pods, equal ones folded."""

from collections.abc import Collection
from itertools import groupby

from rich.console import RenderableType

from placer.search.reasons.sentences import reason_sentences
from placer_cli.draw.plain import are_qos_classes_worth_showing
from placer_cli.draw.shares import device_share_text
from placer_cli.draw.tables import table_without_empty_columns
from placer_cli.draw.text_flow import drawing_with_title
from placer_cli.draw.texts import (
    amount_text,
    amounts_without_cpu_sum,
    memory_text,
    names_as_host_lists,
)
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.pod import DeviceRequest, Gang, Pod, PodSpec, without_replica_number
from placer_models.policy import AlignmentPolicy, BindPolicy
from placer_models.quantity import cpu_count_with_noun
from placer_models.reasons import Illegal, NotTried
from placer_models.relations import domain_limits_asked_by

Member = tuple[Gang, Pod]


def waiting_pods_table(
    instance: Instance, placed: Collection[tuple[str, str]], width: int
) -> RenderableType | None:
    """Return a table of the pods that have no place yet; None if there is none."""
    members = [(gang, pod) for gang in instance.gangs for pod in gang.pods if pod.key not in placed]
    if not members:
        return None
    rows = [
        _row(list(series), are_qos_classes_worth_showing(instance))
        for _, series in groupby(members, key=_series)
    ]
    drawn = table_without_empty_columns(
        ("name", "gang", "priority", "QoS", "each asks for", "rules"),
        rows,
        width,
        numbers=("priority",),
        wrap={"name": 16, "gang": 12, "each asks for": 16, "rules": 12},
        spare=("QoS", "priority"),
    )
    return drawing_with_title("Without a place" if placed else "Waiting", drawn)


def pods_left_out_before_solve_table(instance: Instance, width: int) -> RenderableType | None:
    """Return a table of the pods that wait and that nobody is asked about; None if there is none.

    They are illegal, or nothing is known of what they need: each row says why.
    """
    if not instance.left_out:
        return None
    rows = []
    for (gang, why), alike in groupby(instance.left_out, key=lambda one: (one.gang, one.why)):
        names = names_as_host_lists([one.title for one in alike])
        rows.append((names, gang or "", "\n".join(reason_sentences(why, PodSpec(())))))
    head = ("name", "gang", "why not")
    wrap = {"name": 16, "gang": 12, head[2]: 20}
    drawn = table_without_empty_columns(
        head, rows, width, wrap=wrap, spare=("gang",), sentences=head[2]
    )
    return drawing_with_title("Waiting, but not asked about", drawn)


def waiting_pod_count(instance: Instance) -> int:
    """Return how many pods wait, with those that are left out before anybody is asked."""
    return sum(len(gang.pods) for gang in instance.gangs) + len(instance.left_out)


def left_out_count_text(instance: Instance) -> str:
    """Say of how many pods that wait nobody was asked: ``, 2 illegal, 1 not asked``, or nothing."""
    reasons = [why for one in instance.left_out for why in one.why]
    bad = sum(isinstance(why, Illegal) for why in reasons)
    unasked = sum(isinstance(why, NotTried) for why in reasons)
    return (f", {bad:,} illegal" if bad else "") + (f", {unasked:,} not asked" if unasked else "")


def pod_request_summary_text(spec: PodSpec) -> str:
    """Say what one pod asks for: ``16 CPUs, 64Gi, 2 gpu``."""
    need = spec.requests
    parts = [cpu_count_with_noun(need.cpu_milli)] if need.cpu_milli else []
    parts += [memory_text(need.memory_bytes)] if need.memory_bytes else []
    parts += [f"{pages.count}x{memory_text(pages.page_bytes)} pages" for pages in need.hugepages]
    each = (", ".join(_devices(one)) or "no devices" for one in spec.each)
    several = tuple(dict.fromkeys(each))
    parts += _devices(spec.each[0]) if len(several) < 2 else [" or ".join(several)]
    parts += [
        f"{amount_text(name, amount)} {name}"
        for name, amount in amounts_without_cpu_sum(need.extended)
    ]
    return ", ".join(parts) or "nothing"


def _devices(spec: PodSpec) -> list[str]:
    """Say for which devices a pod asks."""
    return [
        _count(spec, device) + (f" ({device_share_text(device.share)})" if device.share else "")
        for device in spec.requests.devices
    ]


def _count(spec: PodSpec, device: DeviceRequest) -> str:
    """Say of how many devices of a type: a number, or what its strategy says."""
    match dict(spec.strategies).get(device.type):
        case DeviceCountStrategy.APPLY_FOR_ALL:
            return f"all {device.type}"
        case DeviceCountStrategy.APPLY_FOR_EACH_GROUP:
            return f"{device.type} for each {spec.joint.types[0] if spec.joint else ''} group"
        case None:
            return f"{device.count} {device.type}"


def _series(member: Member) -> tuple[object, ...]:
    gang, pod = member
    return (
        without_replica_number(pod.name),
        pod.namespace,
        pod.spec,
        gang.priority,
        gang.weight,
        None if gang.lone else gang.key,
    )


def _row(members: list[Member], classes: bool) -> tuple[str, ...]:
    gang, pod = members[0]
    return (
        names_as_host_lists([pod.title for _, pod in members]),
        "" if gang.lone else f"{gang.name}, at least {gang.minimum}",
        str(gang.priority) if gang.priority else "",
        pod.spec.qos.value if classes else "",
        pod_request_summary_text(pod.spec),
        _rules(gang, pod.spec),
    )


def _rules(gang: Gang, spec: PodSpec) -> str:
    """Name what narrows the pod's choice of a place."""
    rules = [f"{key}={value}" for key, value in spec.node_selector]
    if spec.node_affinity:
        rules += [str(spec.node_affinity)] if spec.node_affinity.required else []
        rules += [f"if possible {wish.term}" for wish in spec.node_affinity.preferred]
    rules += [_near(term) for term in spec.affinity]
    rules += [
        f"{'' if limit.required else 'if possible '}{limit.said}"
        for _, limit in domain_limits_asked_by(spec, gang.namespace)
    ]
    if spec.alignment not in (None, AlignmentPolicy.NONE):
        rules.append(str(spec.alignment))
    if spec.bind is not BindPolicy.DEFAULT:
        rules.append(f"{spec.bind.value} {spec.bind_strength.value}")
    if spec.locality:
        rules.append(f"few of {', '.join(spec.locality)}")
    if gang.gather is not None:
        rules.append(f"gathers on one {gang.gather.value}")
    rules += [_asks(rule) for rule in gang.levels]
    return ", ".join(rules)


def _near(term: AffinityTerm) -> str:
    """Say whom a pod wants to be with, or apart from, and where."""
    would = "" if term.required else "if possible "
    where = f"in one {term.topology}" if term.wide else f"on one {term.level.place}"
    return f"{would}{'apart from' if term.apart else 'with'} {term.said} {where}"


def _asks(rule: GangNetworkLevelRule) -> str:
    """Say what a gang asks of a level of the network."""
    would = "" if rule.required else "if possible "
    match rule.grouping:
        case GangNetworkLevelRuleKind.GATHER:
            return f"{would}in one {rule.level}"
        case GangNetworkLevelRuleKind.SPREAD:
            return f"{would}at most {rule.count} in a {rule.level}"
        case GangNetworkLevelRuleKind.MULTIPLES:
            return f"multiples of {rule.count} in a {rule.level}"
