"""``placer show``: what may be shown, and to where."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli_samples import SMALL, TOO_LARGE, names_in, written
from commands import Placer
from placer_cli.exits import ExitCode
from placer_models.machines.catalogue import catalogue_machine_names

TOPO = """\
\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV4\t0-7\t0
GPU1\tNV4\t X \t0-7\t0
"""


def test_a_machine_of_the_catalogue(placer: Placer) -> None:
    """
    Its name is enough.
    """
    assert "NV2 50 GB/s" in placer("show", "dgx-1-v100").out


def test_the_text_of_a_real_machine(tmp_path: Path, placer: Placer) -> None:
    """
    What nvidia-smi topo -m printed is a machine too.
    """
    assert "GPU 1  NV4   ·" in placer("show", written(tmp_path, TOPO, "topo.txt")).out


def test_an_instance_and_one_of_its_nodes(tmp_path: Path, placer: Placer) -> None:
    """
    The cluster at a glance, and with --node the inside of one node.
    """
    file = written(tmp_path, SMALL)

    assert "gpu-[0-1]" in placer("show", file).out
    assert "free: 80 of 80 CPUs" in placer("show", file, "--node", "gpu-1").out


def test_a_placement_is_drawn_with_its_instance(tmp_path: Path, placer: Placer) -> None:
    """
    Placed pods show beside the running ones.
    """
    file, answer = written(tmp_path, SMALL), str(tmp_path / "p.json")
    placer("solve", file, "--engine", "greedy", "--output", answer)

    assert "3 of 3 pods placed" in placer("show", file, "--placement", answer).out


def test_a_picture_is_a_file(tmp_path: Path, placer: Placer) -> None:
    """
    --svg writes a well-formed picture that loads nothing from the network.
    """
    target = tmp_path / "machine.svg"

    printed = placer("show", "dgx-a100", "--svg", str(target))

    text = target.read_text()
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert text.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert printed.out == ""
    assert names_in(tmp_path) == ["machine.svg"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dgx-a10"], "'dgx-a10' is neither a file nor a machine of the catalogue; did you mean"),
        (["dgx-a100", "--node", "a"], "--node goes with an instance, not with a machine"),
        (["dgx-a100", "--placement", "a"], "--placement goes with an instance"),
        (["INSTANCE", "--node", "gpu-7"], "--node 'gpu-7' is no node; did you mean 'gpu-"),
        (["INSTANCE", "--node", "x"], "--node 'x' is no node; there are 'gpu-"),
        (["INSTANCE", "--placement", "OTHER"], "pod 'x' of namespace 'default' does not wait"),
        (["OTHER"], "is a placement: show its instance, with --placement"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_line(
    arguments: list[str], words: str, tmp_path: Path, placer: Placer
) -> None:
    """
    The message names the value and the mend, and nothing is drawn.
    """
    other = "apiVersion: placer/v1\nkind: Placement\npods: [{name: x, node: gpu-0}]\n"
    names = {
        "INSTANCE": written(tmp_path, SMALL),
        "OTHER": written(tmp_path, other, "other.yaml"),
    }

    captured = placer(
        "show", *(names.get(word, word) for word in arguments), code=ExitCode.BAD_INPUT
    )

    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_the_catalogue_is_listed_whole(placer: Placer) -> None:
    """
    `placer machines` has a row for each machine, with its GPUs and links.
    """
    out = placer("machines").out

    assert all(f"{name} " in out for name in catalogue_machine_names())
    assert "8 V100-SXM2-16GB" in out
    assert "NV2 50, NV1 25 +1" in out


def test_machines_are_shown_one_at_a_time(tmp_path: Path, placer: Placer) -> None:
    """
    Two machines, or a machine among the files of an instance, are not taken for files.
    """
    for more in ("dgx-2", written(tmp_path, SMALL)):
        printed = placer("show", "dgx-a100", more, code=ExitCode.BAD_INPUT)
        assert printed.err.startswith(
            "placer: 'dgx-a100' is a machine of the catalogue: show one machine at a time, or "
        )


def test_a_picture_is_never_written_over_an_input(tmp_path: Path, placer: Placer) -> None:
    """
    --svg that names the instance or the placement is refused, and both stay.
    """
    file, answer = written(tmp_path, SMALL), str(tmp_path / "p.json")
    placer("solve", file, "--engine", "greedy", "--output", answer)
    before = Path(file).read_bytes(), Path(answer).read_bytes()

    for target in (file, answer):
        printed = placer(
            "show", file, "--placement", answer, "--svg", target, code=ExitCode.BAD_INPUT
        )
        assert f"--svg {target} would write over the input {target}" in printed.err

    assert (Path(file).read_bytes(), Path(answer).read_bytes()) == before


def test_a_name_may_be_another_name_and_a_number(tmp_path: Path, placer: Placer) -> None:
    """
    Nodes gpu and gpu2 share a line, as do the left-out pods huge and huge2.
    """
    text = TOO_LARGE.replace("gpu-[0-1]", "gpu,gpu2")
    file = written(tmp_path, text + "  - {name: huge2, requests: {gpu: 9}}\n")

    assert "gpu, gpu2" in placer("show", file).out
    assert "huge, huge2" in placer("solve", file, "--engine", "greedy", code=ExitCode.NOT_ALL).out
