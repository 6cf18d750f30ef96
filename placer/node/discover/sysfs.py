"""CPUs, NUMA nodes and memory, from sysfs and procfs."""

import platform
import re

from placer.node.discover.inventory import DiscoveredCpu, DiscoveredNumaNode, HardwareInventory
from placer.node.discover.machine_files import CPU, NODE, NOT_A_DUMP, DiscoverMachineFiles
from placer_models.cpuset import MAX_CPU_ID, CpuSet
from placer_models.message_text import cpu_ids_with_noun
from placer_models.topology import Hugepages

_MEM_TOTAL = re.compile(r"MemTotal:\s*(\d{1,15}) kB")
_STATUS_LINE = "^{}:[ \t]*([0-9,-]*)$"
_CPUSETS_V1 = ("sys/fs/cgroup/cpuset", "dev/cpuset", "dev/cgroup/cpuset", "cgroup/cpuset")
_HYBRID_UNITS = {"cpu_core": False, "cpu_atom": True, "cpu_lowpower": True}
_ARCHITECTURES = (
    (r"CPU implementer\s*:", "aarch64"),
    (r"IBM/S390", "s390x"),
    (r"^cpu\s*:\s*(POWER|PPC)", "ppc64"),
    (r"^arch\s*:\s*IA-64", "ia64"),
    (r"^isa\s*:\s*rv64", "riscv64"),
    (r"(?i)loongson|loongarch", "loongarch64"),
    (r"(?i)sun4[uv]", "sparc64"),
    (r"^flags\s*:.*\blm\b", "x86_64"),
    (r"^vendor_id\s*:\s*(GenuineIntel|AuthenticAMD|HygonGenuine)", "x86_64"),
)
_MODEL_LINES = ("model name", "Model Name", "cpu model", "cpu", "processor 0")


def read_sysfs(files: DiscoverMachineFiles) -> HardwareInventory:
    """Return what the files say about a machine, without its devices.

    Raises:
        InputError: They show no machine, or a file is not what the kernel writes.

    """
    warnings: list[str] = []
    cpus = _cpus(files, warnings)
    if not cpus:
        raise files.wrong("", NOT_A_DUMP)
    cpuinfo = files.read("proc/cpuinfo") or ""
    allowed = _allowed(files, "Cpus_allowed_list", "cpus")
    return HardwareInventory(
        source=files.source,
        host=_host(files),
        architecture=_architecture(files, cpuinfo),
        model=_model(files, cpuinfo),
        cpus=cpus,
        numa_nodes=_numa_nodes(files),
        memory_bytes=_mem_total(files.read("proc/meminfo")),
        isolated=files.cpus(f"{CPU}/isolated") or frozenset(),
        nohz_full=files.cpus(f"{CPU}/nohz_full") or frozenset(),
        allowed_cpus=allowed,
        allowed_numa_nodes=_allowed(files, "Mems_allowed_list", "mems"),
        warnings=tuple(warnings),
    )


def _cpus(files: DiscoverMachineFiles, warnings: list[str]) -> tuple[DiscoveredCpu, ...]:
    folders = {i: at for i, at in files.numbered(CPU, "cpu").items() if i <= MAX_CPU_ID}
    listed = files.cpus(f"{CPU}/online")
    if listed is not None and (lost := listed - folders.keys()):
        warnings.append(
            f"{cpu_ids_with_noun(lost)}: online, but nothing else is said of them; left out"
        )
    efficient = _efficient(files)
    found = []
    for cpu, at in folders.items():
        switch = files.read(f"{at}/online")
        online = switch != "0" if listed is None else cpu in listed
        found.append(_cpu(files, cpu, at, online, efficient.get(cpu)))
    return tuple(found)


def _cpu(
    files: DiscoverMachineFiles, cpu: int, at: str, online: bool, efficient: bool | None
) -> DiscoveredCpu:
    topology = f"{at}/topology"
    threads = _siblings(files, topology, "core_cpus", "thread_siblings")
    numbers = [
        files.number(f"{topology}/{name}")
        for name in ("drawer_id", "book_id", "physical_package_id")
    ]
    return DiscoveredCpu(
        id=cpu,
        online=online,
        threads=None if threads is None else threads | {cpu},
        package=() if numbers[-1] is None else tuple(n for n in numbers if n is not None),
        package_cpus=_siblings(files, topology, "package_cpus", "core_siblings"),
        die=_siblings(files, topology, "die_cpus") if _has_die(files, topology) else None,
        llc=_last_level_cache(files, f"{at}/cache") if online else None,
        capacity=files.number(f"{at}/cpu_capacity"),
        efficient=efficient,
    )


def _siblings(files: DiscoverMachineFiles, topology: str, *names: str) -> CpuSet | None:
    """Return the first of these sets that exists; older kernels use older names."""
    for name in names:
        found = files.cpus(f"{topology}/{name}_list", f"{topology}/{name}")
        if found:
            return found
    return None


def _has_die(files: DiscoverMachineFiles, topology: str) -> bool:
    """Return whether the kernel knows the die: where it does not, it says -1."""
    return (files.number(f"{topology}/die_id") or 0) >= 0


def _last_level_cache(files: DiscoverMachineFiles, folder: str) -> CpuSet | None:
    """Return the CPUs that share the CPU's highest-level cache that holds data."""
    best: tuple[int, CpuSet] | None = None
    for at in files.numbered(folder, "index").values():
        level = files.number(f"{at}/level")
        if level is None or files.read(f"{at}/type") == "Instruction":
            continue
        if best is None or level > best[0]:
            shared = files.cpus(f"{at}/shared_cpu_list", f"{at}/shared_cpu_map")
            best = (level, shared) if shared else best
    return None if best is None else best[1]


