"""Each change of an instance does what it says, and leaves the instance it was given alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from answers import expect
from cli_samples import TWO_NUMA_NODES
from instance_texts import instance_of_text
from moving_worlds import pinned_crowd
from placer import Engine, Placed, SolveOptions, load_instance, solve
from placer_models.cluster import Instance, Machine
from placer_models.machines.catalogue import load_machine
from placer_models.whatif.change import WhatIfChangeError
from placer_models.whatif.language import KINDS, instance_with_all_changes, parse_change

INSTANCES = Path(__file__).parents[2] / "instances"

HEAD = (
    TWO_NUMA_NODES
    + """\
    devices: [{type: gpu, count: 2, numaNodes: [0, 1]}]
"""
)

GREEDY = SolveOptions(Engine.GREEDY)

FREED: dict[str, tuple[str, str]] = {
    "uncordon": (
        "uncordon=n",
        "nodes: [{name: n, machine: small, cordoned: true}]\npods: [{name: p, requests: {cpu: 1}}]",
    ),
    "mend": (
        "mend=n:gpu/1",
        "nodes: [{name: n, machine: small, unhealthyDevices: {gpu: [1]}}]\n"
        "pods: [{name: p, requests: {cpu: 1, gpu: 2}}]",
    ),
    "label": (
        "label=n:disk=ssd",
        "nodes: [{name: n, machine: small, labels: {disk: hdd, zone: a}}]\n"
        "pods: [{name: p, nodeSelector: {disk: ssd, zone: a}, requests: {cpu: 1}}]",
    ),
    "add a node like another": (
        "add=1:n",
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, requests: {cpu: 6}}, {name: q, requests: {cpu: 6}}]",
    ),
    "add a machine": (
        "add=1:dgx-a100",
        "nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 20}}]",
    ),
    "remove": (
        "remove=r",
        "nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {gpu: 2, cpu: 1}}]\n"
        "running: [{name: r, node: n, requests: {gpu: 1, cpu: 1}, devices: {gpu: [0]}}]",
    ),
    "scale": (
        "scale=g:2",
        "nodes: [{name: n, machine: small}]\n"
        "gangs: [{name: g, pods: [{name: w, replicas: 4, requests: {cpu: 4}}]}]",
    ),
    "ask less CPU": (
        "ask-less=p:cpu=8",
        "nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 9}}]",
    ),
    "ask less memory": (
        "ask-less=p:memory=4Gi",
        "nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 1, memory: 40Gi}}]",
    ),
    "ask less of a shared device": (
        "ask-less=p:gpu.percent=40",
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, shares: [{percent: 60, memoryPercent: 30}]}]\n"
        "running:\n"
        "  - {name: r, node: n, shares: [{percent: 60, memoryPercent: 30}], devices: {gpu: [0]}}\n"
        "  - {name: s, node: n, shares: [{percent: 60, memoryPercent: 30}], devices: {gpu: [1]}}",
    ),
    "ask for fewer devices": (
        "ask-less=p:gpu=2",
        "nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 1, gpu: 3}}]",
    ),
    "give up a label": (
        "give-up=p:nodeSelector=zone",
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, nodeSelector: {zone: a}, requests: {cpu: 1}}]",
    ),
    "give up staying off a taint": (
        "give-up=p:taint=gpu",
        "nodes: [{name: n, machine: small, taints: [{key: gpu, effect: NoSchedule}]}]\n"
        "pods: [{name: p, requests: {cpu: 1}}]",
    ),
    "relax": (
        "relax=p.numaPolicy",
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, numaPolicy: SingleNUMANode, requests: {cpu: 1, gpu: 2}}]",
    ),
}
"""What it is about -> a change, and a cluster in which that change alone is missing."""


def read(text: str) -> Instance:
    return instance_of_text(HEAD + text)


def machine(name: str) -> Machine | None:
    return load_machine(name) if name == "dgx-a100" else None


@pytest.mark.parametrize("about", FREED)
def test_a_change_makes_the_room_that_was_missing(about: str) -> None:
    """
    Without it something has no place; with it all have. The instance given stays as it is.
    """
    text, cluster = FREED[about]
    instance, again = read(cluster), read(cluster)
    change = parse_change(text, machine)

    assert not isinstance(solve(instance, GREEDY), Placed)
    assert isinstance(solve(instance_with_all_changes([change], instance), GREEDY), Placed)
    assert instance == again


def test_every_kind_of_change_is_tried() -> None:
    tried = {text.partition("=")[0] for text, _ in FREED.values()}

    assert set(KINDS) - tried == {"cordon", "move"}  # they have tests of their own


def test_a_cordon_keeps_new_pods_off() -> None:
    instance = read("nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 1}}]")

    assert isinstance(solve(instance, GREEDY), Placed)
    assert not isinstance(
        solve(instance_with_all_changes([parse_change("cordon=n")], instance), GREEDY), Placed
    )


def test_pods_that_may_move_make_room_and_others_stay() -> None:
    """
    Either of two running pods could make the room; the one that is named does.
    """
    instance = read(
        "nodes: [{name: 'n-[0-1]', machine: small}]\n"
        "pods: [{name: p, requests: {gpu: 2, cpu: 1}}]\n"
        "running:\n"
        "  - {name: r, node: n-0, requests: {gpu: 1, cpu: 1}, devices: {gpu: [0]}}\n"
        "  - {name: s, node: n-1, requests: {gpu: 1, cpu: 1}, devices: {gpu: [0]}}"
    )

    for name in ("r", "s"):
        answer = solve(
            instance_with_all_changes([parse_change(f"move={name}")], instance),
            SolveOptions(workers=1),
        )
        assert isinstance(answer, Placed)
        assert [move.home.name for move in answer.moves] == [name]


def test_pods_that_are_named_one_by_one_may_move_together() -> None:
    """
    One pod of the second node may not move, and two of the first must: neither name alone would
    do, and naming one does not keep the other where it is.
    """
    instance = pinned_crowd(0)
    moves = [parse_change("move=a"), parse_change("move=b")]

    for one in moves:
        assert not isinstance(
            solve(instance_with_all_changes([one], instance), SolveOptions(workers=1)), Placed
        )
    for order in (moves, moves[::-1]):
        answer = expect(
            Placed, solve(instance_with_all_changes(order, instance), SolveOptions(workers=1))
        )
        assert {move.home.name for move in answer.moves} == {"a", "b"}


def test_amounts_of_shared_devices_are_read_and_written_as_in_files() -> None:
    """
    A quantity in bytes: 400Gi in, 400Gi out, and the bytes in between; percent are no bytes.
    """
    instance = load_instance([INSTANCES / "rules" / "device-quantities.yaml"])
    asked = parse_change("ask-less=cache:disk.space=400Gi")

    changed = instance_with_all_changes([asked], instance)

    assert str(asked) == "ask-less=default/cache:disk.space=400Gi"
    (cache,) = (gang.pods[0] for gang in changed.gangs if gang.name == "cache")
    share = next(d.share for d in cache.spec.requests.devices if d.type == "disk")
    assert share is not None
    assert [(q.name, q.text) for q in share.capacity] == [("bandwidth", "1500"), ("space", "400Gi")]
    with pytest.raises(WhatIfChangeError, match=r"disk\.space is in bytes, which 40% is not"):
        instance_with_all_changes([parse_change("ask-less=cache:disk.space=40%")], instance)


def test_a_scaled_gang_keeps_what_its_minimum_meant() -> None:
    """
    All of its members stay all of them; fewer than all stay as many, or all if there are no more.
    """
    instance = read(
        "nodes: [{name: n, machine: small}]\ngangs:\n"
        "  - {name: g, pods: [{name: w, replicas: 3, requests: {cpu: 1}}]}\n"
        "  - {name: h, minimum: 2, pods: [{name: v, replicas: 3, requests: {cpu: 1}}]}"
    )

    def sizes(*texts: str) -> list[tuple[int, int]]:
        changed = instance_with_all_changes([parse_change(text) for text in texts], instance)
        return [(len(gang.pods), gang.minimum) for gang in changed.gangs]

    assert sizes("scale=g:5", "scale=h:5") == [(5, 5), (5, 2)]
    assert sizes("scale=g:1", "scale=h:1") == [(1, 1), (1, 1)]


def test_copies_of_a_pod_are_named_on() -> None:
    instance = read("nodes: [{name: n, machine: small}]\npods: [{name: p-1, requests: {cpu: 1}}]")

    changed = instance_with_all_changes([parse_change("scale=p-1:3")], instance)
    assert [pod.name for gang in changed.gangs for pod in gang.pods] == ["p-1", "p-0", "p-2"]


def test_added_nodes_are_empty_and_told_apart() -> None:
    """
    They have the labels of the node that they are like, but for its hostname.
    """
    instance = read(
        "nodes: [{name: n, machine: small, cordoned: true, unhealthyDevices: {gpu: [0]},\n"
        "  labels: {zone: a, kubernetes.io/hostname: n}}]\npods: []"
    )

    _, *added = instance_with_all_changes([parse_change("add=2:n")], instance).nodes
    assert [node.name for node in added] == ["n-added-0", "n-added-1"]
    assert [dict(node.labels) for node in added] == [
        {"zone": "a", "kubernetes.io/hostname": node.name} for node in added
    ]
    assert all(not node.cordoned and not node.unhealthy for node in added)


def test_asking_less_keeps_the_limit_of_owned_cpus_at_their_request() -> None:
    instance = read(
        "nodes: [{name: n, machine: small}]\npods: [{name: p, qos: LSR, requests: {cpu: 6}}]"
    )

    (gang,) = instance_with_all_changes([parse_change("ask-less=p:cpu=2")], instance).gangs
    (container,) = gang.pods[0].spec.containers
    assert container.requests.cpu_milli == 2000
    assert container.cpu_limit_milli in (None, 2000)


BAD: dict[str, str] = {
    "": "there is no change ''; there are uncordon, cordon",
    "uncordn=n": "did you mean 'uncordon'?",
    "uncordon": "expected uncordon=NODE",
    "uncordon=m": "there is no node 'm'",
    "uncordon=n": "is not cordoned",
    "mend=n": "has no broken device",
    "mend=n:gpu": "names no device",
    "label=n": "does not say which label",
    "label=n:disk": "does not say which label",
    "label=m:disk=ssd": "there is no node 'm'",
    "add=x:n": "'x' is no whole number",
    "add=0:n": "'0' is no whole number from 1",
    "add=3": "does not say what is added",
    "add=3:dgx": "there is no node or machine 'dgx'",
    "remove=q": "there is no pod or gang 'q'",
    "remove=/p": "names no pod",
    "move=p": "there is no running pod or gang 'p'",
    "scale=p": "does not say how many",
    "scale=p:1": "pod 'p' is one already",
    "scale=q:2": "there is no gang or pod of no gang that waits 'q'",
    "ask-less=p:cpu": "does not say how much of what",
    "ask-less=p:cpu=2": "pod 'p' asks for 1 CPU already; 2 is not less",
    "ask-less=p:gpu=1": "asks for no gpu",
    "ask-less=p:gpu.percent=1": "asks for no gpu.percent",
    "give-up=p:nodeSelector": "needs to know which",
    "give-up=p:nodeSelector=zone": "has no nodeSelector 'zone' to give up",
    "give-up=p:taint=foo": "no node has the taint 'foo'",
    "give-up=p:hope": "the terms are nodeSelector",
    "relax=p.numaPolicy": "requires nothing of numaPolicy",
    "relax=p.numa": "the policies are numaPolicy",
}


@pytest.mark.parametrize("text", BAD)
def test_a_change_that_is_none_is_answered_in_one_line(text: str) -> None:
    instance = read("nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 1}}]")

    with pytest.raises(WhatIfChangeError) as caught:
        instance_with_all_changes([parse_change(text)], instance)

    assert BAD[text] in str(caught.value)
    assert "\n" not in str(caught.value)


TAINTED = """
nodes: [{name: n, machine: small, taints: [{key: dedicated, value: db, effect: NoSchedule}]}]
pods:
  - {name: p, requests: {cpu: 1}}
  - {name: q, requests: {cpu: 1}, tolerations: [{key: dedicated, operator: Exists}]}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("give-up=p:taint=dedicate", "no node has the taint 'dedicate'; did you mean"),
        ("give-up=q:taint=dedicated", "'q' tolerates taint 'dedicated' already"),
    ],
)
def test_a_taint_that_keeps_nobody_off_is_not_given_up(text: str, said: str) -> None:
    instance = read(TAINTED)
    instance_with_all_changes([parse_change("give-up=p:taint=dedicated")], instance)

    with pytest.raises(WhatIfChangeError, match=said):
        instance_with_all_changes([parse_change(text)], instance)


