"""Several files and documents, machines from elsewhere, and telling kinds apart."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from placer.load import load_any, load_instance, load_placement
from placer_models.cluster import Instance, Machine
from placer_models.files.errors import InputError
from placer_models.machines.catalogue import load_machine
from placer_models.placement import Placement

HEAD = "apiVersion: placer/v1\nkind: Instance\n"
NODES = f"{HEAD}nodes: [{{name: n, machine: dgx-2}}]\n"
PODS = f"{HEAD}pods: [{{name: a}}, {{name: b}}]\n"
BOX = "apiVersion: placer/v1\nkind: Machine\nname: box\nnumaNodes: [{id: 0, cpus: 0-3}]\n"
TOPO = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-3\nGPU1\tNV2\t X \t0-3\n"


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., list[Path]]:
    """Return a function that writes files and returns their paths."""

    def write(**texts: str) -> list[Path]:
        paths = []
        for name, text in texts.items():
            stem, _, suffix = name.rpartition("_")
            paths.append(tmp_path / f"{stem}.{suffix}")
            paths[-1].write_text(text, encoding="utf-8")
        return paths

    return write


def test_files_and_documents_make_one_instance(folder: Callable[..., list[Path]]) -> None:
    """
    Nodes here, pods there, in several files or in several documents of one.
    """
    nodes, pods, both = folder(nodes_yaml=NODES, pods_yaml=PODS, both_yaml=f"{NODES}---\n{PODS}")

    assert load_instance([nodes, pods]) == load_instance([both])
    assert [gang.name for gang in load_instance([both]).gangs] == ["a", "b"]


def test_names_are_unique_over_all_files(folder: Callable[..., list[Path]]) -> None:
    """
    The message names both files.
    """
    nodes, pods, again = folder(nodes_yaml=NODES, pods_yaml=PODS, again_yaml=PODS)

    with pytest.raises(InputError, match=rf"{again}:3: pods\[0\].name: a pod 'a' .* {pods}:3"):
        load_instance([nodes, pods, again])


def test_a_document_of_a_machine_adds_the_machine(folder: Callable[..., list[Path]]) -> None:
    """
    Its name then stands for it, before a machine of the catalogue of that name.
    """
    named = BOX.replace("name: box", "name: dgx-2")
    (path,) = folder(a_yaml=f"{named}---\n{NODES}")

    assert len(load_instance([path]).nodes[0].machine.topology.cpus) == 4


@pytest.mark.parametrize(("name", "text"), [("box_yaml", BOX), ("topo_txt", TOPO)])
def test_a_machine_is_found_by_its_path_from_the_file(
    name: str, text: str, folder: Callable[..., list[Path]]
) -> None:
    """
    A document of ours, or the text of nvidia-smi topo -m; the path starts at the instance.
    """
    machine, _ = folder(**{name: text}, a_yaml="")
    (path,) = folder(a_yaml=NODES.replace("dgx-2", f"./{machine.name}"))

    assert load_instance([path]).nodes[0].machine == load_any(machine)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "box_yaml",
            BOX.replace("0-3", "3-0"),
            r"a.yaml:3: nodes\[0\].machine: .*box.yaml:4: numa",
        ),
        ("box_yaml", NODES, r"a.yaml:3: nodes\[0\].machine: .* expected one document of 'kind: Ma"),
        ("box_txt", TOPO[:30], r"a.yaml:3: nodes\[0\].machine: .*box.txt"),
        ("other_yaml", BOX, r"a.yaml:3: nodes\[0\].machine: .*box.* does not exist"),
    ],
)
def test_a_bad_machine_file_is_told_with_both_places(
    name: str, text: str, message: str, folder: Callable[..., list[Path]]
) -> None:
    """
    The line that asks for the machine, and the line that is wrong in its file.
    """
    machine, _ = folder(**{name: text}, a_yaml="")
    (path,) = folder(a_yaml=NODES.replace("dgx-2", machine.name.replace("other", "box")))

    with pytest.raises(InputError, match=message):
        load_instance([path])


@pytest.mark.parametrize("way", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_a_path_to_a_machine_never_leads_in_a_circle(
    way: list[str], folder: Callable[..., list[Path]]
) -> None:
    """
    An instance is no machine, be it the file itself or one that names it in turn.
    """
    after = dict(zip(way, [*way[1:], way[0]], strict=True))
    texts = {f"{one}_yaml": NODES.replace("dgx-2", f"./{after[one]}.yaml") for one in way}
    first, *_ = folder(**texts)
    message = rf"a.yaml:3: nodes\[0\].machine: .*{after['a']}.yaml: got Instance; expected one doc"

    with pytest.raises(InputError, match=message):
        load_instance([first])


def test_two_machines_of_one_name_are_refused(folder: Callable[..., list[Path]]) -> None:
    """
    A name that means two things would be written down as one.
    """
    other = "  - {name: m, machine: ./other.yaml}\n"
    _, path = folder(
        other_yaml=BOX.replace("name: box", "name: dgx-2"),
        a_yaml=f"{HEAD}nodes:\n  - {{name: n, machine: dgx-2}}\n{other}",
    )

    with pytest.raises(InputError, match=r"nodes\[1\].machine: another machine is called 'dgx-2'"):
        load_instance([path])


def test_kinds_are_told_apart(folder: Callable[..., list[Path]]) -> None:
    """
    What show and validate are given may be an instance, a placement or a machine.
    """
    placement = "apiVersion: placer/v1\nkind: Placement\npods: []\n"
    texts = {"a_yaml": NODES, "b_yaml": placement, "c_yaml": BOX, "d_txt": TOPO}
    kinds = [type(load_any(path)) for path in folder(**texts)]

    assert kinds == [Instance, Placement, Machine, Machine]


def test_verify_wants_one_placement(folder: Callable[..., list[Path]]) -> None:
    """
    An instance in its place is a message.
    """
    nodes, two = folder(nodes_yaml=NODES, two_yaml=f"{NODES}---\n{PODS}")

    with pytest.raises(InputError, match="expected one document of 'kind: Placement', got Inst"):
        load_placement(nodes)
    with pytest.raises(InputError, match="expected one document of 'kind: Placement', got 2 doc"):
        load_placement(two)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOX, "holds no document of 'kind: Instance'"),
        (PODS, "a.yaml:1: nodes: is missing; give one node or more"),
        (f"{PODS}nodes: []\n", "a.yaml:4: nodes: is empty; give one or more"),
    ],
)
def test_an_instance_has_nodes(text: str, message: str, folder: Callable[..., list[Path]]) -> None:
    """
    Pods alone, or machines alone, are no problem to solve.
    """
    with pytest.raises(InputError, match=message):
        load_instance(folder(a_yaml=text))


@pytest.mark.parametrize("text", [NODES, '{"apiVersion": "placer/v1",\t"kind": "Instance"}'])
def test_standard_input_is_read_for_a_dash(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    YAML and JSON are told apart by how they begin; messages say standard input.
    """
    stream = io.TextIOWrapper(io.BytesIO(text.encode()))
    monkeypatch.setattr("sys.stdin", stream)

    if text == NODES:
        assert load_instance([Path("-")]).nodes[0].machine == load_machine("dgx-2")
    else:
        with pytest.raises(InputError, match="standard input:1: nodes: is missing"):
            load_instance([Path("-")])


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("queues/fig-3-04.yaml", "placer queue simulate"),
        ("slots/word-count.yaml", "placer slots compile"),
    ],
)
def test_examples_of_other_kinds_lead_to_their_command(path: str, command: str) -> None:
    """
    Who validates or solves one is told what reads it.
    """
    file = Path(__file__).parents[2] / "instances" / path

    with pytest.raises(InputError, match=f"which '{command}' reads"):
        load_any(file)
    with pytest.raises(InputError, match=f"which '{command}' reads"):
        load_instance([file])
