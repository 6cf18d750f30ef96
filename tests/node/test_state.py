"""The folder of the journal: one Placer at a time, ours alone, whole files."""

import os
import socket
from pathlib import Path

import pytest

from node.fake_cgroupfs import FakeV2
from node.node_documents import a_document, a_pod
from placer.node.apply import apply
from placer.node.cgroups import CgroupReader
from placer.node.errors import HostCannotApplyError, ObserveOnlyError
from placer.node.host import HostFactsForApply
from placer.node.plan import CgroupPlan
from placer.node.state import APPLIED, COMMITTED, JOURNAL, OBSERVE_ONLY, AppliedStateFolder
from placer_models.policy import QosClass


def test_one_placer_at_a_time(tmp_path: Path) -> None:
    """
    The second is told who holds the folder; after the first it may.
    """
    with (
        AppliedStateFolder(tmp_path / "new" / "state").locked(),
        pytest.raises(HostCannotApplyError, match="another Placer works with"),
        AppliedStateFolder(tmp_path / "new" / "state").locked(),
    ):
        pass
    with AppliedStateFolder(tmp_path / "new" / "state").locked():
        pass

    assert (tmp_path / "new" / "state").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """
    What is written there is done as root.
    """
    tmp_path.chmod(0o777)

    with (
        pytest.raises(HostCannotApplyError, match=r"others may write .*; 'chmod 700"),
        AppliedStateFolder(tmp_path).locked(),
    ):
        pass


def test_a_folder_behind_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    """
    Who can change the link could change the folder.
    """
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with (
        pytest.raises(HostCannotApplyError, match="is not a folder of this user"),
        AppliedStateFolder(tmp_path / "link").locked(),
    ):
        pass


def test_what_is_begun_is_read_again(tmp_path: Path) -> None:
    """
    Documents and operations, to the last letter; no temporary file stays.
    """
    state, document = AppliedStateFolder(tmp_path), a_document(a_pod("a", QosClass.LSE, "0-1"))
    cgroups, host = CgroupReader(FakeV2()), HostFactsForApply("n0")
    plan = apply(document, cgroups, host, state).plan
    begun = CgroupPlan(plan.operations, plan.finish)

    state.begin(document, begun)
    found = state.unfinished()

    assert found is not None
    assert found[1] == begun
    assert found[0].pods == state.applied().pods
    assert sorted(file.name for file in tmp_path.iterdir()) == [APPLIED, JOURNAL]


def test_a_journal_that_may_not_be_read_is_no_damaged_one(tmp_path: Path) -> None:
    """
    Nor is one behind a symbolic link.
    """
    (tmp_path / "elsewhere").write_text("{}")
    (tmp_path / JOURNAL).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(HostCannotApplyError, match=r"cannot be read: .*; run as its owner"):
        AppliedStateFolder(tmp_path).unfinished()


@pytest.mark.parametrize("name", [APPLIED, COMMITTED, JOURNAL, OBSERVE_ONLY])
@pytest.mark.parametrize("kind", ["pipe", "folder", "socket"])
def test_what_is_no_regular_file_is_no_journal(tmp_path: Path, name: str, kind: str) -> None:
    """
    Nobody waits for the writer of a pipe: nothing is written, and the answer says what it is.
    """
    state, file = AppliedStateFolder(tmp_path), tmp_path / name
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(file))
    reads = {
        APPLIED: state.applied,
        COMMITTED: state.committed,
        JOURNAL: state.unfinished,
        OBSERVE_ONLY: state.check_may_write,
    }

    with pytest.raises(ObserveOnlyError, match=rf"{name} is no regular file .*; look at"):
        reads[name]()


def test_a_pipe_in_the_place_of_a_temporary_file_is_replaced(tmp_path: Path) -> None:
    """
    Such a file is left by a run that was killed; whatever is there goes.
    """
    os.mkfifo(tmp_path / f".{JOURNAL}.new")

    state = AppliedStateFolder(tmp_path)
    state.begin(a_document(a_pod("a")), CgroupPlan())

    assert state.unfinished() is not None


def test_a_journal_of_another_format_is_named(tmp_path: Path) -> None:
    """
    Another version of Placer wrote it, and knows what it means; it is not called damaged.
    """
    state = AppliedStateFolder(tmp_path)
    state.begin(a_document(a_pod("a")), CgroupPlan())
    file = tmp_path / JOURNAL
    file.write_bytes(file.read_bytes().replace(b"placer-journal 1 ", b"placer-journal 2 "))

    with pytest.raises(ObserveOnlyError) as caught:
        state.unfinished()

    assert str(caught.value) == (
        f"{file} is of format 2, and this Placer reads format 1: another version of Placer wrote "
        "it, so nothing is written; run that version once, or compare the cgroups with the "
        f"document, then remove {file}"
    )


def test_every_changed_byte_is_seen(tmp_path: Path) -> None:
    """
    A journal in which one byte is another, or the end is missing, is not trusted.
    """
    state = AppliedStateFolder(tmp_path)
    document = a_document(a_pod("a"))
    state.begin(document, CgroupPlan())
    good = (tmp_path / JOURNAL).read_bytes()

    for at in range(0, len(good), 37):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]):
            (tmp_path / JOURNAL).write_bytes(bad)
            with pytest.raises(ObserveOnlyError, match="cut short or was changed"):
                state.unfinished()
    (tmp_path / JOURNAL).write_bytes(good)
    assert state.unfinished() is not None
