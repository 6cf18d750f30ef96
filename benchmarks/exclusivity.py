"""One pod's exact place on a node that is half full, with and without an exclusive policy.

Nodes of 64 and 128 cores of two threads. Running pods own single threads and whole cores
here and there; a third of them are under each exclusive policy. Per size and policy: the
median seconds of a solve, and the ratio to the same pod without a policy. Below that a
batch of pods that all keep apart: seconds, pods placed, and how many tiers were proven.

Run: python benchmarks/exclusivity.py [ROUNDS]
"""

import random

from _arguments import numbers_asked
from _half_full import SIZES, node, print_one_pod, solved
from _worlds import lone, spec

from placer_models.cluster import Instance
from placer_models.pod import Pod
from placer_models.policy import BindPolicy, ExclusivePolicy, QosClass

POLICIES = tuple(ExclusivePolicy)
BATCH = 30


def pod(name: str, cpus: int, policy: ExclusivePolicy, bind: BindPolicy) -> Pod:
    return Pod(name, "default", spec(QosClass.LSR, 1000 * cpus, bind=bind, exclusive=policy))


def holder(name: str, cpus: int, rng: random.Random) -> Pod:
    """Return a pod that runs already, under some policy."""
    return pod(name, cpus, rng.choice(POLICIES), BindPolicy.DEFAULT)


def one_pod(rounds: int) -> None:
    pods = {str(one): pod("new", 5, one, BindPolicy.SPREAD_BY_PCPUS) for one in POLICIES}
    print_one_pod("policy", pods, rounds, holder)


def batches() -> None:
    print(f"\n{BATCH} pods at once, within 60 s")
    print("cores  policy         bind           CPUs      s  proven")
    for cores, numa_nodes in SIZES:
        for policy in POLICIES:
            for bind in (BindPolicy.DEFAULT, BindPolicy.SPREAD_BY_PCPUS):
                for cpus in (3, 4):
                    gangs = tuple(lone(pod(f"p{i}", cpus, policy, bind)) for i in range(BATCH))
                    took_s, proven = solved(Instance((node(cores, numa_nodes),), gangs))
                    print(f"{cores:5}  {policy:13}  {bind:13}  {cpus:4}  {took_s:5.1f}  {proven}")


if __name__ == "__main__":
    one_pod(numbers_asked(__doc__, rounds=10).rounds)
    batches()
