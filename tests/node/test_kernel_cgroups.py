"""The kernel of this machine answers as the table of its kind says, where root may ask it."""

import os
from pathlib import Path

import pytest

from node.cgroup_script import answers
from node.kernel_machine import ROOT, V1_CONTROLLERS, KernelMachine, alone_on_the_kernel
from node.tables import HOST_TABLE, cases


@pytest.fixture
def machine():
    """Return the kernel here, and leave nothing of ours in its cgroups."""
    if os.geteuid() != 0:
        pytest.skip("only root may write cgroups")
    for controller in V1_CONTROLLERS:
        if not (ROOT / controller / "cgroup.procs").exists():
            pytest.skip(f"no cgroup hierarchy of version 1 at {ROOT / controller}")
        if not os.access(ROOT / controller / "cgroup.procs", os.W_OK):
            pytest.skip(f"{ROOT / controller} is read-only")
    if Path("/sys/devices/system/cpu/possible").read_text().strip() != "0-1":
        pytest.skip("the table was made with 2 CPUs, this machine has others")
    with alone_on_the_kernel():
        others = [p for p in (ROOT / "cpuset").glob("*/cpuset.cpus") if p.read_text().strip()]
        if others:
            pytest.skip(f"{others[0].parent} has CPUs, so that none can be exclusive beside it")
        found = KernelMachine(1, (f"placer-test-{os.getpid()}",))
        yield found
        found.clean()


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["name"]) for case in cases(HOST_TABLE)]
)
def test_this_kernel_answers_as_the_table_says(machine, case):
    (top,) = machine.tops
    steps = [row[0].replace("/p", f"/{top}", 1) for row in case["steps"]]

    found = answers(machine, steps)

    assert found == [row[1] for row in case["steps"]]
