"""Pods go where their volumes can be reached, and a volume goes to one claim."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from commands import Placer
from dump_worlds import files_of
from e2e.storage_objects import (
    DRIVER,
    HOSTNAME,
    ZONE,
    csi_node,
    csi_volume,
    one_of,
    storage_class,
    volume,
    volume_claim,
    with_claim,
)
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, node, pod
from placer.kubernetes.emit.kinds import EmitKind
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_cli.exits import ExitCode
from placer_models.kubernetes.who_waits import ALL, IgnorablePodRequirementKind, WaitingPodFilter
from placer_models.placement import PartlyPlaced, Placed

TWO = node("n1", labels={ZONE: "z1"}), node("n2", labels={ZONE: "z2"})


def asking(name: str, claim: str, **more: Any) -> Json:
    """Return a pod that mounts a claim."""
    return pod(name, **with_claim(claim), **more)


def on(name: str, *where: str, storage: str = "10Gi") -> Json:
    """Return a free local volume of some nodes."""
    return volume(name, where=one_of(HOSTNAME, *where), storage=storage)


def told(*objects: Json, who: WaitingPodFilter = ALL) -> dict[str, Any]:
    """Return path -> patch of what the volumes of pods are told of the best placement."""
    instance, _ = read(*objects, who=who)
    answer = solve(instance, SolveOptions(work_limit=20, workers=1, seed=0))
    if not isinstance(answer, Placed | PartlyPlaced):
        return {}
    return files_of(objects, instance, answer.placement, EmitKind.VOLUMES)


def test_a_pod_goes_where_its_volume_is() -> None:
    """
    A bound claim's volume says which nodes reach it, by node affinity or by its zone.
    """
    held = volume("v", "c", one_of(HOSTNAME, "n2"))
    instance, summary = read(*TWO, held, volume_claim("c", "v"), asking("p", "c"))
    assert places(instance)["p"].node == "n2"
    assert "the nodes that reach the volumes" in notes(summary)
    zonal = volume("v", "c", labels={ZONE: "z2__z3"})
    instance, _ = read(*TWO, zonal, volume_claim("c", "v"), asking("p", "c"))
    assert places(instance)["p"].node == "n2"


def test_two_pods_and_one_local_volume_have_one_place() -> None:
    """
    A free volume goes to one claim, whether one node reaches it or several.
    """
    for where in (["n1"], ["n1", "n2"]):
        instance, _ = read(
            *(*TWO, storage_class(), on("v", *where)),
            *(volume_claim("c1"), asking("p1", "c1"), volume_claim("c2"), asking("p2", "c2")),
        )
        assert len(places(instance)) == 1


def test_nodes_attach_so_many_volumes_together() -> None:
    """
    Pods that are placed at once share what a node can still attach; attachments count, too.
    """
    known = [csi_node("n1", 2), csi_node("n2", 1)]
    for i in range(4):
        known += [csi_volume(f"v{i}", f"c{i}"), volume_claim(f"c{i}", f"v{i}")]
        known += [asking(f"p{i}", f"c{i}")]
    instance, _ = read(*TWO, *known)
    assert sorted(one.node for one in places(instance).values()) == ["n1", "n1", "n2"]
    lingers = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "a"},
        "spec": {
            "attacher": DRIVER,
            "nodeName": "n1",
            "source": {"persistentVolumeName": "other"},
        },
    }
    instance, _ = read(*TWO, *known, lingers)
    assert sorted(one.node for one in places(instance).values()) == ["n1", "n2"]


def test_a_claim_of_one_pod_goes_to_one_pod() -> None:
    """
    Of several waiting pods with a claim for one pod, or without a volume yet, the first is asked.
    """
    mine = volume_claim("c", "v", mode="ReadWriteOncePod")
    instance, _ = read(*TWO, volume("v", "c"), mine, asking("p", "c"), asking("q", "c"))
    assert places(instance).keys() == {"p"}
    dynamic = storage_class("dynamic", DRIVER)
    wanted = volume_claim("c", of_class="dynamic")
    instance, _ = read(*TWO, dynamic, wanted, asking("p", "c"), asking("q", "c"))
    assert places(instance).keys() == {"p"}
    assert [one.name for one in instance.left_out] == ["q"]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ([], "PersistentVolumeClaim default/c is not in the dump"),
        ([volume_claim("c", "v")], "PersistentVolume v is not in the dump"),
        ([volume_claim("c")], "StorageClass local is not in the dump"),
        ([volume_claim("c", "v", phase="Lost")], "is lost"),
        ([volume_claim("c"), storage_class(mode="Immediate")], "binds at once (Immediate)"),
        (
            [volume("v", "c"), volume_claim("c", "v", deletionTimestamp="2026-01-01T00:00:00Z")],
            "is being deleted",
        ),
    ],
)
def test_a_pod_waits_for_its_volume_by_name(known: list[Json], said: str) -> None:
    """
    Nobody is asked about a pod whose volume is not there, and the reason names it; a gang waits
    with its member. `--ignore volumes` places it all the same where the dump says nothing.
    """
    asked = asking("p", "c")
    instance, summary = read(*TWO, *known, asked)
    assert [one.name for one in instance.left_out] == ["p"]
    assert said in str(instance.left_out[0])
    assert said in notes(summary)
    labels = {
        "pod-group.scheduling.sigs.k8s.io/name": "g",
        "pod-group.scheduling.sigs.k8s.io/min-available": "2",
    }
    gang = [asking("p", "c", labels=labels), pod("q", labels=labels)]
    instance, summary = read(*TWO, *known, *gang)
    assert (instance.gangs, said in notes(summary)) == ((), True)
    instance, summary = read(
        *TWO, *known, asked, who=WaitingPodFilter(ignored=frozenset(IgnorablePodRequirementKind))
    )
    assert places(instance).keys() == {"p"}
    assert "volumes that nobody looks at" in notes(summary)


def test_running_pods_stay_with_their_volumes() -> None:
    """
    A pod that has a claim is not moved.
    """
    instance, _ = read(*TWO, asking("r", "c", nodeName="n1"), pod("s", nodeName="n1"))
    assert {one.pod.name: one.movable for one in instance.running} == {"r": False, "s": True}


def test_what_is_written_before_the_binding() -> None:
    """
    A chosen volume is kept for its claim; where one is to be made, the claim says for which node.
    """
    found = told(*TWO, storage_class(), on("v", "n2"), volume_claim("c"), asking("p", "c"))
    patch = found["volumes/PersistentVolume/v.yaml"]
    assert patch["spec"]["claimRef"]["name"] == "c"
    assert patch["spec"]["claimRef"]["uid"] == "uid-c"
    assert patch["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    dynamic = storage_class("dynamic", DRIVER, zones=["z2"])
    found = told(*TWO, dynamic, volume_claim("c", of_class="dynamic"), asking("p", "c"))
    patch = found["volumes/PersistentVolumeClaim/default/c.yaml"]
    assert patch["metadata"]["annotations"] == {"volume.kubernetes.io/selected-node": "n2"}
    chosen = {"annotations": {"volume.kubernetes.io/selected-node": "n2"}}
    again = volume_claim("c", of_class="dynamic", **chosen)
    assert told(*TWO, storage_class("dynamic", DRIVER), again, asking("p", "c")) == {}
    now = storage_class(mode="Immediate"), on("v", "n2"), volume_claim("c"), asking("p", "c")
    assert (
        told(*TWO, *now, who=WaitingPodFilter(ignored=frozenset(IgnorablePodRequirementKind))) == {}
    )


@pytest.mark.parametrize("seed", range(25))
def test_free_volumes_by_trying(seed: int) -> None:
    """
    Each placed pod can be given a volume of its own on its node, and no more could be placed.
    """
    draw = Random(seed)
    names = [f"n{i}" for i in range(draw.randrange(1, 4))]
    sizes = {f"v{i}": draw.randrange(1, 13) * 2 for i in range(draw.randrange(1, 6))}
    where = {name: draw.choice(names) for name in sizes}
    pods = [f"p{i}" for i in range(draw.randrange(1, 6))]
    wants = {name: draw.choice((4, 10, 18)) for name in pods}
    known = [*map(node, names), storage_class()]
    known += [on(name, where[name], storage=f"{size}Gi") for name, size in sizes.items()]
    for name, want in wants.items():
        claim = volume_claim(f"c-{name}")
        claim["spec"]["resources"]["requests"]["storage"] = f"{want}Gi"
        known += [claim, asking(name, f"c-{name}")]

    found = told(*known)

    for path, patch in found.items():
        name, claim = Path(path).stem, patch["spec"]["claimRef"]["name"]
        assert sizes[name] >= wants[claim.removeprefix("c-")]
    assert len({patch["spec"]["claimRef"]["name"] for patch in found.values()}) == len(found)
    free, most = sorted(sizes.values()), 0
    for want in sorted(wants.values(), reverse=True):  # the largest volume serves the largest claim
        if free and free[-1] >= want:
            free.pop()
            most += 1
    assert len(found) == most


@pytest.mark.parametrize("seed", range(25))
def test_volumes_of_several_nodes_by_trying(seed: int) -> None:
    """
    Whatever claims match which volumes, each that is placed has one of its own, on its node.
    """
    draw = Random(seed)
    names = [f"n{i}" for i in range(draw.randrange(1, 4))]
    known = [*map(node, names), storage_class()]
    where: dict[str, list[str]] = {}
    for i in range(draw.randrange(1, 6)):
        where[f"v{i}"] = draw.sample(names, draw.randrange(1, len(names) + 1))
        labels = {"a": draw.choice("xy"), "b": draw.choice("xy")}
        known.append(volume(f"v{i}", where=one_of(HOSTNAME, *where[f"v{i}"]), labels=labels))
    pods = [f"p{i}" for i in range(draw.randrange(1, 6))]
    for name in pods:
        claims = [f"c{i}-{name}" for i in range(draw.choice((1, 1, 2)))]
        for claim in claims:
            known.append(volume_claim(claim))
            if draw.random() < 0.6:
                selector = {"matchLabels": {draw.choice("ab"): draw.choice("xy")}}
                known[-1]["spec"]["selector"] = selector
        known.append(asking(name, claims[0]))
        for i, claim in enumerate(claims[1:]):
            source = {"name": f"more-{i}", "persistentVolumeClaim": {"claimName": claim}}
            known[-1]["spec"]["volumes"].append(source)

    instance, _ = read(*known)
    answer = solve(instance, SolveOptions(work_limit=20, workers=1, seed=0))
    found = told(*known)

    chosen = {patch["spec"]["claimRef"]["name"]: Path(p).stem for p, patch in found.items()}
    assert len(set(chosen.values())) == len(chosen)
    placed = answer.placement.pods if isinstance(answer, Placed | PartlyPlaced) else ()
    for place in placed:
        mine = [claim for claim in chosen if claim.endswith(f"-{place.name}")]
        asked = next(one for one in known if one["metadata"]["name"] == place.name)
        assert len(mine) == len(asked["spec"]["volumes"])
        assert all(place.node in where[chosen[claim]] for claim in mine)


def test_the_option_to_ignore_volumes(tmp_path: Path, placer: Placer) -> None:
    """
    It belongs to the objects of a cluster; without it the pod waits, and the answer says why.
    """
    dump = tmp_path / "dump.yaml"
    dump.write_text(yaml.safe_dump_all([*TWO, asking("p", "c")]), encoding="utf-8")
    more = ["--engine", "greedy", "--workers", "1"]
    said = "".join(placer("solve", str(dump), *more, code=ExitCode.NOT_ALL))
    assert "PersistentVolumeClaim default/c is not in the dump" in said
    placer("solve", str(dump), *more, "--ignore", "volumes")
