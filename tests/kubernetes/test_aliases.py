"""Dumps with anchors and aliases, as PyYAML saves them, say what they would say without."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubernetes_worlds import Json, node, pod
from placer.kubernetes.emit.placed_pods import EmittedFile
from placer.kubernetes.emit.writer import object_file_text
from placer.load import load_instance
from placer_models.files.errors import InputError
from placer_models.files.tree import DocumentTreeMapping, document_tree_to_plain_values
from placer_models.files.yaml_tree import read_yaml
from placer_models.kubernetes.stream import ParsedObject, load_kubernetes_objects


class _WrittenOut(yaml.SafeDumper):
    """Writes no aliases."""

    def ignore_aliases(self, data: object) -> bool:
        """Return that the data get no anchor."""
        return True


def a_list(items: list[Json]) -> Json:
    """Return a List of the items."""
    return {"apiVersion": "v1", "kind": "List", "items": items, "metadata": {}}


def objects_of(folder: Path, text: str) -> list[ParsedObject | InputError]:
    """Return what is read of a text."""
    path = folder / "dump.yaml"
    path.write_text(text)
    return list(load_kubernetes_objects(path))


def fault_in(folder: Path, text: str) -> str:
    """Return the one thing that is wrong with a text, which otherwise holds nothing."""
    (fault,) = objects_of(folder, text)
    assert isinstance(fault, InputError)
    return str(fault).removeprefix(f"{folder}/")


def sharing_pods(count: int) -> list[Json]:
    """Return nodes and pods that share labels and containers, as a program makes them."""
    labels, first = {"app": "web", "tier": "front"}, pod("web-0")
    found: list[Json] = [node(), first]
    first["metadata"]["labels"] = labels
    for i in range(1, count):
        other = pod(f"web-{i}")
        other["metadata"]["labels"] = labels
        other["spec"]["containers"] = first["spec"]["containers"]
        other["spec"]["nodeSelector"] = labels
        found.append(other)
    return found


def test_a_dump_with_aliases_is_the_dump_without(tmp_path: Path) -> None:
    """
    In Lists, whose items share parts, and in documents of their own, which cannot.
    """
    found = sharing_pods(5)
    dumps = (
        (yaml.dump(a_list(found)), yaml.dump(a_list(found), Dumper=_WrittenOut)),
        (yaml.dump_all(found), yaml.dump_all(found, Dumper=_WrittenOut)),
    )
    for shared, written_out in dumps:
        assert "*id001" in shared
        assert "*id001" not in written_out
        assert [one.value for one in objects_of(tmp_path, shared)] == found
        assert [one.value for one in objects_of(tmp_path, written_out)] == found


def test_a_cluster_read_with_aliases_is_the_cluster_read_without(tmp_path: Path) -> None:
    """
    Nodes, running pods and gangs: the whole instance.
    """
    shared, written_out = tmp_path / "shared.yaml", tmp_path / "plain.yaml"
    shared.write_text(yaml.dump(a_list(sharing_pods(6))))
    written_out.write_text(yaml.dump(a_list(sharing_pods(6)), Dumper=_WrittenOut))

    assert load_instance([shared]) == load_instance([written_out])


@st.composite
def sharing(draw: st.DrawFn) -> Any:
    """Draw a value of which some parts stand in several places."""
    parts: list[Any] = [{"a": "x"}, ["y", 7]]
    for _ in range(draw(st.integers(1, 6))):
        picked = draw(st.lists(st.sampled_from(parts) | st.sampled_from(["z", 1]), max_size=3))
        named = draw(st.booleans())
        parts.append({f"k{i}": part for i, part in enumerate(picked)} if named else picked)
    return draw(st.lists(st.sampled_from(parts), min_size=1, max_size=5))


@given(sharing())
def test_both_readers_of_yaml_follow_any_aliases(value: Any) -> None:
    """
    What PyYAML writes with anchors, it and we read as the same value.
    """
    text = yaml.dump({"value": value})

    assert document_tree_to_plain_values(read_yaml(text, "x")[0]) == {"value": value}


@given(sharing())
def test_objects_with_any_aliases_are_read_as_meant(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    """
    Parts may be shared within an object, and between items of a List.
    """
    folder = tmp_path_factory.mktemp("dump")
    found = [{**pod("a"), "status": value}, {**pod("b"), "status": {"more": value}}]

    assert [one.value for one in objects_of(folder, yaml.dump(a_list(found)))] == found


def bomb(levels: int) -> str:
    """Return a document whose aliases stand for 10 to the power of so many values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(["apiVersion: v1", "kind: Pod", *lines, ""])


