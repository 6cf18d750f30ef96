"""One drift on a node of 500 pods: how long it lasts, and what its repair costs.

    sudo .venv/bin/python benchmarks/drift_repair.py [CHECKOUT] [DRIFTS]

CHECKOUT is another checkout of this project whose agent is measured in the same run, turn about:
a drift here, a drift there. Printed are, for each, the median and the worst seconds until the
cpuset says again what it should, and the CPU seconds of the agent from a drift to 2 s later.

Needs root, cgroups of version 1 or 2, and the extra `agent`; makes cgroups below
/placer-bench-NAME, and removes them.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

from _arguments import parser_for
from _checkouts import HERE
from node_agent import PODS, Agent, end_on_sigterm, root_cgroups

from placer.node.cgroups import CgroupReader

SETTLED_S = 2
BEGUN_S = 12


class Drifts:
    """What became of the drifts below one agent."""

    def __init__(self, name: str, agent: Agent) -> None:
        self.name, self.agent = name, agent
        self.repairs_s: list[float] = []
        self.costs_s: list[float] = []

    def add(self, cgroups: CgroupReader, i: int) -> None:
        """Overwrite a cpuset, and measure the repair."""
        cost_s = self.agent.cpu_s()
        self.repairs_s.append(self.agent.repair_s(cgroups, i))
        time.sleep(SETTLED_S)
        self.costs_s.append(self.agent.cpu_s() - cost_s)

    def said(self) -> str:
        """Return the figures."""
        return (
            f"{self.name}: repaired after {statistics.median(self.repairs_s):.3f} s in the median, "
            f"{max(self.repairs_s):.3f} s at worst; "
            f"{statistics.median(self.costs_s):.3f} s of CPU a drift"
        )


def main(checkouts: dict[str, Path], drifts: int) -> None:
    """Start the agents, let cpusets drift turn about, and print the figures."""
    end_on_sigterm()
    cgroups = root_cgroups()
    measured: list[Drifts] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, checkout in checkouts.items():
                agent = Agent(checkout, Path(folder), f"placer-bench-{name}", "error")
                measured.append(Drifts(name, agent))
                agent.wait()
            time.sleep(BEGUN_S)
            for i in range(drifts):
                for one in measured:
                    one.add(cgroups, i)
            print(f"{PODS} pods, {drifts} drifts each, load {os.getloadavg()[0]:.1f}")
            for one in measured:
                print(one.said())
        finally:
            for one in measured:
                one.agent.end()


if __name__ == "__main__":
    parser = parser_for(__doc__)
    parser.add_argument("checkout", nargs="?", help="may be left out before DRIFTS, too")
    parser.add_argument("drifts", type=int, nargs="?")
    said = parser.parse_args()
    if said.drifts is None and said.checkout and said.checkout.isdigit():
        said.checkout, said.drifts = None, int(said.checkout)
    other = {"before": Path(said.checkout).resolve()} if said.checkout else {}
    main(other | {"here": HERE}, 15 if said.drifts is None else said.drifts)
