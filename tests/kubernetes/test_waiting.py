"""Who waits in a dump is in the answer, whoever may not be placed."""

import json
from pathlib import Path

import pytest

from commands import Placer
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import REQUIRED, Json, member, node, pod, pod_group
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_cli.exits import ExitCode
from placer_models.cluster import Instance
from placer_models.kubernetes.who_waits import WaitingPodFilter
from placer_models.placement import Answer, Infeasible, PartlyPlaced
from placer_models.reasons import UnplacedCause, verdict_of_reasons

GATES = [{"name": "example.com/quota"}]


def nominated(found: Json, node_name: str) -> Json:
    """Return a pod for which room is being made on a node."""
    return {**found, "status": {**found["status"], "nominatedNodeName": node_name}}


def answered(instance: Instance) -> Answer:
    """Return what the greedy path answers."""
    return solve(instance, SolveOptions(Engine.GREEDY, 10, None, workers=1, seed=0))


def reasons(instance: Instance) -> dict[str, str]:
    """Return name -> reason of each pod that nobody is asked about."""
    answer = answered(instance)
    assert isinstance(answer, PartlyPlaced | Infeasible)
    asked = [verdict_of_reasons(one.why) is UnplacedCause.NOT_ASKED for one in answer.unplaced]
    return {
        one.name: one.reasons[0]
        for one, unasked in zip(answer.unplaced, asked, strict=True)
        if unasked
    }


def test_whoever_waits_is_in_the_answer() -> None:
    """
    Gated, of a gang that is not all there, without its PodGroup, without a word for it.
    """
    vain = {REQUIRED: [{"topologyKey": "zone"}]}
    instance, _ = read(
        node(),
        pod_group("few", 3),
        pod("gated", schedulingGates=GATES),
        member("few-0", "few"),
        member("few-1", "few"),
        member("lost-0", "lost"),
        pod("odd", affinity={"podAffinity": vain}),
        pod("fine"),
    )

    assert reasons(instance) == {
        "gated": "not asked: it has scheduling gates: example.com/quota",
        "few-0": "not asked: 2 of the 3 pods that it waits for are there",
        "few-1": "not asked: 2 of the 3 pods that it waits for are there",
        "lost-0": "not asked: its PodGroup is not in the dump, and no pod says its minimum",
        "odd": "not asked: there is no word yet for required pod affinity that means no pod",
    }
    assert set(places(instance)) == {"fine"}


