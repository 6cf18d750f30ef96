"""A pod with variants spreads over all nodes that it may look at, whatever its variant is."""

from dataclasses import replace

from judge.hand import node
from placer.judge.breaches import breaches
from placer_models.cluster import Instance
from placer_models.placement import ContainerPlacement, Placement, PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources, Variant
from placer_models.topology_spread import SpreadConstraint

LABELS = (("app", "db"),)
CONTAINERS = (Container("main", Resources(1000)),)


def test_an_empty_zone_without_the_variants_labels_counts() -> None:
    """
    Zone a has no node of the variant, so it has no pod, and two in zone b are one too many.
    """
    nodes = (
        replace(node("n0"), labels=(("kind", "x"), ("zone", "a"))),
        replace(node("n1"), labels=(("kind", "y"), ("zone", "b"))),
    )
    spec = PodSpec(
        CONTAINERS,
        labels=LABELS,
        spread=(SpreadConstraint("zone", labels=LABELS),),
        variants=(Variant((("kind", "y"),), CONTAINERS),),
    )
    pods = tuple(Pod(f"p{i}", "default", spec) for i in range(2))
    gangs = tuple(Gang(pod.name, "default", (pod,), 1, lone=True) for pod in pods)
    places = tuple(
        PodPlacement(
            pod.name, "default", None, "n1", frozenset(), (ContainerPlacement("main", frozenset()),)
        )
        for pod in pods
    )

    found = breaches(Instance(nodes, gangs), Placement(places))
    assert {breach.rule for breach in found} >= {"topology-spread"}
    one = breaches(Instance(nodes, gangs), Placement(places[:1]))
    assert "topology-spread" not in {breach.rule for breach in one}
