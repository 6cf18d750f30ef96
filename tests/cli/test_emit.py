"""``placer solve --emit``: a folder with what the cluster is told, whole or not there."""

import json
import sys
from errno import ENOSPC
from pathlib import Path

import pytest
import yaml

from claim_worlds import claim, claiming, device_class, resource_slice
from commands import Placer
from json_schemas import check_object
from kubernetes_worlds import REQUIRED, node, pod, topology
from placer_cli.app import main
from placer_cli.exits import ExitCode

DUMP = Path(__file__).parents[2] / "instances/dumps/cluster.yaml"
SOLVE = ["solve", str(DUMP), "--engine", "greedy", "--workers", "1"]


def test_every_kind_is_written_below_the_folder(tmp_path: Path) -> None:
    """
    Annotations and pods in a file each, patches by pod, bindings by gang.
    """
    folder = tmp_path / "out"

    assert (
        main([*SOLVE, "--emit", "annotations,patches,bindings,yaml", str(folder)]) == ExitCode.DONE
    )

    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    gang = [f"train-{i}" for i in range(3)]
    lone = ["ml/notebook-0", "shop/web-5d8f7c6b9-nf6tp", "shop/report-28214-jv5hc"]
    assert found == {
        "annotations.yaml",
        "pods.yaml",
        "patches/ml/notebook-0.yaml",
        *(f"patches/ml/{name}.yaml" for name in gang),
        *(f"bindings/ml.train/ml/{name}.json" for name in gang),
        *(f"bindings/{name.replace('/', '.')}/{name}.json" for name in lone),
    }
    pods = yaml.safe_load_all((folder / "pods.yaml").read_text())
    nodes = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods}
    assert {nodes[name] for name in gang} == {"gpu-1", "gpu-2", "gpu-3"}


def test_pods_that_nobody_has_a_word_for_wait_too(tmp_path: Path, placer: Placer) -> None:
    """
    Not all pods are placed then, whatever is said of those that were looked at.
    """
    term = {"topologyKey": "zone"}  # without a selector it means no pod
    dump = tmp_path / "dump.json"
    dump.write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [node(), pod("fine")]})
    )
    placer("solve", str(dump), "--workers", "1")
    odd = pod("odd", affinity={"podAffinity": {REQUIRED: [term]}})
    dump.write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [node(), pod("fine"), odd]})
    )

    printed = placer("solve", str(dump), "--workers", "1", code=ExitCode.NOT_ALL)
    assert "not placed: Pod default/odd" in printed.err


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, placer: Placer) -> None:
    """
    It is refused before anything is solved; an empty one is taken.
    """
    (tmp_path / "mine.txt").write_text("mine")

    said = placer(*SOLVE, "--emit", "patches", str(tmp_path), code=ExitCode.BAD_INPUT)

    assert said.err == (
        f"placer: {tmp_path}: holds files already; name a new folder or an empty one\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    empty = tmp_path / "empty"
    empty.mkdir()
    placer(*SOLVE, "--emit", "patches", str(empty))
    assert (empty / "patches").is_dir()


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ("patch", "--emit: 'patch' is not one of annotations, patches, "),
        ("patches,", "--emit: '' is not one of annotations, patches, "),
    ],
)
def test_a_kind_that_there_is_not_is_named(
    kinds: str, message: str, tmp_path: Path, placer: Placer
) -> None:
    """
    With those that there are.
    """
    printed = placer(*SOLVE, "--emit", kinds, str(tmp_path / "out"), code=ExitCode.BAD_INPUT)

    assert message in printed.err
    assert not (tmp_path / "out").exists()


def test_an_instance_file_has_no_cluster_to_tell(tmp_path: Path, placer: Placer) -> None:
    """
    Its pods are in no cluster that anyone knows of.
    """
    instance = DUMP.parents[1] / "hello.yaml"

    command = ["solve", str(instance), "--emit", "patches", str(tmp_path / "out")]
    assert "holds no objects of Kubernetes" in placer(*command, code=ExitCode.BAD_INPUT).err

    assert not (tmp_path / "out").exists()


