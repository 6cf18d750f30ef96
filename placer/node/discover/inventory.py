"""The inventory of a machine, as its kernel describes it, before it is put in our own words."""

from collections import Counter
from dataclasses import dataclass, field

from placer_models.annotations.node_topology import CpuManagerPolicyAnnotation, PodCpuAlloc
from placer_models.cpuset import CpuSet
from placer_models.device import Device, GpuLinkMatrix
from placer_models.kubernetes.checkpoints.device_manager import KubeletDevicesOfContainer
from placer_models.kubernetes.checkpoints.memory_manager import KubeletMemoryManagerState
from placer_models.mig import Modes
from placer_models.policy import AlignmentPolicy, AlignmentScope
from placer_models.topology import Hugepages


@dataclass(frozen=True, slots=True)
class DiscoveredCpu:
    """One CPU, as the kernel describes it.

    Attributes:
        threads: The threads of its core, itself among them; None where nothing says so.
        package: The numbers that name its package, outermost first: drawer and book where
            there are some, then the package's own number, below 0 if it has none. Empty where
            nothing says so.
        package_cpus: The CPUs of its package; None where nothing says so.
        die: The CPUs of its die; None where nothing says so.
        llc: The CPUs of its last-level cache; None where nothing says so.
        capacity: Its computing power relative to the others, as the kernel rates it.
        efficient: Whether the kernel counts it among the efficiency cores; None if it
            does not say.

    """

    id: int
    online: bool = True
    threads: CpuSet | None = None
    package: tuple[int, ...] = ()
    package_cpus: CpuSet | None = None
    die: CpuSet | None = None
    llc: CpuSet | None = None
    capacity: int | None = None
    efficient: bool | None = None


@dataclass(frozen=True, slots=True)
class DiscoveredNumaNode:
    """One NUMA node, as the kernel describes it.

    Attributes:
        cpus: The CPUs as listed, even if offline or listed by another NUMA node too.
        memory_bytes: None where nothing says how much.
        of_gpu: Whether it is the memory of a GPU, which pods cannot ask for.

    """

    id: int
    cpus: CpuSet
    memory_bytes: int | None = None
    hugepages: tuple[Hugepages, ...] = ()
    distances: tuple[int, ...] = ()
    of_gpu: bool = False


@dataclass(frozen=True, slots=True)
class DiscoveredDevices:
    """Devices, and the links between the GPUs among them.

    Attributes:
        devices: ``package`` is not filled in; ``numa_node`` is what the kernel says.
        modes: GPUs in MIG mode.
        notes: What had to be assumed.
        warnings: What could not be found out.

    """

    devices: tuple[Device, ...] = ()
    links: GpuLinkMatrix | None = None
    modes: Modes = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HardwareInventory:
    """Everything that was found out about one machine.

    Attributes:
        source: Where it was found, for people.
        host: The machine's name; empty where nothing says so.
        architecture: As ``uname -m`` says it; empty where nothing says so.
        model: The model of its processor or of the whole machine, for people.
        cpus: Every present CPU, ascending by id.
        numa_nodes: Ascending by id; there may be none.
        memory_bytes: Memory of the whole machine; None where nothing says how much.
        isolated: CPUs that the kernel's scheduler leaves alone (``isolcpus``).
        nohz_full: CPUs without a timer tick.
        allowed_cpus: CPUs that whoever took the inventory may use; None where nothing says so.
        allowed_numa_nodes: NUMA nodes whose memory whoever took the inventory may use.
        policy: How the kubelet gives out CPUs; None where nothing says so.
        pod_cpus: CPUs that the kubelet has given to pods.
        pod_memory: Memory that the kubelet has given to pods or keeps for the system; None
            where nothing says so.
        plugin_devices: Devices that the kubelet's device plugins have given to pods.
        alignment: How the kubelet aligns pods with NUMA nodes; None: not at all, or not said.
        scope: What the kubelet aligns together; None where nothing says so.
        warnings: What could not be found out, or contradicts itself.

    """

    source: str
    cpus: tuple[DiscoveredCpu, ...]
    numa_nodes: tuple[DiscoveredNumaNode, ...]
    host: str = ""
    architecture: str = ""
    model: str = ""
    memory_bytes: int | None = None
    isolated: CpuSet = frozenset()
    nohz_full: CpuSet = frozenset()
    allowed_cpus: CpuSet | None = None
    allowed_numa_nodes: CpuSet | None = None
    policy: CpuManagerPolicyAnnotation | None = None
    pod_cpus: tuple[PodCpuAlloc, ...] = ()
    pod_memory: KubeletMemoryManagerState | None = None
    plugin_devices: tuple[KubeletDevicesOfContainer, ...] = ()
    alignment: AlignmentPolicy | None = None
    scope: AlignmentScope | None = None
    found: DiscoveredDevices = field(default_factory=DiscoveredDevices)
    warnings: tuple[str, ...] = ()

    @property
    def online(self) -> CpuSet:
        """CPUs that are online."""
        return frozenset(cpu.id for cpu in self.cpus if cpu.online)

    @property
    def cores(self) -> dict[CpuSet, CpuSet]:
        """Core -> its online CPUs. A core is a distinct set of threads, however it is numbered."""
        return _groups(self, "threads")

    @property
    def llcs(self) -> int:
        """How many last-level caches there are."""
        return len(_groups(self, "llc"))

    @property
    def dies(self) -> int:
        """How many dies there are; 0 where nothing describes them."""
        return len(_groups(self, "die"))

    @property
    def packages(self) -> int:
        """How many distinct package numbers there are. They may repeat in books and drawers."""
        return len({cpu.package[-1] for cpu in self.cpus if cpu.online and cpu.package})

    @property
    def threads_per_core(self) -> dict[int, int]:
        """Number of online threads of a core -> how many cores have that many."""
        return dict(sorted(Counter(len(cpus) for cpus in self.cores.values()).items()))


def _groups(inventory: HardwareInventory, name: str) -> dict[CpuSet, CpuSet]:
    """Return each distinct set of online CPUs that CPUs name -> the CPUs that name it."""
    online = inventory.online
    members: dict[CpuSet, set[int]] = {}
    for cpu in inventory.cpus:
        named: CpuSet | None = getattr(cpu, name)
        if named is None and name == "threads":
            named = frozenset({cpu.id})
        if cpu.online and named is not None:
            members.setdefault(named & online, set()).add(cpu.id)
    return {named: frozenset(cpus) for named, cpus in members.items()}
