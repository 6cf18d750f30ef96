"""Files of objects are read one object at a time, with the line of each field."""

import json
from pathlib import Path

import pytest
import yaml

from kubernetes_worlds import Json, node, pod
from placer_models.files.errors import InputError
from placer_models.kubernetes.chunks import CHUNK
from placer_models.kubernetes.stream import (
    ParsedObject,
    holds_kubernetes_objects,
    load_kubernetes_objects,
)


def written(folder: Path, name: str, text: str) -> Path:
    """Write a file and return it."""
    path = folder / name
    path.write_text(text)
    return path


def names(path: Path) -> list[str]:
    """Return kind and name of each object, or what is wrong."""
    return [
        f"{one.kind} {one.value['metadata']['name']}" if isinstance(one, ParsedObject) else str(one)
        for one in load_kubernetes_objects(path)
    ]


def in_list(*objects: Json) -> Json:
    """Return a List as kubectl writes it: its kind at the end."""
    return {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {}}


@pytest.mark.parametrize("name", ["dump.yaml", "dump.json", "dump"])
def test_lists_and_single_objects_are_read_from_yaml_and_json(tmp_path: Path, name: str) -> None:
    """
    A List hands out its items; the format is told by the name, else by the first character.
    """
    write = yaml.safe_dump if name.endswith("yaml") else json.dumps
    for document in (in_list(node(), pod()), node()):
        path = written(tmp_path, name, write(document))
        assert names(path) == ["Node n1", "Pod p"][: 1 + ("items" in document)]


def test_documents_of_one_file_are_read_one_after_the_other(tmp_path: Path) -> None:
    """
    Objects and Lists may be mixed; an empty document says nothing.
    """
    text = yaml.safe_dump_all([node(), None, in_list(pod("a"), pod("b"))], explicit_start=True)
    assert names(written(tmp_path, "d.yaml", text)) == ["Node n1", "Pod a", "Pod b"]

    text = json.dumps(node()) + "\n" + json.dumps(in_list(pod("a")))
    assert names(written(tmp_path, "d.json", text)) == ["Node n1", "Pod a"]


@pytest.mark.parametrize("kind_first", [True, False])
def test_items_without_a_kind_have_that_of_their_list(tmp_path: Path, kind_first: bool) -> None:
    """
    As the API server answers: a PodList, before its items or after them.
    """
    item = {key: value for key, value in pod().items() if key not in ("kind", "apiVersion")}
    whole = {"kind": "PodList", "apiVersion": "v1", "items": [item]}
    if not kind_first:
        whole = dict(reversed(whole.items()))
    assert names(written(tmp_path, "d.json", json.dumps(whole))) == ["Pod p"]


def test_a_field_has_the_line_on_which_it_is_written(tmp_path: Path) -> None:
    """
    In YAML and JSON, in a List and outside of it.
    """
    for name, text in (
        ("d.yaml", yaml.safe_dump_all([node("first"), in_list(node(), pod("x"))])),
        ("d.json", json.dumps(in_list(node(), pod("x")), indent=1)),
    ):
        found = list(load_kubernetes_objects(written(tmp_path, name, text)))
        last = found[-1]
        assert isinstance(last, ParsedObject)
        line = text.splitlines()[last.line_at(("spec", "containers", 0, "name")) - 1]
        assert "main" in line
        line = text.splitlines()[last.line_at(("metadata", "name")) - 1]
        assert "name" in line