@pytest.mark.parametrize(
    "texts",
    [
        ("cordon=n", "uncordon=n"),
        ("label=n:disk=a", "label=n:disk=b"),
        ("scale=p:2", "scale=p:3"),
        ("remove=p", "scale=p:3"),
        ("ask-less=p:cpu=1", "ask-less=p:cpu=500m"),
    ],
)
def test_changes_that_contradict_are_refused(texts: tuple[str, str]) -> None:
    instance = read("nodes: [{name: n, machine: small}]\npods: [{name: p, requests: {cpu: 2}}]")

    with pytest.raises(WhatIfChangeError, match="contradict; leave one out"):
        instance_with_all_changes([parse_change(text) for text in texts], instance)


def test_what_no_pod_may_ask_for_is_refused() -> None:
    """
    Who owns CPUs owns whole ones, before a change and after it.
    """
    instance = read(
        "nodes: [{name: n, machine: small}]\npods: [{name: p, qos: LSR, requests: {cpu: 2}}]"
    )

    with pytest.raises(WhatIfChangeError, match="pod 'p'"):
        instance_with_all_changes([parse_change("ask-less=p:cpu=1500m")], instance)


def test_a_change_is_written_as_it_is_read() -> None:
    texts = [
        "uncordon=n", "cordon=n", "mend=n", "mend=n:gpu/3", "label=n:a.b/c=d", "add=3:n",
        "remove=ns/p", "move=ns/p", "scale=ns/g:2", "ask-less=ns/p:memory=4Gi",
        "ask-less=ns/p:gpu.memory=4Gi", "give-up=ns/p:taint=gpu", "give-up=ns/p:nodeAffinity",
        "relax=ns/p.cpuBindPolicy",
    ]  # fmt: skip

    assert [str(parse_change(text)) for text in texts] == texts


