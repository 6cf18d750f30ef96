"""What a spread constraint looks at, told a second time from docs/rules/topology-spread.md."""

import pytest

from features.topology_spread import spread_instance
from placer_models.cluster import Node
from placer_models.pod import PodSpec
from placer_models.policy import RequiredOrPreferred
from placer_models.spreading import resolved_spread_constraints_of
from placer_models.taints import TaintEffect
from placer_models.topology_spread import SpreadConstraint
from second_tellings.drawing import all_pods, mixed_worlds


def domain(spec: PodSpec, one: SpreadConstraint, node: Node) -> str | None:
    """Return the node's domain, or None if a constraint of the pod does not look at the node."""
    keys = [other.topology for other in spec.spread if other.strength is one.strength]
    if any(node.topology_domain(key) is None for key in keys):
        return None
    if one.by_selector:
        asked = [(key, value) for key, value in spec.node_selector if key[:7] != "placer:"]
        if any(label not in node.labels for label in asked):
            return None
        required = spec.node_affinity.required if spec.node_affinity else ()
        if required and not any(term.met_by(node.name, node.labels) for term in required):
            return None
    if one.by_taints:
        hard = [t for t in node.taints if t.effect is not TaintEffect.PREFER_NO_SCHEDULE]
        if node.cordoned or not all(
            any(t.tolerates(one) for t in spec.tolerations) for one in hard
        ):
            return None
    return node.topology_domain(one.topology)


def test_constraints_look_at_the_nodes_of_the_page() -> None:
    """
    On the nodes and pods of worlds that spread, alone and among the words of all families.
    """
    found = set()
    worlds = (*mixed_worlds(), *map(spread_instance, range(60)))
    for world in worlds:
        for pod in all_pods(world):
            looked_at = list(resolved_spread_constraints_of(pod.spec, pod.namespace))
            assert [one.constraint for one in looked_at] == list(pod.spec.spread)
            for one in looked_at:
                for node in world.nodes:
                    expected = domain(pod.spec, one.constraint, node)
                    found.add((expected is None, one.constraint.required))

                    assert one.domain(node) == expected
                for other in all_pods(world):
                    meant = one.constraint.means(other.spec.labels)
                    assert one.means(other.spec, pod.namespace) is meant
                    assert not one.means(other.spec, f"not-{pod.namespace}")
    assert len(found) == 4


@pytest.mark.parametrize("strength", RequiredOrPreferred)
@pytest.mark.parametrize("least", [1, 2, 3])
def test_fewest_count_as_none_where_domains_are_few(
    strength: RequiredOrPreferred, least: int
) -> None:
    """
    Of a required constraint with fewer domains than it wants.
    """
    (one,) = resolved_spread_constraints_of(
        PodSpec((), spread=(SpreadConstraint("zone", strength=strength, min_domains=least),)), "a"
    )
    for number in range(5):
        short = number < least and strength is RequiredOrPreferred.REQUIRED
        assert one.is_beyond_fewest(number) is not short
