"""What to buy: price, proven bound and gap, beside two naive buyers on the same market.

12 random mixes (`_random_mixes`), and openb's pods bought from its own 27 node types
(`_openb`) where the traces are; five of the mixes again with each type offered in three zones,
one of which may be lost (`zones`), with any one node lost (`nodes`), and with any one lost where
machines have NUMA nodes inside, and pods are aligned to them and come in gangs (`insides`). Rivals
are in percent above the bound. CPU time is told beside wall time: on a busy machine a search of
60 s is a shorter one.

Run: python benchmarks/plan_buy.py [FOLDER OF openb's CSV FILES] [SECONDS] [KINDS OF QUESTIONS...]
"""

import os
import time
from dataclasses import replace

from _arguments import one_of, parser_for
from _buying_rivals import buy_one_by_one
from _openb import add_folder_of_traces, openb
from _random_mixes import random_mix

from placer.plan.answer import PurchasePlan
from placer.plan.plan import buy
from placer.plan.question import FailureTolerance, PlanQuestion
from placer.plan.relax import question_as_packing

LISTS = ("default", "gpushare40", "gpuspec20")
KINDS = ("mixes", "zones", "nodes", "insides", *LISTS)
MIXES = 12
MIX_S = 10.0
LOSSES = 5
LOSS_S = 30.0
ZONE = "topology.kubernetes.io/zone"
LIST_S = 60.0
THREADS = 2
HEAD = (
    f"{'question':12} {'pods':>6} {'items':>5} {'price':>11} {'bound':>11} {'gap':>7} "
    f"{'FFD':>8} {'best fit':>8} {'nodes':>6} {'wall':>7} {'CPU':>7}"
)


def report(name: str, question: PlanQuestion, seconds: float) -> None:
    """Print a row: rivals in percent above the bound; they know nothing of losses."""
    market = question_as_packing(question).market
    rivals = () if question.survive else (False, True)
    paid = [buy_one_by_one(market, best_fit=best_fit) for best_fit in rivals]
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    answer = buy(question, seconds, THREADS)
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    if not isinstance(answer, PurchasePlan):
        what = type(answer).__name__
        print(f"{name:12} {what}, wall {wall_s:.1f} s, CPU {cpu_s:.1f} s", flush=True)
        return
    bound = question.in_units(answer.bound)
    above = [f"{100 * (price / bound - 1):.1f} %" for price in paid] or ["", ""]
    nodes = sum(one.count for one in answer.mix)
    print(
        f"{name:12} {sum(market.blocks[0]):6,} {market.items:5} {answer.price:11,} "
        f"{answer.bound:11,} {answer.gap_percent:5.2f} % {above[0]:>8} {above[1]:>8} {nodes:6,} "
        f"{wall_s:5.1f} s {cpu_s:5.1f} s",
        flush=True,
    )


def in_zones(question: PlanQuestion) -> PlanQuestion:
    """Return the question with each offer in three zones, one of which may be lost."""
    offers = tuple(
        replace(
            offer,
            node=replace(offer.node, name=f"{offer.name}-{zone}", labels=((ZONE, zone),)),
        )
        for offer in question.offers
        for zone in "abc"
    )
    return replace(question, offers=offers, survive=FailureTolerance(ZONE))


def main() -> None:
    parser = parser_for(__doc__)
    add_folder_of_traces(parser)
    parser.add_argument(
        "seconds", type=float, nargs="?", default=0.0, help="of each question; 0: those of its kind"
    )
    parser.add_argument(
        "kinds", type=one_of(KINDS), nargs="*", default=["mixes", *LISTS], metavar="KIND"
    )
    said = parser.parse_args()
    folder, seconds, chosen = said.folder, said.seconds, said.kinds
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    print(HEAD)
    if "mixes" in chosen:
        for seed in range(MIXES):
            report(f"mix {seed}", random_mix(seed), seconds or MIX_S)
    for seed in range(LOSSES):
        if "zones" in chosen:
            report(f"mix {seed} zones", in_zones(random_mix(seed)), seconds or LOSS_S)
        if "nodes" in chosen:
            one = replace(random_mix(seed), survive=FailureTolerance())
            report(f"mix {seed} node", one, seconds or LOSS_S)
        if "insides" in chosen:
            one = replace(random_mix(seed, insides=True), survive=FailureTolerance())
            report(f"mix {seed} inside", one, seconds or LOSS_S)
    for pods in (name for name in LISTS if name in chosen):
        if folder is None:
            print(f"{pods:12} skipped: name the folder of openb's CSV files, or PLACER_OPENB")
        else:
            report(pods, openb(folder, pods), seconds or LIST_S)


if __name__ == "__main__":
    main()