def test_a_label_that_a_node_has_is_not_given_again() -> None:
    instance = read("nodes: [{name: n, machine: small, labels: {zone: a}}]\n")

    with pytest.raises(WhatIfChangeError, match="node 'n' has label zone=a already"):
        instance_with_all_changes([parse_change("label=n:zone=a")], instance)


def test_a_gang_of_a_group_can_be_removed() -> None:
    """
    The group goes on with the gangs that are left.
    """
    instance = read(
        "nodes: [{name: n, machine: small}]\ngangs:\n"
        "  - {name: g, pods: [{name: w, requests: {cpu: 1}}]}\n"
        "  - {name: h, pods: [{name: v, requests: {cpu: 9}}]}\n"
        "gangGroups: [{name: both, gangs: [g, h]}]"
    )

    assert not isinstance(solve(instance, GREEDY), Placed)
    changed = instance_with_all_changes([parse_change("remove=h")], instance)
    assert isinstance(solve(changed, GREEDY), Placed)
    assert replace(instance, gangs=changed.gangs, groups=changed.groups) == changed


@pytest.mark.parametrize("change", ["move=agent", "remove=agent"])
def test_a_pod_that_runs_for_its_node_stays_there(change: str) -> None:
    """
    A static pod, or one of a DaemonSet, comes back to its node wherever else there is room.
    """
    instance = read(
        "nodes: [{name: n, machine: small}]\n"
        "pods: [{name: p, requests: {cpu: 1}}]\n"
        "running: [{name: agent, node: n, ofNode: true, requests: {cpu: 1}}]"
    )

    with pytest.raises(
        WhatIfChangeError, match="'agent' runs for its node, as static pods"
    ) as caught:
        instance_with_all_changes([parse_change(change)], instance)

    assert "\n" not in str(caught.value)
