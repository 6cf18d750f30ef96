"""Outcomes of looking for changes of one kind, and what follows from what does not fit."""

from collections.abc import Iterable, Sequence

from placer.explain.explanation import SufficientChange
from placer.explain.trial import ChangeTrials, TrialVerdict, trial_outcome_of
from placer_models.cluster import Instance, NodesWithCachedFacts
from placer_models.legal import IllegalPodError
from placer_models.pod import pods_of_gangs
from placer_models.policy import BINDING
from placer_models.relations import domain_limits_asked_by
from placer_models.whatif.change import InstanceChange

MOST_TRIALS = 64
"""How many sets of one size are tried; beyond that one that is small enough is looked for."""

Option = tuple[InstanceChange, ...]
"""Changes that go together: one pod of a shape does without a label, so all of the shape do."""

KindOutcome = SufficientChange | TrialVerdict
"""A change that does; or that none of the kind would, or that it is not known."""


def is_placing_all_ruled_out(instance: Instance, trials: ChangeTrials) -> bool:
    """Return whether it is proven that not all that wait in another instance have a place."""
    try:
        answer = trials.answer(instance)
    except IllegalPodError:
        return False
    return answer is not None and trial_outcome_of(answer, instance) is TrialVerdict.RULED_OUT


def has_domain_limits(instance: Instance) -> bool:
    """Return whether a pod minds domains: then another node may be another empty domain."""
    pods = pods_of_gangs(instance.gangs)
    return any(any(domain_limits_asked_by(pod.spec, pod.namespace)) for pod in pods)


def trial_with_more_changes_may_fail(instance: Instance) -> bool:
    """Return whether a change may hinder though others of its kind would do without it.

    Nodes that come, or that a pod may look at, may be empty domains; who ends may be company; and
    a pod without a NUMA policy of its own is under that of its node.
    """
    return has_domain_limits(instance) or _have_numa_policy(instance) or _wants_company(instance)


def _wants_company(instance: Instance) -> bool:
    """Return whether a pod has to be with others, which may be those that end."""
    return any(
        term.required and not term.apart
        for pod in pods_of_gangs(instance.gangs)
        for term in pod.spec.affinity
    )


def trial_with_less_may_fail(instance: Instance) -> bool:
    """Return whether less of something may not fit though more does.

    NUMA policies allow sets of NUMA nodes by what is asked for; whole cores and partitions of
    GPUs come in certain sizes.
    """
    return (
        _have_numa_policy(instance)
        or any(node.honors_table for node in instance.nodes)
        or any(pod.spec.qos.owns_cpus for pod in pods_of_gangs(instance.gangs))
    )


def _have_numa_policy(instance: Instance) -> bool:
    """Return whether a NUMA policy that may refuse a place is that of a pod or of a node."""
    return NodesWithCachedFacts.of(instance.nodes).bind_pools or any(
        pod.spec.alignment in BINDING for pod in pods_of_gangs(instance.gangs)
    )


def all_changes_as_one_option(options: Iterable[Option]) -> Option:
    """Return several options as one."""
    return tuple(change for option in options for change in option)


def outcome_if_no_change_found(outcomes: Sequence[KindOutcome]) -> TrialVerdict:
    """Return what is known where several looks have found no change."""
    return TrialVerdict.OPEN if TrialVerdict.OPEN in outcomes else TrialVerdict.RULED_OUT


def all_change_outcomes_proven(outcomes: Sequence[KindOutcome]) -> bool:
    """Return whether each of several looks has ended with a proof."""
    return all(
        one is TrialVerdict.RULED_OUT or (isinstance(one, SufficientChange) and one.smallest)
        for one in outcomes
    )
