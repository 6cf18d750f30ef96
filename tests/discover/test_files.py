"""Where a machine's files lie, and that no link or name leads out of there (D15)."""

import errno
import os
from pathlib import Path

import pytest

from kernel_trees import CPU, a_cpu, smt_machine, tar_of, write_tree
from placer.node.discover import discover_hardware
from placer.node.discover.machine_files import DiscoverMachineFiles, parse_kernel_cpu_mask
from placer.node.discover.roots import DiscoverTarArchive, open_machine_files
from placer_models.files.errors import InputError

MACHINE = smt_machine()


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        discover_hardware(path)
    return str(caught.value)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_archive_is_read_like_a_folder(tmp_path: Path, mode: str) -> None:
    """
    Packed in whichever way, and with whichever folder around it.
    """
    members = [(f"./host7/{path}", text) for path, text in MACHINE.items()]
    archive = tar_of(tmp_path / "dump.tar", members, mode)
    folder = write_tree(tmp_path / "copy" / "host7", MACHINE)

    packed, copied = discover_hardware(archive), discover_hardware(folder.parent)

    assert len(packed.cpus) == 8
    assert (packed.cpus, packed.numa_nodes) == (copied.cpus, copied.numa_nodes)


def test_sys_itself_may_be_named(tmp_path: Path) -> None:
    """
    Who names the folder sys means the machine around it.
    """
    root = write_tree(tmp_path, MACHINE)

    assert discover_hardware(root / "sys") == discover_hardware(root)


def test_one_of_several_machines_is_named_behind_the_archive(tmp_path: Path) -> None:
    """
    An archive of two machines is refused with both names, and each is read by its own.
    """
    members = [
        (f"all/{name}/{path}", text)
        for name, tree in (("big", MACHINE), ("small", a_cpu(0)))
        for path, text in tree.items()
    ]
    archive = tar_of(tmp_path / "dumps.tar", members)

    names = f"{archive}/all/big, {archive}/all/small"

    assert f"holds 2 machines; name one of them: {names}" in refused(archive)
    assert f"holds 2 machines; name one of them: {names}" in refused(archive / "all")
    assert len(discover_hardware(archive / "all" / "small").cpus) == 1
    assert len(discover_hardware(archive / "small").cpus) == 1
    assert "shows no machine" in refused(archive / "other")


def test_links_are_followed_within_the_root(tmp_path: Path) -> None:
    """
    sysfs is full of links; those that stay inside are as good as files.
    """
    tree = {f"{CPU}/online": "0", f"{CPU}/cpu0/topology": "->../../../real"}
    real = {"sys/devices/real/thread_siblings_list": "0-1"}
    files = open_machine_files(write_tree(tmp_path / "root", tree, real))

    assert files.read(f"{CPU}/cpu0/topology/thread_siblings_list") == "0-1"


@pytest.mark.parametrize("target", ["../../../../../secret", "/secret", "../../../../../.."])
@pytest.mark.parametrize("packed", [False, True])
def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path, target: str, packed: bool) -> None:
    """
    Relative or absolute, in a folder or an archive: the file is named, and nothing read.
    """
    (tmp_path / "secret").write_text("0-3")
    tree = a_cpu(0) | {f"{CPU}/online": f"->{target}"}
    dump = write_tree(tmp_path / "root", tree)
    if packed:
        dump = tar_of(tmp_path / "dump.tar", tree.items())

    message = refused(dump)

    assert f"{CPU}/online: is a link" in message
    assert "out of the dump" in message


def test_a_link_that_leads_in_a_circle_leads_nowhere(tmp_path: Path) -> None:
    """
    Neither is it followed for ever.
    """
    tree = a_cpu(0) | {f"{CPU}/online": "->possible", f"{CPU}/possible": "->online"}

    assert len(discover_hardware(write_tree(tmp_path, tree)).online) == 1


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "sys/../../up"])
def test_an_archive_that_reaches_out_of_itself_is_refused(tmp_path: Path, name: str) -> None:
    """
    Nothing of it is unpacked anywhere; all the same it is no dump of a machine.
    """
    archive = tar_of(tmp_path / "dump.tar", [*a_cpu(0).items(), (name, "x")])

    assert f"has a member '{name}', outside of itself" in refused(archive)
    assert sorted(tmp_path.iterdir()) == [archive]


def test_what_is_no_dump_is_told_so(tmp_path: Path) -> None:
    """
    An empty folder, a text, a cut archive, nothing at all.
    """
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("CPU(s): 4\n")
    whole = tar_of(tmp_path / "dump.tar.gz", MACHINE.items()).read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])

    assert "shows no machine: there is no sys/devices/system/cpu" in refused(tmp_path / "empty")
    assert refused(tmp_path / "text") == (
        f"{tmp_path / 'text'}: is no tar archive, or a damaged one: file could not be opened "
        "successfully; expected the root of a Linux system, a copy of its /sys and /proc as a "
        "folder or tar archive, or an XML file of hwloc"
    )
    assert "is no tar archive, or a damaged one" in refused(tmp_path / "cut.tar.gz")
    assert refused(Path("/dev/null")) == "/dev/null: is neither a file nor a folder"
    assert refused(tmp_path / "none") == f"{tmp_path / 'none'}: does not exist"


class _Locked(DiscoverTarArchive):
    """Files of which one may not be read, and one is not answered for."""

    def data(self, path: str) -> bytes:
        if path.endswith("cpu1/topology/thread_siblings_list"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        if path.endswith("isolated"):
            raise OSError(errno.EIO, "Input/output error", path)
        return super().data(path)


def test_a_file_that_may_not_be_read_is_named() -> None:
    """
    Whoever lacks a right is told for which file; what the kernel does not answer is not there.
    """
    path = "cpu1/topology/thread_siblings_list"
    found: dict[str, bytes | str | set[str]] = {
        "isolated": b"0",
        "cpu1": {"topology"},
        "cpu1/topology": {"thread_siblings_list"},
        path: b"1",
    }
    files = DiscoverMachineFiles("a dump", _Locked(found))

    assert files.read("isolated") is None
    with pytest.raises(InputError) as caught:
        files.read(path)
    assert str(caught.value) == f"a dump: {path}: cannot be read: Permission denied"


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """
    A pipe in a dump would hold up whoever opens it.
    """
    root = write_tree(tmp_path, a_cpu(0))
    os.mkfifo(root / CPU / "online")

    assert len(discover_hardware(root).online) == 1


def test_masks_are_read_in_words() -> None:
    """
    More than 64 CPUs, and words that are not filled up.
    """
    assert parse_kernel_cpu_mask("1") == {0}
    assert parse_kernel_cpu_mask("8000,00000001") == {0, 47}
    assert parse_kernel_cpu_mask("1,00000000,00000000,00000003") == {0, 1, 96}
    assert parse_kernel_cpu_mask("ffffffffffffffff") == frozenset(range(64))
    assert parse_kernel_cpu_mask("00000000") == frozenset()


def test_this_machine_can_be_read() -> None:
    """
    Live, without root: at least the CPUs that this test runs on are there and online.
    """
    inventory = discover_hardware()

    assert os.sched_getaffinity(0) <= inventory.online
    assert inventory.allowed_cpus is not None
    assert inventory.architecture == os.uname().machine