def _efficient(files: DiscoverMachineFiles) -> dict[int, bool]:
    """Return CPU -> whether it is of an efficiency core, where the kernel tells kinds apart."""
    units = {name: files.cpus(f"sys/devices/{name}/cpus") for name in _HYBRID_UNITS}
    if sum(bool(cpus) for cpus in units.values()) < 2:
        return {}
    return {cpu: _HYBRID_UNITS[name] for name, cpus in units.items() for cpu in cpus or ()}


def _numa_nodes(files: DiscoverMachineFiles) -> tuple[DiscoveredNumaNode, ...]:
    of_gpu = _gpu_memory(files)
    found = []
    for node, at in files.numbered(NODE, "node").items():
        distance = files.read(f"{at}/distance") or ""
        if not re.fullmatch(r"[0-9\s]{0,65536}", distance):
            raise files.wrong(f"{at}/distance", "expected numbers such as 10 21")
        found.append(
            DiscoveredNumaNode(
                id=node,
                cpus=files.cpus(f"{at}/cpulist", f"{at}/cpumap") or frozenset(),
                memory_bytes=_mem_total(files.read(f"{at}/meminfo")),
                hugepages=_hugepages(files, f"{at}/hugepages"),
                distances=tuple(int(number[:9]) for number in distance.split()),
                of_gpu=node in of_gpu,
            )
        )
    return tuple(found)


def _hugepages(files: DiscoverMachineFiles, folder: str) -> tuple[Hugepages, ...]:
    found = []
    for name in files.names(folder):
        size = re.fullmatch(r"hugepages-([1-9][0-9]{0,12})kB", name)
        pages = files.number(f"{folder}/{name}/nr_hugepages") if size else None
        if size and pages and pages > 0:
            found.append(Hugepages(int(size[1]) * 1024, pages))
    return tuple(sorted(found, key=lambda pages: pages.page_bytes))


def _gpu_memory(files: DiscoverMachineFiles) -> CpuSet:
    """Return the NUMA nodes that are memory of NVIDIA's GPUs, as on POWER9 and Grace."""
    nodes = set()
    for gpu in files.names("proc/driver/nvidia/gpus"):
        status = files.read(f"proc/driver/nvidia/gpus/{gpu}/numa_status") or ""
        if match := re.search(r"^Node:\s*([0-9]{1,5})$", status, re.MULTILINE):
            nodes.add(int(match[1]))
    return frozenset(nodes)


def _mem_total(text: str | None) -> int | None:
    match = _MEM_TOTAL.search(text or "")
    return int(match[1]) * 1024 if match else None


def _allowed(files: DiscoverMachineFiles, line: str, name: str) -> CpuSet | None:
    """Return what the process that reads these files, or the shell that copied them, may use."""
    status = files.read("proc/self/status") or ""
    if match := re.search(_STATUS_LINE.format(line), status, re.MULTILINE):
        return files.cpus_of(match[1], "proc/self/status")
    for path, version in _cgroups(files):
        folders = (
            [f"sys/fs/cgroup{path}", f"sys/fs/cgroup/unified{path}"]
            if version == 2
            else [f"{mount}{path}" for mount in _CPUSETS_V1]
        )
        for folder in folders:
            for file in (
                f"cpuset.{name}.effective",
                f"cpuset.effective_{name}",
                f"cpuset.{name}",
                name,
            ):
                if found := files.cpus(f"{folder}/{file}"):
                    return found
    return None


def _cgroups(files: DiscoverMachineFiles) -> list[tuple[str, int]]:
    """Return the control groups whose cpuset applies to this process, with their version."""
    found = []
    for entry in (files.read("proc/self/cgroup") or "").splitlines():
        _, _, rest = entry.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers or "cpuset" in controllers.split(","):
            found.append((path.rstrip("/"), 1 if controllers else 2))
    cpuset = files.read("proc/self/cpuset")
    found += [] if cpuset is None else [(cpuset.rstrip("/"), 1)]
    return [(path, version) for path, version in found if ".." not in path]


def _host(files: DiscoverMachineFiles) -> str:
    if files.is_host:
        return platform.node()
    return files.read("proc/sys/kernel/hostname") or _gathered(files, "HostName")


def _architecture(files: DiscoverMachineFiles, cpuinfo: str) -> str:
    if files.is_host:
        return platform.machine()
    said = files.read("proc/sys/kernel/arch") or _gathered(files, "Architecture")
    if said:
        return said
    for pattern, architecture in _ARCHITECTURES:
        if re.search(pattern, cpuinfo, re.MULTILINE):
            return architecture
    return ""


def _gathered(files: DiscoverMachineFiles, key: str) -> str:
    """Return the value of a key that hwloc's tool for dumps wrote beside the dump."""
    text = files.read("proc/hwloc-nofile-info") or ""
    match = re.search(rf"^{key}: *(\S+)", text, re.MULTILINE)
    return match[1] if match else ""


def _model(files: DiscoverMachineFiles, cpuinfo: str) -> str:
    """Return what the machine is called, for people: the board's name and the processor's."""
    lines = {
        key.strip(): " ".join(value.split())
        for key, colon, value in (line.partition(":") for line in reversed(cpuinfo.splitlines()))
        if colon
    }
    processor = next((lines[key] for key in _MODEL_LINES if lines.get(key)), "")
    product = ""
    for folder in ("sys/class/dmi/id", "sys/devices/virtual/dmi/id"):
        product = product or files.read(f"{folder}/product_name") or ""
    return ", ".join(filter(None, (product, processor)))[:200]