def test_a_pod_of_a_workload_waits() -> None:
    """
    Kubernetes 1.35 names gangs in another way; alone such a pod would split its gang.
    """
    workload = {"name": "job", "podGroup": "workers"}
    instance, _ = read(node(), pod("worker-0", workloadRef=workload), pod("fine"))

    assert list(reasons(instance)) == ["worker-0"]
    assert "no word yet for workloadRef of Kubernetes 1.35" in reasons(instance)["worker-0"]
    assert [one.gang for one in instance.left_out] == ["job.workers"]
    assert set(places(instance)) == {"fine"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_gang_waits_for_another_that_waits(order: tuple[int, ...]) -> None:
    """
    One waits for the other, and that for a third that is not there, in whatever order they stand.
    """

    def in_groups(name: str, *names: str) -> Json:
        groups = json.dumps([f"default/{one}" for one in names])
        annotations = {
            "gang.scheduling.koordinator.sh/name": name,
            "gang.scheduling.koordinator.sh/min-available": "1",
            "gang.scheduling.koordinator.sh/groups": groups,
        }
        return pod(f"{name}-0", annotations=annotations)

    pods = [in_groups("a", "a", "b"), in_groups("b", "b", "c")]
    instance, _ = read(node(), *(pods[i] for i in order))

    assert reasons(instance) == {
        "a-0": "not asked: its group waits for PodGroup default/b",
        "b-0": "not asked: its group waits for PodGroup default/c",
    }


def test_gated_pods_are_placed_where_that_is_asked() -> None:
    """
    As if their gates were gone.
    """
    instance, _ = read(
        node(), pod("gated", schedulingGates=GATES), who=WaitingPodFilter(gated=True)
    )
    assert set(places(instance)) == {"gated"}


def test_pods_are_counted_by_scheduler_and_picked_by_its_name() -> None:
    """
    Without a name all are ours; with names the others are passed over, and told of.
    """
    objects = [node(), pod("a"), pod("b", schedulerName="volcano"), pod("c", schedulerName="x")]
    instance, summary = read(*objects)
    assert set(places(instance)) == {"a", "b", "c"}
    assert "(--scheduler-name picks): 1 for default-scheduler, 1 for volcano, 1 for x" in notes(
        summary
    )

    instance, summary = read(*objects, who=WaitingPodFilter(frozenset(("volcano", "x"))))
    assert set(places(instance)) == {"b", "c"}
    assert "pods of scheduler default-scheduler, passed over: Pod default/a" in notes(summary)
    assert "picks" not in notes(read(node(), pod("a"))[1])


def test_a_nominated_pod_keeps_the_room_of_its_node() -> None:
    """
    Room is being made for it: nobody else comes there, and no other place is looked for.
    """
    six = {"cpu": "6"}
    waits = nominated(pod("first", six), "n1")
    instance, summary = read(node(), node("n2"), waits, pod("second", six), pod("third", six))

    assert reasons(instance) == {
        "first": "not asked: it is nominated to node n1, where its room is kept"
    }
    assert [place.node for place in places(instance).values()] == ["n2"]
    assert "pods nominated to a node, whose room is kept: Pod default/first" in notes(summary)
    # By a node that is gone nobody is nominated.
    instance, _ = read(node(), nominated(pod("first", six), "n9"))
    assert set(places(instance)) == {"first"}


def test_a_pod_on_a_node_that_is_gone_ends_nothing() -> None:
    """
    The garbage collector has not come by yet; it is told of.
    """
    instance, summary = read(node(), pod("gone", nodeName="n9"), pod("fine"))
    assert set(places(instance)) == {"fine"}
    assert "nodes that are not in the dump, passed over: Pod default/gone on n9" in notes(summary)


def test_the_command_counts_them(tmp_path: Path, placer: Placer) -> None:
    """
    In the sentence, the table, the document and the exit code; the options pick.
    """
    dump = tmp_path / "dump.json"
    items = [node(), pod("gated", schedulingGates=GATES), pod("b", schedulerName="volcano")]
    dump.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    solve_it = ["solve", str(dump), "--engine", "greedy"]

    said = placer(*solve_it, code=ExitCode.NOT_ALL).out
    assert said.startswith("1 of 2 pods placed, 1 not asked; ")
    assert "not asked: it has scheduling gates: example.com/quota" in said
    tree = json.loads(placer(*solve_it, "--format", "json", code=ExitCode.NOT_ALL).out)
    assert [one["verdict"] for one in tree["unplaced"]] == ["not-asked"]
    shown = placer("show", str(dump)).out
    assert "2 waiting, 1 not asked" in shown
    assert "not asked: it has scheduling gates: example.com/quota" in shown
    placer(*solve_it, "--gated")
    placer(*solve_it, "--scheduler-name", "volcano")
    printed = placer(*solve_it, "--scheduler-name", "default-scheduler", code=ExitCode.NOT_ALL)
    assert "0 of 1 pod placed, 1 not asked." in printed.out
    large = pod("large", {"cpu": "99"})
    dump.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*items, large]}))
    said = placer(*solve_it, "--scheduler-name", "default-scheduler", code=ExitCode.NOT_ALL).out
    assert "0 of 2 pods placed, 1 not asked: it is proven that nothing else" in said
    instance = tmp_path / "own.yaml"
    one = "nodes: [{name: n, machine: dgx-a100}]"
    instance.write_text(f"{{apiVersion: placer/v1, kind: Instance, {one}}}")
    printed = placer("show", str(instance), "--gated", code=ExitCode.BAD_INPUT)
    assert "--gated goes with the objects of a cluster" in printed.err
