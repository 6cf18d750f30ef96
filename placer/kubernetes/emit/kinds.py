"""Kinds of objects that can be written for a placement, and what makes the objects of each."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from placer.kubernetes.emit.annotations import annotation_file, annotation_patches
from placer.kubernetes.emit.api_objects import (
    binding_object_files,
    eviction_object_files,
    file_of_placed_pods,
)
from placer.kubernetes.emit.claims import claim_patches
from placer.kubernetes.emit.placed_pods import DumpWithPlacement, EmittedFile
from placer.kubernetes.emit.volumes import volume_claim_patches


class EmitKind(StrEnum):
    """The kind of objects that are written for a cluster."""

    ANNOTATIONS = "annotations"
    """The annotations that Koordinator's scheduler writes, all in one file for kubectl apply."""

    PATCHES = "patches"
    """The same annotations as a merge patch per pod, refused if the pod has changed since."""

    BINDINGS = "bindings"
    """Bindings of pods to their nodes, annotations included, in a folder for each gang."""

    CLAIMS = "claims"
    """The devices that ResourceClaims were given, for the drivers on the nodes."""

    VOLUMES = "volumes"
    """The volumes that claims get, or the nodes for which they are to be made."""

    YAML = "yaml"
    """Whole pods with their node and annotations, to be created anew."""

    EVICTIONS = "evictions"
    """Evictions of running pods that are to move, in the order of the moves."""


KINDS: Mapping[EmitKind, Callable[[DumpWithPlacement], Iterable[EmittedFile]]] = {
    EmitKind.EVICTIONS: eviction_object_files,
    EmitKind.ANNOTATIONS: annotation_file,
    EmitKind.PATCHES: annotation_patches,
    EmitKind.BINDINGS: binding_object_files,
    EmitKind.CLAIMS: claim_patches,
    EmitKind.VOLUMES: volume_claim_patches,
    EmitKind.YAML: file_of_placed_pods,
}
"""Kind -> a pure function that turns what was placed into files of objects."""


def emitted_files(dump: DumpWithPlacement, kinds: Iterable[EmitKind]) -> tuple[EmittedFile, ...]:
    """Return the files of the kinds, each kind once."""
    return tuple(file for kind in dict.fromkeys(kinds) for file in KINDS[kind](dump))
