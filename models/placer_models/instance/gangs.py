"""Gangs in files, waiting or running, read and written: members, levels and groups (G1 to G6)."""

from collections.abc import Collection, Iterator, Mapping

from placer_models.cluster import RunningGang
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.instance.pods import InstancePodReader, UniqueNameCheck, pod_to_dict
from placer_models.instance.schema import (
    GangGroupPart,
    GangPart,
    GangTopologyPart,
    RunningGangPart,
    RunningPodPart,
    WaitingPodPart,
)
from placer_models.message_text import count_with_noun, in_quotes
from placer_models.network import NODE_LEVEL, GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import NamespacedName
from placer_models.pod import Gang, GangGroup
from placer_models.policy import GatherLevel, RequiredOrPreferred


class InstanceGangReader:
    """Reads what waits: lone pods, gangs and gang groups.

    Attributes:
        names: Names of all these gangs, which running gangs may not have.

    """

    def __init__(self, pods: InstancePodReader, levels: Collection[str]) -> None:
        self._pods = pods
        self._levels = levels
        self.names = UniqueNameCheck("gang")
        self._gangs: dict[NamespacedName, Gang] = {}
        self._group_names = UniqueNameCheck("gang group")
        self._group_of: dict[NamespacedName, str] = {}

    def lone(self, part: WaitingPodPart, place: DocumentLocation) -> tuple[Gang, ...]:
        """Return a gang of its own for each pod of the template."""
        gangs = []
        for pod in self._pods.members(part, part.namespace, place):
            if self.names.take(pod.key, place):
                gangs.append(
                    Gang(pod.name, pod.namespace, (pod,), 1, part.priority, part.weight, lone=True)
                )
        return tuple(gangs)

    def gang(self, part: GangPart, place: DocumentLocation) -> Gang:
        """Return the gang with all its members."""
        pods = tuple(
            pod
            for i, member in enumerate(part.pods)
            for pod in self._pods.members(member, part.namespace, place.at("pods", i))
        )
        minimum = len(pods) if part.minimum is None else part.minimum
        if minimum > len(pods):
            place.at("minimum").fault(
                f"got {minimum}; expected at most its {count_with_noun(len(pods), 'member')}"
            )
        gang = Gang(
            part.name,
            part.namespace,
            pods,
            minimum,
            part.priority,
            part.weight,
            node_gather_level_if_required(part),
            levels=read_gang_level_rules(part, self._levels, place),
        )
        if self.names.take(gang.key, place):
            self._gangs[gang.key] = gang
        return gang

    def group(self, part: GangGroupPart, place: DocumentLocation) -> GangGroup:
        """Return the gang group; its gangs have been read before."""
        self._group_names.take((part.namespace, part.name), place)
        keys: list[NamespacedName] = []
        for i, written in enumerate(part.gangs):
            namespace, slash, name = written.rpartition("/")
            key = (namespace if slash else part.namespace, name)
            at = place.at("gangs", i)
            if key not in self._gangs:
                known = (n if ns == part.namespace else f"{ns}/{n}" for ns, n in self._gangs)
                message = f"no gang {in_quotes(written)} is given"
                at.fault(message, name=written, known=known)
            elif key in self._group_of:
                at.fault(
                    f"the gang {in_quotes(written)} is in the group "
                    f"{in_quotes(self._group_of[key])} "
                    "already; a gang is in one group at most"
                )
            else:
                self._group_of[key] = part.name
                keys.append(key)
        return GangGroup(part.name, part.namespace, tuple(keys))


class InstanceRunningGangReader:
    """Reads gangs that run; knows the levels of the network, and the names of other gangs."""

    def __init__(self, names: UniqueNameCheck, levels: Collection[str]) -> None:
        self._names = names
        self._levels = levels
        self._gangs: dict[NamespacedName, tuple[RunningGang, DocumentLocation]] = {}
        self._members: set[NamespacedName] = set()

    def add(self, part: RunningGangPart, place: DocumentLocation) -> None:
        """Read one gang; the running pods say which of them are in it."""
        levels = read_gang_level_rules(part, self._levels, place)
        gang = RunningGang(part.name, part.namespace, node_gather_level_if_required(part), levels)
        if self._names.take(gang.key, place):
            self._gangs[gang.key] = gang, place

    def member(self, part: RunningPodPart, place: DocumentLocation) -> None:
        """Note that a running pod is in the gang that it names, which is of its namespace."""
        if part.gang is None:
            return
        self._members.add((part.namespace, part.gang))
        if (part.namespace, part.gang) not in self._gangs:
            place.at("gang").fault(
                f"no gang {in_quotes(part.gang)} is given under 'runningGangs'",
                name=part.gang,
                known=[name for namespace, name in self._gangs if namespace == part.namespace],
            )

    def finish(self) -> tuple[RunningGang, ...]:
        """Return the gangs once every running pod has been noted; each must have a member."""
        misspelt = self._members - self._gangs.keys()
        for key, (_, place) in self._gangs.items():
            if key not in self._members and not misspelt:
                what = f"no running pod is in it; say 'gang: {key[1]}' at its pods, or delete it"
                place.at("name").fault(what)
        return tuple(gang for gang, _ in self._gangs.values())


