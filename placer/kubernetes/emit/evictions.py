"""Evictions of running pods that a placement moves, in the order of the moves."""

from collections.abc import Iterator

from placer.kubernetes.emit.placed_pods import ObjectFile, PlacedDump
from placer_models.kubernetes.object_fields import Object, ObjectIdentity


def eviction(identity: ObjectIdentity) -> Object:
    """Return an Eviction of a pod, for ``POST pods/NAME/eviction``.

    The cluster holds it to the pod's disruption budgets, and refuses it if the uid differs.
    """
    metadata = {"name": identity.name, "namespace": identity.namespace}
    found: dict[str, object] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    if identity.uid:
        found["deleteOptions"] = {"preconditions": {"uid": identity.uid}}
    return found


def evictions(dump: PlacedDump) -> Iterator[ObjectFile]:
    """Yield an Eviction for each pod that moves; names of files ascend in the order of moves."""
    digits = len(str(len(dump.leaving)))
    for number, identity in enumerate(dump.leaving, 1):
        name = f"{number:0{digits}}.{identity.namespace}.{identity.name}"
        yield ObjectFile(f"evictions/{name}.json", (eviction(identity),))
