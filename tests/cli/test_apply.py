"""``placer apply``: plans, documents, files for runtimes, and the node itself."""

import errno
import json
import os
import socket
from pathlib import Path

import pytest

from cli_samples import written
from commands import Placer
from node.fake_cgroupfs import FakeV2
from placer.node.cgroups import CgroupReader
from placer.node.host import HostFactsForApply
from placer.node.locks import locked_cgroup_root
from placer_cli.app import main
from placer_cli.exits import ExitCode

MACHINE = """\
machines:
- name: small
  numaNodes: [{id: 0, memory: 4Gi, cpus: 0-3}, {id: 1, memory: 4Gi, cpus: 4-7}]
  cores: [{cpus: 0-7}]
"""
INSTANCE = f"""\
apiVersion: placer/v1
kind: Instance
{MACHINE}nodes: [{{name: "n[0-1]", machine: small}}]
pods:
- {{name: db, qos: LSR, requests: {{cpu: 2, memory: 1Gi}}}}
- {{name: web, requests: {{cpu: 1}}, limits: {{cpu: 2, pids: 50}}}}
"""


PLACEMENT = """\
apiVersion: placer/v1
kind: Placement
pods:
- {name: db, node: n0, cpuset: 0-1, memory: {"0": 1073741824}}
- {name: web, node: n0, cpuset: 2-7}
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """An instance and its placement, all of it on n0."""
    return [written(tmp_path, INSTANCE), written(tmp_path, PLACEMENT, "placement.yaml")]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeV2:
    """A machine of 8 CPUs in place of this one."""
    found = FakeV2()
    monkeypatch.setattr("placer.node.mounts.kernel_cgroup_filesystem", lambda: found)
    monkeypatch.setattr("placer.node.locks.RUN", tmp_path / "run")
    host = HostFactsForApply(socket.gethostname(), frozenset(range(8)))
    monkeypatch.setattr("placer.node.host.read_host_facts", lambda **options: host)
    return found


def test_a_dry_run_elsewhere_plans_for_an_empty_node(files: list[str], placer: Placer) -> None:
    """
    From, to and why; nothing of this machine is looked at.
    """
    tree = json.loads(placer("apply", *files, "--node", "n0", "--dry-run", "--format", "json").out)

    assert tree["applied"] is False
    sets = {
        one["cgroup"]: (one["from"], one["to"], one["why"])
        for one in tree["operations"]
        if one["file"] == "cpuset.cpus"
    }
    assert sets == {
        "/placer/db@default/main@db": ("", "0-1", "CPUs of its own, shared with BE pods only"),
        "/placer/web@default/main@web": ("", "2-7", "the shared pool"),
    }


def test_the_documents_of_all_nodes_are_written(
    files: list[str], tmp_path: Path, placer: Placer
) -> None:
    """
    Each node's as it is by itself; what says the same already stays, the rest gets the next
    generation, a node that lost its pods too.
    """
    folder = tmp_path / "documents"
    arguments = ["apply", *files, "--documents", str(folder)]

    def generations() -> dict[str, int]:
        return {p.name: json.loads(p.read_text())["generation"] for p in folder.iterdir()}

    assert "2 of 2 documents written" in placer(*arguments).err
    alone = tmp_path / "n0.json"
    placer("apply", *files, "--node", "n0", "--document", str(alone))
    assert (folder / "n0.json").read_text() == alone.read_text()
    assert generations() == {"n0.json": 1, "n1.json": 1}

    assert "0 of 2 documents written, 2 said it before" in placer(*arguments).err
    Path(files[1]).write_text(PLACEMENT.replace("web, node: n0, cpuset: 2-7", "web, node: n1"))
    placer(*arguments)
    assert generations() == {"n0.json": 2, "n1.json": 2}
    Path(files[1]).write_text(PLACEMENT.replace("- {name: web, node: n0, cpuset: 2-7}\n", ""))
    placer(*arguments)
    assert generations() == {"n0.json": 2, "n1.json": 3}
    assert "pods" not in json.loads((folder / "n1.json").read_text())
    placer(*arguments, "--generation", "9")
    assert generations() == {"n0.json": 9, "n1.json": 9}
    placer(*arguments, "--dry-run", code=ExitCode.BAD_INPUT)


def test_no_document_is_written_where_one_cannot_be(
    files: list[str], tmp_path: Path, placer: Placer
) -> None:
    """
    It says of which node; a document alone is no instance.
    """
    Path(files[1]).write_text(PLACEMENT.replace("cpuset: 0-1", "cpuset: 0-2"))
    folder = tmp_path / "documents"

    complaint = placer("apply", *files, "--documents", str(folder), code=ExitCode.BAD_INPUT).err
    assert "node 'n0': pod 'db'" in complaint
    assert complaint.count("\n") == 1
    assert not folder.exists()
    printed = placer("apply", files[0], "--documents", str(folder), code=ExitCode.BAD_INPUT)
    assert "expected the files of an instance, and what solve wrote" in printed.err


def test_a_plan_for_another_node_needs_no_journal(
    files: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """
    A user who may not read the folder of the journal may look at a plan all the same.
    """
    state, access = tmp_path / "state", os.access
    state.mkdir()
    monkeypatch.setattr(
        "os.access", lambda path, *rest: str(path) != str(state) and access(path, *rest)
    )

    code = main(["apply", *files, "--node", "n0", "--dry-run", "--state", str(state)])

    assert code == ExitCode.DONE, capsys.readouterr().err


def test_a_document_for_another_node_is_bad_input(
    files: list[str], placer: Placer, kernel: FakeV2
) -> None:
    """
    Without --here nothing is written on a machine of another name.
    """
    printed = placer("apply", *files, "--node", "n0", code=ExitCode.BAD_INPUT)

    assert "is for node 'n0', and this machine is" in printed.err
    assert not kernel.exists("placer")


def test_here_applies_and_says_so(
    files: list[str], tmp_path: Path, placer: Placer, kernel: FakeV2
) -> None:
    """
    The second time all is as it should be; a dry run first shows what it would be.
    """
    state = ["--here", "--state", str(tmp_path / "state"), "--node", "n0"]

    assert "changes to be made." in placer("apply", *files, *state, "--dry-run").out
    assert not kernel.exists("placer")
    assert "changes made." in placer("apply", *files, *state).out
    assert kernel.read("placer/db@default/main@db/cpuset.cpus") == "0-1"
    assert kernel.read("placer/web@default/main@web/pids.max") == "50"
    assert "Node n0, generation 1: all is as it should be." in placer("apply", *files, *state).out


def test_a_node_that_refuses_ends_with_four(
    files: list[str], tmp_path: Path, placer: Placer, kernel: FakeV2
) -> None:
    """
    One line says which right is missing.
    """
    kernel.set_user(1000)

    command = ["apply", *files, "--node", "n0", "--here", "--state", str(tmp_path / "state")]
    printed = placer(*command, code=ExitCode.REFUSED)

    assert "placer: no right to write placer (Permission denied)" in printed.err


def test_a_root_with_which_another_placer_works_is_left_alone(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], kernel: FakeV2
) -> None:
    """
    Also when the folders of their states are two.
    """
    command = ["apply", *files, "--node", "n0", "--here", "--state", str(tmp_path / "state")]
    with locked_cgroup_root(CgroupReader(kernel), "placer", tmp_path / "other"):
        assert main(command) == ExitCode.REFUSED

    assert "placer: another Placer works with the cgroups below /placer" in capsys.readouterr().err
    assert not kernel.exists("placer")
    assert main(command) == ExitCode.DONE


def test_an_undo_that_fails_ends_with_four_until_somebody_looked(
    files: list[str],
    tmp_path: Path,
    placer: Placer,
    kernel: FakeV2,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Placer only observes from then on: it writes nothing, and a dry run says so, too.
    """
    command = ["apply", *files, "--node", "n0", "--here", "--state", str(tmp_path / "state")]
    with monkeypatch.context() as broken:
        write = kernel.write

        def fails(path: str, *text: str) -> None:
            if path.endswith("cpuset.cpus") or not text:
                raise OSError(errno.EIO, "Input/output error", path)
            write(path, *text)

        broken.setattr(kernel, "write", fails)
        broken.setattr(kernel, "remove_directory", fails)
        assert "only observes this node from now on" in placer(*command, code=ExitCode.REFUSED).err

    for more in ([], ["--dry-run"]):
        printed = placer(*command, *more, code=ExitCode.REFUSED)
        assert "placer: Placer only observes this node: " in printed.err
    (tmp_path / "state" / "observe-only").unlink()
    placer(*command)


