"""Unknown names that a pod asks for, with those that there are (G7).

Such a name may be intended, for nodes that are still to come, so the file is read. But anyone
who asks why the pod has no place wants to see the name, and the nearest one that there is.
"""

from collections.abc import Iterator, Sequence

from placer_models.cluster import Node
from placer_models.device import Device
from placer_models.pod import PodSpec
from placer_models.quantity import format_bytes
from placer_models.reasons import UnknownName, UnknownNameKind
from placer_models.selectors import SelectorOperator
from placer_models.spreading import OWN_PREFIX


class NamesKnownToNodes:
    """The names that nodes know: of labels, devices, amounts and sizes of pages."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._labels: dict[str, set[str]] = {}
        self._sizes: set[int] = set()
        self._amounts: set[str] = set()
        kinds, paged = {}, {}
        for node in nodes:
            for key, value in node.labels:
                if not key.startswith(OWN_PREFIX):
                    self._labels.setdefault(key, set()).add(value)
            self._amounts.update(name for name, _ in node.extended)
            kinds[id(node.machine), node.mig] = node
            paged[id(node.machine), node.hugepages] = node
        for node in paged.values():
            self._sizes.update(size for (_, size), count in node.pages_in().items() if count)
        self._devices = [device for node in kinds.values() for device in node.devices]
        self._types = {device.type for device in self._devices}

    def unknown_names(self, spec: PodSpec) -> Iterator[UnknownName]:
        """Yield each thing that the pod names and no node has."""
        for key, wanted in _labels_asked_for(spec):
            if key.startswith(OWN_PREFIX):
                continue
            values = self._labels.get(key)
            if values is None:
                yield UnknownName(UnknownNameKind.LABEL, (key,), tuple(sorted(self._labels)))
            elif wanted and values.isdisjoint(wanted):
                yield UnknownName(UnknownNameKind.LABEL_VALUE, wanted, tuple(sorted(values)), key)
        requests = spec.requests
        for pages in requests.hugepages:
            if pages.page_bytes not in self._sizes:
                sizes = tuple(format_bytes(size) for size in sorted(self._sizes))
                yield UnknownName(
                    UnknownNameKind.PAGE_SIZE, (format_bytes(pages.page_bytes),), sizes
                )
        for kind in dict.fromkeys(device.type for device in requests.devices):
            if kind not in self._types:
                known = tuple(sorted(self._types | self._amounts))
                yield UnknownName(UnknownNameKind.DEVICE_TYPE, (kind,), known)
        for kind, wish in spec.functions:
            devices = [device for device in self._devices if device.type == kind]
            for label, wanted in wish if devices else ():
                yield from _unlike(devices, kind, label, wanted)


def _labels_asked_for(spec: PodSpec) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each label that a node must have, with the listed values, one of which it must have."""
    yield from ((key, (value,)) for key, value in spec.node_selector)
    for term in spec.node_affinity.required if spec.node_affinity else ():
        for one in term.expressions:
            if one.operator not in (SelectorOperator.NOT_IN, SelectorOperator.DOES_NOT_EXIST):
                yield one.key, one.values if one.operator is SelectorOperator.IN else ()


def _unlike(
    devices: Sequence[Device], kind: str, label: str, wanted: Sequence[str]
) -> Iterator[UnknownName]:
    """Yield the label that no virtual function of the devices has, or values that none has."""
    labels = [dict(vf.labels) for device in devices for vf in device.virtual_functions]
    if not any(label in had for had in labels):
        known = tuple(sorted({key for had in labels for key in had}))
        yield UnknownName(UnknownNameKind.FUNCTION_LABEL, (label,), known, device_type=kind)
    elif not any(had.get(label) in wanted for had in labels):
        known = tuple(sorted({had[label] for had in labels if label in had}))
        yield UnknownName(UnknownNameKind.FUNCTION_VALUE, tuple(wanted), known, label, kind)
