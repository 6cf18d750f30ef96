"""Partitions of cgroup v2 do in this kernel what the kernel's own selftest says they do."""

import json
import os
from pathlib import Path

import pytest

from node.kernel_machine import KernelMachine
from shared_files import shared

LAST_CPU_STAYS = {15, 16, 17, 18, 20, 21, 23, 24, 25, 26, 58}
"""Rows in which 6.12 keeps a CPU online (EBUSY), because it is the last one of a partition's
scheduling domain. 6.12 was the first kernel to reserve deadline bandwidth for fair tasks on every
CPU (dl_server), and `dl_bw_check_overflow` of its kernel/sched/deadline.c counts that as bandwidth
for which no CPU would be left. 6.14 leaves it out ("sched/deadline: Correctly account for allocated
bandwidth during hotplug"), 6.1 has none: there these rows hold. Row 58 expects one error, of a
process that finds no CPU, and gets this one."""

BECOMES_MEMBER = {47, 48}
"""Rows in which a remote partition loses CPUs: 6.12 makes it a member, and does not say that it is
invalid. `remote_partition_check` of its kernel/cgroup/cpuset.c names no error; since 6.12.25, which
took "cgroup/cpuset: Fix error handling in remote_partition_disable()" from 6.15 without the
rewrite that came with it there, only a partition with an error is invalid."""

pytestmark = pytest.mark.skipif(
    os.environ["PLACER_VM"] != "v2", reason="cgroup v1 has no partitions"
)


ROWS = 60
"""Rows that the numbers here are of: the first ones of the table."""


def rows():
    path = shared("cases/kernel_cpuset_v2_partition.json")
    return json.loads(path.read_text())["rows"][:ROWS]


def carry_out(machine, step):
    """Carry a step out and return whether the kernel took it."""
    place, file, text = step
    try:
        if place == "/sys":
            machine.set_online(int(file.removeprefix("cpu").partition("/")[0]), text == "1")
        elif file == "cgroup.procs":
            machine.start(place)
        else:
            machine.files.write(f"{place}/{file}", text)
    except OSError:
        return False
    return True


def differences(machine, row):
    """Return what this kernel does otherwise than a row says."""
    machine.clean()
    machine.files.write("cgroup.subtree_control", "+cpuset")
    for name in ("A1", "B1"):
        machine.files.make_directory(name)
    for name in ("A1/A2", "A1/A2/A3"):
        machine.files.make_directory(name)
    refused = [step for step in row["setup"] if not carry_out(machine, step)]
    failed = {step[0] for step in row["steps"] if not carry_out(machine, step)}
    found = [f"setup {step} was refused" for step in refused]
    if len(failed) != row["cgroups_with_error"]:
        found.append(f"writes to {sorted(failed)} were refused")
    for place, files in row.get("effective", {}).items():
        for file, expected in files.items():
            if (says := machine.files.read(f"{place}/{file}")) != expected:
                found.append(f"{place}/{file}: {says!r}, expected {expected!r}")
    for place, expected in row.get("partition", {}).items():
        says = machine.files.read(f"{place}/cpuset.cpus.partition")
        if says.partition(" (")[0] != expected:
            found.append(f"{place} is {says!r}, expected {expected!r}")
    isolated = machine.files.read("cpuset.cpus.isolated")
    if row.get("isolated", isolated) != isolated:
        found.append(f"isolated: {isolated!r}, expected {row['isolated']!r}")
    return found


def test_partitions_do_what_the_rows_say():
    """
    47 of the 60 rows hold in Linux 6.12 word for word, the others differ in what is named above.
    """
    machine = KernelMachine(2, ("A1", "B1"))
    differ = {}
    for i, row in enumerate(rows()):
        if found := differences(machine, row):
            differ[i] = found
    machine.clean()
    results = Path(os.environ["PLACER_VM_RESULTS"], "partitions.json")
    results.write_text(json.dumps(differ, indent=1))

    assert set(differ) == LAST_CPU_STAYS | BECOMES_MEMBER
    assert all("writes to ['/sys'] were refused" in differ[i] for i in LAST_CPU_STAYS - {58})
    assert all("is 'member'" in differ[i][0] for i in BECOMES_MEMBER)
