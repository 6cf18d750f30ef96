"""Explanations of pods without a place, and the changes that they name (G7)."""

import pytest

from answers import expect
from cli_samples import TWO_NUMA_NODES
from instance_texts import instance_of_text
from moving_worlds import pinned_crowd
from placer import Engine, Infeasible, Placed, SolveOptions, solve
from placer.explain.explain import explain
from placer.explain.explanation import CHANGE_KINDS, Explanation, SufficientChange
from placer.explain.given_answer import InvalidGivenPlacementError, answer_from_placement
from placer.explain.smallest_change import (
    KINDS,
    smallest_change_by_giving_up_terms,
    smallest_change_by_mending_nodes,
    smallest_change_by_relaxing_policies,
)
from placer.explain.trial import ChangeTrials, TrialVerdict
from placer_models.cluster import Instance
from placer_models.placement import Placement
from placer_models.reasons import UnplacedCause
from placer_models.whatif.pods import AllowPodMoves

HEAD = (
    TWO_NUMA_NODES
    + """\
    devices: [{type: gpu, count: 2, numaNodes: [0, 1]}]
  - name: disks
    numaNodes: [{id: 0, memory: 8Gi, cpus: "0-3"}]
    devices: [{type: disk, count: 1, capacity: {space: 1348Gi}}]
"""
)

GREEDY = SolveOptions(Engine.GREEDY)

LONG_S = 60.0
"""More than any of these takes, so that no trial ends for want of time."""


def read(text: str) -> Instance:
    return instance_of_text(HEAD + text)


def explained(instance: Instance, seconds: float = LONG_S) -> tuple[Explanation, ...]:
    return explain(instance, solve(instance, GREEDY), seconds=seconds)


def said(change: SufficientChange) -> tuple[str, ...]:
    return tuple(map(str, change.changes))


WOULD_DO: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "a cordoned node": (
        "nodes: [{name: 'n-[0-2]', machine: small, cordoned: true}]\n"
        "pods: [{name: p, requests: {cpu: 1}}]",
        {"mend-node": ("uncordon=n-0",), "add-nodes": ("add=1:n-0",)},
    ),
    "a broken device": (
        "nodes: [{name: n, machine: small, unhealthyDevices: {gpu: [1]}}]\n"
        "pods: [{name: p, requests: {cpu: 1, gpu: 2}}]",
        {
            "mend-node": ("mend=n",),
            "ask-less": ("ask-less=default/p:gpu=1",),
            "add-nodes": ("add=1:n",),
        },
    ),
    "five nodes that need nothing but a toleration": (
        "nodes: [{name: 'n-[0-4]', machine: small, taints: [{key: gpu, effect: NoSchedule}]},\n"
        "  {name: m, machine: small, reservedCpus: '0-6'}]\n"
        "pods: [{name: p, requests: {cpu: 2}}]",
        {"give-up": ("give-up=default/p:taint=gpu",), "ask-less": ("ask-less=default/p:cpu=1",)},
    ),
    "two labels that no node has both of": (
        "nodes: [{name: n, machine: small, labels: {zone: a}}]\n"
        "pods: [{name: p, nodeSelector: {zone: b, disk: fast}, requests: {cpu: 1}}]",
        {
            "give-up": (
                "give-up=default/p:nodeSelector=disk",
                "give-up=default/p:nodeSelector=zone",
            )
        },
    ),
    "a toleration before a label, and a control plane last": (
        "nodes:\n"
        "  - {name: c, machine: small,"
        " taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}],"
        " labels: {pool: db}}\n"
        "  - {name: d, machine: small, labels: {pool: db},"
        " taints: [{key: dedicated, effect: NoSchedule}]}\n"
        "  - {name: n, machine: small}\n"
        "pods: [{name: p, nodeSelector: {pool: db}, requests: {cpu: 1}}]",
        {"give-up": ("give-up=default/p:taint=dedicated",), "label-node": ("label=n:pool=db",)},
    ),
    "a label before the taint of a control plane": (
        "nodes:\n"
        "  - {name: c, machine: small,"
        " taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}],"
        " labels: {pool: db}}\n"
        "  - {name: n, machine: small}\n"
        "pods: [{name: p, nodeSelector: {pool: db}, requests: {cpu: 1}}]",
        {"give-up": ("give-up=default/p:nodeSelector=pool",), "label-node": ("label=n:pool=db",)},
    ),
    "a policy": (
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, numaPolicy: SingleNUMANode, requests: {cpu: 1, gpu: 2}}]",
        {
            "relax": ("relax=default/p.numaPolicy",),
            "ask-less": ("ask-less=default/p:gpu=1",),
        },
    ),
    "a running pod": (
        "nodes: [{name: 'n-[0-1]', machine: small}]\n"
        "pods: [{name: p, requests: {gpu: 2, cpu: 1}}]\n"
        "running:\n"
        "  - {name: r, node: n-0, requests: {gpu: 1, cpu: 1}, devices: {gpu: [0]}}\n"
        "  - {name: s, node: n-1, requests: {gpu: 1, cpu: 1}, devices: {gpu: [0]}}",
        {
            "ask-less": ("ask-less=default/p:gpu=1",),
            "move": ("move=default/r",),
            "end": ("remove=default/r",),
            "add-nodes": ("add=1:n-0",),
        },
    ),
    "a share of a device": (
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, shares: [{percent: 60, memoryPercent: 30}]}]\n"
        "running:\n"
        "  - {name: r, node: n, shares: [{percent: 60, memoryPercent: 30}], devices: {gpu: [0]}}\n"
        "  - {name: s, node: n, shares: [{percent: 70, memoryPercent: 30}], devices: {gpu: [1]}}",
        {
            "ask-less": ("ask-less=default/p:gpu.percent=40",),
            "end": ("remove=default/r",),
            "add-nodes": ("add=1:n",),
        },
    ),
    "a gang that is too large": (
        "nodes: [{name: n, machine: small}]\n"
        "gangs: [{name: g, pods: [{name: w, replicas: 4, requests: {cpu: 1, gpu: 1}}]}]",
        {"fewer-members": ("scale=default/g:2",), "add-nodes": ("add=1:n",)},
    ),
}


