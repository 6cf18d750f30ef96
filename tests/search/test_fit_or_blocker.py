"""What a spec means on a kind of node, or which rule keeps it off (G7)."""

from dataclasses import replace
from itertools import product

import pytest

from judge.hand import MACHINE, node, pod, with_pages
from mixed_worlds import mixed_instance
from placer.counting.account import account_of
from placer.search.budget import SolveBudget
from placer.search.options import SolveOptions
from placer.search.reasons.blocking import blocker_of
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.register import REASON_RULES, rule_demands_of_pod
from placer.state.fits import fit_of
from placer.state.requirements import without_relations
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.pod import Pod, pods_of_gangs
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    QosClass,
    SameTypeDevicesScope,
)
from placer_models.problem.problem import Fit
from placer_models.reasons import RuleDemand
from placer_models.topology import ARM
from placer_models.variants import spec_on

SINGLE = AlignmentPolicy.SINGLE_NUMA_NODE
ARM_NODE = replace(
    node(), machine=replace(MACHINE, topology=replace(MACHINE.topology, architecture=ARM))
)


def within(kind: SameTypeDevicesScope, waiting: Pod) -> Pod:
    return replace(waiting, spec=replace(waiting.spec, scopes=((GPU, kind),)))


def apart(waiting: Pod) -> Pod:
    return replace(waiting, spec=replace(waiting.spec, exclusive=ExclusivePolicy.PCPU_LEVEL))


CASES: dict[str, tuple[Pod, Node, RuleDemand]] = {
    "a cordoned node": (pod("p", 1), node(cordoned=True), RuleDemand("cordon")),
    "a closed node": (pod("p", 1), node(closed=True), RuleDemand("closed")),
    "a label": (pod("p", 1, selector={"zone": "a"}), node(), RuleDemand("node-selector")),
    "more GPUs than there are": (pod("p", 1, gpus=5), node(), RuleDemand("device-count", GPU)),
    "more CPUs than there are": (pod("p", 10), node(), RuleDemand("cpu-count")),
    "more memory": (pod("p", 1, memory=9), node(), RuleDemand("memory")),
    "more pages": (with_pages(pod("p", 1), (2, 3)), node(), RuleDemand("hugepages", "2")),
    "GPUs that are not on one NUMA node": (
        within(SameTypeDevicesScope.NUMA_NODE, pod("p", 1, gpus=3)),
        node(),
        RuleDemand("device-scope", GPU, SameTypeDevicesScope.NUMA_NODE),
    ),
    "CPUs that are no whole cores": (
        pod("p", 7, bind=BindPolicy.FULL_PCPUS, required=True),
        node(reserved="2,8"),
        RuleDemand("cpu-bind", word=BindPolicy.FULL_PCPUS),
    ),
    "policies of pod and node": (
        pod("p", 2, bind=BindPolicy.SPREAD_BY_PCPUS, required=True),
        node(cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY),
        RuleDemand("node-cpu-bind", word=NodeBindPolicy.FULL_PCPUS_ONLY),
    ),
    "cores apart on Arm": (apart(pod("p", 2)), ARM_NODE, RuleDemand("arm-cpu-policy")),
    "two NUMA policies": (
        pod("p", 2, alignment=SINGLE),
        node(alignment=AlignmentPolicy.RESTRICTED),
        RuleDemand("alignment", word="pod asks SingleNUMANode, node has Restricted"),
    ),
}


@pytest.mark.parametrize(("waiting", "on", "demand"), CASES.values(), ids=CASES)
def test_what_keeps_a_pod_off_a_node_is_a_value(waiting: Pod, on: Node, demand: RuleDemand) -> None:
    """
    One rule, with its device type or size; the reason says the policy, too. A pod of one CPU fits
    a node that takes pods.
    """
    asked = PodOnNode(waiting.spec, "default", (), on, (), None)
    budget = SolveBudget(SolveOptions(workers=1, seed=1))
    said = blocker_of(asked, account_of(on, ()), rule_demands_of_pod(asked), budget)

    assert fit_of(waiting.spec, on) == (demand.rule, demand.subject)
    assert said is not None
    assert said.demand == demand
    if not (on.cordoned or on.closed):
        assert isinstance(fit_of(pod("q", 1, qos=QosClass.LS).spec, on), Fit)


@pytest.mark.parametrize("batch", range(10))
def test_reasons_stand_on_the_same_blockers(batch: int) -> None:
    """
    On 100 worlds: what blocks a spec is asked for, and the reason is it, or one before it.
    """
    blocked, order = 0, [*REASON_RULES]
    for seed in range(10 * batch, 10 * batch + 10):
        instance = mixed_instance(seed)
        for gang in instance.gangs:
            for waiting, on in ((waiting, on) for waiting in gang.pods for on in instance.nodes):
                never = fit_of(spec_on(waiting.spec, on), on)
                if isinstance(never, Fit):
                    continue
                asked = PodOnNode(spec_on(waiting.spec, on), "default", (), on, (), None)
                demands = rule_demands_of_pod(asked)
                rules = [(demand.rule, demand.subject) for demand in demands]
                assert never in rules, instance.name
                budget = SolveBudget(SolveOptions(workers=1, seed=1))
                said = blocker_of(asked, account_of(on, ()), demands, budget)
                assert said is not None, instance.name
                assert order.index(said.demand.rule) <= order.index(never[0])
                blocked += 1
    assert blocked


def test_what_pods_say_of_each_other_changes_no_fit() -> None:
    """
    So specs that differ in nothing else are looked at once, on each kind of nodes.
    """
    told_apart = 0
    for seed in range(150):
        instance = mixed_instance(seed)
        specs = {pod.spec for pod in pods_of_gangs(instance.gangs)}
        for spec, on in product(specs, instance.nodes):
            alone = without_relations(spec_on(spec, on))
            told_apart += alone != spec_on(spec, on)
            assert fit_of(alone, on) == fit_of(spec_on(spec, on), on), instance.name
    assert told_apart > 100
