"""``placer discover``: a dump, or this machine, becomes documents that other commands read."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Placer
from kernel_trees import a_pci_device, a_port, smt_machine, tar_of, write_tree
from placer.load import load_any, load_instance
from placer_cli.app import main
from placer_cli.exits import ExitCode
from placer_models.cluster import Machine
from placer_models.cpuset import format_cpu_list

EXAMPLE = str(Path(__file__).parents[2] / "instances" / "dumps" / "gpu-host.xml")

PODS = """\
apiVersion: placer/v1
kind: Instance
pods:
  - {name: a, qos: LSR, requests: {cpu: 8, memory: 8Gi, gpu: 2}, limits: {cpu: 8}}
"""

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs the command and gives back what it prints, or its complaint."""

    def run(*arguments: str, code: ExitCode = ExitCode.DONE) -> str:
        assert main(["discover", *arguments]) == code
        printed = capsys.readouterr()
        return printed.err if code else printed.out

    return run


def test_a_machine_is_written_and_read_back(run: Run, tmp_path: Path) -> None:
    """
    As a file of its own: validate and show take it, and nothing is lost (D15).
    """
    file = tmp_path / "machine.yaml"
    picture = run(EXAMPLE, "--output", str(file))
    machine = load_any(file)

    assert "GPU links" in picture
    assert isinstance(machine, Machine)
    assert (machine.name, machine.topology.architecture) == ("gpu-host", "x86_64")
    assert [d.numa_node for d in machine.devices if d.type == "gpu"] == [1, 0, 1, 0]
    assert main(["validate", str(file)]) == ExitCode.DONE
    assert main(["show", str(file)]) == ExitCode.DONE


def test_an_instance_is_solved(run: Run, tmp_path: Path, placer: Placer) -> None:
    """
    Discover a node, add pods, and place them: on CPUs that the node may give out (D15).
    """
    node, pods = tmp_path / "node.yaml", tmp_path / "pods.yaml"
    pods.write_text(PODS)
    run(EXAMPLE, "--as", "instance", "--output", str(node))
    (found,) = load_instance([node]).nodes

    assert (found.name, format_cpu_list(found.reserved_cpus)) == ("gpu-host", "0,8")
    placer("validate", "--together", str(node), str(pods))
    placer("show", str(node))
    solve = ["solve", str(node), str(pods), "--engine", "greedy", "--format", "json"]
    (placed,) = json.loads(placer(*solve).out)["pods"]
    assert placed["node"] == "gpu-host"


def test_an_inventory_says_what_the_kernel_says(run: Run) -> None:
    """
    Counts before anything is made to fit, what is allowed beside what is there (C1, D15).
    """
    tree: dict[str, Any] = json.loads(run(EXAMPLE, "--as", "inventory", "--format", "json"))

    assert tree["counts"] == {
        "packages": 2,
        "dies": 0,
        "lastLevelCaches": 2,
        "numaNodes": 2,
        "cores": 8,
        "onlineCpus": 16,
        "presentCpus": 16,
        "coresByThreads": {"2": 8},
        "devices": {"gpu": 4, "rdma": 2},
    }
    assert tree["cpus"]["online"] == "0-15"
    assert tree["cpus"]["allowed"] == "1-7,9-15"
    assert tree["cores"][:2] == ["0,8", "1,9"]
    assert tree["numaNodes"][0]["hugepages"] == {"1Gi": 8}


def test_texts_of_nvidia_smi_add_gpus(run: Run, tmp_path: Path) -> None:
    """
    A dump of sysfs knows where they sit, the texts who they are (D15).
    """
    root = write_tree(
        tmp_path / "dump",
        smt_machine(),
        a_pci_device("0000:18:00.0", "0000:17:01.0", numa_node=1, vendor="0x10de"),
        a_port("mlx5_0", "pci0000:17/0000:17:01.0/0000:18:00.0"),
    )
    text = tmp_path / "q.txt"
    text.write_text(
        "GPU 00000000:18:00.0\n    Product Name : NVIDIA X\n    FB Memory Usage\n"
        "        Total : 1024 MiB\n"
    )
    printed = run(str(text), str(root), "--format", "json", "--name", "m")
    tree = json.loads(printed)

    assert tree["name"] == "m"
    gpu, port = tree["devices"]
    assert (gpu["model"], gpu["memory"], gpu["numaNodes"]) == ("X", "1Gi", [1])
    assert port["ids"] == ["mlx5_0"]
    assert tree["sources"] == ["placer discover dump"]
    old = ["--root", str(root), "--nvidia-smi", str(text), "--format", "json", "--name", "m"]
    assert run(*old) == printed


def test_this_machine_is_drawn(run: Run) -> None:
    """
    Live, and without root.
    """
    tree = json.loads(run("--as", "inventory", "--format", "json"))

    assert tree["counts"]["onlineCpus"] >= len(os.sched_getaffinity(0))
    assert "package" in run()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere: does not exist"),
        (["."], "shows no machine: there is no sys/devices/system/cpu in it"),
        (["cut.xml"], "cut.xml:1: no element found; expected an XML file of hwloc"),
        (["out.tar"], "has a member '../x', outside of itself"),
        (["link"], "sys/devices/system/cpu/online: is a link to '/etc/hostname'"),
        (["mask"], "thread_siblings: got 'zz'; expected a mask of 32-bit words"),
        (["--nvidia-smi", "cut.xml"], "cut.xml: expected what nvidia-smi -q"),
        (["link", "mask"], "mask: is none of what nvidia-smi prints, and a dump is given already"),
        (["--root", "link", "mask"], "is none of what nvidia-smi prints, and a dump is given"),
        (["q.txt"], "q.txt: tells of GPUs alone; give the dump of their machine beside it, or /"),
        (["host.yaml", "q.txt"], "host.yaml: has its devices in its zones"),
        (["words.txt"], "words.txt: is no tar archive"),
        (["--name", "a b"], "--name 'a b' is no name"),
        (["cut.xml", "--output", "cut.xml"], "would write over the input cut.xml"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    """
    It names the file and what was expected, with code 2; nothing is written.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cut.xml").write_text("<topology>")
    (tmp_path / "q.txt").write_text("GPU 0: NVIDIA X (UUID: GPU-1)\n")
    (tmp_path / "host.yaml").write_text("kind: NodeResourceTopology\n")
    (tmp_path / "words.txt").write_text("GPU 0 is warm\n")
    tar_of(tmp_path / "out.tar", [*smt_machine().items(), ("../x", "")])
    cpu = "sys/devices/system/cpu"
    write_tree(tmp_path / "link", {f"{cpu}/cpu0/x": "", f"{cpu}/online": "->/etc/hostname"})
    write_tree(tmp_path / "mask", {f"{cpu}/cpu0/topology/thread_siblings": "zz"})
    if arguments == ["."]:
        (tmp_path / "empty").mkdir()
        monkeypatch.chdir(tmp_path / "empty")
    complaint = run(*arguments, code=ExitCode.BAD_INPUT)

    assert complaint.startswith("placer: ")
    assert complaint.count("\n") == 1
    assert words in complaint