@pytest.mark.parametrize("about", WOULD_DO)
def test_the_changes_that_would_do_are_named(about: str) -> None:
    """
    Of each kind the smallest, and it is proven that it is.
    """
    text, expected = WOULD_DO[about]
    instance = read(text)

    (one,) = explained(instance)
    found = {change.kind: said(change) for change in one.changes}
    assert found == expected
    assert all(change.smallest for change in one.changes if change.kind != "ask-less")


def test_a_shape_that_waits_often_is_explained_once() -> None:
    """
    Ten pods need ten nodes: that is one change, not one more node ten times.
    """
    instance = read(
        "nodes: [{name: n, machine: small}]\npods: [{name: p, replicas: 11, requests: {cpu: 5}}]"
    )

    (one,) = explained(instance)
    assert len(one.pods) == 10
    assert {c.kind: said(c) for c in one.changes}["add-nodes"] == ("add=10:n",)


def test_a_node_with_the_label_is_added_though_the_machine_is_the_same() -> None:
    """
    Nodes that differ in labels are other types: one more of the first would not do.
    """
    instance = read(
        "nodes: [{name: a, machine: small, labels: {zone: a}},\n"
        "  {name: b, machine: small, labels: {zone: b}, cordoned: true}]\n"
        "pods: [{name: p, nodeSelector: {zone: b}, requests: {cpu: 3}}]"
    )

    (one,) = explained(instance)
    assert {c.kind: said(c) for c in one.changes}["add-nodes"] == ("add=1:b",)


def test_without_numa_policies_the_least_less_is_proven_by_what_does_not_fit() -> None:
    """
    Of thousands of amounts not each is tried: where no policy binds anybody, what does not fit
    rules out all that is more.
    """
    instance = read(
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, numaPolicy: BestEffort, requests: {cpu: 1, memory: 20Gi}}]"
    )

    (one,) = explained(instance)
    less = next(change for change in one.changes if change.kind == "ask-less")
    assert said(less) == ("ask-less=default/p:memory=16Gi",)
    assert less.smallest


