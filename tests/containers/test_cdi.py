"""CDI specs as the library of container runtimes reads them."""

import json
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from containers.runtimes import CDI_READER
from node.environment_readers import awkward_values
from node.node_documents import a_document, a_pod
from placer.node.render.environment import container_environment_of
from placer.node.render.folder import rendered_container_files
from placer.node.targets import desired_container_cgroups
from placer_models.environment import environment_value_fault
from placer_models.node_placement import NodePlacementPod


def with_values(name: str, values: list[str]) -> NodePlacementPod:
    """A pod with a variable for each value."""
    pod = a_pod(name)
    env = tuple((f"{name}_{i}".upper(), value) for i, value in enumerate(values))
    return replace(pod, placement=replace(pod.placement, env=env))


def test_the_library_reads_every_variable_as_it_is_meant(tmp_path: Path) -> None:
    """
    Awkward values and a thousand random ones; a device for each container.
    """
    if not CDI_READER.exists():
        pytest.skip("the reader of CDI specs is not built; make container-test builds it")
    draw = random.Random(27)
    letters = "\\\"'`$#;= \t%{}*~nr\ufeffé"
    drawn = ["".join(draw.choices(letters, k=draw.randint(0, 12))) for _ in range(1000)]
    drawn += [
        a + chr(one)
        for one in range(0xA0, 0x11000, 7)
        if not environment_value_fault(a := chr(one))
    ]
    pods = (with_values("a", list(awkward_values())), with_values("b", drawn))
    document = a_document(*pods)
    (tmp_path / "placer.json").write_text(rendered_container_files(document)["cdi/placer.json"])

    done = subprocess.run([CDI_READER, tmp_path], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert all(environment_value_fault(value) is None for value in drawn)
    read = json.loads(done.stdout)
    for target, name in zip(desired_container_cgroups(document), ("a", "b"), strict=True):
        lines = read[f"placer.dev/container=default:{name}:main"]
        env = dict(container_environment_of(target, document.node))
        assert dict(line.split("=", 1) for line in lines) == env
