"""The kernel's cgroup files, on folders that only look like them and on the host's own."""

import errno
from pathlib import Path

import pytest

from placer.node import cgroup_files
from placer.node.cgroup_files import KernelCgroupFilesystem

HOST = Path("/sys/fs/cgroup/cpuset")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that passes for a cgroup v2 file system."""
    with (tmp_path / "cpuset.cpus").open("w") as file:
        file.write("0-3\n")
        monkeypatch.setitem(
            cgroup_files.CGROUP_MAGIC, 2, cgroup_files.file_system_magic_of(file.fileno())
        )
    (tmp_path / "pods" / "a").mkdir(parents=True)
    return tmp_path


def test_reads_writes_and_lists(folder: Path) -> None:
    """
    What was written is read again without its line end; cgroups are listed by name.
    """
    cgroups = KernelCgroupFilesystem(2, {"": folder})
    (folder / "pods/cpuset.cpus").touch()
    cgroups.write("pods/cpuset.cpus", "0-1")
    cgroups.make_directory("pods/b")

    assert (folder / "pods/cpuset.cpus").read_text() == "0-1\n"
    assert cgroups.read("pods/cpuset.cpus") == "0-1"
    assert cgroups.children("pods") == ["a", "b"]
    assert all(cgroups.exists(path) for path in ("", "pods/b", "pods/cpuset.cpus"))
    cgroups.remove_directory("pods/b")
    assert not cgroups.exists("pods/b")


@pytest.mark.parametrize("path", ["pods/../cpuset.cpus", "/etc/passwd", "pods//a", "a/./b", "a\0b"])
def test_a_path_cannot_leave_the_mount(folder: Path, path: str) -> None:
    """
    A path that is not plain names below the root is refused before anything is opened.
    """
    with pytest.raises(ValueError, match="got the path"):
        KernelCgroupFilesystem(2, {"": folder}).read(path)


@pytest.mark.parametrize("path", ["link/cpuset.cpus", "file"])
def test_no_symbolic_link_is_followed(folder: Path, path: str) -> None:
    """
    Neither a folder on the way nor the file itself may be a symbolic link.
    """
    (folder / "link").symlink_to(folder)
    (folder / "file").symlink_to(folder / "cpuset.cpus")

    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        KernelCgroupFilesystem(2, {"": folder}).write(path, "0")

    assert (folder / "cpuset.cpus").read_text() == "0-3\n"


def test_a_folder_that_is_no_cgroupfile_system_of_is_refused(tmp_path: Path) -> None:
    """
    The magic number of the mount is checked, so a folder of the same name gets no writes.
    """
    (tmp_path / "cpuset.cpus").touch()

    with pytest.raises(OSError, match="is no cgroup v2 file system") as error:
        KernelCgroupFilesystem(2, {"": tmp_path}).write("cpuset.cpus", "0")

    assert error.value.errno == errno.EMEDIUMTYPE
    assert (tmp_path / "cpuset.cpus").read_text() == ""


def test_an_error_names_the_whole_path(folder: Path) -> None:
    """
    A file of a missing cgroup is named by its path, not by its last part.
    """
    with pytest.raises(FileNotFoundError, match=r"none") as error:
        KernelCgroupFilesystem(2, {"": folder}).read("pods/none/cpuset.cpus")

    assert error.value.filename == "pods/none/cpuset.cpus"


def test_a_controller_without_a_mount_is_missing(folder: Path) -> None:
    """
    On version 1 the first part of a path is a controller; one that is not mounted is missing.
    """
    cgroups = KernelCgroupFilesystem(1, {"cpuset": folder})

    assert not cgroups.exists("memory/pods")
    with pytest.raises(FileNotFoundError, match="controller 'memory'"):
        cgroups.read("memory/memory.limit_in_bytes")


@pytest.mark.skipif(not (HOST / "cpuset.cpus").exists(), reason="no cgroup v1 cpuset here")
def test_the_hosts_cpuset_is_read() -> None:
    """
    The root cpuset of this machine says which CPUs there are.
    """
    assert KernelCgroupFilesystem(1, {"cpuset": HOST}).read("cpuset/cpuset.cpus") != ""
