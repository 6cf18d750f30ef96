"""The tier of preferred spread constraints, by hand.

A pod with variants spreads over all nodes that it may look at, whatever its variant is.
"""

from dataclasses import replace

from brute_force import best_placement
from exact_checks import check_exact, check_greedy
from judge.cases_affinity import ZONES, on
from judge.cases_topology_spread import BY_RACK, EVENLY, RACKED, web
from judge.hand import node, placed, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.cluster import Instance
from placer_models.goals import TOPOLOGY_SPREAD
from placer_models.node_affinity import NodeAffinity, NodeTerm, PreferredNodeTerm
from placer_models.placement import ContainerPlacement, Placement, PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources, Variant
from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.topology_spread import SpreadConstraint

WISHED = replace(EVENLY, strength=RequiredOrPreferred.PREFERRED)
WISHED_RACK = replace(BY_RACK, strength=RequiredOrPreferred.PREFERRED)
IN_A = NodeTerm((LabelExpression("zone", SelectorOperator.IN, ("a",)),))


def beyond(instance: Instance, *places: PodPlacement) -> int:
    """Return what the tier counts of a placement."""
    return dict(measure(instance, placed(*places)))[TOPOLOGY_SPREAD]


def asking(name: str, affinity: NodeAffinity) -> Pod:
    """Return a pod that would like to spread over zones, and asks something of its node."""
    pod = web(name, WISHED)
    return replace(pod, spec=replace(pod.spec, node_affinity=affinity))


def test_pods_beyond_the_skew_count_once_for_their_domain() -> None:
    """
    Three of zone a are two beyond the skew, however many of them ask for it.
    """
    instance = world(*(web(name, WISHED) for name in "abc"), nodes=ZONES)

    assert beyond(instance, on("a", "n"), on("b", "o")) == 0
    assert beyond(instance, on("a", "n"), on("b", "m")) == 1
    assert beyond(instance, on("a", "n"), on("b", "m"), on("c", "n")) == 2


def test_who_is_in_no_domain_loses_nothing() -> None:
    """
    Preferred constraints do not look at a node of no zone, nor at a pod there.
    """
    instance = world(*(web(name, WISHED) for name in "abc"), nodes=ZONES)

    assert beyond(instance, on("a", "p"), on("b", "p"), on("c", "p")) == 0


def test_nodes_are_in_a_domain_of_every_preferred_key() -> None:
    """
    A node without a rack is not looked at where racks are wished for, too, and is where they
    are not: then zone b has none of the two pods.
    """
    both = world(*(web(name, WISHED, WISHED_RACK) for name in "ab"), nodes=RACKED)
    zones = world(*(web(name, WISHED) for name in "ab"), nodes=RACKED)
    required = world(*(web(name, WISHED, BY_RACK) for name in "ab"), nodes=RACKED)

    assert beyond(both, on("a", "n"), on("b", "n")) == 0
    assert beyond(zones, on("a", "n"), on("b", "n")) == 1
    assert beyond(required, on("a", "n"), on("b", "n")) == 1


def test_fewest_are_counted_as_they_are_however_few_domains_there_are() -> None:
    """
    A minimum of domains is of required constraints only, as in Kubernetes.
    """
    wished = replace(WISHED, min_domains=3)
    instance = world(*(web(name, wished) for name in "abcd"), nodes=ZONES)
    two_each = [on("a", "n"), on("b", "m"), on("c", "o"), on("d", "o")]

    assert beyond(instance, *two_each) == 0


def test_pods_that_ask_the_same_of_nodes_lose_it_once() -> None:
    """
    A wish for some node keeps no node out, so a pod with one spreads as a pod without.
    """
    wish = NodeAffinity(preferred=(PreferredNodeTerm(IN_A, 1),))
    pods = [web("a", WISHED), asking("b", wish)]
    nodes = (ZONES[0], replace(ZONES[2], cordoned=True))
    instance = world(*pods, nodes=nodes)
    here = on("a", "n"), on("b", "n")

    assert beyond(instance, *here) == 1
    best = best_placement(instance)
    assert {place.node for place in best.placement.pods} == {"n"}
    check_exact(instance, best)
    check_greedy(instance, best)


def test_pods_that_ask_something_else_of_nodes_lose_it_each() -> None:
    """
    Two pods of node n, one of which may be in zone a alone, and so has no other zone beside it.
    """
    pods = [web("a", WISHED), asking("b", NodeAffinity((IN_A,))), asking("c", NodeAffinity())]
    instance = world(*pods, nodes=(ZONES[0], ZONES[2], node("q")))

    assert beyond(instance, on("a", "n"), on("b", "n")) == 1
    assert beyond(instance, on("b", "n")) == 0
    assert beyond(instance, on("a", "n"), on("b", "n"), on("c", "n")) == 2


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