def test_less_of_a_quantity_in_bytes_is_told_in_its_unit() -> None:
    instance = read(
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, requests: {cpu: 1},\n"
        "  shares: [{type: disk, capacity: {space: 2000Gi}}]}]".replace("small", "disks")
    )

    (one,) = explained(instance)
    less = next(change for change in one.changes if change.kind == "ask-less")
    assert said(less) == ("ask-less=default/p:disk.space=1348Gi",)
    assert less.smallest


def test_two_moves_are_named_where_one_does_not_do() -> None:
    (one,) = explained(pinned_crowd(0))

    (move,) = (change for change in one.changes if change.kind == "move")
    assert set(said(move)) == {"move=default/a", "move=default/b"}
    assert move.smallest


def test_moves_that_open_no_node_are_not_the_fewest_where_one_may_be_opened() -> None:
    """
    Two small pods of one node have room on another; one pod alone could go to a node on offer.
    """
    instance = read(
        "nodes: [{name: 'n-[0-1]', machine: small, labels: {pool: x}},\n"
        "  {name: other, machine: disks}, {name: offer, machine: small, offered: true}]\n"
        "pods: [{name: p, nodeSelector: {pool: x}, requests: {cpu: 8}}]\n"
        "running: [{name: a, node: n-0, requests: {cpu: 2}},\n"
        "  {name: b, node: n-0, requests: {cpu: 2}}, {name: c, node: n-1, requests: {cpu: 5}}]"
    )

    (one,) = explained(instance)
    move = next(change for change in one.changes if change.kind == "move")
    assert len(move.changes) == 1 or not move.smallest
    fewer = ChangeTrials(instance, LONG_S).outcome((AllowPodMoves(("default", "c")),))
    assert fewer is TrialVerdict.FITS


def test_of_moves_that_are_as_few_the_first_by_name_are_named() -> None:
    """
    Two pods of eight nodes have to move; any two would do.
    """
    names = "hgfedcba"
    running = "\n".join(
        f"  - {{name: {name}, node: n-{i}, requests: {{gpu: 1, cpu: 1}}, devices: {{gpu: [0]}}}}"
        for i, name in enumerate(names)
    )
    instance = read(
        "nodes: [{name: 'n-[0-7]', machine: small}]\n"
        "gangs: [{name: g, pods: [{name: w, replicas: 2, requests: {cpu: 1, gpu: 2}}]}]\n"
        f"running:\n{running}"
    )

    (one,) = explained(instance)
    found = {change.kind: change for change in one.changes}
    assert said(found["move"]) == ("move=default/a", "move=default/b")
    assert said(found["end"]) == ("remove=default/a", "remove=default/b")
    assert found["move"].smallest


def test_no_label_is_proposed_that_says_what_a_node_is() -> None:
    """
    Nor one that a node has with another value, nor one by which pods are kept apart.
    """
    instance = read(
        "nodes: [{name: n, machine: small, labels: {disk: hdd}}]\n"
        "pods:\n"
        "  - {name: a, nodeSelector: {topology.kubernetes.io/zone: z}, requests: {cpu: 1}}\n"
        "  - {name: b, nodeSelector: {nvidia.com/gpu.product: z}, requests: {cpu: 1}}\n"
        "  - {name: c, nodeSelector: {disk: ssd}, requests: {cpu: 1}}\n"
        "  - {name: d, nodeSelector: {rack: r}, labels: {a: b}, requests: {cpu: 1},\n"
        "     topologySpread: {topologyKey: rack, labelSelector: {matchLabels: {a: b}}}}\n"
        "  - {name: e, nodeSelector: {node-role.kubernetes.io/db: 'yes'}, requests: {cpu: 1}}"
    )

    found = {one.pods[0][1]: one for one in explained(instance)}
    labelled = {
        name: said(change)
        for name, one in found.items()
        for change in one.changes
        if change.kind == "label-node"
    }
    assert labelled == {"e": ("label=n:node-role.kubernetes.io/db=yes",)}
    assert all("label-node" in found[name].ruled_out for name in "abcd")


