"""Examples that other planners document, answered here."""

from decimal import Decimal
from pathlib import Path

from answers import expect
from placer.load import load_question
from placer.plan.answer import PurchasePlan
from placer.plan.plan import buy

SIMULATED_NODES = 17
SIMULATED_PRICE = Decimal("526.16")

MACHINE = """\
apiVersion: placer/v1
kind: Machine
name: t3.medium
numaNodes: [{id: 0, memory: 4Gi, cpus: 0-1}]
"""

PLAN = """\
apiVersion: placer/v1
kind: Plan
currency: USD
offers:
  - {name: t3.medium, machine: MACHINE, price: PRICE, maxPods: 17}
demand:
  pods:
    - {name: service, replicas: 2, requests: {cpu: 2, memory: 4Gi}}
    - {name: replicated, replicas: 6, requests: {cpu: 500m, memory: 2Gi}}
    - {name: large, replicas: 6, requests: {cpu: 2, memory: 4Gi}}
    - {name: small, replicas: 6, requests: {cpu: 250m, memory: 1Gi}}
"""


def test_the_readme_of_kubesurvival_needs_fewer_nodes_than_its_simulation_takes(
    tmp_path: Path,
) -> None:
    """
    Two environments of a service, three replicas, and three times two more (README of
    aporia-ai/kubesurvival, commit 0ce09e8): its answer is 17 nodes of type t3.medium (2 CPUs,
    4 GiB, 17 pods) for 526.16 a month. Its source takes all of a node as allocatable. Eight pods
    fill a node each, and 18 GiB are left for five more, so 13 do, and no fewer.
    """
    machine = tmp_path / "machine.yaml"
    machine.write_text(MACHINE)
    price = SIMULATED_PRICE / SIMULATED_NODES
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.replace("MACHINE", str(machine)).replace("PRICE", f"{price:.2f}"))

    answer = expect(PurchasePlan, buy(load_question(plan), 20.0, threads=1))

    assert [(one.offer, one.count) for one in answer.mix] == [("t3.medium", 13)]
    assert (answer.price, answer.bound) == (Decimal("402.35"), Decimal("402.35"))
    assert answer.price < SIMULATED_PRICE
