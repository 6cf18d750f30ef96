"""Functions that make the objects of each kind."""

from collections.abc import Callable, Iterable, Mapping

from placer.kubernetes.emit.annotations import annotation_file, annotation_patches
from placer.kubernetes.emit.api_objects import evictions, file_of_placed_pods, pod_binding_files
from placer.kubernetes.emit.claims import claim_patches
from placer.kubernetes.emit.kind import EmitKind
from placer.kubernetes.emit.placed_pods import DumpWithPlaces, EmittedFile
from placer.kubernetes.emit.volumes import volume_claim_patches

KINDS: Mapping[EmitKind, Callable[[DumpWithPlaces], Iterable[EmittedFile]]] = {
    EmitKind.EVICTIONS: evictions,
    EmitKind.ANNOTATIONS: annotation_file,
    EmitKind.PATCHES: annotation_patches,
    EmitKind.BINDINGS: pod_binding_files,
    EmitKind.CLAIMS: claim_patches,
    EmitKind.VOLUMES: volume_claim_patches,
    EmitKind.YAML: file_of_placed_pods,
}
"""Kind -> a pure function that turns what was placed into files of objects."""


def emitted_files(dump: DumpWithPlaces, kinds: Iterable[EmitKind]) -> tuple[EmittedFile, ...]:
    """Return the files of the kinds, each kind once."""
    return tuple(file for kind in dict.fromkeys(kinds) for file in KINDS[kind](dump))
