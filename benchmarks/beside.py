"""Pods that ask for others on their cores and NUMA nodes, on nodes that are half full.

Nodes of 64 and 128 cores of two threads. Running pods own single threads and whole cores
here and there; half of them are databases. Per size and word: the median seconds of a
solve of one pod, and the ratio to the same pod without a word. Below that a batch of pairs
on an empty node, each a producer and a consumer that has to be on its cores: seconds,
pods placed, and how many tiers were proven, with and without the word.

Run: python benchmarks/beside.py [ROUNDS]
"""

import random

from _arguments import numbers_asked
from _half_full import SIZES, node, print_one_pod, solved
from _worlds import lone, spec

from placer_models.affinity import AffinityTerm, InNodeAffinityLevel
from placer_models.cluster import Instance
from placer_models.pod import Pod
from placer_models.policy import BindPolicy, QosClass, RequiredOrPreferred

DB = (("app", "db"),)
PREFERRED = RequiredOrPreferred.PREFERRED

WORDS: dict[str, tuple[AffinityTerm, ...]] = {
    "nothing": (),
    "apart, numa": (AffinityTerm(DB, True, PREFERRED, InNodeAffinityLevel.NUMA),),
    "apart, core": (AffinityTerm(DB, True, level=InNodeAffinityLevel.CORE),),
    "together, numa": (AffinityTerm(DB, level=InNodeAffinityLevel.NUMA),),
    "together, core": (AffinityTerm(DB, False, PREFERRED, InNodeAffinityLevel.CORE),),
}
PAIRS = 8


def pod(name: str, cpus: int, app: str, *terms: AffinityTerm) -> Pod:
    labels, bind = (("app", app),), BindPolicy.SPREAD_BY_PCPUS
    asked = spec(QosClass.LSR, 1000 * cpus, bind=bind, labels=labels, affinity=terms)
    return Pod(name, "default", asked)


def holder(name: str, cpus: int, rng: random.Random) -> Pod:
    """Return a pod that runs already, a database or not."""
    return pod(name, cpus, rng.choice(("db", "web")))


def one_pod(rounds: int) -> None:
    pods = {word: pod("new", 5, "new", *terms) for word, terms in WORDS.items()}
    print_one_pod("word", pods, rounds, holder)


def pairs() -> None:
    print(f"\n{PAIRS} pairs of pods of 4 CPUs at once, within 60 s")
    print("cores  word                 s  answer")
    for cores, numa_nodes in SIZES:
        for word in ("nothing", "together, numa", "together, core"):
            gangs = []
            for i in range(PAIRS):
                wish = (("app", f"source-{i}"),)
                terms = tuple(AffinityTerm(wish, level=term.level) for term in WORDS[word])
                gangs.append(lone(pod(f"source-{i}", 4, f"source-{i}")))
                gangs.append(lone(pod(f"sink-{i}", 4, f"sink-{i}", *terms)))
            took_s, said = solved(Instance((node(cores, numa_nodes),), tuple(gangs)))
            print(f"{cores:5}  {word:14}  {took_s:8.3f}  {said}")


if __name__ == "__main__":
    one_pod(numbers_asked(__doc__, rounds=10).rounds)
    pairs()
