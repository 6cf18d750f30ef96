"""Dumps of clusters for tests: objects read together, and what is done with them."""

import json
from collections.abc import Iterable

import pytest

from kubernetes_worlds import Json
from placer.judge.breaches import breaches
from placer.kubernetes.dump import DumpError, instance_of_cluster_objects
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.defaults import Defaults
from placer_models.kubernetes.stream import ParsedObject
from placer_models.kubernetes.who_waits import ALL, WaitingPodFilter
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed, PodPlacement


def gathered(objects: Iterable[Json], known: ClusterObjects) -> ClusterObjects:
    """Return what is known with these objects, as they are read from one file."""
    for i, found in enumerate(objects):
        version, kind = str(found["apiVersion"]), str(found["kind"])
        known.add(ParsedObject("dump.json", i + 1, version, kind, found, json.dumps(found), True))
    return known


def read(
    *objects: Json,
    defaults: Defaults | None = None,
    who: WaitingPodFilter = ALL,
    bears: bool = False,
) -> tuple[Instance, DumpSummary]:
    """Return the cluster of these objects, whose scheduler may have defaults.

    With ``bears`` faults of Nodes and Pods end nothing.
    """
    known = gathered(objects, ClusterObjects(bears=bears))
    return instance_of_cluster_objects(known, defaults, who)


def faults(*objects: Json) -> list[str]:
    """Return what is wrong with these objects."""
    with pytest.raises(DumpError) as caught:
        read(*objects)
    return [str(fault) for fault in caught.value.faults]


def places(instance: Instance) -> dict[str, PodPlacement]:
    """Return where the pods that wait come to, by the greedy path."""
    answer = solve(instance, SolveOptions(Engine.GREEDY, 10, None, workers=1, seed=0))
    if isinstance(answer, Placed | PartlyPlaced):
        assert not breaches(instance, answer.placement)
        return {place.name: place for place in answer.placement.pods}
    assert isinstance(answer, Infeasible | GaveUp)
    return {}


def notes(summary: DumpSummary) -> str:
    """Return the summary as it is printed."""
    return "\n".join(summary.lines())