def node_gather_level_if_required(part: GangTopologyPart) -> GatherLevel | None:
    """Return `GatherLevel.NODE` if the gang must be on one node, else None."""
    return GatherLevel.NODE if part.gather and NODE_LEVEL in part.gather.required else None


def read_gang_level_rules(
    part: GangTopologyPart, known: Collection[str], place: DocumentLocation
) -> tuple[GangNetworkLevelRule, ...]:
    """Return what a gang asks of levels; that it must be on one node is not among it."""
    gathered: set[str] = set()
    rules = []
    for rule, at in _written(part, place):
        gathers = rule.grouping is GangNetworkLevelRuleKind.GATHER
        if rule.level not in known:
            message = f"no node belongs to a {in_quotes(rule.level)}"
            if len(known) == 1:
                message += "; give levels by 'networkTopology', or by 'domains' at the nodes"
            at.fault(message, name=rule.level, known=known)
        elif gathers and rule.level in gathered:
            at.fault(f"{in_quotes(rule.level)} is asked for twice; keep one of them")
        elif rule.level != NODE_LEVEL or not gathers or not rule.required:
            rules.append(rule)
        gathered |= {rule.level} if gathers else set()
    return tuple(rules)


def _written(
    part: GangTopologyPart, place: DocumentLocation
) -> Iterator[tuple[GangNetworkLevelRule, DocumentLocation]]:
    """Yield the rules in the order in which files are written."""
    for strength in (RequiredOrPreferred.REQUIRED, RequiredOrPreferred.PREFERRED):
        levels = getattr(part.gather, strength.value) if part.gather else ()
        for level in levels:
            yield (
                GangNetworkLevelRule(level, GangNetworkLevelRuleKind.GATHER, strength),
                place.at("gather"),
            )
    for strength in (RequiredOrPreferred.REQUIRED, RequiredOrPreferred.PREFERRED):
        counts: Mapping[str, int] = getattr(part.spread, strength.value) if part.spread else {}
        for level, count in counts.items():
            at = place.at("spread", strength.value, level)
            yield GangNetworkLevelRule(level, GangNetworkLevelRuleKind.SPREAD, strength, count), at
    for level, count in part.multiples.items():
        yield (
            GangNetworkLevelRule(level, GangNetworkLevelRuleKind.MULTIPLES, count=count),
            place.at("multiples", level),
        )


def lone_pod_to_dict(gang: Gang) -> Json:
    """Return a pod that waits by itself."""
    rank = WaitingPodPart.written(
        namespace=gang.namespace, priority=gang.priority, weight=gang.weight
    )
    return {**pod_to_dict(gang.pods[0]), **rank}


def gang_to_dict(gang: Gang) -> Json:
    """Return a gang with all its members."""
    return GangPart.written(
        name=gang.name,
        namespace=gang.namespace,
        minimum=gang.minimum,
        priority=gang.priority,
        weight=gang.weight,
        **_levels(gang),
        pods=[pod_to_dict(pod) for pod in gang.pods],
    )


def group_to_dict(group: GangGroup) -> Json:
    """Return a gang group."""
    gangs = ["/".join(key) for key in group.gangs]
    return GangGroupPart.written(name=group.name, namespace=group.namespace, gangs=gangs)


def running_gang_to_dict(gang: RunningGang) -> Json:
    """Return what running pods that name the gang ask of each other's places."""
    return RunningGangPart.written(name=gang.name, namespace=gang.namespace, **_levels(gang))


def _levels(gang: Gang | RunningGang) -> Json:
    """Return what the gang asks of levels of the network, by field of the schema."""
    gather: dict[str, list[str]] = {"required": [gang.gather.value]} if gang.gather else {}
    spread: dict[str, dict[str, int]] = {}
    multiples: dict[str, int] = {}
    for rule in gang.levels:
        match rule.grouping:
            case GangNetworkLevelRuleKind.GATHER:
                gather.setdefault(rule.strength.value, []).append(rule.level)
            case GangNetworkLevelRuleKind.SPREAD:
                spread.setdefault(rule.strength.value, {})[rule.level] = rule.count
            case GangNetworkLevelRuleKind.MULTIPLES:
                multiples[rule.level] = rule.count
    on_one_node = gather == {"required": [NODE_LEVEL]}
    return {
        "gather": NODE_LEVEL if on_one_node else gather or None,
        "spread": spread or None,
        "multiples": multiples,
    }
