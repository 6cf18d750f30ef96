"""A hostile tenant beside the agent, on cgroups of either version and eight CPUs."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from node.beside_a_tenant import BesideATenant
from node.kernel_machine import KernelMachine
from placer.node.mounts import kernel_cgroup_filesystem


def test_a_hostile_tenant_costs_no_owner_a_cpu_and_blocks_no_document(tmp_path):
    """
    200 random actions of user 1000 in a user's subtree and in its own container.
    """
    version = os.environ["PLACER_VM"]
    machine = KernelMachine(2 if version == "v2" else 1, ())
    if version == "v2":
        machine.files.write("cgroup.subtree_control", "+cpuset +cpu +memory +pids")
    beside = BesideATenant(kernel_cgroup_filesystem(), tmp_path)
    try:
        report = beside.run(seed=26, actions=200)
    finally:
        beside.clean()
    told = {**asdict(report), "left_alone": sorted(report.left_alone)}
    Path(os.environ["PLACER_VM_RESULTS"], f"tenant-{version}.json").write_text(json.dumps(told))

    assert len(report.actions) == 200
    assert sum(action.endswith(": done") for action in report.actions) > 50
    assert report.documents > 5
