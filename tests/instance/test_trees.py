"""The readers of JSON and YAML: what they read, and where it stood."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from placer_models.files.errors import InputError
from placer_models.files.json_tree import read_json
from placer_models.files.tree import (
    document_tree_to_plain_values,
    field_line_number,
    field_path_text,
)
from placer_models.files.yaml_tree import read_yaml

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e60, max_value=1e60)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(values)
def test_json_is_read_as_the_standard_library_reads_it(value: object) -> None:
    """
    Whatever json.dumps writes, in one line or indented, is read back as it was.
    """
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, indent="\t")):
        assert document_tree_to_plain_values(read_json(text, "x")) == value


@given(st.text(alphabet='{}[]:,"\\ \n\ttruefalsn0123456789.eE+-u'))
def test_what_is_no_json_to_the_standard_library_is_none_to_us(text: str) -> None:
    """
    We accept what json.loads accepts, but for duplicate keys, NaN and half surrogates.
    """
    try:
        json.loads(text, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        with pytest.raises(InputError):
            read_json(text, "x")


def _no_power(text: str) -> bool:
    """Return whether it is not like 1e3: text to PyYAML, and a number to JSON."""
    return not re.match(r"-?[0-9]+[eE]", text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(0, 10**20) | st.text().filter(_no_power),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_yaml_that_pyyaml_writes_is_read_as_it_was_meant(value: object) -> None:
    """
    Text that looks like something else is quoted by those who write YAML, and stays text.
    """
    text = yaml.safe_dump({"value": value})
    try:
        yaml.safe_load(text)
    except yaml.YAMLError:
        return  # PyYAML cannot read back what it wrote itself.

    assert document_tree_to_plain_values(read_yaml(text, "x")[0]) == {"value": value}


TRAPS = ["no", "off", "y", "0o17", "017", "0x1f", "1_000", "1:30", "2024-01-01", ".inf", ".NaN"]


@pytest.mark.parametrize("text", [*TRAPS, "+1", "1.", ".5", "1e999", "9" * 40, "True", "NULL"])
def test_what_only_yaml_1_1_takes_for_a_value_is_text(text: str) -> None:
    """
    No country code turns into false, no time into a number of seconds.
    """
    assert document_tree_to_plain_values(read_yaml(f"a: {text}\n", "x")[0]) == {"a": text}


def test_numbers_true_false_and_null_are_what_json_says() -> None:
    """
    Only what JSON reads as a value is one, and quotes make it text.
    """
    text = "[1, -2.5, 1e3, true, false, null, ~, '1', \"true\"]"

    assert document_tree_to_plain_values(read_yaml(text, "x")[0]) == [
        1, -2.5, 1000.0, True, False, None, None, "1", "true"
    ]  # fmt: skip


def test_every_part_knows_its_line() -> None:
    """
    A field's line is that of its key, an item's that of its first character.
    """
    text = "a:\n  b:\n    - 1\n    -\n      c: 2\n# remark\nd: |\n  text\ne: 5\n"
    tree = read_yaml(text, "x")[0]
    same = read_json('{"a":\n{"b":\n[1,\n2,\n{"c":\n2}]},\n"d": 3, "e":\n\n4}', "x")

    assert [
        field_line_number(tree, path) for path in (["a", "b"], ["a", "b", 0], ["a", "b", 1, "c"])
    ] == [
        2,
        3,
        5,
    ]
    assert [field_line_number(tree, ["d"]), field_line_number(tree, ["e"])] == [7, 9]
    assert [field_line_number(same, p) for p in (["a"], ["a", "b"], ["a", "b", 2, "c"], ["e"])] == [
        1, 2, 5, 7
    ]  # fmt: skip


def test_a_path_that_is_not_there_has_the_line_of_what_holds_it() -> None:
    """
    A missing field is blamed on the part that lacks it.
    """
    tree = read_yaml("a:\n  b: 1\n", "x")[0]

    assert field_line_number(tree, ["a", "c"]) == 1
    assert field_line_number(tree, []) == 1


def test_paths_are_written_as_people_write_them() -> None:
    """
    Dots between fields, brackets round indices, long keys cut short.
    """
    assert field_path_text(["pods", 3, "requests", "cpu"]) == "pods[3].requests.cpu"
    assert len(field_path_text(["a" * 1_000])) < 100


def test_the_parser_in_python_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without libyaml the slower parser gives the same tree, lines included.
    """
    text = (Path(__file__).parent / "sample.yaml").read_text(encoding="utf-8")
    fast = read_yaml(text, "x")
    monkeypatch.setattr("placer_models.files.yaml_tree.LOADER", yaml.SafeLoader)

    assert read_yaml(text, "x") == fast