def test_changes_that_are_as_small_are_all_told() -> None:
    """
    Each of two cordoned nodes would do, and so would a toleration of either taint. Of nodes that
    the pod cannot tell apart one is told.
    """
    instance = read(
        "nodes: [{name: 'n-[0-2]', machine: small, cordoned: true},\n"
        "  {name: m, machine: disks, cordoned: true},\n"
        "  {name: a, machine: small, taints: [{key: gpu, effect: NoSchedule}]},\n"
        "  {name: b, machine: small, taints: [{key: db, effect: NoSchedule}]}]\n"
        "pods: [{name: p, requests: {cpu: 1}}]"
    )

    (one,) = explained(instance)
    found = {
        c.kind: [said(c), *(tuple(map(str, other)) for other in c.others)] for c in one.changes
    }
    assert found["mend-node"] == [("uncordon=n-0",), ("uncordon=m",)]
    assert found["give-up"] == [(f"give-up=default/p:taint={key}",) for key in ("gpu", "db")]


def test_pods_that_run_for_their_node_make_no_room() -> None:
    """
    The agent comes back to its node: of the two that stand in the way only the other may go.
    """
    world = (
        "nodes: [{{name: n, machine: small, labels: {{on: n}}}}, {{name: m, machine: small}}]\n"
        "pods: [{{name: p, requests: {{cpu: {cpu}}}, nodeSelector: {{on: n}}}}]\n"
        "running:\n"
        "  - {{name: agent, node: n, ofNode: true, requests: {{cpu: 2}}}}\n"
        "  - {{name: guest, node: n, requests: {{cpu: 2}}}}\n"
    )

    (one,) = explained(read(world.format(cpu=6)))
    found = {change.kind: said(change) for change in one.changes}
    assert found["move"] == ("move=default/guest",)
    assert found["end"] == ("remove=default/guest",)

    (one,) = explained(read(world.format(cpu=7)))
    assert not {"move", "end"} & {change.kind for change in one.changes}
    assert {"move", "end"} <= set(one.ruled_out)


def crowd_of_a_zone(gpus: int) -> str:
    """Return two nodes with eight pods each, one of them with a GPU, and one that keeps apart."""
    return (
        "nodes: [{name: n, machine: small, labels: {zone: a}},"
        " {name: m, machine: small, labels: {zone: b}}]\n"
        f"pods: [{{name: p, requests: {{gpu: {gpus}}}}}]\n"
        "running:\n"
        "  - {name: shy, node: n, labels: {app: shy}, requests: {cpu: 100m}, antiAffinity:"
        " {required: {matchLabels: {app: shy}, topologyKey: zone}}}\n"
        + "".join(
            f"  - {{name: {on}-{i}, node: {on}, requests: {{cpu: 100m, gpu: {int(i == 5)}}}"
            + (", devices: {gpu: [0]}}\n" if i == 5 else "}\n")
            for on in "nm"
            for i in range(8)
        )
    )


def test_the_end_of_one_pod_is_found_in_a_crowd_that_looks_beyond_its_nodes() -> None:
    (one,) = explained(read(crowd_of_a_zone(gpus=2)))

    (end,) = (change for change in one.changes if change.kind == "end")
    assert said(end) == ("remove=default/m-5",)
    assert end.smallest


def test_what_does_not_fit_an_empty_cluster_is_helped_by_no_move_and_no_end() -> None:
    (one,) = explained(read(crowd_of_a_zone(gpus=3)))

    assert {"move", "end"} <= set(one.ruled_out)


def test_more_types_of_nodes_are_tried_as_long_as_there_is_time() -> None:
    """
    The one node that is large enough comes last of its types by every order.
    """
    types = "".join(
        f"  - {{name: s-{i}-{j}, machine: disks, labels: {{type: s{i}}}}}\n"
        for i in range(9)
        for j in range(2)
    )
    (one,) = explained(
        read(
            f"nodes:\n{types}  - {{name: n, machine: small}}\n"
            "pods: [{name: p, requests: {cpu: 6}}]\n"
            "running: [{name: r, node: n, ofNode: true, requests: {cpu: 3}}]\n"
        )
    )

    (add,) = (change for change in one.changes if change.kind == "add-nodes")
    assert said(add) == ("add=1:n",)


