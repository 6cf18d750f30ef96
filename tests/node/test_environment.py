"""Environment variables that each reader takes as they are meant, and names that are refused."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.environment_readers import awkward_values, read_by_docker, read_by_systemd
from node.node_documents import a_document, a_pod, document_of_tree
from placer.node.pools import with_cpus_of_each_container
from placer.node.render.cdi import cdi_spec
from placer.node.render.environment import (
    container_environment_of,
    environment_file_text,
    systemd_environment_file_text,
)
from placer.node.render.folder import rendered_container_files
from placer.node.targets import desired_container_cgroups
from placer_models.environment import (
    MAX_VALUE_BYTES,
    Env,
    environment_value_fault,
    variable_name_fault,
)
from placer_models.files.errors import InputError
from placer_models.instance.node_file import (
    node_placement_document_to_dict,
)
from placer_models.node_placement import NodePlacementPod

BAD_NAMES = ("", "A B", "A=1\nLD_PRELOAD", "A\n", "1A", "A-B", "a.b", " A", "Ä", "A" * 256, "A\0")
BAD_VALUES = (
    "x" * 40_000,
    "x\ny",
    "x\r",
    "\0",
    "x\x85y",
    "\x90",
    "\uffff",
    "\u2028",
    "\x1b[31m",
    "\ud800",
    "x" * 40_000,
)

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
VALUES = st.one_of(
    st.sampled_from(list(awkward_values())),
    st.text(st.sampled_from("\\\"'`$#;= \tab%{}*~\ufeffé"), max_size=12),
    st.text(max_size=12),
).filter(lambda value: environment_value_fault(value) is None)
ENVIRONMENTS = st.dictionaries(NAMES, VALUES, max_size=6)


def with_env(env: Env, **parts: Env) -> NodePlacementPod:
    """A pod with these variables, and some of its containers with theirs."""
    pod = a_pod("a")
    seat = pod.placement
    containers = tuple(replace(one, env=parts.get(one.name, ())) for one in seat.containers)
    return replace(pod, placement=replace(seat, env=env, containers=containers))


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_some_reader_would_drop_or_split_is_refused(name: str) -> None:
    """
    By its own check, and by all that writes one.
    """
    assert variable_name_fault(name) is not None

    pod = with_env(((name, "x"),))
    with pytest.raises(ValueError, match="no name of an environment variable"):
        rendered_container_files(a_document(pod))


@pytest.mark.parametrize("value", BAD_VALUES)
def test_a_value_that_is_no_line_of_text_is_refused(value: str) -> None:
    """
    A CDI spec would take it, and a line of an environment file would not: neither has it.
    """
    assert environment_value_fault(value) is not None

    document = a_document(with_env((("A", value),)))
    with pytest.raises(ValueError, match="container a/main: env: 'A': the value "):
        rendered_container_files(document)
    with pytest.raises(ValueError, match="container a/main: env: 'A': the value "):
        cdi_spec(desired_container_cgroups(document), document.node)


def test_the_longest_value_is_taken() -> None:
    """
    And one byte more is not.
    """
    assert environment_value_fault("x" * MAX_VALUE_BYTES) is None
    assert environment_value_fault("é" * (MAX_VALUE_BYTES // 2)) is None
    assert environment_value_fault("x" * (MAX_VALUE_BYTES + 1)) is not None


@given(ENVIRONMENTS)
def test_each_reader_reads_what_was_meant(env: dict[str, str]) -> None:
    """
    docker and podman lines as they are, systemd what is quoted for it.
    """
    told = tuple(sorted(env.items()))

    assert read_by_docker(environment_file_text(told)) == env
    assert read_by_systemd(systemd_environment_file_text(told)) == env


def test_what_needs_no_quotes_has_none() -> None:
    """
    A person reads these files, too.
    """
    env = (("A", "GPU-1,GPU-2"), ("B", "{0},{1}"), ("C", "a b"), ("D", 'x"\\'))

    assert systemd_environment_file_text(env) == 'A=GPU-1,GPU-2\nB={0},{1}\nC="a b"\nD="x\\"\\\\"\n'


@given(ENVIRONMENTS)
def test_a_document_carries_every_variable(env: dict[str, str]) -> None:
    """
    Written and read again, then in the words of a CDI spec: the same.
    """
    document = a_document(with_env(tuple(sorted(env.items()))))
    again = document_of_tree(node_placement_document_to_dict(document))
    node = again.node
    target = desired_container_cgroups(again)[0]
    found = dict(container_environment_of(target, node))
    spec = json.loads(json.dumps(cdi_spec([target], node)))
    edits = spec["devices"][0]["containerEdits"]["env"]

    assert env.items() <= found.items()
    assert dict(line.split("=", 1) for line in edits) == found


@pytest.mark.parametrize(("name", "value"), [(n, "x") for n in BAD_NAMES] + [("A", "x\ny")])
def test_a_document_with_such_a_variable_names_the_field(name: str, value: str) -> None:
    """
    The pod's variables and those of a container, each at its place.
    """
    for path in ([], ["containers", 0]):
        tree = node_placement_document_to_dict(with_cpus_of_each_container(a_document(a_pod("a"))))
        part = tree["pods"][0]["placement"]
        for step in path:
            part = part[step]
        part["env"] = {name: value}

        with pytest.raises(InputError) as caught:
            document_of_tree(tree)
        told = ".".join(map(str, ["pods", 0, "placement", *path, "env"]))
        assert f"a.json:1: {told}" in str(caught.value).replace("[", ".").replace("]", "")
        assert "environment variable" in str(caught.value)
