"""What a machine has inside: read from the kernel's files, from dumps of them, and from drivers."""

from pathlib import Path

from placer.node.discover.hwloc_xml import read_hwloc, read_tree
from placer.node.discover.inventory import Inventory
from placer.node.discover.machine import Discovered as Discovered
from placer.node.discover.machine import to_machine as to_machine
from placer.node.discover.roots import open_files
from placer.node.discover.sysfs import read_sysfs

HOST = Path("/")


def take_inventory(root: Path = HOST) -> Inventory:
    """Return everything that is found of the machine whose files these are.

    Args:
        root: The root of a Linux system, a folder or tar archive with a copy of its /sys
            and /proc, or an XML file of hwloc.

    Raises:
        InputError: It is none of these, or a file in it is not what the kernel writes.

    """
    if root.is_file() and _is_xml(root):
        return read_hwloc(read_tree(root))
    return read_sysfs(open_files(root))


def _is_xml(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except OSError:
        return False
