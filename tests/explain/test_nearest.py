"""Nearest misses: which nodes lack least, what they lack, and who has it (G7)."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from cli_samples import TWO_NUMA_NODES
from instance_texts import instance_of_text
from placer import Engine, Placed, SolveOptions, solve
from placer.explain.explain import explain
from placer.explain.explanation import Explanation, PodsPlacedInstead
from placer_models.cluster import Instance
from worlds import tiny_instance

HEAD = (
    TWO_NUMA_NODES
    + """\
    devices: [{type: gpu, count: 4, numaNodes: [0, 0, 1, 1]}]
"""
)

GREEDY = SolveOptions(Engine.GREEDY)


def only_explanation(text: str) -> Explanation:
    """Return the one explanation of an instance, without changes."""
    instance = instance_of_text(HEAD + text)
    (one,) = explain(instance, solve(instance, GREEDY), seconds=0.0)
    return one


def holders(one: Explanation, near: int = 0, lack: int = 0) -> list[tuple[str, int | None, bool]]:
    return [
        (holder.pod[1], holder.amount, holder.placed)
        for holder in one.nearest[near].lacks[lack].held_by
    ]


def test_the_node_that_lacks_least_comes_first_and_says_who_has_it() -> None:
    one = only_explanation(
        "nodes: [{name: 'n-[0-3]', machine: small}]\n"
        "pods: [{name: p, requests: {gpu: 4}}]\n"
        "running:\n"
        "  - {name: a, node: n-0, requests: {gpu: 2}, devices: {gpu: [0, 1]}}\n"
        "  - {name: b, node: n-1, requests: {gpu: 1}, devices: {gpu: [0]}}\n"
        "  - {name: c, node: n-2, requests: {gpu: 2}, devices: {gpu: [0, 1]}}\n"
        "  - {name: d, node: n-2, requests: {gpu: 1}, devices: {gpu: [2]}}\n"
        "  - {name: e, node: n-3, requests: {gpu: 4}, devices: {gpu: [0, 1, 2, 3]}}\n"
    )

    assert [near.node for near in one.nearest] == ["n-1", "n-0", "n-2"]
    (lack,) = one.nearest[0].lacks
    assert (lack.rule, lack.asked, lack.left, lack.missing, lack.total, lack.unit) == (
        "device-count", 4, 3, 1, 4, "gpu",
    )  # fmt: skip
    assert holders(one) == [("b", 1, False)]
    assert holders(one, near=2) == [("c", 2, False), ("d", 1, False)]
    assert one.token == "not-now/device-count"


def test_of_what_is_held_twice_over_each_pod_holds_its_own() -> None:
    """
    Three pods run with 4 of 5 licences each. No amount is negative.
    """
    asked = "{cpu: 1, example.com/licences: 4}"
    running = "".join(f"  - {{name: t{i}, node: a, requests: {asked}}}\n" for i in range(3))
    one = only_explanation(
        "nodes: [{name: a, machine: small, extended: {example.com/licences: 5}}]\n"
        "pods: [{name: check, requests: {cpu: 1, example.com/licences: 1}}]\n"
        "running:\n" + running
    )

    assert holders(one) == [("t0", 4, False), ("t1", 4, False), ("t2", 4, False)]


def test_a_node_that_only_needs_to_be_uncordoned_is_nearer_than_one_too_small() -> None:
    """
    What a node would not have even when empty is farther away than a rule that a person can lift.
    """
    one = only_explanation(
        "nodes: [{name: a, machine: small}, {name: b, machine: small, cordoned: true}]\n"
        "pods: [{name: q, requests: {cpu: 7}}]\n"
        "running: [{name: r, node: a, qos: LSR, requests: {cpu: 4}, cpuset: '0-3'}]\n"
    )

    assert [near.node for near in one.nearest] == ["a", "b"]
    assert [lack.missing for lack in one.nearest[0].lacks] == [3000]
    assert holders(one) == [("r", 4000, False)]
    assert [lack.rule for lack in one.nearest[1].lacks] == ["cordon"]


def test_a_node_that_only_needs_to_be_uncordoned_is_among_the_nearest() -> None:
    """
    The first change is to uncordon it: it is told of, though others lack a smaller part.
    """
    one = only_explanation(
        "nodes: [{name: 'n-[0-3]', machine: small}, {name: z, machine: small, cordoned: true}]\n"
        "pods: [{name: q, requests: {cpu: 7}}]\n"
        "running:\n"
        + "".join(f"  - {{name: r-{i}, node: n-{i}, requests: {{cpu: 4}}}}\n" for i in range(4))
    )

    assert [near.node for near in one.nearest] == ["n-0", "n-1", "z"]


def test_all_that_can_be_counted_is_named_of_a_node() -> None:
    one = only_explanation(
        "nodes: [{name: a, machine: small, cordoned: true, taints: [{key: k,"
        " effect: NoSchedule}]}]\n"
        "pods: [{name: p, requests: {gpu: 5, memory: 17Gi}, nodeSelector: {zone: b}}]"
    )

    (near,) = one.nearest
    assert [(lack.rule, lack.missing) for lack in near.lacks] == [
        ("cordon", None), ("taints", None), ("node-selector", None),
        ("device-count", 1), ("memory", 2**30),
    ]  # fmt: skip
    assert one.token == "never/cordon"


def test_who_keeps_a_pod_away_is_named() -> None:
    """
    Whether the pod keeps away from them or they from it; and in the whole zone.
    """
    one = only_explanation(
        "nodes: [{name: a, machine: small, labels: {zone: x}},"
        " {name: b, machine: small, labels: {zone: x}}]\n"
        "pods: [{name: p, labels: {app: web}, requests: {cpu: 1}, "
        "antiAffinity: {required: {matchLabels: {app: db}, topologyKey: zone}}}]\n"
        "running:\n"
        "  - {name: db, node: a, labels: {app: db}, requests: {cpu: 1}}\n"
        "  - {name: shy, node: b, requests: {cpu: 1},"
        " antiAffinity: {required: {matchLabels: {app: web}}}}\n"
        "  - {name: other, node: b, requests: {cpu: 1}}\n"
    )

    assert [near.node for near in one.nearest] == ["a", "b"]
    assert holders(one) == [("db", None, False)]
    assert holders(one, near=1) == [("db", None, False), ("shy", None, False)]


def test_what_is_missing_inside_a_node_is_told_with_who_is_in_the_way() -> None:
    """
    Two GPUs are left, on two NUMA nodes: either of the pods that have the others could go.
    """
    one = only_explanation(
        "nodes: [{name: a, machine: small}]\n"
        "pods: [{name: p, numaPolicy: SingleNUMANode, requests: {cpu: 1, gpu: 2}}]\n"
        "running:\n"
        "  - {name: r, node: a, requests: {cpu: 1, gpu: 1}, devices: {gpu: [0]}}\n"
        "  - {name: s, node: a, requests: {cpu: 1, gpu: 1}, devices: {gpu: [2]}}\n"
        "  - {name: t, node: a, requests: {cpu: 1}}\n"
    )

    ((lack,),) = (near.lacks for near in one.nearest)
    assert lack.rule == "alignment"
    assert lack.missing is None
    assert holders(one) == [("r", None, False), ("s", None, False)]


def test_of_a_gang_the_nearest_is_where_one_more_member_would_nearly_be() -> None:
    """
    Beside the members that fit: they have what the next one lacks.
    """
    one = only_explanation(
        "nodes: [{name: a, machine: small}]\n"
        "gangs: [{name: g, pods: [{name: w, replicas: 5, requests: {gpu: 1}}]}]"
    )

    (near,) = one.nearest
    assert [lack.missing for lack in near.lacks] == [1]
    assert [amount for _, amount, _ in holders(one)] == [1, 1, 1, 1]
    assert one.token == "never/gang-minimum"


def test_who_is_outvoted_hears_by_whom_and_by_which_tier() -> None:
    one = only_explanation(
        "nodes: [{name: a, machine: small}]\n"
        "pods:\n"
        "  - {name: high, priority: 5, requests: {gpu: 3}}\n"
        "  - {name: low, priority: 1, requests: {gpu: 2}}\n"
    )

    assert one.pods == (("default", "low"),)
    assert holders(one) == [("high", 3, True)]
    assert one.winner == PodsPlacedInstead((("default", "high"),), "placed.priority-5")
    assert one.token == "outvoted/device-count"


def test_of_two_alike_no_tier_decides() -> None:
    one = only_explanation(
        "nodes: [{name: a, machine: small}]\npods: [{name: p, replicas: 2, requests: {gpu: 3}}]\n"
    )

    assert one.winner is not None
    assert one.winner.tier is None


def alone_on(instance: Instance, node: str, key: tuple[str, str]) -> bool:
    """Return whether a pod that waits fits a node by itself beside what runs, by another way."""
    (gang,) = (g for g in instance.gangs if any(pod.key == key for pod in g.pods))
    (pod,) = (pod for pod in gang.pods if pod.key == key)
    world = replace(
        instance,
        gangs=(replace(gang, pods=(pod,), minimum=1, levels=(), gather=None),),
        groups=(),
        nodes=tuple(n if n.name == node else replace(n, cordoned=True) for n in instance.nodes),
        left_out=(),
        move_budget=0,
    )
    return isinstance(solve(world, SolveOptions(Engine.EXACT, workers=1)), Placed)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_a_near_miss_is_a_miss_and_its_devices_are_counted_right(seed: int) -> None:
    """
    By the exact model nobody fits there; and by ids the node has as many devices left as is said.
    """
    instance = tiny_instance(seed)
    answer = solve(instance, GREEDY)
    if isinstance(answer, Placed):
        return
    runs = {one.pod.key for one in instance.running}
    placement = getattr(answer, "placement", None)
    held: dict[str, list[tuple[str, int]]] = {}
    for place in (
        *(one.placement for one in instance.running if one.pod.key in runs),
        *(placement.pods if placement else ()),
    ):
        held.setdefault(place.node, []).extend((d.type, d.minor) for d in place.devices)
    for one in explain(instance, answer, seconds=0.0):
        for near in one.nearest:
            assert near.lacks
            if one.gang is None:
                assert not alone_on(instance, near.node, one.pods[0]) or placement
            for lack in near.lacks:
                if lack.rule != "device-count" or one.gang is not None or answer_moves(answer):
                    continue
                (node,) = (n for n in instance.nodes if n.name == near.node)
                there = {(d.type, d.minor) for d in node.devices if node.is_healthy(d)}
                left = {d for d in there if d[0] == lack.subject} - set(held.get(near.node, ()))
                assert lack.left == len(left)
                assert lack.asked is not None
                assert lack.asked > len(left)


def answer_moves(answer: object) -> bool:
    return bool(getattr(answer, "moves", ()))


WEB = "labels: {app: web}, requests: {cpu: 1}"
"""A pod of web, of which at most one more may be in a zone than in another."""

SPREAD = (
    "topologySpread: {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule,"
    " labelSelector: {matchLabels: {app: web}}}"
)


def test_what_pods_elsewhere_say_of_a_node_counts_among_what_it_lacks() -> None:
    """
    In the zone that has one more than the other a toleration alone does not do, and it does there.
    """
    one = only_explanation(
        "nodes:\n"
        "  - {name: a-0, machine: small, labels: {zone: a}}\n"
        "  - {name: a-1, machine: small, labels: {zone: a},"
        " taints: [{key: k, effect: NoSchedule}]}\n"
        "  - {name: b-0, machine: small, labels: {zone: b},"
        " taints: [{key: k, effect: NoSchedule}]}\n"
        "  - {name: c-0, machine: small, labels: {zone: b}, cordoned: true}\n"
        f"pods: [{{name: p, {WEB}, {SPREAD}}}]\n"
        "running:\n"
        f"  - {{name: r, node: a-0, {WEB}}}\n"
        "  - {name: agent, node: a-0, requests: {cpu: 1}}\n"
    )

    lacking = {near.node: [lack.rule for lack in near.lacks] for near in one.nearest}
    assert list(lacking.items()) == [
        ("c-0", ["cordon"]),
        ("a-0", ["topology-spread"]),
        ("b-0", ["taints"]),
    ]
    assert holders(one, near=1) == [("r", None, False)]


def test_all_that_keeps_a_pod_off_is_named_with_limits_of_domains() -> None:
    """
    A node in no zone is told once; of one that the spread leaves out with the selector it is not.
    """
    one = only_explanation(
        "nodes:\n"
        "  - {name: a-0, machine: small, labels: {zone: a},"
        " taints: [{key: k, effect: NoSchedule}]}\n"
        "  - {name: b-0, machine: small, labels: {zone: b},"
        " taints: [{key: k, effect: NoSchedule}]}\n"
        "  - {name: none, machine: small}\n"
        f"pods: [{{name: p, {WEB}, nodeSelector: {{zone: a}}, {SPREAD}}}]\n"
        "running:\n"
        f"  - {{name: r, node: a-0, {WEB}}}\n"
        "  - {name: agent, node: a-0, requests: {cpu: 1}}\n"
    )

    lacking = {near.node: [lack.rule for lack in near.lacks] for near in one.nearest}
    assert lacking["none"] == ["node-selector", "topology-spread"]
    assert lacking["b-0"] == ["taints", "node-selector"]
