"""Relaxed instances, which ask for less: what has no place there has none in the instance itself.

They prove that no change of a kind would do, whichever it is, by one solve.
"""

from collections.abc import Callable
from dataclasses import replace

from placer_models.cluster import Instance, Node
from placer_models.pod import PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    QosClass,
    RequiredOrPreferred,
)
from placer_models.relations import without_domain_limits


def without_policies(instance: Instance) -> Instance:
    """Return the instance without NUMA policies, policies of cores, and partitions of GPUs.

    There who asks for less fits wherever more fits. Who runs keeps its place.
    """
    nodes = tuple(map(_without_policies_of_nodes, instance.nodes))
    return replace(_with_specs(instance, _without_policies_of_pods), nodes=nodes)


def without_requests(instance: Instance) -> Instance:
    """Return the instance in which no pod asks for any amount, nor for places inside a node."""
    return _with_specs(without_policies(instance), _asking_nothing)


def instance_without_domain_limits(instance: Instance) -> Instance:
    """Return the instance in which no pod minds how many are in a domain of nodes."""
    return _with_specs(instance, without_domain_limits)


def _with_specs(instance: Instance, change: Callable[[PodSpec], PodSpec]) -> Instance:
    gangs = tuple(
        replace(gang, pods=tuple(replace(pod, spec=change(pod.spec)) for pod in gang.pods))
        for gang in instance.gangs
    )
    return replace(instance, gangs=gangs)


def _without_policies_of_nodes(node: Node) -> Node:
    aligned = node.alignment or node.defaults.alignment
    bound = node.cpu_bind is not NodeBindPolicy.NONE or node.scope is not None
    if aligned is AlignmentPolicy.NONE and not bound and node.partition_policy is None:
        return node  # so that it does not have to be counted anew
    return replace(
        node,
        alignment=AlignmentPolicy.NONE,
        scope=None,
        cpu_bind=NodeBindPolicy.NONE,
        partition_policy=None,
    )


def _without_policies_of_pods(spec: PodSpec) -> PodSpec:
    return replace(
        spec,
        alignment=AlignmentPolicy.NONE,
        scope=None,
        bind=BindPolicy.DEFAULT,
        bind_strength=RequiredOrPreferred.PREFERRED,
        exclusive=ExclusivePolicy.NONE,
    )


def _asking_nothing(spec: PodSpec) -> PodSpec:
    return replace(
        spec,
        containers=tuple(
            replace(container, requests=Resources(), cpu_limit_milli=None)
            for container in spec.containers
        ),
        affinity=tuple(term for term in spec.affinity if not term.inside),
        joint=None,
        scopes=(),
        strategies=(),
        functions=(),
        variants=(),
        # Where a pod can own CPUs, the pool is not empty before it comes.
        qos=QosClass.LS if spec.qos.owns_cpus else spec.qos,
        constrained_burst=False,
    )
