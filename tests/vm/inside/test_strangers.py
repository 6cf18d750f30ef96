"""A real kernel lets strangers be moved off owned CPUs, and takes them back."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from node.kernel_machine import SLEEP
from placer.node.agent.strangers import StrangerKind, strangers_on_owned_cpus
from placer.node.discover.machine_files import parse_kernel_cpu_mask
from placer.node.state import CLEARED
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from vm.inside.test_agent import VERSION, World, node, pods

QUEUES = Path("/sys/devices/virtual/workqueue")
KTHREADD, SERIAL_IRQ = 2, 4


@pytest.fixture
def world(node, tmp_path):
    """This machine without a document; nothing is left of it."""
    found = World(node, tmp_path)
    yield found
    if found.agent:
        found.stop_agent()
    found.kernel.clean()


def has(pid: int) -> dict[str, str]:
    """Return what a service, a kernel thread, an interrupt and work queues may use."""
    masks = {
        file.parent.name: parse_kernel_cpu_mask(file.read_text())
        for file in QUEUES.rglob("cpumask")
    }
    return {
        "service": format_cpu_list(os.sched_getaffinity(pid)),
        "kthreadd": format_cpu_list(os.sched_getaffinity(KTHREADD)),
        "serial": Path(f"/proc/irq/{SERIAL_IRQ}/smp_affinity_list").read_text().strip(),
    } | {name: format_cpu_list(cpus) for name, cpus in masks.items()}


def without(before: dict[str, str], owned: str) -> dict[str, str]:
    """Return what is left of everybody's CPUs."""
    gone = parse_cpu_list(owned)
    return {name: format_cpu_list(parse_cpu_list(cpus) - gone) for name, cpus in before.items()}


def test_strangers_go_with_owners_that_come_and_come_back_when_they_go(world):
    """
    Told of, moved, moved again for other owners by an agent after one that was killed, given back
    by an agent that is not to move any; what stays is bound to its CPU.
    """
    service = subprocess.Popen([sys.executable, "-S", "-c", SLEEP])
    try:
        before = has(service.pid)
        assert set(before.values()) <= {"0-7", "0-3"}  # an interrupt is on its NUMA node
        kinds = {
            one.kind for one in strangers_on_owned_cpus(parse_cpu_list("0-1"), ["placer"], VERSION)
        }
        assert kinds == set(StrangerKind)

        world.start_agent(clear_owned=True)
        world.send(*pods("0-1", "4"), generation=1)
        moved = without(before, "0-1,4")
        world.wait("strangers go", lambda: has(service.pid), moved)
        world.wait("applied", world.applied, 1)
        a = world.run_in("a")
        assert world.kernel.affinity(a) == "0-1"

        os.kill(world.agent, signal.SIGKILL)
        world.see_it_killed()
        assert (world.state / CLEARED).exists()
        world.start_agent(clear_owned=True)
        world.send(*pods("4-5", "0"), generation=2)
        moved = without(before, "0,4-5")
        world.wait("strangers follow other owners", lambda: has(service.pid), moved)

        world.stop_agent()
        assert has(service.pid) == moved
        world.start_agent()
        world.wait("given back", lambda: has(service.pid), before)
        world.wait("forgotten", (world.state / CLEARED).exists, False)
    finally:
        service.kill()
        service.wait()
