"""Tiny instances whose pods ask for other devices on other nodes."""

from dataclasses import replace
from random import Random

from features.feature import Feature, gangs_with_specs
from features.shares import shares_only
from placer_models.cluster import Instance, Node
from placer_models.device import GPU
from placer_models.device_share import DeviceShare
from placer_models.legal import first_spec_fault
from placer_models.pod import Container, DeviceRequest, PodSpec, Variant
from tiny_machines import RDMA
from worlds import tiny_instance

KEY = "kind"
VALUES = ("a", "b", "c")
HALF = DeviceShare(percent=50, memory_percent=50)
GPU_SHARES = (None, None, HALF)


def variants_instance(seed: int) -> Instance:
    """Draw a tiny instance of nodes with labels, and of pods that look at them."""
    rng = Random(f"variants-{seed}")
    instance = tiny_instance(seed)
    if seed % 5 == 0:
        instance = shares_only(rng, instance)
    return with_variants(rng, instance)


def with_variants(rng: Random, instance: Instance) -> Instance:
    """Label nodes, and let pods have variants; equal members of a gang stay equal."""

    def labelled(node: Node) -> Node:
        if rng.random() < 0.15:
            return node
        return replace(node, labels=tuple(sorted({*node.labels, (KEY, rng.choice(VALUES[:2]))})))

    return replace(
        instance,
        nodes=tuple(map(labelled, instance.nodes)),
        gangs=gangs_with_specs(instance.gangs, lambda spec: _with_variants(rng, spec)),
    )


def _with_variants(rng: Random, spec: PodSpec) -> PodSpec:
    if rng.random() < 0.25 or spec.strategies:
        return spec
    variants = tuple(
        Variant(((KEY, value),), _asking(rng, spec.containers))
        for value in rng.sample(VALUES, rng.choice((1, 2, 2)))
    )
    found = replace(spec, variants=variants)
    return spec if first_spec_fault(found) else found


def _asking(rng: Random, containers: tuple[Container, ...]) -> tuple[Container, ...]:
    """Return the containers with other devices at the first."""
    devices = []
    if gpus := rng.choice((0, 1, 1, 2)):
        devices.append(DeviceRequest(GPU, gpus, rng.choice(GPU_SHARES)))
    if rng.random() < 0.25:
        devices.append(DeviceRequest(RDMA, 1))
    first, *others = containers
    requests = replace(first.requests, devices=tuple(devices))
    return replace(first, requests=requests), *others


FEATURE = Feature("variants", with_variants)
