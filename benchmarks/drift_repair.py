"""One drift on a node of 500 pods: how long it lasts, and what its repair costs.

    sudo .venv/bin/python benchmarks/drift_repair.py [CHECKOUT] [DRIFTS]

CHECKOUT is another checkout of this project whose agent is measured in the same run, turn about:
a drift here, a drift there. Printed are, for each, the median and the worst seconds until the
cpuset says again what it should, and the CPU seconds of the agent from a drift to 2 s later.

Needs root, cgroups of version 1 or 2, and the extra `agent`; makes cgroups below
/placer-bench-NAME, and removes them.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import node_agent
from _checkouts import HERE, environment_of
from node_agent import PODS, cpu_seconds, repair_s, root_cgroups, write_document

from placer.node.cgroups import Cgroups

COMMAND = "import sys; from placer_cli.app import main; sys.exit(main())"
SETTLED_S = 2
BEGUN_S = 12


class Agent:
    """The agent of a checkout, with a cgroup root and folders of its own."""

    def __init__(self, name: str, checkout: Path, folder: Path) -> None:
        self.name, self.root = name, f"placer-bench-{name}"
        documents = folder / name / "documents"
        documents.mkdir(parents=True, mode=0o700)
        write_document(documents)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMMAND, "agent", "--documents", documents,
             "--state", folder / name / "state", "--root", self.root, "--listen", "",
             "--log-level", "error"],
            env=environment_of(checkout),
        )  # fmt: skip
        self.applied = folder / name / "state" / "applied.json"
        self.repairs_s: list[float] = []
        self.costs_s: list[float] = []

    def drift(self, cgroups: Cgroups, i: int) -> None:
        """Overwrite a cpuset, and measure the repair."""
        cost_s = cpu_seconds(self.process.pid)
        self.repairs_s.append(repair_s(cgroups, i, self.root, look_every_s=0.002))
        time.sleep(SETTLED_S)
        self.costs_s.append(cpu_seconds(self.process.pid) - cost_s)

    def said(self) -> str:
        """Return the figures."""
        return (
            f"{self.name}: repaired after {statistics.median(self.repairs_s):.3f} s in the median, "
            f"{max(self.repairs_s):.3f} s at worst; "
            f"{statistics.median(self.costs_s):.3f} s of CPU a drift"
        )

    def end(self, cgroups: Cgroups) -> None:
        """Stop it, and remove what it made."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        node_agent.clear(cgroups, self.root)


def main(checkouts: dict[str, Path], drifts: int) -> None:
    """Start the agents, let cpusets drift turn about, and print the figures."""
    cgroups = root_cgroups()
    agents: list[Agent] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, checkout in checkouts.items():
                agents.append(Agent(name, checkout, Path(folder)))
                while not agents[-1].applied.exists():
                    time.sleep(0.05)
            time.sleep(BEGUN_S)
            for i in range(drifts):
                for agent in agents:
                    agent.drift(cgroups, i)
            print(f"{PODS} pods, {drifts} drifts each, load {os.getloadavg()[0]:.1f}")
            for agent in agents:
                print(agent.said())
        finally:
            for agent in agents:
                agent.end(cgroups)


if __name__ == "__main__":
    words = sys.argv[1:]
    other = {"before": Path(words.pop(0)).resolve()} if words and not words[0].isdigit() else {}
    main(other | {"here": HERE}, int(words[0]) if words else 15)
