"""Machine files as they are written: reading one back gives the same machine."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from placer_models.cluster import Machine
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.device import Device, GpuLinkMatrix
from placer_models.files.part import Json
from placer_models.instance.device_quantities import device_capacity_to_plain_value
from placer_models.instance.functions import virtual_function_groups_to_list
from placer_models.instance.machine_cores import ThreadNumbering, cores_of_numbered_cpus
from placer_models.instance.machine_links import SELF
from placer_models.instance.machine_partitions import write_partitions
from placer_models.policy import HybridCoreKind
from placer_models.quantity import format_bytes
from placer_models.topology import Topology


def machine_to_dict(machine: Machine, name: str) -> Json:
    """Return the machine under a name, without ``apiVersion`` and ``kind``."""
    topology = machine.topology
    written: Json = {"name": name, "title": machine.title, "architecture": topology.architecture}
    put = written.update
    put(_given(sources=list(machine.sources), notes=machine.notes))
    put(_numa_nodes(machine))
    put({"cores": _cores(topology)})
    put(_given(llcs=_caches(topology)))
    offline = frozenset(topology.cpu) - topology.online
    put(_given(offlineCpus=format_cpu_list(offline)))
    put(_given(numaDistances=[list(row) for row in topology.numa_distances]))
    put(_given(devices=[_block(list(run)) for _, run in groupby(machine.devices, _alike)]))
    if machine.gpu_links is not None:
        put(gpuLinks=_links(machine.gpu_links))
    put(_given(partitions=write_partitions(machine.partitions)))
    return written


def _given(**fields: object) -> Json:
    """Return the fields that are not empty."""
    return {name: value for name, value in fields.items() if value not in ("", [], {}, None)}


def _numa_nodes(machine: Machine) -> Json:
    topology = machine.topology
    cpus_of: dict[int | None, set[int]] = defaultdict(set)
    package_of: dict[int | None, int] = {}
    for device in machine.devices:
        if device.numa_node is not None and device.package is not None:
            package_of[device.numa_node] = device.package
    for cpu in topology.cpus:
        cpus_of[cpu.numa_node].add(cpu.id)
        package_of[cpu.numa_node] = cpu.package
    nodes = [
        {
            "id": node.id,
            "package": package_of.get(node.id, 0),
            "memory": format_bytes(node.memory_bytes),
            **_given(cpus=format_cpu_list(cpus_of[node.id])),
            **_given(hugepages={format_bytes(h.page_bytes): h.count for h in node.hugepages}),
        }
        for node in topology.numa_nodes
    ]
    written: Json = {"numaNodes": nodes}
    if cpus_of[None]:
        loose = {"package": package_of[None], "cpus": format_cpu_list(cpus_of[None])}
        written["cpusWithoutNumaNode"] = [loose]
    by_package: dict[int, set[int]] = defaultdict(set)
    for cpu in topology.cpus:
        by_package[cpu.package].add(cpu.id)
    if any(cpu.package != package_of[cpu.numa_node] for cpu in topology.cpus):
        written["packages"] = [
            {"id": package, "cpus": format_cpu_list(cpus)} for package, cpus in by_package.items()
        ]
    return written


def _cores(topology: Topology) -> list[Json]:
    """Return the cores by kind, as a regular set of CPUs where they form one."""
    threads: dict[tuple[HybridCoreKind, int], set[int]] = defaultdict(set)
    for cpu in topology.cpus:
        threads[cpu.kind, cpu.core].add(cpu.id)
    written: list[Json] = []
    for kind in HybridCoreKind:
        cores = sorted((frozenset(ids) for (k, _), ids in threads.items() if k is kind), key=min)
        if cores:
            word = {} if kind is HybridCoreKind.PERFORMANCE else {"kind": kind.value}
            written.append({**_shape(cores), **word})
    return written


def _shape(cores: Sequence[CpuSet]) -> Json:
    width = len(cores[0])
    cpus = frozenset[int]().union(*cores)
    if len(cpus) == width * len(cores):
        for numbering in ThreadNumbering:
            if cores_of_numbered_cpus(cpus, width, numbering) == list(cores):
                how = {} if numbering is ThreadNumbering.STRIDED else {"numbering": numbering.value}
                return {"cpus": format_cpu_list(cpus), "threadsPerCore": width, **how}
    return {"threads": [format_cpu_list(core) for core in cores]}


def _caches(topology: Topology) -> list[str]:
    caches: dict[int, set[int]] = defaultdict(set)
    for cpu in topology.cpus:
        if cpu.llc is not None:
            caches[cpu.llc].add(cpu.id)
    return [format_cpu_list(cpus) for cpus in sorted(caches.values(), key=min)]


def _alike(device: Device) -> tuple[object, ...]:
    """Return what devices must have in common to be in one block."""
    labels = tuple(vf.labels for vf in device.virtual_functions)
    return device.type, device.model, device.memory_bytes, device.capacity, labels


def _block(devices: Sequence[Device]) -> Json:
    first = devices[0]
    functions = [[vf.bus_id for vf in device.virtual_functions] for device in devices]
    return {
        "type": first.type,
        "count": len(devices),
        "minors": format_cpu_list(device.minor for device in devices),
        **_given(model=first.model),
        "memory": format_bytes(first.memory_bytes),
        **_given(capacity={q.name: device_capacity_to_plain_value(q) for q in first.capacity}),
        **_each("numaNodes", [device.numa_node for device in devices]),
        **_each("pcieSwitches", [device.pcie_switch for device in devices]),
        **_each("pcieRoots", [device.pcie_root for device in devices]),
        **_each("ids", [device.id for device in devices]),
        **_each("busIds", [device.bus_id for device in devices]),
        **_given(unhealthy=[device.minor for device in devices if not device.healthy]),
        **(
            {"vfGroups": groups}
            if (groups := virtual_function_groups_to_list(first.virtual_functions))
            else _given(virtualFunctions=len(functions[0]) or None)
        ),
        **_each("virtualFunctionBusIds", functions),
    }


def _each(name: str, values: Sequence[object]) -> Json:
    """Return one value for each device, or nothing if no device has one."""
    return {name: list(values)} if any(value not in ("", None, []) for value in values) else {}


def _links(links: GpuLinkMatrix) -> Json:
    """Return the matrix; a kind of several bandwidths is split into one kind for each of them."""
    rates: dict[str, set[int]] = defaultdict(set)
    cells = [
        [(kind, rate) for kind, rate in zip(kinds, row, strict=True)]
        for kinds, row in zip(links.kinds, links.centi_gb_per_s, strict=True)
    ]
    for i, row in enumerate(cells):
        for j, (kind, rate) in enumerate(row):
            if i != j:
                rates[kind].add(rate)
    words = {
        (kind, rate): "-".join((kind or "link").split())
        + (f"@{rate / 100:g}" if len(all_) > 1 else "")
        for kind, all_ in rates.items()
        for rate in all_
    }
    rows = [
        " ".join(SELF if i == j else words[cell] for j, cell in enumerate(row))
        for i, row in enumerate(cells)
    ]
    return {
        "bandwidth": {word: rate / 100 for (_, rate), word in sorted(words.items())},
        **({"sharedEgress": True} if links.shared_egress else {}),
        "matrix": "\n".join(rows) + "\n",
    }