def test_a_gang_of_a_group_is_promised_nothing() -> None:
    """
    What would do for it alone does not do for the group, without which it does not run.
    """
    instance = read(
        "nodes: [{name: n, machine: small}]\ngangs:\n"
        "  - {name: g, pods: [{name: w, requests: {cpu: 1, gpu: 3}}]}\n"
        "  - {name: h, pods: [{name: v, requests: {cpu: 99}}]}\n"
        "gangGroups: [{name: both, gangs: [g, h]}]"
    )

    assert [one.changes for one in explained(instance)] == [(), ()]


def test_a_cordon_keeps_off_who_asks_for_less_too() -> None:
    """
    With CPUs of its own a pod may fit with more than does not fit; but not where nothing fits.
    """
    instance = read(
        "nodes: [{name: n, machine: small, cordoned: true}]\n"
        "pods: [{name: p, qos: LSR, requests: {cpu: 6}}]"
    )

    (one,) = explained(instance)
    assert "ask-less" in one.ruled_out


def test_the_funnel_counts_nodes_rule_by_rule() -> None:
    instance = read(
        "nodes: [{name: 'a-[0-2]', machine: small, cordoned: true},\n"
        "  {name: 'b-[0-1]', machine: small, taints: [{key: k, effect: NoSchedule}]},\n"
        "  {name: c, machine: small}]\n"
        "pods: [{name: p, requests: {cpu: 9}}]"
    )

    (one,) = explained(instance, seconds=0.0)
    assert [(step.rule, step.nodes) for step in one.funnel] == [
        ("", 6), ("cordon", 3), ("taints", 1), ("shared-pool", 0),
    ]  # fmt: skip
    assert one.verdict is UnplacedCause.NEVER
    assert one.token == "never/shared-pool"
    assert one.changes == ()


def test_who_has_a_place_is_not_explained() -> None:
    instance = read("nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 1}}]")

    assert explained(instance) == ()


def test_only_those_who_are_named_are_explained() -> None:
    instance = read(
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, requests: {cpu: 9}}, {name: q, requests: {cpu: 10}}]"
    )
    answer = solve(instance, GREEDY)

    (one,) = explain(instance, answer, [("default", "q")], 0.0)
    assert one.pods == (("default", "q"),)
    with pytest.raises(ValueError, match="no pod or gang 'default/x' waits"):
        explain(instance, answer, [("default", "x")], 0.0)


def test_a_stale_answer_is_refused() -> None:
    """
    An answer to another instance may break a rule of this one.
    """
    text = "nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 6}}]"
    answer = expect(Placed, solve(read(text), GREEDY))

    with pytest.raises(InvalidGivenPlacementError, match="does not fit the instance"):
        answer_from_placement(read(text.replace("cpu: 6", "cpu: 9")), answer.placement, 1.0)


def test_a_given_answer_is_explained_like_a_found_one() -> None:
    text = "nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 9}}]"
    instance = read(text)

    given_one = explain(instance, answer_from_placement(instance, Placement(), 1.0), seconds=0.0)
    assert given_one == explained(instance, seconds=0.0)


def test_each_kind_that_is_named_is_looked_for() -> None:
    assert tuple(KINDS) == CHANGE_KINDS


@pytest.mark.parametrize(
    "look",
    [
        smallest_change_by_mending_nodes,
        smallest_change_by_relaxing_policies,
        smallest_change_by_giving_up_terms,
    ],
)
def test_what_cannot_change_anything_is_ruled_out(look: object) -> None:
    instance = read("nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 9}}]")
    assert isinstance(solve(instance, GREEDY), Infeasible)

    assert callable(look)
    assert look(ChangeTrials(instance, LONG_S)) is TrialVerdict.RULED_OUT
