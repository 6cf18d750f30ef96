"""The folder of the journal: one Placer at a time, ours alone, whole files."""

from pathlib import Path

import pytest

from node.fake_cgroupfs import FakeV2
from node.node_documents import a_document, a_pod
from placer.node.apply import apply
from placer.node.cgroups import Cgroups
from placer.node.errors import ObserveOnlyError, RefusedError
from placer.node.host import Host
from placer.node.plan import Plan
from placer.node.state import APPLIED, JOURNAL, AppliedState
from placer_models.policy import QosClass


def test_one_placer_at_a_time(tmp_path: Path) -> None:
    """
    The second is told who holds the folder; after the first it may.
    """
    with (
        AppliedState(tmp_path / "new" / "state").locked(),
        pytest.raises(RefusedError, match="another Placer works with"),
        AppliedState(tmp_path / "new" / "state").locked(),
    ):
        pass
    with AppliedState(tmp_path / "new" / "state").locked():
        pass

    assert (tmp_path / "new" / "state").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """
    What is written there is done as root.
    """
    tmp_path.chmod(0o777)

    with (
        pytest.raises(RefusedError, match=r"others may write .*; 'chmod 700"),
        AppliedState(tmp_path).locked(),
    ):
        pass


def test_a_folder_behind_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    """
    Who can change the link could change the folder.
    """
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with (
        pytest.raises(RefusedError, match="is not a folder of this user"),
        AppliedState(tmp_path / "link").locked(),
    ):
        pass


def test_what_is_begun_is_read_again(tmp_path: Path) -> None:
    """
    Documents and operations, to the last letter; no temporary file stays.
    """
    state, document = AppliedState(tmp_path), a_document(a_pod("a", QosClass.LSE, "0-1"))
    cgroups, host = Cgroups(FakeV2()), Host("n0")
    plan = apply(document, cgroups, host, state).plan
    begun = Plan(plan.operations, plan.finish)

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

    with pytest.raises(RefusedError, match=r"cannot be read: .*; run as its owner"):
        AppliedState(tmp_path).unfinished()


def test_every_changed_byte_is_seen(tmp_path: Path) -> None:
    """
    A journal in which one byte is another, or the end is missing, is not trusted.
    """
    state = AppliedState(tmp_path)
    document = a_document(a_pod("a"))
    state.begin(document, Plan())
    good = (tmp_path / JOURNAL).read_bytes()

    for at in range(0, len(good), 37):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]):
            (tmp_path / JOURNAL).write_bytes(bad)
            with pytest.raises(ObserveOnlyError, match="cut short or was changed"):
                state.unfinished()
    (tmp_path / JOURNAL).write_bytes(good)
    assert state.unfinished() is not None
