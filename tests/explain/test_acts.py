"""Acts: what a person does to make a change come true (G7)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cli_samples import FOUR_CPUS
from commands import Placer
from instance_texts import instance_of_text
from placer.explain.acts import instructions_for_changes
from placer_models.taints import Toleration
from placer_models.whatif.language import parse_change

CLUSTER = (
    FOUR_CPUS
    + """nodes:
  - {name: a, machine: small}
  - {name: b, machine: small, cordoned: true}
gangs: [{name: g, pods: [{name: w, replicas: 2, requests: {cpu: 3}}]}]
pods: [{name: p, requests: {cpu: 3}}]
running:
  - {name: r, node: a, requests: {cpu: 1}}
"""
)

CASES = {
    "uncordon=b": ("kubectl uncordon b", "in the file: node b: cordoned: false"),
    "label=a:disk=ssd": (
        "kubectl label node a disk=ssd",
        "in the file: node a: labels: {disk: ssd}",
    ),
    "remove=r": ("kubectl delete pod -n default r", "in the file: no pod default/r"),
    "scale=g:1": (
        "in the template that the pods are made of: replicas: 1",
        "in the file: default/g: replicas: 1",
    ),
    "ask-less=p:cpu=2500m": (
        "in the template that the pods are made of: resources.requests: {cpu: 2500m}",
        "in the file: default/p: requests: {cpu: 2500m}",
    ),
    "give-up=p:nodeSelector=zone": (
        "in the template that the pods are made of: no zone in spec.nodeSelector",
        "in the file: default/p: no zone in nodeSelector",
    ),
    "give-up=p:taint=gpu": (
        "kubectl patch pod -n default p --type json -p '"
        '[{"op": "add", "path": "/spec/tolerations", "value": '
        '[{"key": "gpu", "operator": "Exists"}]}]\'',
        "in the file: default/p: tolerations: [{key: gpu, operator: Exists}]",
    ),
    "relax=p.cpuBindPolicy": (
        "in the template that the pods are made of: annotation "
        "scheduling.koordinator.sh/resource-spec: only prefer cpuBindPolicy",
        "in the file: default/p: cpuBindPolicy: {preferred: …}",
    ),
    "relax=p.numaPolicy": (
        "in the template that the pods are made of: annotation "
        "scheduling.koordinator.sh/numa-topology-spec: only prefer numaPolicy",
        "in the file: default/p: no numaPolicy",
    ),
    "add=2:a": ("add 2 more nodes like a", "in the file: 2 more nodes like a"),
    "add=1:a": ("add 1 more node like a", "in the file: 1 more node like a"),
}


@pytest.mark.parametrize("change", CASES)
def test_each_change_says_what_to_do(change: str) -> None:
    """
    In a cluster and in a file.
    """
    world = instance_of_text(CLUSTER)
    done = [
        instructions_for_changes([parse_change(change)], world, of_cluster=where)
        for where in (True, False)
    ]

    assert tuple(act for (act,) in done) == CASES[change]


def test_moves_name_how_many_may_move_and_the_files() -> None:
    """
    As many as the changes name together.
    """
    running = "  - {name: r, node: a, requests: {cpu: 1}, gang: h}\n"
    members = "".join(running.replace("name: r", f"name: r{i}") for i in "01")
    world = instance_of_text(f"{CLUSTER}{members}runningGangs: [{{name: h}}]\n")
    moves = [parse_change("move=r"), parse_change("move=h")]

    assert instructions_for_changes(
        moves, world, of_cluster=True, files=["a.json", "my pods.json"]
    ) == ("placer solve a.json 'my pods.json' --move-budget 3 --emit evictions,bindings FOLDER",)
    assert instructions_for_changes(moves, world, of_cluster=False) == (
        "in the file: moveBudget: 3; or --move-budget 3",
    )


def test_a_toleration_is_added_to_those_that_a_pod_has() -> None:
    """
    A patch of a list that is not there, or in place of one that is, would be refused.
    """
    world = instance_of_text(CLUSTER)
    (lone,) = (gang for gang in world.gangs if gang.lone)
    pod = lone.pods[0]
    tolerant = replace(pod, spec=replace(pod.spec, tolerations=(Toleration("x"),)))
    world = replace(world, gangs=(replace(lone, pods=(tolerant,)),))

    (act,) = instructions_for_changes([parse_change("give-up=p:taint=gpu")], world, of_cluster=True)
    patch = json.loads(act.partition(" -p ")[2].strip("'"))
    assert patch == [
        {
            "op": "add",
            "path": "/spec/tolerations/-",
            "value": {"key": "gpu", "operator": "Exists"},
        }
    ]


def test_solve_names_the_best_change_for_who_is_left_out(tmp_path: Path, placer: Placer) -> None:
    file = tmp_path / "i.yaml"
    file.write_text(CLUSTER.replace("name: p, requests: {cpu: 3}", "name: p, requests: {cpu: 4}"))

    printed = placer("solve", str(file), "--workers", "1", code=1).out
    assert "What would do" in printed
    assert "uncordon=b (in the file: node b: cordoned: false)" in printed
    shown = placer("solve", str(file), "--workers", "1", "--work-limit", "5", code=1)
    assert "What would do" not in shown.out
