"""Pods in files, read and written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from placer_models.files.faults import DocumentLocation, FileFaults
from placer_models.files.part import Json, check_name
from placer_models.host_ports import HostPort
from placer_models.instance.affinity import (
    file_location_of_term_level,
    node_affinity_to_dict,
    pod_affinity_to_dict,
    read_affinity_terms,
    read_node_affinity,
    read_spread_constraints,
    spread_to_list,
)
from placer_models.instance.cpu_policies import (
    pod_cpu_policies_to_dict,
    read_bind_policy,
    read_constrained_burst,
    read_exclusive_policy,
    with_cpu_limits,
)
from placer_models.instance.device_strategies import read_device_strategies
from placer_models.instance.functions import read_function_selectors
from placer_models.instance.joint import joint_allocation_to_dict, read_joint_allocation
from placer_models.instance.requests import (
    InstanceRequestsReader,
    device_type_of_written_name,
    requests_to_dict,
)
from placer_models.instance.schema import ContainerPart, GangMemberPart, PodSpecPart, VariantPart
from placer_models.instance.wish_schema import HostPortPart, TolerationPart
from placer_models.legal import PodSpecFault, spec_faults
from placer_models.limits import NO_LIMITS, ContainerLimits, PodLimits
from placer_models.message_text import in_quotes
from placer_models.placement import NamespacedName
from placer_models.pod import (
    Container,
    ContainerRole,
    Pod,
    PodSpec,
    Resources,
    Variant,
    without_devices,
)
from placer_models.policy import (
    AlignmentScope,
    BindPolicy,
    DeviceChoicePolicy,
    QosClass,
    SameTypeDevicesScope,
)
from placer_models.reasons import Illegal

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


class UniqueNameCheck:
    """The keys given so far of one kind of thing, and where each is given."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._given: dict[NamespacedName, DocumentLocation] = {}

    def take(self, key: NamespacedName, place: DocumentLocation) -> bool:
        """Note the key; a second one of the same name is a fault."""
        first = self._given.get(key)
        if first is not None:
            name = key[1] if key[0] in ("", "default") else "/".join(key)
            place.at("name").fault(
                f"a {self._kind} {in_quotes(name)} is already given at {first.where}; rename one"
            )
            return False
        self._given[key] = place
        return True