def test_a_rival_ends_with_four(
    files: list[str],
    tmp_path: Path,
    placer: Placer,
    kernel: FakeV2,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Beside the kubelet's static policy Placer only observes.
    """
    host = HostFactsForApply("n0", frozenset(range(8)), static_policy=True)
    monkeypatch.setattr("placer.node.host.read_host_facts", lambda **options: host)

    command = ["apply", *files, "--node", "n0", "--here", "--state", str(tmp_path / "state")]
    out = placer(*command, code=ExitCode.REFUSED).flat

    assert out.startswith("Node n0, generation 1: nothing is written.")
    assert "the kubelet's static CPU policy gives CPUs out on this node" in out
    assert not kernel.exists("placer")


def test_the_document_of_a_node_is_written_and_applied(
    files: list[str], tmp_path: Path, placer: Placer, kernel: FakeV2
) -> None:
    """
    It needs neither the instance nor the placement any more.
    """
    document = str(tmp_path / "n0.yaml")
    placer("apply", *files, "--node", "n0", "--document", document)

    state = ["--here", "--state", str(tmp_path / "state")]
    placer("apply", document, *state)
    assert kernel.read("placer/db@default/main@db/cpuset.cpus") == "0-1"

    printed = placer("apply", document, "--node", "n1", *state, code=ExitCode.BAD_INPUT)
    assert "is for node 'n0', not for 'n1'" in printed.err
    printed = placer("apply", *files, "--node", "n7", *state, code=ExitCode.BAD_INPUT)
    assert "no node 'n7' is given; there are 'n0', 'n1'" in printed.err


def test_a_bundle_is_edited(files: list[str], tmp_path: Path, placer: Placer) -> None:
    """
    config.json says where the container runs; a slip in the name is told.
    """
    config = tmp_path / "config.json"
    config.write_text('{"ociVersion": "1.0.2", "process": {"env": ["A=1"]}}')
    command = ["apply", *files, "--node", "n0", "--bundle"]

    placer(*command, f"db/main={tmp_path}")
    tree = json.loads(config.read_text())
    assert tree["linux"]["resources"]["cpu"]["cpus"] == "0-1"
    assert tree["linux"]["cgroupsPath"] == "/placer/db@default/main@db"
    assert tree["process"]["env"][0] == "A=1"

    printed = placer(*command, f"bd/main={tmp_path}", code=ExitCode.BAD_INPUT)
    assert "no container 'bd/main'; it has db/main, web/main" in printed.err
    config.write_text("[]")
    printed = placer(*command, f"db/main={tmp_path}", code=ExitCode.BAD_INPUT)
    assert "is no config.json of an OCI bundle" in printed.err


def test_files_for_runtimes_are_written(files: list[str], tmp_path: Path) -> None:
    """
    Into a folder, which needs not be there.
    """
    folder = tmp_path / "a" / "b"

    assert main(["apply", *files, "--node", "n0", "--render", str(folder)]) == ExitCode.DONE

    assert "OMP_NUM_THREADS=2\n" in (folder / "db@default/main/environment").read_text()
    assert (folder / "cdi/placer.json").is_file()


def test_a_highest_generation_has_no_next_one(
    files: list[str], tmp_path: Path, placer: Placer, kernel: FakeV2
) -> None:
    """
    Said before anything is written: a document of one more could not be read again.
    """
    last = 2**63 - 1
    state = ["--here", "--state", str(tmp_path / "state"), "--node", "n0"]
    placer("apply", *files, *state, "--generation", str(last))
    Path(files[1]).write_text(
        PLACEMENT.replace("cpuset: 0-1", "cpuset: 1-2").replace("2-7", "'0,3-7'")
    )

    for command in ([], ["--dry-run"], ["--generation", str(last)]):
        complaint = placer("apply", *files, *state, *command, code=ExitCode.BAD_INPUT).err
        assert (
            f"{last} is the highest generation there is, and no document can follow it" in complaint
        )
        assert f"stop the agent, remove {tmp_path / 'state' / 'applied.json'}" in complaint
        assert "Traceback" not in complaint
    assert kernel.read("placer/db@default/main@db/cpuset.cpus") == "0-1"
    printed = placer(
        "apply", *files, *state, "--generation", str(last + 1), code=ExitCode.BAD_INPUT
    )
    assert f"it must be {last:,} or less" in printed.err

    (tmp_path / "state" / "applied.json").unlink()
    placer("apply", *files, *state)
    assert kernel.read("placer/db@default/main@db/cpuset.cpus") == "1-2"


def test_a_folder_of_documents_at_the_highest_generation_is_left_alone(
    files: list[str], tmp_path: Path, placer: Placer
) -> None:
    """
    None is written where one cannot be renewed.
    """
    folder = tmp_path / "documents"
    arguments = ["apply", *files, "--documents", str(folder)]
    placer(*arguments, "--generation", str(2**63 - 1))
    before = {path: path.read_text() for path in folder.iterdir()}
    Path(files[1]).write_text(PLACEMENT.replace("- {name: web, node: n0, cpuset: 2-7}\n", ""))

    assert "is the highest generation there is" in placer(*arguments, code=ExitCode.BAD_INPUT).err
    assert {path: path.read_text() for path in folder.iterdir()} == before


def test_what_others_may_write_is_not_applied(
    files: list[str],
    tmp_path: Path,
    placer: Placer,
    capsys: pytest.CaptureFixture[str],
    kernel: FakeV2,
) -> None:
    """
    A document, an instance or a placement; to look at the plan of one is no harm.
    """
    alone = str(tmp_path / "n0.json")
    assert main(["apply", *files, "--node", "n0", "--document", alone]) == ExitCode.DONE
    state = ["--here", "--state", str(tmp_path / "state"), "--node", "n0"]
    for given, opened in (([alone], alone), (files, files[0]), (files, files[1])):
        Path(opened).chmod(0o666)
        capsys.readouterr()

        printed = placer("apply", *given, *state, code=ExitCode.BAD_INPUT)
        assert printed.err == (
            f"placer: {opened}: every user of this machine may write it; 'chmod o-w {opened}', and "
            "look at what it says\n"
        )
        assert not kernel.exists("placer")
        assert main(["apply", *given, *state, "--dry-run"]) == ExitCode.DONE
        Path(opened).chmod(0o644)


@pytest.mark.parametrize("link", ["", "cdi", "cdi/placer.json", "db@default/main/environment"])
@pytest.mark.parametrize("to", ["there", "nowhere"])
def test_files_for_runtimes_are_written_through_no_link(
    files: list[str], tmp_path: Path, placer: Placer, link: str, to: str
) -> None:
    """
    Neither the folder, nor what is in it: a link that somebody put there could lead anywhere.
    """
    folder, elsewhere = tmp_path / "out", tmp_path / to
    path = folder / link if link else folder
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(elsewhere)
    if to == "there" and path.suffix:
        elsewhere.write_text("mine")
    elif to == "there":
        elsewhere.mkdir()

    printed = placer(
        "apply", *files, "--node", "n0", "--render", str(folder), code=ExitCode.BAD_INPUT
    )

    assert printed.err == (
        f"placer: {path}: is a symbolic link, which may lead anywhere; name the folder itself, or "
        "remove the link\n"
    )
    if elsewhere.is_file():
        assert elsewhere.read_text() == "mine"
    elif to == "there":
        assert list(elsewhere.iterdir()) == []
    else:
        assert not elsewhere.exists()
    assert not list(folder.rglob("config.json"))


def test_files_for_runtimes_are_replaced_with_their_modes(files: list[str], tmp_path: Path) -> None:
    """
    Whole, and what else is in the folder stays.
    """
    command = ["apply", *files, "--node", "n0", "--render", str(tmp_path / "out")]
    assert main(command) == ExitCode.DONE
    file = tmp_path / "out/db@default/main/environment"
    first = file.read_text()
    file.write_text("old")
    file.chmod(0o600)
    (tmp_path / "out/mine").write_text("mine")

    assert main(command) == ExitCode.DONE

    assert file.read_text() == first
    assert file.stat().st_mode & 0o777 == 0o600
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"cdi", "db@default", "mine", "web@default"}


def test_a_kubelet_with_another_root_directory_is_a_rival_too(
    files: list[str], tmp_path: Path, placer: Placer, kernel: FakeV2
) -> None:
    """
    The option reaches whoever reads the host; a folder that is not there tells of no kubelet.
    """
    command = ["apply", *files, "--here", "--node", "n0", "--state", str(tmp_path / "state")]

    printed = placer(*command, "--kubelet-root", str(tmp_path / "none"), code=ExitCode.REFUSED)
    assert "none is no folder; name the kubelet's --root-dir" in printed.err
    printed = placer(*command, "--kubelet-root", "kubelet", code=ExitCode.BAD_INPUT)
    assert "got 'kubelet'; expected an absolute path" in printed.err
    assert not kernel.exists("placer")
    placer(*command, "--kubelet-root", str(tmp_path))
