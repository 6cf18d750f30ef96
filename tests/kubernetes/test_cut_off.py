"""Dumps that were cut off: one error each, wherever it was, and nobody is blamed for the rest."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from claim_worlds import allocated, claim, claiming, request, resource_slice
from commands import Placer
from kubernetes_worlds import Json, device, held, lsr, node, owned, pod, topology
from placer.kubernetes.dump import DumpError, read_dump
from placer_cli.exits import ExitCode

DUMPS = Path(__file__).parents[2] / "instances" / "dumps"


def cluster() -> list[Json]:
    """Return a cluster whose objects need each other, those that are needed last."""
    status = allocated("gpu-0", node="n1")
    first = lsr("é", annotations=owned("0-1"), nodeName="n1", labels={"a": "é: ü"})
    first["metadata"]["uid"] = "uid-e"
    return [
        first,
        pod("b", {"nvidia.com/gpu": "1"}, annotations=held(1), nodeName="n2"),
        pod("w", {"nvidia.com/gpu": "1"}, annotations={"a": "one\ntwo: {\n"}),
        claiming("c", {"c": "c"}, nodeName="n1"),
        claim("c", request(), status=status),
        resource_slice("n1", [{"name": "gpu-0", "attributes": {}}]),
        device("n2"),
        topology("n1"),
        node("n2"),
        node("n1"),
    ]


def in_list(kind: str, objects: list[Json]) -> Json:
    """Return a List as kubectl writes it, its kind at the end."""
    return {"apiVersion": "v1", "items": objects, "kind": kind, "metadata": {"resourceVersion": ""}}


def without_kind(objects: list[Json]) -> list[Json]:
    """Return pods as the API server lists them."""
    return [{k: v for k, v in one.items() if k not in ("apiVersion", "kind")} for one in objects]


class Quoting(yaml.SafeDumper):
    """A writer that puts texts in quotes."""


Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def texts() -> Iterator[tuple[str, str]]:
    """Yield dumps by name; the part behind the dot is the format."""
    whole = in_list("List", cluster())
    yield "list.yaml", yaml.safe_dump(whole, allow_unicode=True)
    yield "flow.yaml", yaml.safe_dump(whole, default_flow_style=True, width=10**6)
    yield "quoted.yaml", yaml.dump(whole, Dumper=Quoting)
    yield "pods.yaml", yaml.safe_dump(in_list("PodList", without_kind(cluster()[:3])))
    yield (
        "several.yaml",
        yaml.safe_dump_all([in_list("List", cluster()[:5]), in_list("List", cluster()[5:])]),
    )
    yield "list.json", json.dumps(whole, indent=1, ensure_ascii=False)
    yield "line.json", json.dumps(whole)
    yield "pods.json", json.dumps(in_list("PodList", without_kind(cluster()[:3])))


TEXTS = dict(texts())


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with a dump, each in one line."""
    try:
        read_dump([path])
    except DumpError as error:
        return [str(fault) for fault in error.faults]
    return []


def tail_of(name: str) -> int:
    """Return where in a dump nothing but the end of its list follows."""
    text = TEXTS[name].encode()
    if name.endswith(".json"):
        return text.rindex(b"}")
    return max(text.rfind(end) for end in (b"kind: List", b"kind: PodList", b'"kind": "List"'))


def head_of(name: str) -> int:
    """Return where the last list of a dump begins: one before it may be whole."""
    if not name.startswith("several"):
        return 1
    return TEXTS[name].encode().rindex(b"items:") + len("items:")


def cut(name: str, at: int, folder: Path) -> list[str]:
    """Return what is wrong with a dump of which so many bytes are left."""
    path = folder / name
    path.write_bytes(TEXTS[name].encode()[:at])
    return faults_of(path)


def one_each(name: str, places: list[int], folder: Path) -> None:
    """Cut a dump at each of these places; all have one fault, in one line."""
    for at in places:
        told = cut(name, at, folder)
        assert len(told) == 1, (at, told)
        assert "\n" not in told[0]


@pytest.mark.parametrize("name", TEXTS)
def test_a_dump_that_is_cut_off_has_one_fault(name: str, tmp_path: Path) -> None:
    """
    At some places, the one between its items among them.
    """
    draw = random.Random(name)
    one_each(name, sorted(draw.sample(range(head_of(name), tail_of(name)), 60)), tmp_path)


@pytest.mark.check
@pytest.mark.parametrize("name", TEXTS)
def test_a_dump_has_one_fault_wherever_it_is_cut_off(name: str, tmp_path: Path) -> None:
    """
    At many places.
    """
    draw = random.Random(f"many {name}")
    places = range(head_of(name), tail_of(name))
    one_each(name, sorted(draw.sample(places, min(600, len(places)))), tmp_path)


@pytest.mark.parametrize("name", ["list.yaml", "quoted.yaml", "list.json", "line.json"])
def test_the_fault_says_that_the_dump_was_cut_off(name: str, tmp_path: Path) -> None:
    """
    Wherever it was, once there is an item.
    """
    draw = random.Random(name)
    first = TEXTS[name].encode().index(b"containers")
    for at in sorted(draw.sample(range(first, tail_of(name)), 60)):
        (told,) = cut(name, at, tmp_path)
        assert "cut off" in told, (at, told)
        assert "get it again" in told


def test_a_whole_dump_has_no_fault(tmp_path: Path) -> None:
    """
    The very texts that are cut off here.
    """
    for name in ("list.yaml", "flow.yaml", "quoted.yaml", "list.json", "line.json"):
        assert cut(name, 10**9, tmp_path) == []


def test_what_was_wrong_before_the_cut_is_told_as_well(tmp_path: Path) -> None:
    """
    An object that was read whole, and is faulty by itself.
    """
    faulty: Any = pod("faulty", {"cpu": "-1"})
    text = yaml.safe_dump(in_list("List", [faulty, *cluster()]))
    path = tmp_path / "list.yaml"
    path.write_text(text[: text.index("kind: List")])
    first, last = faults_of(path)
    assert "Pod default/faulty: '-1' is negative" in first
    assert "was cut off" in last


def test_other_files_are_read_beside_one_that_was_cut_off(tmp_path: Path) -> None:
    """
    Their own faults are told, and those of the cluster as a whole once it is whole.
    """
    pods, nodes = tmp_path / "pods.yaml", tmp_path / "nodes.yaml"
    pods.write_text(yaml.safe_dump(in_list("List", cluster()[:4])))
    text = yaml.safe_dump(in_list("List", cluster()[4:]))
    nodes.write_text(text[: len(text) // 2])
    with pytest.raises(DumpError) as caught:
        read_dump([pods, nodes])
    (told,) = caught.value.faults
    assert told.file == str(nodes)


def test_the_command_tells_of_a_cut_in_one_line(tmp_path: Path, placer: Placer) -> None:
    """
    Inside an object, which is not blamed for what it lacks.
    """
    text = (DUMPS / "cluster.yaml").read_text()
    path = tmp_path / "cluster.yaml"
    path.write_text(text[: text.index("effect: NoSchedule") + 5])
    (line,) = placer("solve", str(path), code=ExitCode.BAD_INPUT).err.splitlines()
    assert "a list of 1 items ends without a kind: it was cut off, so get it again" in line
