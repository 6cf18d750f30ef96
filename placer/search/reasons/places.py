"""Reasons about places on NUMA nodes: pods that are bound to some, and alignment (C5, C8, C12)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from placer.search.reasons.cpus import say_which_pool_is_short
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.rule import (
    ReasonRule,
    Said,
    only_demands_of_rule,
    rule_demand_text,
)
from placer.state.alignment import alignment_scopes_conflict, aligns_by_container
from placer_models.bound import numa_nodes_bound_to, with_bound_numa_nodes
from placer_models.cluster import RunningPod
from placer_models.effective import effective_alignment_policy
from placer_models.message_text import count_with_noun, listed_in_sentence
from placer_models.pod import PodSpec
from placer_models.policy import AlignmentPolicy
from placer_models.reasons import RuleDemand

_BY_CONTAINER = ", each container for itself"
"""The end of an alignment's word if its scope is the container."""


def _bound_beside(asked: PodOnNode) -> list[RunningPod]:
    node = asked.node
    return [r for r in asked.running if numa_nodes_bound_to(r.placement, r.pod.spec, node)]


def _bound_pool(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.spec.qos.owns_cpus and not all(
        runner.pod.spec.constrained_burst for runner in _bound_beside(asked)
    ):
        yield RuleDemand("bound-pool")


def _burst(asked: PodOnNode) -> Iterator[RuleDemand]:
    spec = asked.spec
    if spec.constrained_burst or (
        spec.qos.owns_cpus and any(r.pod.spec.constrained_burst for r in _bound_beside(asked))
    ):
        yield RuleDemand("constrained-burst")


def _without_burst(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    """Drop the burst limit of the pod, or of the pods that run there."""

    def freed(runner: RunningPod) -> RunningPod:
        if not runner.pod.spec.constrained_burst:
            return runner
        spec = replace(runner.pod.spec, constrained_burst=False)
        return _floating(replace(runner, pod=replace(runner.pod, spec=spec)))

    if asked.spec.constrained_burst:
        # Restricted counts the limit: with the request alone it may allow other sets of NUMA nodes.
        if AlignmentPolicy.RESTRICTED in (asked.spec.alignment, asked.node.alignment):
            asked = _not_aligned(asked, RuleDemand("alignment"))
        return replace(asked, spec=replace(asked.spec, constrained_burst=False))
    return replace(asked, running=tuple(map(freed, asked.running)))


def _not_bound(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    """Let pods float that a policy has bound to some NUMA nodes of the node."""
    running = (r if r.pod.spec.constrained_burst else _floating(r) for r in asked.running)
    return replace(asked, running=tuple(running))


def _floating(runner: RunningPod) -> RunningPod:
    if runner.pod.spec.qos.owns_cpus:
        return runner
    parts = tuple(replace(part, cpu_milli=None) for part in runner.placement.containers)
    return replace(runner, placement=replace(runner.placement, cpu_milli=(), containers=parts))


def _limit(demand: RuleDemand, spec: PodSpec) -> str:
    """Return what a pod under ConstrainedBurst wants of NUMA nodes."""
    return (
        rule_demand_text(demand, spec)
        if spec.qos.owns_cpus
        else f"a pool of {spec.burst_cpus} CPUs"
    )


def _say_burst(demand: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    if spec.qos.owns_cpus:
        return say_which_pool_is_short(demand, others, spec)
    if pool := only_demands_of_rule("shared-pool", others):
        cpus = count_with_noun(spec.requests.cpu_milli / 1000, "CPU")
        return f"constrained-burst asks {cpus} on NUMA nodes", pool
    return f"constrained-burst asks {_limit(demand, spec)}", ()


def _alignment(asked: PodOnNode) -> Iterator[RuleDemand]:
    spec, node = asked.spec, asked.node
    policy = effective_alignment_policy(spec, node)
    if policy is None:
        word = f"pod asks {spec.alignment}, node has {node.alignment}"
    elif alignment_scopes_conflict(spec, node):
        word = f"pod asks for scope {spec.scope}, node has {node.scope}"
    elif aligns_by_container(spec, node):
        word = f"{policy}{_BY_CONTAINER}"
    elif policy in (AlignmentPolicy.NONE, AlignmentPolicy.BEST_EFFORT):
        return
    else:
        word = policy
    yield RuleDemand("alignment", word=word)


def _not_aligned(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    """Drop the policy that the pod would come under; who runs there stays bound as it is."""
    running = (replace(r, placement=with_bound_numa_nodes(r, asked.node)) for r in asked.running)
    return replace(
        asked,
        spec=replace(asked.spec, alignment=AlignmentPolicy.NONE, scope=None),
        node=replace(asked.node, alignment=AlignmentPolicy.NONE, scope=None),
        running=tuple(running),
    )


BOUND = (
    ReasonRule(
        name="bound-pool",
        binds_to_numa_nodes=True,
        asked=_bound_pool,
        without=_not_bound,
        said=say_which_pool_is_short,
    ),
    ReasonRule(
        name="constrained-burst",
        asked=_burst,
        without=_without_burst,
        brief=_limit,
        said=_say_burst,
    ),
)


def build_alignment_reason_rule(rules: Mapping[str, ReasonRule]) -> ReasonRule:
    """Return what the reasons know of alignment.

    Args:
        rules: The rules whose amounts it may ask to be near each other.

    """

    def said(demand: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
        policy = demand.word.removesuffix(_BY_CONTAINER)
        each = demand.word.removeprefix(policy)
        if each:
            for rule, what in (
                ("device-share", "shares of devices"),
                ("device-strategy", "devices by a strategy"),
            ):
                if told := only_demands_of_rule(rule, others):
                    return f"alignment: {what} are not parted among containers", told
        limit = () if spec.qos.owns_cpus else ("constrained-burst",)
        amounts = [d for d in others if rules[d.rule].is_amount or d.rule in limit]
        if not amounts:
            return f"alignment: {demand.word}", ()
        wanted = listed_in_sentence([rules[amount.rule].brief(amount, spec) for amount in amounts])
        match policy:
            case AlignmentPolicy.SINGLE_NUMA_NODE:
                how = "on one NUMA node"
            case AlignmentPolicy.RESTRICTED:
                how = "on the same NUMA nodes, as few as each needs (Restricted)"
            case _:
                how = policy
        return f"alignment asks {wanted} {how}{each}", amounts

    return ReasonRule(
        name="alignment",
        of_any_device=True,
        binds_to_numa_nodes=True,
        asked=_alignment,
        without=_not_aligned,
        said=said,
    )
