"""CPUs, NUMA nodes and memory, from the XML files of hwloc, versions 1 to 3."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from placer.node.discover.inventory import DiscoveredCpu, DiscoveredNumaNode, HardwareInventory
from placer_models.cpuset import MAX_CPU_ID, CpuSet
from placer_models.files.documents import MAX_FILE_BYTES
from placer_models.files.errors import InputError
from placer_models.message_text import in_quotes
from placer_models.topology import Hugepages

_PACKAGES = ("Package", "Socket")
_DATA_CACHES = ("Cache", "L1Cache", "L2Cache", "L3Cache", "L4Cache", "L5Cache")
_INSTRUCTIONS = "2"
_LARGEST = 2**63
_ENDLESS = "0xf...f"
_MOST_BRIDGES = 64


@dataclass(frozen=True, slots=True)
class HwlocAncestors:
    """The objects that an object lies in.

    Attributes:
        cpus: The CPUs of the nearest object that has some.
        bridges: PCI bridges, outermost first.

    """

    package: int | None = None
    die: Element | None = None
    core: Element | None = None
    cache: tuple[int, Element] | None = None
    cpus: CpuSet = frozenset()
    bridges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HwlocTree:
    """The objects of a file, each with what it lies in, in the order of the file."""

    file: str
    root: Element
    version: int
    objects: tuple[tuple[Element, HwlocAncestors], ...]

    def wrong(self, element: Element, message: str) -> InputError:
        """Return the error about an object, for the caller to raise."""
        what = element.get("type") or element.tag
        name = element.get("name") or element.get("os_index") or element.get("pci_busid")
        return InputError(self.file, None, f"{what} {name}" if name else what, message)

    def number(self, element: Element, name: str) -> int | None:
        """Return an attribute that is a whole number, or None if it is missing."""
        text = element.get(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < _LARGEST):
            raise self.wrong(element, f"{name} is {in_quotes(text)}; expected a whole number")
        return int(text)

    def set_of(self, element: Element, name: str) -> CpuSet | None:
        """Return an attribute that is a set of CPUs or NUMA nodes, or None if it is missing."""
        text = element.get(name)
        try:
            return None if text is None else parse_hwloc_bitmap(text)
        except ValueError as error:
            raise self.wrong(element, f"{name}: {error}") from None

    def of_type(self, *types: str) -> Iterator[tuple[Element, HwlocAncestors]]:
        """Yield the objects of these types."""
        return ((element, place) for element, place in self.objects if element.get("type") in types)


def parse_hwloc_bitmap(text: str) -> CpuSet:
    """Read a set as hwloc writes it: ``0x0000ffff,0xffffffff``; an empty word is 0.

    A set without an end, which begins with ``0xf...f``, reaches to the highest id.

    Raises:
        ValueError: The text is no such set.

    """
    endless = text.startswith(_ENDLESS)
    rest = text.removeprefix(_ENDLESS).removeprefix(",")
    words = rest.split(",") if rest or not endless else []
    value = (1 << max(0, MAX_CPU_ID + 1 - 32 * len(words))) - 1 if endless else 0
    try:
        if len(text) > MAX_CPU_ID:
            raise ValueError
        for word in words:
            digits = word.strip().removeprefix("0x")
            if len(digits) > 8 or (digits and not digits.isalnum()):
                raise ValueError
            value = value << 32 | int(digits or "0", 16)
        if value.bit_length() > MAX_CPU_ID + 1:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"got {in_quotes(text)}; expected a set in words of 32 bits such as "
            "0x0000ffff,0xffffffff"
        ) from None
    return frozenset(i for i, bit in enumerate(reversed(bin(value)[2:])) if bit == "1")


def hwloc_info_attributes(element: Element) -> dict[str, str]:
    """Return the ``info`` elements of an object: name -> value."""
    return {
        info.get("name", ""): " ".join(info.get("value", "").split())
        for info in element.iterfind("info")
    }


def load_hwloc_tree(path: Path) -> HwlocTree:
    """Return the objects of a file.

    Raises:
        InputError: It cannot be read, or is no XML of hwloc.

    """
    file = str(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(file, None, "", f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(file, None, "", f"is larger than {MAX_FILE_BYTES >> 20} MiB")
    return parse_hwloc_tree(data, file)


def parse_hwloc_tree(data: bytes, file: str) -> HwlocTree:
    """Return the objects of a file that has been read.

    Raises:
        InputError: It is no XML of hwloc.

    """
    try:
        root: Element = fromstring(data)
    except ParseError as error:
        message = f"{str(error).partition(':')[0]}; expected an XML file of hwloc"
        raise InputError(file, error.position[0], "", message) from None
    except (DefusedXmlException, ValueError, LookupError) as error:
        message = f"is not read: {type(error).__name__}; expected plain XML as hwloc writes it"
        raise InputError(file, None, "", message) from None
    machine = root.find("object")
    if root.tag != "topology" or machine is None:
        message = f"begins with <{root.tag[:60]}>; expected <topology> with an <object> in it"
        raise InputError(file, None, "", message)
    digits = root.get("version", "1").partition(".")[0]
    version = int(digits) if digits in ("1", "2", "3") else 3
    tree = HwlocTree(file, root, version, ())
    return replace(tree, objects=tuple(_walk(tree, machine)))


def _walk(tree: HwlocTree, machine: Element) -> Iterator[tuple[Element, HwlocAncestors]]:
    """Yield every object with what it lies in, without recursion: files may nest to any depth."""
    packages = [e for e in machine.iter("object") if e.get("type") in _PACKAGES]
    numbers = [tree.number(package, "os_index") for package in packages]
    unique = None not in numbers and len(set(numbers)) == len(numbers)
    number_of = {
        id(package): number if unique else i
        for i, (package, number) in enumerate(zip(packages, numbers, strict=True))
    }
    waiting = [(machine, HwlocAncestors())]
    while waiting:
        element, place = waiting.pop()
        yield element, place
        kind = element.get("type", "")
        inside = place
        cpus = tree.set_of(element, "cpuset")
        if cpus:
            inside = replace(inside, cpus=cpus)
        if id(element) in number_of:
            inside = replace(inside, package=number_of[id(element)])
        elif kind == "Die":
            inside = replace(inside, die=element)
        elif kind == "Core":
            inside = replace(inside, core=element)
        elif kind in _DATA_CACHES and element.get("cache_type", "0") != _INSTRUCTIONS:
            level = tree.number(element, "depth") or 0
            if place.cache is None or level > place.cache[0]:
                inside = replace(inside, cache=(level, element))
        elif kind == "Bridge":
            if len(place.bridges) >= _MOST_BRIDGES:
                raise tree.wrong(element, f"lies behind more than {_MOST_BRIDGES} bridges")
            inside = replace(inside, bridges=(*place.bridges, _bridge(element)))
        waiting += [(child, inside) for child in reversed(element.findall("object"))]


def _bridge(element: Element) -> str:
    """Return a bridge's name: its address, or the buses behind it if it is the host's."""
    behind = element.get("bridge_pci", "")
    return element.get("pci_busid") or behind.replace("[", "").partition("-")[0]


def read_hwloc(tree: HwlocTree) -> HardwareInventory:
    """Return what the file says about a machine, without its devices.

    Raises:
        InputError: It contradicts itself.

    """
    machine = tree.objects[0][0]
    said = hwloc_info_attributes(machine) | hwloc_info_attributes(tree.root)
    cpus = _cpus(tree, machine)
    if not cpus:
        raise InputError(tree.file, None, "", "has no PU; expected the processors of a machine")
    package = next(tree.of_type(*_PACKAGES), None)
    processor = hwloc_info_attributes(package[0]).get("CPUModel", "") if package else ""
    names = (said.get("DMIProductName", ""), processor or said.get("CPUModel", ""))
    return HardwareInventory(
        source=tree.file,
        host=said.get("HostName", ""),
        architecture=said.get("Architecture", ""),
        model=", ".join(filter(None, names))[:200],
        cpus=cpus,
        numa_nodes=_numa_nodes(tree),
        memory_bytes=tree.number(machine, "local_memory"),
        allowed_cpus=tree.set_of(machine, "allowed_cpuset"),
        allowed_numa_nodes=tree.set_of(machine, "allowed_nodeset"),
    )


def _cpus(tree: HwlocTree, machine: Element) -> tuple[DiscoveredCpu, ...]:
    online = tree.set_of(machine, "online_cpuset")
    places: dict[int, HwlocAncestors] = {}
    for element, place in tree.of_type("PU"):
        cpu = tree.number(element, "os_index")
        if cpu is None or cpu > MAX_CPU_ID:
            raise tree.wrong(element, f"a PU has an os_index of {MAX_CPU_ID} at most")
        if cpu in places:
            raise tree.wrong(element, f"there are two PUs with os_index {cpu}")
        places[cpu] = place
    cores = _members({cpu: place.core for cpu, place in places.items()})
    dies = _members({cpu: place.die for cpu, place in places.items()})
    caches = _members({cpu: p.cache and p.cache[1] for cpu, p in places.items()})
    capacities, efficient = _kinds(tree)
    return tuple(
        DiscoveredCpu(
            id=cpu,
            online=online is None or cpu in online,
            threads=cores[cpu] or frozenset({cpu}),
            package=() if place.package is None else (place.package,),
            die=dies[cpu],
            llc=caches[cpu],
            capacity=capacities.get(cpu),
            efficient=efficient.get(cpu),
        )
        for cpu, place in sorted(places.items())
    )


def _members(object_of: Mapping[int, Element | None]) -> dict[int, CpuSet | None]:
    """Return CPU -> all CPUs that lie in the same object, or None if it lies in none."""
    inside: dict[int, set[int]] = {}
    for cpu, element in object_of.items():
        if element is not None:
            inside.setdefault(id(element), set()).add(cpu)
    sets = {key: frozenset(members) for key, members in inside.items()}
    return {cpu: sets.get(id(element)) for cpu, element in object_of.items()}


def _kinds(tree: HwlocTree) -> tuple[dict[int, int], dict[int, bool]]:
    """Return CPU -> capacity, and CPU -> whether it is of an efficiency core."""
    capacities: dict[int, int] = {}
    efficient: dict[int, bool] = {}
    for kind in tree.root.iterfind("cpukind"):
        said = hwloc_info_attributes(kind)
        cpus = tree.set_of(kind, "cpuset") or frozenset()
        capacity = said.get("LinuxCapacity", "")
        if capacity.isascii() and capacity.isdigit() and len(capacity) < 10:
            capacities |= dict.fromkeys(cpus, int(capacity))
        if said.get("CoreType") in ("IntelAtom", "IntelCore"):
            efficient |= dict.fromkeys(cpus, said["CoreType"] == "IntelAtom")
    return capacities, efficient


def _numa_nodes(tree: HwlocTree) -> tuple[DiscoveredNumaNode, ...]:
    found: dict[int, DiscoveredNumaNode] = {}
    for element, _ in tree.of_type("NUMANode"):
        node = tree.number(element, "os_index")
        if node is None or node > MAX_CPU_ID or node in found:
            raise tree.wrong(element, "expected an os_index that no other NUMA node has")
        found[node] = DiscoveredNumaNode(
            id=node,
            cpus=tree.set_of(element, "cpuset") or frozenset(),
            memory_bytes=tree.number(element, "local_memory") or 0,
            hugepages=_hugepages(tree, element),
            of_gpu=element.get("subtype") == "GPUMemory",
        )
    distances = _distances(tree, list(found))
    return tuple(
        replace(node, distances=distances.get(id, ())) for id, node in sorted(found.items())
    )


def _hugepages(tree: HwlocTree, element: Element) -> tuple[Hugepages, ...]:
    counts: Counter[int] = Counter()
    for page in element.iterfind("page_type"):
        size, count = tree.number(page, "size") or 0, tree.number(page, "count") or 0
        counts[size] += count
    sizes = sorted(counts)[1:]  # The smallest size is that of plain pages.
    return tuple(Hugepages(size, counts[size]) for size in sizes if counts[size])


def _distances(tree: HwlocTree, in_order: list[int]) -> dict[int, tuple[int, ...]]:
    """Return NUMA node -> distances to all NUMA nodes, ascending by id; empty if unknown."""
    for element in tree.root.iterfind("distances2"):
        named = element.get("name", "NUMALatency") == "NUMALatency"
        if element.get("type") == "NUMANode" and named and element.get("indexing", "os") == "os":
            ids, values = hwloc_matrix_object_indexes(element), hwloc_matrix_values(element)
            return _rows([int(i) for i in ids if i.isdecimal()], values, in_order)
    for element in tree.root.iter("distances"):
        base = _real(element.get("latency_base"))
        ratios = [_real(latency.get("value")) for latency in element.iterfind("latency")]
        if element.get("nbobjs") == str(len(in_order)):
            return _rows(in_order, [round(base * ratio) for ratio in ratios], in_order)
    return {}


def _rows(ids: list[int], values: list[int], known: list[int]) -> dict[int, tuple[int, ...]]:
    if sorted(ids) != sorted(known) or len(values) != len(ids) ** 2:
        return {}
    at = {node: i for i, node in enumerate(ids)}
    return {
        node: tuple(values[at[node] * len(ids) + at[other]] for other in sorted(ids))
        for node in ids
    }


def hwloc_matrix_object_indexes(element: Element) -> list[str]:
    """Return the objects that a matrix of version 2 and later is about."""
    return " ".join(part.text or "" for part in element.iterfind("indexes")).split()


def hwloc_matrix_values(element: Element) -> list[int]:
    """Return the cells of such a matrix, row by row; nothing if one of them is no number."""
    words = " ".join(part.text or "" for part in element.iterfind("u64values")).split()
    good = all(word.isascii() and word.isdigit() and len(word) < 20 for word in words)
    return [int(word) for word in words] if good else []


def _real(text: str | None) -> float:
    try:
        value = float(text or "0")
    except ValueError:
        return 0.0
    return value if 0 <= value < 1e6 else 0.0