def test_a_place_where_no_folder_can_be_is_refused_first(tmp_path: Path, placer: Placer) -> None:
    """
    A file, and a folder below one that is not there.
    """
    file = tmp_path / "file"
    file.write_text("mine")
    for folder, message in ((file, "is no folder"), (tmp_path / "a" / "b", "does not exist")):
        command = [*SOLVE, "--emit", "patches", str(folder)]
        (line,) = placer(*command, code=ExitCode.BAD_INPUT).err.splitlines()

        assert line.startswith(f"placer: {folder}: ")
        assert message in line
    assert file.read_text() == "mine"


def test_where_nothing_is_placed_nothing_is_written(tmp_path: Path, placer: Placer) -> None:
    """
    The folder is not there; the answer is printed as ever.
    """
    dump = tmp_path / "dump.yaml"
    one = next(yaml.safe_load_all(DUMP.read_text()))
    one["items"] = [item for item in one["items"] if item["metadata"]["name"] in ("cp-1", "web")]
    dump.write_text(yaml.safe_dump(one))

    printed = placer("solve", str(dump), "--emit", "patches", str(tmp_path / "out"))

    assert "was not written" in printed.err
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_written_whole_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, placer: Placer
) -> None:
    """
    Neither the folder nor a part of it; the placement is not written either.
    """
    written: list[Path] = []

    def full_disk(path: Path, text: str, encoding: str) -> int:
        if len(written) == 3:
            raise OSError(ENOSPC, "No space left on device", str(path))
        written.append(path)
        return len(text)

    monkeypatch.setattr(Path, "write_text", full_disk)
    output = tmp_path / "placement.json"

    command = [*SOLVE, "--output", str(output), "--emit", "bindings,patches", str(tmp_path / "out")]
    assert "No space left on device" in placer(*command, code=ExitCode.BAD_INPUT).err

    assert len(written) == 3
    assert list(tmp_path.iterdir()) == []


def test_objects_may_come_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As from a pipe of kubectl.
    """
    with DUMP.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        command = ["solve", "-", *SOLVE[2:], "--emit", "yaml", str(tmp_path / "out")]

        assert main(command) == ExitCode.DONE

    assert [path.name for path in (tmp_path / "out").iterdir()] == ["pods.yaml"]


def test_bindings_of_pods_with_claims_want_the_claims_first(tmp_path: Path, placer: Placer) -> None:
    """
    A pod that is bound before its claims have devices cannot start.
    """
    objects = [node(), topology(), resource_slice(), device_class(), claim(), claiming("p")]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    for kinds, warns in (("bindings", True), ("bindings,claims", False), ("patches", False)):
        folder = str(tmp_path / kinds)
        command = ["solve", str(dump), "--engine", "greedy", "--emit", kinds, folder]

        told = placer(*command).err

        assert ("Pod default/p has claims, which come first" in told) == warns


def test_pods_that_move_are_evicted_in_order_before_others_are_bound(
    tmp_path: Path, placer: Placer
) -> None:
    """
    Nothing is bound in place of a pod that moves: what its controller makes is another pod.
    """
    items = [
        *(node(f"n{i}") for i in range(3)),
        *(pod(f"runs-{i}", {"cpu": "3"}, nodeName=f"n{i}") for i in range(3)),
        pod("large-a", {"cpu": "7"}),
    ]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    solve = ["solve", str(dump), "--workers", "1", "--move-budget", "1"]

    printed = placer(*solve, "--emit", "bindings", str(tmp_path / "not"), code=ExitCode.BAD_INPUT)
    assert "say --emit evictions, too" in printed.err
    folder = tmp_path / "out"
    printed = placer(*solve, "--emit", "evictions,bindings", str(folder))
    assert "before anything is bound" in printed.err
    (eviction,) = (folder / "evictions").iterdir()
    found = json.loads(eviction.read_text())
    check_object(found)
    gone = found["metadata"]["name"]
    assert eviction.name == f"1.default.{gone}.json"
    assert found["deleteOptions"]["preconditions"]["uid"] == f"uid-{gone}"
    (binding,) = (folder / "bindings").rglob("*.json")
    bound = json.loads(binding.read_text())
    assert bound["metadata"]["name"] == "large-a"
    assert bound["target"]["name"] == f"n{gone[-1]}"
