"""Asks the kernel that runs here every step of the tables, and writes down what it answers."""

import json
import os
import platform
from pathlib import Path

import pytest

from node.cgroup_script import answers
from node.kernel_machine import KernelMachine
from node.tables import TABLES, dumped

HANDED_DOWN = {"cpuset", "cpu", "memory", "hugetlb", "pids"}
VERSION = 2 if os.environ["PLACER_VM"] == "v2" else 1


def hand_down(machine):
    """Let the root of version 2 hand down these controllers; a runtime may have put on others."""
    on = set(machine.files.read("cgroup.subtree_control").split())
    words = [f"-{name}" for name in on - HANDED_DOWN] + [f"+{name}" for name in HANDED_DOWN]
    machine.files.write("cgroup.subtree_control", " ".join(words))


@pytest.mark.parametrize("path", [path for path in TABLES if f"_v{VERSION}_" in path.name])
def test_the_kernel_answers_as_it_did(path):
    """
    The table that comes back is this kernel's; a difference from the old one fails.
    """
    table = json.loads(path.read_text())
    machine = KernelMachine(VERSION, ("p", "q"))
    cases = []
    for case in table["cases"]:
        machine.clean()
        if VERSION == 2:
            hand_down(machine)
        steps = [step for step, _ in case["steps"]]
        rows = zip(steps, answers(machine, steps), strict=True)
        cases.append({"name": case["name"], "steps": [list(row) for row in rows]})
    machine.clean()
    found = {**table, "kernel": platform.release(), "cases": cases}
    Path(os.environ["PLACER_VM_RESULTS"], path.name).write_text(dumped(found))

    assert cases == table["cases"]