class InstancePodReader:
    """Reads pods, waiting or running; keeps their names apart.

    Attributes:
        illegal: Keys of the illegal pods that wait, and what is wrong with each.

    """

    def __init__(
        self,
        requests: InstanceRequestsReader,
        *,
        on_arm_alone: bool,
        device_choice: DeviceChoicePolicy | None = None,
        skip_illegal: bool = False,
    ) -> None:
        """Begin with no pod read.

        Args:
            requests: Reads what containers ask for.
            on_arm_alone: Whether all nodes are ARM.
            device_choice: The choice of pods with shares that give none themselves.
            skip_illegal: Whether pods that can be read, and ask for what no pod may ask for, are
                no faults.

        """
        self.illegal: dict[NamespacedName, Illegal] = {}
        self._skip_illegal = skip_illegal
        self._requests = requests
        self._device_choice = device_choice
        self._on_arm_alone = on_arm_alone
        self._names = UniqueNameCheck("pod")
        self._uids: dict[str, DocumentLocation] = {}
        self._count = 0

    def spec(
        self, part: PodSpecPart, place: DocumentLocation, *, on_arm_alone: bool = False
    ) -> tuple[PodSpec, PodLimits]:
        """Return what decides where the pod can go, and what it may use there at most.

        Args:
            part: The pod as it is written.
            place: Where it is written.
            on_arm_alone: Whether all nodes that it could go to are ARM.

        """
        containers, limits = self._containers(part, place)
        cpu_limits = tuple(limit.cpu_milli for limit in limits)
        qos = part.qos
        if qos is None:
            asked = any(c.requests != Resources() for c in containers)
            qos = QosClass.LS if asked else QosClass.BE
        is_burst = read_constrained_burst(part, containers, cpu_limits, qos, place)
        if is_burst:
            containers = with_cpu_limits(containers, cpu_limits)
        bind, strength = read_bind_policy(part)
        exclusive, apart = read_exclusive_policy(part)
        for field, said in (
            ("cpuBindPolicy", bind is not BindPolicy.DEFAULT),
            ("cpuLocality", part.cpu_locality != ()),
        ):
            if said and not qos.owns_cpus:
                why = "" if part.qos else ", for none is given"
                place.at(field).fault(
                    f"the qos of this pod is {qos}{why}; "
                    f"{field} needs CPUs of its own: qos LSE or LSR",
                    illegal=True,
                )
        if part.numa_scope is AlignmentScope.CONTAINER and any(
            asked.share for c in containers for asked in c.requests.devices
        ):
            place.at("numaScope").fault(
                "shares of devices are not parted among containers yet; ask for whole "
                "devices, or leave it out",
                illegal=True,
            )
        variants = self._variants(part, cpu_limits if is_burst else (), place)
        asking = [containers, *(one.containers for one in variants)]
        joint = read_joint_allocation(
            part.joint_allocate,
            {d.type for container in containers for d in container.requests.devices},
            place.at("jointAllocate"),
        )
        scopes = self._scopes(part, [c for those in asking for c in those], place)
        shares = any(d.share for those in asking for c in those for d in c.requests.devices)
        spec = PodSpec(
            containers=containers,
            qos=qos,
            bind=bind,
            bind_strength=strength,
            alignment=part.numa_policy,
            node_selector=tuple(sorted(part.node_selector.items())),
            node_affinity=read_node_affinity(part.node_affinity),
            tolerations=tuple(written.toleration for written in part.tolerations),
            labels=tuple(sorted(part.labels.items())),
            affinity=read_affinity_terms(part),
            spread=read_spread_constraints(part.topology_spread),
            functions=read_function_selectors(
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
            strategies=read_device_strategies(
                part.allocate_strategy,
                containers,
                joint,
                dict(scopes),
                part.numa_scope,
                place.at("allocateStrategy"),
            ),
            device_choice=part.device_choice or (self._device_choice if shares else None),
            host_ports=_host_ports(part, place),
            variants=self._going_with(variants, containers, part, place),
        )
        limited = replace(spec, containers=with_cpu_limits(containers, cpu_limits))
        for fault in spec_faults(limited, on_arm_alone=on_arm_alone):
            at = _place_of(fault, part, place)
            # The limit of a container may have been said to be wrong in the words of files.
            if not at.faults.found_at(at):
                at.fault(_message_of(fault, part), illegal=True)
        return spec, tuple(
            (container.name, limit)
            for container, limit in zip(containers, limits, strict=True)
            if limit != NO_LIMITS
        )

    def _variants(
        self, part: PodSpecPart, cpu_limits: Sequence[int | None], place: DocumentLocation
    ) -> tuple[Variant, ...]:
        """Return what the pod asks for on some nodes."""
        found = []
        for i, written in enumerate(part.variants):
            at = place.at("variants", i, "containers")
            containers, _ = self._listed_containers(written.containers, at)
            limited = with_cpu_limits(containers, cpu_limits) if cpu_limits else containers
            labels = tuple(sorted(written.node_labels.items()))
            found.append(Variant(labels, limited))
        return tuple(found)

    def _going_with(
        self,
        variants: tuple[Variant, ...],
        containers: tuple[Container, ...],
        part: PodSpecPart,
        place: DocumentLocation,
    ) -> tuple[Variant, ...]:
        """Return the variants that go with all else that the pod asks for."""
        at = place.at("variants")
        if variants and part.allocate_strategy:
            at.fault("allocateStrategy says how many devices, too; keep one of them", illegal=True)
            return ()
        found = []
        for i, one in enumerate(variants):
            if without_devices(one.containers) == without_devices(containers):
                found.append(one)
                continue
            at.at(i).fault(
                "it differs from the pod in more than devices; write the same containers, with "
                "the same CPU, memory and limits",
                illegal=True,
            )
        return tuple(found)

    def spec_or_illegal(
        self, part: PodSpecPart, place: DocumentLocation, *, on_arm_alone: bool = False
    ) -> tuple[PodSpec, PodLimits, Illegal | None]:
        """Return the same, and what is illegal about the pod.

        That is no fault if such pods are to be skipped. What cannot be read always is one.
        """
        own = FileFaults([place.document], most=None)
        spec, limits = self.spec(part, replace(place, faults=own), on_arm_alone=on_arm_alone)
        error = own.only_illegal()
        if error is None or not self._skip_illegal:
            own.hand_over(place.faults)
        if error is None:
            return spec, limits, None
        more = f" (and {error.more} more)" if error.more else ""
        where = f"{error.file}:{error.line}"
        return spec, limits, Illegal(error.field, f"{error.message}{more}", where)

    def _scopes(
        self, part: PodSpecPart, containers: Sequence[Container], place: DocumentLocation
    ) -> tuple[tuple[str, SameTypeDevicesScope], ...]:
        """Return the scope of each device type that the pod asks for."""
        asked = {request.type for c in containers for request in c.requests.devices}
        scopes: dict[str, SameTypeDevicesScope] = {}
        for written, scope in part.required_topology_scope.items():
            kind = device_type_of_written_name(written)
            if kind not in asked:
                place.at("requiredTopologyScope", written).fault(
                    f"this pod asks for no {in_quotes(written)}; a scope is for what it asks for",
                    illegal=True,
                )
            elif kind in scopes:
                place.at("requiredTopologyScope", written).fault(
                    f"the scope of {kind} is given twice; keep one", illegal=True
                )
            scopes[kind] = scope
        return tuple(sorted(scopes.items()))

    def members(
        self, part: GangMemberPart, namespace: str, place: DocumentLocation
    ) -> tuple[Pod, ...]:
        """Return the pods of one template."""
        self._count += part.replicas or 1
        if self._count > MAX_PODS:
            place.at("replicas").fault(f"the pods are more than {MAX_PODS:,}; ask for fewer")
            return ()
        spec, limits, illegal = self.spec_or_illegal(part, place, on_arm_alone=self._on_arm_alone)
        uid = self.uid(part, place)
        names = [part.name]
        if part.replicas is not None:
            if uid:
                place.at("uid").fault("is that of one pod; write replicas one by one, or leave it")
            names = [f"{part.name}-{i}" for i in range(part.replicas)]
            place.at("name").parsed(check_name, names[-1], "")  # the longest of them
        pods = []
        for name in names:
            if not self.take(namespace, name, place):
                break
            pods.append(Pod(name, namespace, spec, limits, uid))
            if illegal:
                self.illegal[namespace, name] = illegal
        return tuple(pods)

    def uid(self, part: PodSpecPart, place: DocumentLocation) -> str:
        """Return the uid of a pod, empty if it has none; two pods of one uid are a fault."""
        if not part.uid:
            return ""
        at = place.at("uid")
        if (first := self._uids.setdefault(part.uid, at)) is not at:
            at.fault(
                f"a pod of uid {in_quotes(part.uid)} is already given at {first.where}; "
                "a pod has one of its own"
            )
        return part.uid

    def take(self, namespace: str, name: str, place: DocumentLocation) -> bool:
        """Note the name of a pod; a second one of the same name is a fault."""
        return self._names.take((namespace, name), place)

    def _containers(
        self, part: PodSpecPart, place: DocumentLocation
    ) -> tuple[tuple[Container, ...], tuple[ContainerLimits, ...]]:
        """Return the containers and the limits of each."""
        if not part.containers:
            requests, limit = self._requests.read(part.requests, part.limits, part.shares, place)
            return (Container(ONLY_CONTAINER, requests),), (limit,)
        for field in ("requests", "limits", "shares"):
            if getattr(part, field):
                place.at(field).fault("the pod has containers; write it at each container")
        return self._listed_containers(part.containers, place.at("containers"))

    def _listed_containers(
        self, parts: Sequence[ContainerPart], place: DocumentLocation
    ) -> tuple[tuple[Container, ...], tuple[ContainerLimits, ...]]:
        """Return the containers of a list, and the limits of each."""
        containers, limits = [], []
        for i, part in enumerate(parts):
            requests, limit = self._requests.read(
                part.requests, part.limits, part.shares, place.at(i)
            )
            containers.append(Container(part.name, requests, part.role))
            limits.append(limit)
        return tuple(containers), tuple(limits)


def _host_ports(part: PodSpecPart, place: DocumentLocation) -> tuple[HostPort, ...]:
    """Return the ports of the node that the pod asks for."""
    ports: list[HostPort] = []
    for i, written in enumerate(part.host_ports):
        if written.host_port in ports:
            place.at("hostPorts", i).fault(
                f"the port {written.host_port} is asked for twice; keep one"
            )
        ports.append(written.host_port)
    return tuple(sorted(ports))


def _place_of(fault: PodSpecFault, part: PodSpecPart, place: DocumentLocation) -> DocumentLocation:
    """Return the place of the field of a spec that is at fault."""
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
            return file_location_of_term_level(part, index, place)
        case (str(name), *_):
            return place.at(_FILE_FIELDS.get(name, name))
    return place


def _message_of(fault: PodSpecFault, part: PodSpecPart) -> str:
    """Return what is wrong with a spec in the words of files."""
    name = str(fault.field[0])
    given = "" if part.qos else ", for none is given"
    return fault.message.replace(
        f"; {name} needs", f"{given}; {_FILE_FIELDS.get(name, name)} needs"
    )


def pod_to_dict(pod: Pod) -> Json:
    """Return what a pod asks for, and its limits; its namespace is written by the caller."""
    spec, limits = pod.spec, dict(pod.limits)
    only = spec.containers[0]
    if spec.containers == (replace(only, name=ONLY_CONTAINER, role=ContainerRole.APP),):
        asked = PodSpecPart.written(**_requests(only, limits))
    else:
        asked = {"containers": [_container_to_dict(c, limits) for c in spec.containers]}
    return {
        **PodSpecPart.written(name=pod.name, qos=spec.qos),
        **asked,
        **pod_cpu_policies_to_dict(spec),
        **PodSpecPart.written(
            numa_policy=spec.alignment,
            numa_scope=spec.scope,
            node_selector=dict(spec.node_selector),
            node_affinity=node_affinity_to_dict(spec.node_affinity),
            tolerations=[
                TolerationPart.written(
                    key=one.key, operator=one.operator, value=one.value, effect=one.effect
                )
                for one in spec.tolerations
            ],
            labels=dict(spec.labels),
        ),
        **pod_affinity_to_dict(spec),
        **PodSpecPart.written(
            topology_spread=spread_to_list(spec.spread),
            vf_selector={kind: dict(wish) for kind, wish in spec.functions},
            joint_allocate=joint_allocation_to_dict(spec.joint),
            allocate_strategy=dict(spec.strategies),
            variants=[
                {
                    **VariantPart.written(node_labels=dict(one.labels)),
                    "containers": [_container_to_dict(c, limits) for c in one.containers],
                }
                for one in spec.variants
            ],
            device_choice=spec.device_choice,
            required_topology_scope=dict(spec.scopes),
            host_ports=[
                HostPortPart.written(port=one.port, protocol=one.protocol, host_ip=one.ip)
                for one in spec.host_ports
            ],
            uid=pod.uid or None,
        ),
    }


def _container_to_dict(container: Container, limits: Mapping[str, ContainerLimits]) -> Json:
    asked = _requests(container, limits)
    return {
        **ContainerPart.written(name=container.name, role=container.role),
        "requests": asked["requests"],
        **ContainerPart.written(limits=asked["limits"], shares=asked["shares"]),
    }


def _requests(container: Container, limits: Mapping[str, ContainerLimits]) -> Json:
    return requests_to_dict(container, limits.get(container.name, NO_LIMITS))
