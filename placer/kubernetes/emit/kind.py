"""Kinds of objects that can be written for a placement."""

from enum import StrEnum


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
