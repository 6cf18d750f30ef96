"""Every bad field is one message: file, line, field, value, what is allowed."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

CHANGES = [
    tuple(change)
    for changes in yaml.safe_load((Path(__file__).parent / "bad_fields.yaml").read_text()).values()
    for change in changes
]


@pytest.mark.parametrize(("old", "new", "message"), CHANGES, ids=map(str, range(len(CHANGES))))
def test_a_bad_field_is_one_message(
    old: str, new: str, message: str, sample: str, refusal: Callable[..., str]
) -> None:
    """
    One change to a good file, one message that names the place and what is allowed.
    """
    assert old in sample
    assert message in refusal(sample.replace(old, new, 1))


def test_the_first_fault_in_the_file_is_told_and_the_rest_is_counted(
    sample: str, refusal: Callable[..., str]
) -> None:
    """
    Of several faults a person sees the topmost, and how many more there are.
    """
    bad = (
        sample.replace("weight: 3", "wieght: 3")
        .replace("placer: 1", "")
        .replace("qos: LSE", "qos: X")
    )

    assert refusal(bad).startswith("a.yaml:24: pods[0].wieght:")
    assert refusal(bad).endswith("(and 1 more)")


def test_a_list_whose_parts_are_all_wrong_is_not_called_empty(
    sample: str, refusal: Callable[..., str]
) -> None:
    """
    What is wrong is the member; the list was said to be empty, or too short, before.
    """
    member = sample.replace("[{name: wide, replicas: 2}]", "[{name: wide, replica: 2}]")
    types = sample.replace("weight: 3", "jointAllocate: {deviceTypes: [gpu, {rdma: 1}]}")

    assert refusal(member).startswith("a.yaml:48: gangs[1].pods[0].replica: is not a field here;")
    assert refusal(member).endswith("did you mean 'replicas'?")
    assert ": pods[0].jointAllocate.deviceTypes[1]: got a mapping; expected" in refusal(types)


def test_a_hopeless_file_is_given_up_early(sample: str, refusal: Callable[..., str]) -> None:
    """
    After a hundred faults nothing more is looked for; the first of them is told.
    """
    bad = "".join(f"  - {{name: q{i}, requests: {{cpu: -1}}}}\n" for i in range(500))

    message = refusal(sample.replace("gangs:\n", f"{bad}gangs:\n", 1))

    assert message.startswith("a.yaml:38: pods[3].requests.cpu: '-1' is negative")
    assert message.endswith("(and 99 more)")


def test_what_a_file_unfolds_to_is_bounded(sample: str, refusal: Callable[..., str]) -> None:
    """
    Nodes are counted over all entries, and numbers make names too long.
    """
    nodes = sample.replace("n[0-1]", "n[1-60000]").replace("name: spare", "name: 'm[1-60000]'")
    names = sample.replace("name: many", f"name: {'m' * 252}")

    assert "nodes[1].name: the nodes are more than 100,000" in refusal(nodes)
    assert "pods[1].name: 'mmm" in refusal(names)


def test_a_message_has_one_line_whatever_the_value(
    sample: str, refusal: Callable[..., str]
) -> None:
    """
    Control characters and long values of the file cannot spoil the message.
    """
    message = refusal(sample.replace("name: single", f'name: "a\\n\\e[31m{"x" * 9_000}"'))

    assert r"'a\n\x1b[31mxxxx" in message
    assert len(message) < 400


def test_json_fields_have_lines_too(refusal: Callable[..., str]) -> None:
    """
    JSON is held to the same schema, with the same messages.
    """
    text = '{"apiVersion": "placer/v1",\n"kind": "Instance",\n"nodes": [\n{"name": 3}]}'

    assert refusal(text, "a.json").startswith("a.json:4: nodes[0].machine: is missing")


def test_a_misspelt_field_is_named_before_the_one_that_is_missing_for_it(
    refusal: Callable[..., str],
) -> None:
    """
    `mashine` is the mistake; that `machine` is missing only follows from it.
    """
    text = "apiVersion: placer/v1\nkind: Instance\nnodes:\n- name: n0\n  mashine: dgx-a100\n"

    assert refusal(text).startswith("a.yaml:5: nodes[0].mashine: is not a field here")
