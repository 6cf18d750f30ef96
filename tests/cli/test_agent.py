"""``placer agent``: what ends it before it begins, and with which exit code."""

from pathlib import Path

import pytest

from commands import Placer
from placer.node.agent import run
from placer.node.mounts import CgroupMountError
from placer_cli.app import main
from placer_cli.exits import ExitCode


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options that name folders; cgroups are not looked for."""
    monkeypatch.setattr(run, "kernel_cgroup_filesystem", lambda: None)
    (tmp_path / "documents").mkdir(mode=0o700)
    return ["--documents", str(tmp_path / "documents"), "--state", str(tmp_path / "state")]


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--on-drift", "mend", "got 'mend'; expected repair, report"),
        ("--log-level", "loud", "got 'loud'; expected debug, info, warning, error"),
        ("--listen", "0.0.0.0:9469", "can be reached from other machines"),
        ("--listen", "agent.sock", "expected such as 127.0.0.1:9469 or unix:/run/placer"),
        ("--kubelet-root", "kubelet", "got 'kubelet'; expected an absolute path"),
        ("--root", "../up", "the root '../up' is no path of a cgroup"),
        ("--container-root", "/kubepods", "the root '/kubepods' is no path of a cgroup"),
    ],
)
def test_wrong_usage_ends_with_two(
    folders: list[str], placer: Placer, option: str, value: str, why: str
) -> None:
    """
    Before anything is opened or written.
    """
    printed = placer("agent", *folders, option, value, code=ExitCode.BAD_INPUT)
    assert why in " ".join(printed.err.split())
    assert not Path(folders[3]).exists()


def test_a_folder_that_others_may_use_is_refused_with_four(
    folders: list[str], placer: Placer
) -> None:
    """
    As `placer apply` ends where its state is not its own.
    """
    Path(folders[1]).chmod(0o755)

    printed = placer("agent", *folders, "--listen", "", code=ExitCode.REFUSED)
    assert "placer: others may use" in printed.err


def test_a_machine_without_cgroups_is_refused_with_four(
    folders: list[str], placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    It is the node that refuses, not the usage that is wrong.
    """

    def none() -> None:
        raise CgroupMountError("no cgroup file system with the cpuset controller is mounted")

    monkeypatch.setattr(run, "kernel_cgroup_filesystem", none)

    assert "no cgroup file system" in placer("agent", *folders, code=ExitCode.REFUSED).err


@pytest.mark.parametrize(
    ("named", "asked"), [([], "/var/lib/kubelet"), (["--kubelet-root", "/"], "/")]
)
def test_the_kubelet_is_looked_for_where_it_is(
    folders: list[str], monkeypatch: pytest.MonkeyPatch, named: list[str], asked: str
) -> None:
    """
    In the usual folder if nothing else is named; a named one has to be there.
    """
    seen = []
    monkeypatch.setattr(run, "run_agent", lambda options: seen.append(options.kubelet_root) or ())

    assert main(["agent", *folders, *named]) == ExitCode.DONE
    assert main(["agent", *folders, "--kubelet-root", "/nowhere/kubelet"]) == ExitCode.REFUSED
    assert seen == [asked]


@pytest.mark.parametrize("refused", [(), ("Placer only observes this node: look at it",)])
def test_an_agent_that_is_stopped_while_it_only_observes_ends_with_four(
    folders: list[str], monkeypatch: pytest.MonkeyPatch, refused: tuple[str, ...]
) -> None:
    """
    With nothing refused it ends as it should.
    """
    monkeypatch.setattr(run, "run_agent", lambda _: refused)

    assert main(["agent", *folders]) == (ExitCode.REFUSED if refused else ExitCode.DONE)
