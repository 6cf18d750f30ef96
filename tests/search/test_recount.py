"""Counting a placement again gives choices that realise to one as good."""

from dataclasses import replace

from mixed_worlds import mixed_instance
from placer.counting.account import accounts_of
from placer.counting.cores import core_classes
from placer.counting.placements import (
    NodeIdAssignmentFailure,
    choices_from_placement,
    realise_choices,
)
from placer.greedy.place import place_greedily
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.search.coarse import refine_coarse_choices, without_links
from placer.state.batch import build_problem
from placer_models.problem.node_state import CoreClassGranularity
from worlds import tiny_instance


def test_recounted_choices_realise_to_the_same_worth() -> None:
    """
    Ids to counts and back loses nothing that is measured.
    """
    for seed in range(150):
        instance = tiny_instance(seed)
        accounts = accounts_of(instance)
        problem = build_problem(instance, accounts)
        first = realise_choices(instance, accounts, problem, place_greedily(problem))
        assert not isinstance(first, NodeIdAssignmentFailure)
        again = realise_choices(
            instance, accounts, problem, choices_from_placement(instance, accounts, problem, first)
        )
        assert not isinstance(again, NodeIdAssignmentFailure)

        assert breaches(instance, again) == ()
        assert measure(instance, again) == measure(instance, first)


def test_choices_without_links_refine_to_clean_placements() -> None:
    """
    GPUs chosen by NUMA node alone become sets of single GPUs that nobody else holds.
    """
    for seed in range(150):
        instance = tiny_instance(seed)
        accounts = accounts_of(instance)
        problem = build_problem(instance, accounts)
        coarse = without_links(problem)
        choices = refine_coarse_choices(problem, coarse, place_greedily(coarse))
        placement = realise_choices(instance, accounts, problem, choices)

        assert not isinstance(placement, NodeIdAssignmentFailure)
        assert breaches(instance, placement) == ()


def test_core_classes_are_those_that_ids_are_dealt_in() -> None:
    """
    Also where no pod of the batch owns CPUs, so that none of them asks for any.
    """
    for seed in range(40):
        mixed = mixed_instance(seed)
        pooled = tuple(g for g in mixed.gangs if not any(p.spec.qos.owns_cpus for p in g.pods))
        for instance in (mixed, replace(mixed, gangs=pooled, groups=())):
            accounts = accounts_of(instance)
            problem = build_problem(instance, accounts, each_core=True, absolute=True)
            if problem.granularity is CoreClassGranularity.WHO:
                continue  # What is beside each other has tests of its own.
            for node, account, state in zip(instance.nodes, accounts, problem.nodes, strict=True):
                found = core_classes(node, account.cores, problem.core_tiers, problem.granularity)
                assert tuple(cores for cores, _ in found) == state.cores


def test_cores_are_put_in_classes_once_an_account() -> None:
    """
    Building a Problem does it; realising and recounting ask what is known.
    """
    for seed in range(20):
        instance = mixed_instance(seed)
        accounts = accounts_of(instance)
        problem = build_problem(instance, accounts)
        known = [dict(account.cores.classes) for account in accounts]
        placement = realise_choices(instance, accounts, problem, place_greedily(problem))
        assert not isinstance(placement, NodeIdAssignmentFailure)
        choices_from_placement(instance, accounts, problem, placement)

        assert all(known)
        assert [account.cores.classes for account in accounts] == known
