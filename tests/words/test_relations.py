"""Rules by which pods look at others: what each says of a pod, and what a new one need not say."""

from dataclasses import replace

import pytest

from mixed_worlds import mixed_instance
from placer.search.outside_witnesses import witness_pods_on_outside_nodes
from placer_models import relations
from placer_models.affinity import AffinityTerm, InNodeAffinityLevel
from placer_models.cluster import Instance
from placer_models.pod import Pod, pods_of_gangs
from placer_models.reach import asks_beyond_node, without_asks_beyond_node
from placer_models.relations import (
    RELATIONS,
    Relation,
    asks_something_of_newcomers,
    asks_something_of_other_pods,
    later_pods_may_make_nodes_fit,
    make_domain_limit_relation,
    self_affinity_terms,
    spec_inside_node,
    without_needs_met_later,
)
from placer_models.rule_family import RuleFamilyName

SEEDS = range(40)


def all_pods(instance: Instance) -> list[Pod]:
    return [*pods_of_gangs(instance.gangs), *(runner.pod for runner in instance.running)]


def test_limits_ask_by_a_field_that_pods_have() -> None:
    """
    A field that specs lack, or that has no default, is named with the rule.
    """
    for word in ("rack_limit", "containers"):
        with pytest.raises(ValueError, match=f"few-a-rack: '{word}' is no field of PodSpec with a"):
            make_domain_limit_relation("few-a-rack", word, lambda _, __: ())


def test_every_rule_has_one_record() -> None:
    """
    By the name of its family, and of its rule if it limits how many pods domains have.
    """
    names = [(relation.family, relation.rule) for relation in RELATIONS]
    assert len(names) == len(set(names))
    assert all((family is RuleFamilyName.DOMAIN_LIMITS) == bool(rule) for family, rule in names)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_of_a_pod_asks_no_more_than_it_should(seed: int) -> None:
    """
    Of one node: nothing that reaches beyond it. Inside only: terms inside. Twice is once.
    """
    for pod in all_pods(mixed_instance(seed)):
        near, inside = without_asks_beyond_node(pod), spec_inside_node(pod.spec)

        assert not asks_beyond_node(near.spec)
        assert without_asks_beyond_node(near) == near
        assert asks_beyond_node(pod.spec) == (near.spec != pod.spec)
        assert all(term.level is not InNodeAffinityLevel.NODE for term in inside.affinity)
        assert not inside.spread
        assert asks_something_of_other_pods(inside) == bool(inside.affinity)
        assert asks_something_of_other_pods(pod.spec) == bool(pod.spec.affinity or pod.spec.spread)
        assert asks_something_of_newcomers(pod.spec) == bool(pod.spec.affinity)

        hopeless = without_needs_met_later(pod.spec)
        asked = [term for term in pod.spec.affinity if term.required and not term.apart]
        assert {*hopeless.affinity} == {*pod.spec.affinity} - {*asked}
        assert replace(hopeless, affinity=pod.spec.affinity) == pod.spec
        assert later_pods_may_make_nodes_fit(pod.spec) == any(
            one.required for one in pod.spec.spread
        )


def test_a_pod_is_the_first_by_terms_that_mean_itself() -> None:
    """
    On nodes and inside them, if they are required and ask for company.
    """
    mine = (("app", "mine"),)
    on_node = AffinityTerm(mine)
    on_cores = AffinityTerm(mine, level=InNodeAffinityLevel.CORE)
    others = (AffinityTerm(mine, apart=True), AffinityTerm((("app", "other"),)))
    waiting = (pod for seed in SEEDS for pod in pods_of_gangs(mixed_instance(seed).gangs))
    spec = next(pod.spec for pod in waiting if pod.spec.qos.owns_cpus)
    spec = replace(spec, labels=mine, affinity=(on_cores, *others, on_node))

    assert [*self_affinity_terms(spec)] == [on_node, on_cores]
    assert [*self_affinity_terms(replace(spec, labels=()))] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rule_that_says_nothing_of_whom_it_sees_sees_everybody(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    So a part of a search knows too many pods beyond it, and never too few.
    """
    instance = mixed_instance(seed)
    few = {instance.nodes[0].name}
    beyond = [one for one in instance.running if one.placement.node not in few]
    told = witness_pods_on_outside_nodes(instance.running, few, instance.gangs, instance.nodes)
    silent = Relation(
        family=RuleFamilyName.AMOUNTS,
        asked=lambda _: True,
        reaches=lambda _: True,
        node_local_spec=lambda spec: spec,
        inside=lambda spec: spec,
    )
    monkeypatch.setattr(relations, "RELATIONS", (*RELATIONS, silent))
    found = witness_pods_on_outside_nodes(instance.running, few, instance.gangs, instance.nodes)

    assert [one.pod.key for one in found] == [one.pod.key for one in beyond]
    assert {one.pod.key for one in told} <= {one.pod.key for one in found}
    assert asks_something_of_other_pods(instance.gangs[0].pods[0].spec)
