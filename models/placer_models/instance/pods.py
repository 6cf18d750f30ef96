"""Turns what files say about pods and gangs into the words."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from placer_models.files.errors import counted, shown
from placer_models.files.faults import Place
from placer_models.files.part import check_name
from placer_models.instance.affinity import affinity_terms, place_of_term
from placer_models.instance.burst import policy_of, read_burst, with_limits
from placer_models.instance.functions import read_selectors
from placer_models.instance.joint import read_joint
from placer_models.instance.network import gather_of, level_rules
from placer_models.instance.requests import RequestReader, device_type_of
from placer_models.instance.schema import GangGroupPart, GangPart, MemberPart, PodPart, SpecPart
from placer_models.instance.strategies import read_strategies
from placer_models.legal import SpecFault, spec_faults
from placer_models.limits import NO_LIMITS, Limits, PodLimits
from placer_models.pod import Container, Gang, GangGroup, Pod, PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    AlignmentScope,
    BindPolicy,
    DeviceChoice,
    DeviceScope,
    ExclusivePolicy,
    QosClass,
    Strength,
)

MAX_PODS = 200_000
"""Most pods in an instance."""

ONLY_CONTAINER = "main"
"""Name of the container of a pod that is written without containers."""

_FILE_FIELDS = {
    "bind": "cpuBindPolicy",
    "constrained_burst": "cpuBindPolicy",
    "device_choice": "deviceChoice",
    "exclusive": "cpuExclusivePolicy",
    "scopes": "requiredTopologyScope",
}
"""Field of a spec -> field of files, where they differ."""

Key = tuple[str, str]


class Names:
    """The keys given so far of one kind of thing, and where."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._given: dict[Key, Place] = {}

    def take(self, key: Key, place: Place) -> bool:
        """Note the key; a second one of the same name is a fault."""
        first = self._given.get(key)
        if first is not None:
            name = key[1] if key[0] in ("", "default") else "/".join(key)
            place.at("name").fault(
                f"a {self._kind} {shown(name)} is already given at {first.where}; rename one"
            )
            return False
        self._given[key] = place
        return True


