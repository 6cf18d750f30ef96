"""What a pod with variants asks of a node, told a second time from docs/rules."""

from dataclasses import replace
from random import Random

from judge.hand import node
from placer_models.cluster import Node
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, Variant
from placer_models.variants import pod_with_spec_on

KEYS, VALUES = ("gpus", "zone"), ("a", "b")


def drawn_labels(rng: Random) -> tuple[tuple[str, str], ...]:
    """Draw some labels, one at least."""
    keys = rng.choice((KEYS, KEYS[:1], KEYS[1:]))
    return tuple((key, rng.choice(VALUES)) for key in keys)


def gpus(count: int) -> tuple[Container, ...]:
    """Return the container of a pod that asks for so many GPUs."""
    devices = (DeviceRequest("gpu", count),) if count else ()
    return (Container("main", Resources(1000, devices=devices)),)


def told(spec: PodSpec, there: Node) -> int | None:
    """Return how many GPUs the pod asks for on a node; None: it does not go there."""
    if dict(spec.node_selector).items() - dict(there.labels).items():
        return None
    counts = [
        sum(request.count for one in variant.containers for request in one.requests.devices)
        for variant in spec.variants
        if not dict(variant.labels).items() - dict(there.labels).items()
    ]
    if spec.variants:
        return counts[0] if counts else None
    return sum(request.count for request in spec.requests.devices)


def test_the_first_variant_counts_whose_labels_the_node_has() -> None:
    """
    Over 500 drawn pods and nodes; a pod without variants asks for the same everywhere.
    """
    met = set()
    for seed in range(500):
        rng = Random(f"variants-{seed}")
        variants = tuple(
            Variant(drawn_labels(rng), gpus(rng.randrange(4))) for _ in range(rng.randrange(4))
        )
        selector = drawn_labels(rng) if rng.random() < 0.3 else ()
        spec = PodSpec(gpus(5), node_selector=selector, variants=variants)
        labels = drawn_labels(rng) if rng.random() < 0.9 else ()
        there = replace(node("n"), labels=labels)

        found = pod_with_spec_on(Pod("p", "default", spec), there).spec
        asked = told(spec, there)
        goes = not set(found.node_selector) - set(labels)

        assert (found.requests.count_of("gpu") if goes else None) == asked, seed
        assert not found.variants
        met.add(asked)
    assert met == {None, 0, 1, 2, 3, 5}
