"""Kinds of objects that can be written for a placement."""

from enum import StrEnum


class EmitKind(StrEnum):
    """The kind of objects that are written for a cluster."""

    ANNOTATIONS = "annotations"
    """What Koordinator's scheduler writes on pods, all in one file for kubectl apply."""

    PATCHES = "patches"
    """The same as a merge patch for each pod, refused where the pod has changed since."""

    BINDINGS = "bindings"
    """What binds pods to their nodes, annotations included, a folder for each gang."""

    CLAIMS = "claims"
    """Which devices ResourceClaims were given, for the drivers on the nodes."""

    YAML = "yaml"
    """Whole pods with their node and annotations, to be created anew."""