class PodReader:
    """Reads pods, waiting or running; keeps their names apart."""

    def __init__(
        self,
        requests: RequestReader,
        *,
        on_arm_alone: bool,
        device_choice: DeviceChoice | None = None,
    ) -> None:
        """Begin with no pod read.

        Args:
            requests: Reads what containers ask for.
            on_arm_alone: No node is of another architecture.
            device_choice: That of pods with shares that say nothing.

        """
        self._requests = requests
        self._device_choice = device_choice
        self._on_arm_alone = on_arm_alone
        self._names = Names("pod")
        self._count = 0

    def spec(
        self, part: SpecPart, place: Place, *, on_arm_alone: bool = False
    ) -> tuple[PodSpec, PodLimits]:
        """Return what decides where the pod can go, and what it may use there at most.

        Args:
            part: As it is written.
            place: Where.
            on_arm_alone: There is no node of another architecture that it could go to.

        """
        containers, limits = self._containers(part, place)
        cpu_limits = tuple(limit.cpu_milli for limit in limits)
        qos = part.qos
        if qos is None:
            asked = any(c.requests != Resources() for c in containers)
            qos = QosClass.LS if asked else QosClass.BE
        bind, strength = BindPolicy.DEFAULT, Strength.PREFERRED
        is_burst = read_burst(part, containers, cpu_limits, qos, place)
        if is_burst:
            containers = with_limits(containers, cpu_limits)
        elif part.cpu_bind_policy and part.cpu_bind_policy.required:
            bind, strength = policy_of(part.cpu_bind_policy.required), Strength.REQUIRED
        elif part.cpu_bind_policy and part.cpu_bind_policy.preferred:
            bind = policy_of(part.cpu_bind_policy.preferred)
        exclusive, apart = ExclusivePolicy.NONE, Strength.PREFERRED
        if part.cpu_exclusive_policy and part.cpu_exclusive_policy.required:
            exclusive, apart = part.cpu_exclusive_policy.required, Strength.REQUIRED
        elif part.cpu_exclusive_policy and part.cpu_exclusive_policy.preferred:
            exclusive = part.cpu_exclusive_policy.preferred
        for field, said in (
            ("cpuBindPolicy", bind is not BindPolicy.DEFAULT),
            ("cpuLocality", part.cpu_locality != ()),
        ):
            if said and not qos.owns_cpus:
                why = "" if part.qos else ", for none is given"
                place.at(field).fault(
                    f"the qos of this pod is {qos}{why}; {field} needs CPUs of its own: "
                    "qos LSE or LSR"
                )
        if part.numa_scope is AlignmentScope.CONTAINER and any(
            asked.share for c in containers for asked in c.requests.devices
        ):
            place.at("numaScope").fault(
                "shares of devices are not parted among containers yet; ask for whole "
                "devices, or leave it out"
            )
        joint = read_joint(
            part.joint_allocate,
            {d.type for container in containers for d in container.requests.devices},
            place.at("jointAllocate"),
        )
        scopes = self._scopes(part, containers, place)
        shares = any(asked.share for c in containers for asked in c.requests.devices)
        spec = PodSpec(
            containers=containers,
            qos=qos,
            bind=bind,
            bind_strength=strength,
            alignment=part.numa_policy or AlignmentPolicy.NONE,
            node_selector=tuple(sorted(part.node_selector.items())),
            labels=tuple(sorted(part.labels.items())),
            affinity=affinity_terms(part),
            functions=read_selectors(
                part.vf_selector,
                {d.type for c in containers for d in c.requests.devices if d.share},
                place.at("vfSelector"),
            ),
            joint=joint,
            scopes=scopes,
            locality=part.cpu_locality,
            exclusive=exclusive,
            exclusive_strength=apart,
            scope=part.numa_scope,
            constrained_burst=is_burst,
            strategies=read_strategies(
                part.allocate_strategy,
                containers,
                joint,
                dict(scopes),
                part.numa_scope,
                place.at("allocateStrategy"),
            ),
            device_choice=part.device_choice or (self._device_choice if shares else None),
        )
        limited = replace(spec, containers=with_limits(containers, cpu_limits))
        for fault in spec_faults(limited, on_arm_alone=on_arm_alone):
            _place_of(fault, part, place).fault(_message_of(fault, part))
        return spec, tuple(
            (container.name, limit)
            for container, limit in zip(containers, limits, strict=True)
            if limit != NO_LIMITS
        )

    def _scopes(
        self, part: SpecPart, containers: Sequence[Container], place: Place
    ) -> tuple[tuple[str, DeviceScope], ...]:
        """Return the scope of each device type that the pod asks for."""
        asked = {request.type for c in containers for request in c.requests.devices}
        scopes: dict[str, DeviceScope] = {}
        for written, scope in part.required_topology_scope.items():
            kind = device_type_of(written)
            if kind not in asked:
                place.at("requiredTopologyScope", written).fault(
                    f"this pod asks for no {shown(written)}; a scope is for what it asks for"
                )
            elif kind in scopes:
                place.at("requiredTopologyScope", written).fault(
                    f"the scope of {kind} is given twice; keep one"
                )
            scopes[kind] = scope
        return tuple(sorted(scopes.items()))

    def members(self, part: MemberPart, namespace: str, place: Place) -> tuple[Pod, ...]:
        """Return the pods of one template."""
        self._count += part.replicas or 1
        if self._count > MAX_PODS:
            place.at("replicas").fault(f"the pods are more than {MAX_PODS:,}; ask for fewer")
            return ()
        spec, limits = self.spec(part, place, on_arm_alone=self._on_arm_alone)
        names = [part.name]
        if part.replicas is not None:
            names = [f"{part.name}-{i}" for i in range(part.replicas)]
            self._check_longest(names[-1], place)
        pods = []
        for name in names:
            if not self.take(namespace, name, place):
                break
            pods.append(Pod(name, namespace, spec, limits))
        return tuple(pods)

    def take(self, namespace: str, name: str, place: Place) -> bool:
        """Note the name of a pod; a second one of the same name is a fault."""
        return self._names.take((namespace, name), place)

    def _check_longest(self, name: str, place: Place) -> None:
        try:
            check_name(name)
        except ValueError as error:
            place.at("name").fault(str(error))

    def _containers(
        self, part: SpecPart, place: Place
    ) -> tuple[tuple[Container, ...], tuple[Limits, ...]]:
        """Return the containers and the limits of each."""
        if not part.containers:
            requests, limit = self._requests.read(part.requests, part.limits, part.shares, place)
            return (Container(ONLY_CONTAINER, requests),), (limit,)
        for field in ("requests", "limits", "shares"):
            if getattr(part, field):
                place.at(field).fault("the pod has containers; write it at each container")
        containers, limits = [], []
        for i, container in enumerate(part.containers):
            at = place.at("containers", i)
            requests, limit = self._requests.read(
                container.requests, container.limits, container.shares, at
            )
            containers.append(Container(container.name, requests, container.role))
            limits.append(limit)
        return tuple(containers), tuple(limits)


