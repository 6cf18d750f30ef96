"""The examples that people read first."""

import re
from pathlib import Path

import pytest

from placer.judge.breaches import breaches
from placer.load import load_instance
from placer_models.placement import Placement

FOLDER = Path(__file__).parents[2] / "instances"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))
ROW = re.compile(r"^\| `([a-z-]+)\.yaml` \| (\d+), (\d+) \|", re.MULTILINE)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_sound_and_counted_in_the_page(path: Path) -> None:
    """
    It is named after its file, says what it is, keeps the rules before anything is placed,
    and the page of the folder has its numbers.
    """
    instance = load_instance([path])
    rows = {name: (int(nodes), int(pods)) for name, nodes, pods in ROW.findall(page())}

    assert instance.name == path.stem
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert breaches(instance, Placement()) == ()
    assert rows[path.stem] == (len(instance.nodes), sum(len(gang.pods) for gang in instance.gangs))


def test_the_page_lists_no_example_that_is_not_there() -> None:
    """
    Ten examples or more, each with a row.
    """
    assert [path.stem for path in EXAMPLES] == sorted(name for name, _, _ in ROW.findall(page()))
    assert len(EXAMPLES) >= 10


def page() -> str:
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_files_in_the_page_of_the_format_are_read(tmp_path: Path) -> None:
    """
    What people copy from the page works.
    """
    text = (FOLDER.parent / "docs" / "instance-format.md").read_text(encoding="utf-8")
    whole, machines, _ = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    head = "apiVersion: placer/v1\nkind: Instance\nnodes: [{name: n, machine: box}]\n"
    path = tmp_path / "a.yaml"

    path.write_text(whole)
    assert len(load_instance([path]).nodes) == 4
    path.write_text(head + machines)
    assert len(load_instance([path]).nodes[0].machine.devices) == 4
