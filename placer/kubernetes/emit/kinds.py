"""Functions that make the objects of each kind."""

from collections.abc import Callable, Iterable, Mapping

from placer.kubernetes.emit.annotations import annotations, patches
from placer.kubernetes.emit.bindings import bindings
from placer.kubernetes.emit.claims import claim_patches
from placer.kubernetes.emit.evictions import evictions
from placer.kubernetes.emit.kind import EmitKind
from placer.kubernetes.emit.placed_pods import ObjectFile, PlacedDump
from placer.kubernetes.emit.pods import pods
from placer.kubernetes.emit.volumes import volumes

KINDS: Mapping[EmitKind, Callable[[PlacedDump], Iterable[ObjectFile]]] = {
    EmitKind.EVICTIONS: evictions,
    EmitKind.ANNOTATIONS: annotations,
    EmitKind.PATCHES: patches,
    EmitKind.BINDINGS: bindings,
    EmitKind.CLAIMS: claim_patches,
    EmitKind.VOLUMES: volumes,
    EmitKind.YAML: pods,
}
"""Kind -> a pure function that turns what was placed into files of objects."""


def emitted(dump: PlacedDump, kinds: Iterable[EmitKind]) -> tuple[ObjectFile, ...]:
    """Return the files of the kinds, each kind once."""
    return tuple(file for kind in dict.fromkeys(kinds) for file in KINDS[kind](dump))
