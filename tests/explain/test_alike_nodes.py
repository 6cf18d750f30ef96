"""Few nodes of each sort tell as much as all of them: the same changes are found (G7)."""

from dataclasses import replace

import pytest

from placer.explain import explain as explain_module
from placer.explain.alike_nodes import (
    NodeSamplesForTrials,
    alike_node_group_numbers,
    starting_accounts_after_change,
)
from placer.explain.explain import explain
from placer.explain.explanation import Explanation, SufficientChange
from placer.search.baseline import running_pods_of_each_node, starting_accounts_of
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import Placed
from placer_models.whatif.language import instance_with_all_changes, parse_change
from placer_models.whatif.pods import AskLess
from refusal_worlds import LONG_S, refusal_world

COPIES = 3
"""How many nodes like each node there are: more than pods of a shape wait."""

WORLDS_EACH, BATCHES = 2, 16


def copied(instance: Instance) -> Instance:
    """Return the instance with more nodes like each of its nodes, on which the same runs."""
    nodes: list[Node] = []
    running: list[RunningPod] = []
    for node in instance.nodes:
        there = [one for one in instance.running if one.placement.node == node.name]
        for i in range(COPIES):
            name = node.name if i == 0 else f"{node.name}-{i}"
            nodes.append(replace(node, name=name))
            for one in there:
                own = one.pod.name if i == 0 else f"{one.pod.name}-{i}"
                place = replace(one.placement, name=own, node=name)
                running.append(
                    replace(one, pod=replace(one.pod, name=own, uid=""), placement=place)
                )
    return replace(instance, nodes=tuple(nodes), running=tuple(running))


def size_of(change: SufficientChange) -> object:
    """Return how large a change is, whichever nodes and pods it names."""
    parts = [str(one).rpartition(":")[2] for one in change.changes]
    return parts if isinstance(change.changes[0], AskLess) else len(parts)


def told(one: Explanation) -> dict[str, object]:
    known: dict[str, object] = {change.kind: size_of(change) for change in one.changes}
    return known | dict.fromkeys(one.ruled_out, "none")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_few_nodes_of_each_sort_tell_what_all_tell(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Each node is there three times. What is known with all nodes and with few of each sort is the
    same; either may know more, for which there is room in time and tries.
    """
    fewer = 0
    for number in range(1 + batch * WORLDS_EACH, 1 + (batch + 1) * WORLDS_EACH):
        instance = copied(refusal_world(number))
        answer = solve(instance, SolveOptions(workers=1, work_limit=5))
        if isinstance(answer, Placed):
            continue
        some = explain(instance, answer, seconds=LONG_S)
        with monkeypatch.context() as patch:
            patch.setattr(explain_module, "alike_node_group_numbers", lambda *_: None)
            every = explain(instance, answer, seconds=LONG_S)
        for few, all_ in zip(some, every, strict=True):
            fewer += 1
            mine, others = told(few), told(all_)
            both = mine.keys() & others.keys() - {"move", "end"}
            assert {k: mine[k] for k in both} == {k: others[k] for k in both}, number
            assert [near.lacks[0].rule for near in few.nearest] == [
                near.lacks[0].rule for near in all_.nearest
            ], number
    assert fewer


def test_only_what_a_change_touches_is_counted_anew() -> None:
    """
    The baseline of a changed instance is that of one counted from the start.
    """
    for number in range(1, 40):
        instance = refusal_world(number)
        guests = [one.pod for one in instance.running if not one.of_node]
        if not guests:
            continue
        before = starting_accounts_of(instance)
        node = instance.nodes[0].name
        gone = "/".join(guests[0].key)
        changed = instance_with_all_changes(
            [parse_change(f"add=2:{node}"), parse_change(f"remove={gone}")], instance
        )

        found = starting_accounts_after_change(changed, instance, before)

        assert list(found.accounts) == list(starting_accounts_of(changed).accounts)
        assert list(found.running) == list(running_pods_of_each_node(changed))


def test_no_more_of_a_sort_are_kept_than_pods_wait() -> None:
    instance = copied(refusal_world(2))
    baseline = starting_accounts_of(instance)
    sorts = alike_node_group_numbers(instance, baseline)
    assert sorts is not None

    few, counted = NodeSamplesForTrials(instance, baseline, sorts).where_wait(instance.gangs[:1])

    assert len(few.nodes) < len(instance.nodes)
    assert list(counted.accounts) == list(starting_accounts_of(few).accounts)
