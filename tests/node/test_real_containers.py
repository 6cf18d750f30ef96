"""A real container says itself which CPUs, NUMA nodes and environment it has: crun, as root."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from node.node_documents import a_document, a_pod
from placer.node.apply import apply
from placer.node.cgroups import CPUS, MEMS, Cgroups
from placer.node.discover import take_inventory, to_machine
from placer.node.host import read_host
from placer.node.mounts import MountError, kernel_files
from placer.node.render.folder import edited_bundle
from placer.node.state import NodeState
from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list
from placer_models.policy import QosClass

ROOT = f"placer-test-crun-{os.getpid()}"

IN_PLAIN_V1 = """
if [ -e /sys/fs/cgroup/cpuset ] && [ -d /sys/fs/cgroup/unified ]; then
    umount /sys/fs/cgroup/unified
fi
exec crun --cgroup-manager=cgroupfs run --bundle "$1" "$2"
"""
"""crun refuses to run beside an empty hierarchy of version 2: it gets a view without it."""

pytestmark = pytest.mark.check


@pytest.fixture
def cgroups():
    """The cgroups of this machine, without any of ours before and after."""
    if shutil.which("crun") is None:
        pytest.skip("crun is not installed")
    if os.geteuid() != 0:
        pytest.skip("only root may make cgroups")
    try:
        found = Cgroups(kernel_files())
    except MountError as error:
        pytest.skip(str(error))
    yield found
    for mount in [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()]:
        for folder, _, _ in os.walk(mount / ROOT, topdown=False):  # crun uses all hierarchies
            Path(folder).rmdir()


def test_a_container_has_the_cpus_that_its_document_says(cgroups, tmp_path):
    """
    The last CPU of this machine is a pod's own; crun starts its container in our cgroup.
    """
    inventory = take_inventory()
    node = Node("here", to_machine(inventory, "here").machine)
    *_, last = sorted(cgroups.effective("", CPUS))
    document = a_document(a_pod("own", QosClass.LSR, str(last), node="here"), node=node)
    state = NodeState(tmp_path / "state")
    with state.locked():
        apply(document, cgroups, read_host(cgroups.version), state, root=ROOT)
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    subprocess.run(["crun", "spec"], cwd=bundle, check=True)
    config = json.loads((bundle / "config.json").read_text())
    rootfs = bundle / "rootfs"
    (rootfs / "usr").mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (rootfs / name).symlink_to(f"usr/{name}")
    usr = {"destination": "/usr", "type": "none", "source": "/usr", "options": ["rbind", "ro"]}
    config["mounts"].append(usr)
    config["process"]["terminal"] = False
    config["process"]["args"] = ["/bin/cat", "/proc/self/status", "/proc/self/environ"]
    text = edited_bundle(document, "own/main", json.dumps(config), ROOT)
    (bundle / "config.json").write_text(text)

    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", IN_PLAIN_V1, "sh", bundle, ROOT],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert f"Cpus_allowed_list:\t{last}\n" in done.stdout
    memory = format_cpu_list(cgroups.effective("", MEMS))
    assert f"Mems_allowed_list:\t{memory}\n" in done.stdout
    environment = done.stdout.rpartition("\n")[2].split("\0")
    assert f"GOMP_CPU_AFFINITY={last}" in environment