def test_a_bomb_of_aliases_is_refused_in_one_line(tmp_path: Path) -> None:
    """
    The limit is on what all aliases of a document stand for; just below it the object is read.
    """
    assert isinstance(objects_of(tmp_path, bomb(6))[0], ParsedObject)
    for levels in (9, 50):
        told = fault_in(tmp_path, bomb(levels))
        assert told.startswith("dump.yaml:9: by the alias '*a5' aliases stand for more than 10,")
        assert "billion laughs" in told
        assert "\n" not in told


def test_documents_do_not_add_up(tmp_path: Path) -> None:
    """
    Each has its own count, and its own anchors.
    """
    text = "---\n".join([bomb(6)] * 12)
    assert [type(one) for one in objects_of(tmp_path, text)] == [ParsedObject] * 12

    told = objects_of(tmp_path, f"{bomb(2)}---\napiVersion: v1\nkind: Pod\nspec: *a0\n")[-1]
    assert "dump.yaml:8: the alias '*a0' names nothing" in str(told)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: *b\n", "dump.yaml:1: the alias '*b' names nothing: no '&b' stands before it"),
        ("a: &b\n  - 1\n  - *b\n", "dump.yaml:3: the alias '*b' stands within what it names"),
        ("a: &b {c: {d: *b}}\n", "dump.yaml:1: the alias '*b' stands within what it names"),
        ("&r\na: *r\n", "dump.yaml:2: the alias '*r' stands within what it names"),
        ("items: &l\n- *l\n", "dump.yaml:2: the alias '*l' stands within what it names"),
        ("items: &l []\nmore: *l\n", "dump.yaml:2: the alias '*l' names all items of a List"),
        ("a: &b c\n*b : d\n", "dump.yaml:2: an alias as a key is not read; write it out"),
        ("a: &b {c: d}\ne:\n  <<: *b\n", "dump.yaml:3: merge keys ('<<') are not read"),
    ],
)
def test_an_alias_that_cannot_be_followed_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    """
    One line, which names the alias and the mend; a recursive one would never end.
    """
    assert message in fault_in(tmp_path, text)


def test_aliases_nest_no_deeper_than_values(tmp_path: Path) -> None:
    """
    Each alias adds a level, and nobody who looks through the object runs out of stack.
    """
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 200))]
    told = fault_in(tmp_path, "\n".join(["apiVersion: v1", "kind: Pod", *lines, ""]))

    assert "nests deeper than 64 levels; flatten it" in told


def test_a_quoted_merge_key_is_a_name(tmp_path: Path) -> None:
    """
    Quotes make it a text as any other.
    """
    (found,) = objects_of(tmp_path, yaml.safe_dump({**pod(), "'": 1}) + '"<<": x\n')
    assert isinstance(found, ParsedObject)
    assert found.value["<<"] == "x"


def test_faults_in_shared_parts_have_the_line_of_the_object_or_better(tmp_path: Path) -> None:
    """
    A part that is written out in the same object has the line where it is written out; one of
    another item has the line of the object that uses it.
    """
    first, second = sharing_pods(2)[1:]
    first["spec"]["nodeSelector"] = first["metadata"]["labels"]
    text = yaml.dump(a_list([first, second]), sort_keys=False)
    one, other = objects_of(tmp_path, text)
    assert isinstance(one, ParsedObject)
    assert isinstance(other, ParsedObject)
    lines = text.splitlines()

    assert "app: web" in lines[one.line_at(("spec", "nodeSelector", "app")) - 1]
    assert other.line_at(("spec", "nodeSelector", "app")) == other.line


def test_what_is_written_has_no_aliases() -> None:
    """
    Parts that the objects share are written out.
    """
    part = {"a": "b"}

    assert object_file_text(EmittedFile("pods.yaml", ({"x": part, "y": part},))) == (
        "---\nx:\n  a: b\ny:\n  a: b\n"
    )


def test_an_instance_file_with_aliases_is_the_file_without() -> None:
    """
    Each part knows where it is written out.
    """
    text = "a: &x\n  b: 1\nc:\n- *x\n- *x\n"
    (tree,) = read_yaml(text, "x")
    assert isinstance(tree, DocumentTreeMapping)

    assert document_tree_to_plain_values(tree) == {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}