def _place_of(fault: SpecFault, part: SpecPart, place: Place) -> Place:
    """Return where a file says what is wrong with a spec."""
    match fault.field:
        case ("containers", int(index), *rest):
            at = place.at("containers", index) if part.containers else place
            match rest:
                case ["name"]:
                    return at.at("name")
                case ["cpu_limit_milli"]:
                    return at.at("limits", "cpu")
                case ["requests", "cpu_milli"]:
                    return at.at("requests", "cpu")
            return at
        case ("affinity", int(index), *_):
            return place_of_term(part, index, place)
        case (str(name), *_):
            return place.at(_FILE_FIELDS.get(name, name))
    return place


def _message_of(fault: SpecFault, part: SpecPart) -> str:
    """Return what is wrong with a spec in the words of files."""
    name = str(fault.field[0])
    given = "" if part.qos else ", for none is given"
    return fault.message.replace(
        f"; {name} needs", f"{given}; {_FILE_FIELDS.get(name, name)} needs"
    )


class GangReader:
    """Reads what waits: lone pods, gangs and gang groups.

    Attributes:
        names: Those of all gangs, which gangs that run may not have.

    """

    def __init__(self, pods: PodReader, levels: Collection[str]) -> None:
        self._pods = pods
        self._levels = levels
        self.names = Names("gang")
        self._gangs: dict[Key, Gang] = {}
        self._group_names = Names("gang group")
        self._group_of: dict[Key, str] = {}

    def lone(self, part: PodPart, place: Place) -> tuple[Gang, ...]:
        """Return a gang of its own for each pod of the template."""
        gangs = []
        for pod in self._pods.members(part, part.namespace, place):
            if self.names.take(pod.key, place):
                gangs.append(
                    Gang(pod.name, pod.namespace, (pod,), 1, part.priority, part.weight, lone=True)
                )
        return tuple(gangs)

    def gang(self, part: GangPart, place: Place) -> Gang:
        """Return the gang with all its members."""
        pods = tuple(
            pod
            for i, member in enumerate(part.pods)
            for pod in self._pods.members(member, part.namespace, place.at("pods", i))
        )
        minimum = len(pods) if part.minimum is None else part.minimum
        if minimum > len(pods):
            place.at("minimum").fault(
                f"got {minimum}; expected at most its {counted(len(pods), 'member')}"
            )
        gang = Gang(
            part.name,
            part.namespace,
            pods,
            minimum,
            part.priority,
            part.weight,
            gather_of(part),
            levels=level_rules(part, self._levels, place),
        )
        if self.names.take(gang.key, place):
            self._gangs[gang.key] = gang
        return gang

    def group(self, part: GangGroupPart, place: Place) -> GangGroup:
        """Return the gang group; its gangs have been read before."""
        self._group_names.take((part.namespace, part.name), place)
        keys: list[Key] = []
        for i, written in enumerate(part.gangs):
            namespace, slash, name = written.rpartition("/")
            key = (namespace if slash else part.namespace, name)
            at = place.at("gangs", i)
            if key not in self._gangs:
                known = (n if ns == part.namespace else f"{ns}/{n}" for ns, n in self._gangs)
                message = f"no gang {shown(written)} is given"
                at.fault(message, name=written, known=known)
            elif key in self._group_of:
                at.fault(
                    f"the gang {shown(written)} is in the group {shown(self._group_of[key])} "
                    "already; a gang is in one group at most"
                )
            else:
                self._group_of[key] = part.name
                keys.append(key)
        return GangGroup(part.name, part.namespace, tuple(keys))