def test_an_object_larger_than_what_is_read_at_once_is_read_whole(tmp_path: Path) -> None:
    """
    What ends behind a chunk of the file is no fault.
    """
    long = pod("long", annotations={"note": "é" * CHUNK})
    text = json.dumps(in_list(pod("a"), long, pod("b")), ensure_ascii=False)
    for name in ("d.json", "d.yaml"):  # JSON is YAML
        path = written(tmp_path, name, text)
        assert names(path) == ["Pod a", "Pod long", "Pod b"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_json_is_read_alike_whatever_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """
    Numbers, words and escapes may be cut anywhere; each object keeps its line and its text.
    """
    monkeypatch.setattr("placer_models.kubernetes.json_objects.CHUNK", size)
    odd = {**pod("odd"), "spec": {"a": [-3.25e2, True, None, 'é\n"', {}, []], "b": 12}}
    text = json.dumps(in_list(node(), odd, pod("last")), indent=1)
    found = list(load_kubernetes_objects(written(tmp_path, "d.json", text)))
    assert all(isinstance(one, ParsedObject) for one in found)
    assert [one.value for one in found] == [node(), odd, pod("last")]
    lines = text.splitlines()
    for one in found:
        assert isinstance(one, ParsedObject)
        assert json.loads(one.text) == one.value
        assert lines[one.line - 1].strip() == "{"


def test_a_list_that_was_cut_off_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    """
    In YAML the kind of a List comes last, and the cut may be within its last item; in JSON
    brackets are missing.
    """
    text = yaml.safe_dump(in_list(node(), pod()))
    cut = text[: text.index("kind: List")]
    *first, last = names(written(tmp_path, "d.yaml", cut))
    assert first == ["Node n1"]  # nobody knows whether the pod goes on
    assert "a list of 2 items ends without a kind: it was cut off, so get it again" in last

    text = json.dumps(in_list(node(), pod()))
    *first, last = names(written(tmp_path, "d.json", text[:-300]))
    assert first == ["Node n1"]
    assert "the end of the file: it was cut off, so get it again" in last


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n", "a list; expected an object with apiVersion and kind"),
        ("kind: Pod\n", "apiVersion: is missing"),
        ("apiVersion: v1\n", "kind: is missing"),
        ("apiVersion: v1\nkind: [Pod]\n", "kind: is missing"),
        ("a: *b\n", "the alias '*b' names nothing"),
        ("a: !x b\n", "the tag '!x' is not read"),
        ("a: 1\na: 2\n", "the key 'a' is given twice"),
        ("a: [1\n", "is not YAML at column 1"),
        ("apiVersion: placer/v1\nkind: Instance\n", "is Placer's own"),
        ("kind: List\nitems: [3]\n", "no mapping; expected an object"),
        ("\0", "is not YAML"),
    ],
)
def test_what_is_no_object_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    """
    With file and line; nothing of it is raised.
    """
    (fault,) = load_kubernetes_objects(written(tmp_path, "d.yaml", text))
    assert isinstance(fault, InputError)
    assert message in str(fault)
    assert "\n" not in str(fault)


def test_a_file_that_cannot_be_read_is_a_fault_too(tmp_path: Path) -> None:
    """
    It is not there, or no UTF-8.
    """
    (fault,) = load_kubernetes_objects(tmp_path / "none.yaml")
    assert "cannot be read: No such file" in str(fault)
    path = tmp_path / "d.json"
    path.write_bytes(b'{"apiVersion": "v1\xff"}')
    (fault,) = load_kubernetes_objects(path)
    assert "is not UTF-8" in str(fault)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("apiVersion: v1\nitems:\n", True),
        ('{"kind":"PodList","apiVersion":"v1"}', True),
        ("# note\nkind: Device\napiVersion: scheduling.koordinator.sh/v1alpha1\n", True),
        ("apiVersion: placer/v1\nkind: Instance\n", False),
        ("apiVersion: placr/v1\nkind: Instance\n", False),
        ("apiVersion: v2x\nkind: Pod\n", False),
        ("nodes: []\n", False),
        ("", False),
    ],
)
def test_a_file_of_objects_is_told_from_ours(tmp_path: Path, text: str, expected: bool) -> None:
    """
    By the first apiVersion and kind; a slip of the pen in ours stays ours.
    """
    assert holds_kubernetes_objects(written(tmp_path, "d.yaml", text)) is expected
