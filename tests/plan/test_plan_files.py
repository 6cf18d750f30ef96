"""Files of kind Plan: what they say, and all that is wrong with them in one go."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from commands import Placer
from placer.load import load_question
from placer.plan.question import (
    PlanScenario,
    gang_count_in_scenario,
    gangs_of_scenario,
    group_gangs_that_are_replicas,
)
from placer_models.files.errors import InputError

BAD = """\
apiVersion: placer/v1
kind: Plan
offers:
  - {name: a, machine: dgx-a10, price: 10}
  - {name: b, machine: dgx-a100, price: free}
  - {name: c, machine: dgx-a100, price: -3}
  - {name: b, machine: dgx-2, price: 4}
  - {name: "d-[0-3]", machine: dgx-2, price: 4}
  - {name: e, machine: dgx-2, price: 4, max: 3, packOf: 4}
demand:
  pods:
    - {name: web, replicas: 3, requests: {cpu: 1}}
scenarios:
  - {name: now}
  - {name: later, scale: 0, pods: {wep: 2}}
"""

GOOD = """\
apiVersion: placer/v1
kind: Plan
currency: EUR
offers:
  - {name: big, machine: dgx-a100, price: 24.50, max: 8, packOf: 2, labels: {zone: a}}
demand:
  pods:
    - {name: web, replicas: 3, requests: {cpu: 1}}
  gangs:
    - name: train
      replicas: 2
      pods: [{name: worker, replicas: 2, requests: {cpu: 2}}]
scenarios:
  - {name: now}
  - {name: later, scale: 1.5, pods: {train: 3}}
"""

PODS_ALONE = """\
apiVersion: placer/v1
kind: Instance
pods:
  - {name: db, replicas: 2, requests: {cpu: 1}}
"""


def plan_file(folder: Path, text: str, name: str = "plan.yaml") -> Path:
    """Write a file."""
    file = folder / name
    file.write_text(text)
    return file


def told_faults(file: Path, placer: Placer) -> list[str]:
    """Return the lines that buying is refused with, without the name of the file."""
    out, err = placer("plan", "buy", str(file), code=2)
    assert out == ""
    return [line.removeprefix(f"placer: {file}:") for line in err.splitlines()]


def test_all_faults_of_a_plan_are_told_at_once(tmp_path: Path, placer: Placer) -> None:
    """
    A line for each fault, in the order of the file, with its line and its field; nothing else.
    """
    told = told_faults(plan_file(tmp_path, BAD), placer)

    assert [line.split(": ")[:2] for line in told] == [
        ["4", "offers[0].machine"],
        ["5", "offers[1].price"],
        ["6", "offers[2].price"],
        ["7", "offers[3].name"],
        ["8", "offers[4].name"],
        ["9", "offers[5].max"],
        ["15", "scenarios[1].scale"],
        ["15", "scenarios[1].pods.wep"],
    ]
    assert "no machine 'dgx-a10'; did you mean dgx-a100" in told[0]
    assert "got 'free'; expected a decimal such as 12.50" in told[1]
    assert "got '-3'; expected more than 0" in told[2]
    assert "an offer 'b' is already given at" in told[3]
    assert told[-1].endswith("is called 'wep'; did you mean 'web'?")


BAD_BY_SCHEMA = """\
apiVersion: placer/v1
kind: Plan
offers:
  - {name: a, machine: dgx-a10, price: 24}
  - {name: b, machine: core-i7-1270p, price: -3}
  - {name: b, machine: core-i7-1270p, price: 4}
  - {name: b, machine: core-i8, price: [1]}
  - {name: c, machine: core-i9, cost: 3}
  - {name: d, machine: core-i7-1270p, price: 3, max: many}
  - {name: e, like: , price: 3}
demand:
  pods:
    - {name: web, replicas: 3, requests: {cpu: 1}}
    - {name: db, replicas: none, requests: {cpu: 1}}
  more: {db-0: 1}
scenarios:
  - {name: later, pods: {wep: 2, db: 2}}
  - {name: worst, changes: [maxOf=d:1], size: 3}
"""


def test_what_differs_from_the_schema_hides_no_other_fault(tmp_path: Path, placer: Placer) -> None:
    """
    Lists for text, unknown fields, words for numbers, and beside them a price, machines, names;
    and nothing that is only so because a field could not be read.
    """
    told = told_faults(plan_file(tmp_path, BAD_BY_SCHEMA), placer)

    assert [line.split(": ")[:2] for line in told] == [
        ["4", "offers[0].machine"],
        ["5", "offers[1].price"],
        ["6", "offers[2].name"],
        ["7", "offers[3].price"],
        ["7", "offers[3].name"],
        ["8", "offers[4].cost"],
        ["8", "offers[4].machine"],
        ["9", "offers[5].max"],
        ["10", "offers[6].like"],
        ["14", "demand.pods[1].replicas"],
        ["17", "scenarios[0].pods.wep"],
        ["18", "scenarios[1].size"],
    ]


def test_a_plan_is_read_with_its_demand_and_scenarios(tmp_path: Path) -> None:
    """
    Prices are exact, gangs come as often as they have replicas, scales are fractions.
    """
    question = load_question(plan_file(tmp_path, GOOD))

    (offer,) = question.offers
    assert (offer.name, offer.price, offer.most, offer.pack) == ("big", Decimal("24.50"), 8, 2)
    assert offer.node.labels == (("zone", "a"),)
    assert not offer.node.offered
    assert [gang.name for gang in question.instance.gangs] == [
        "web-0",
        "web-1",
        "web-2",
        "train-0",
        "train-1",
    ]
    assert question.scenarios == (
        PlanScenario("now"),
        PlanScenario("later", Fraction(3, 2), (("default", "train", Fraction(3)),)),
    )
    web, train = group_gangs_that_are_replicas(question.instance.gangs)
    later = question.scenarios[1]
    assert (gang_count_in_scenario(web, later), gang_count_in_scenario(train, later)) == (5, 6)
    names = [pod.key for gang in gangs_of_scenario(question.instance, later) for pod in gang.pods]
    assert len(names) == len(set(names)) == 5 + 6 * 2


def test_pods_may_wait_in_an_instance_that_has_no_nodes(tmp_path: Path) -> None:
    """
    Whoever plans a new cluster has pods and no node.
    """
    plan = plan_file(tmp_path, GOOD)
    pods = plan_file(tmp_path, PODS_ALONE, "pods.yaml")

    question = load_question(plan, [pods])

    assert [gang.name for gang in question.instance.gangs][:2] == ["db-0", "db-1"]
    assert question.instance.nodes == ()


def test_a_cluster_s_objects_may_stand_beside_a_plan(tmp_path: Path) -> None:
    """
    Nodes that are there stay, and pods that wait are asked for beside the plan's own.
    """
    dump = Path(__file__).parents[2] / "instances/dumps/cluster.yaml"

    question = load_question(plan_file(tmp_path, GOOD), [dump])

    assert question.instance.nodes
    assert "train-0" in {gang.name for gang in question.instance.gangs}
    assert len(question.instance.gangs) > 5


def test_a_plan_without_demand_is_refused(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("demand:")]

    with pytest.raises(InputError, match="asks for nothing; give pods or gangs here"):
        load_question(plan_file(tmp_path, text))


def test_other_kinds_and_unknown_fields_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="got 'Instance'; expected 'Plan'"):
        load_question(plan_file(tmp_path, PODS_ALONE))
    with pytest.raises(InputError, match="is not a field here; write 'price'"):
        load_question(plan_file(tmp_path, GOOD.replace("price:", "cost:")))


LIKE = """\
apiVersion: placer/v1
kind: Plan
offers:
  - {name: more, like: old, price: 3}
  - {name: new, machine: core-i7-1270p, price: 5}
demand:
  pods:
    - {name: web, replicas: 3, requests: {cpu: 8}}
"""

OLD = """\
apiVersion: placer/v1
kind: Instance
nodes:
  - {name: old, machine: core-i7-1270p, cordoned: true, labels: {pool: a}, extended: {x/fpga: 2}}
"""


def test_an_offer_may_be_like_a_node_that_is_there(tmp_path: Path) -> None:
    """
    With its labels and all that it has, but open; no machine has to be known for it.
    """
    plan, old = plan_file(tmp_path, LIKE), plan_file(tmp_path, OLD, "old.yaml")

    question = load_question(plan, [old])

    assert [(offer.name, offer.price) for offer in question.offers] == [("more", 3), ("new", 5)]
    like = question.offers[0].node
    assert (like.cordoned, like.labels, like.extended) == (
        False,
        (("pool", "a"),),
        (("x/fpga", 2),),
    )
    assert [node.name for node in question.instance.nodes] == ["old"]


def test_what_is_wrong_with_such_offers_is_told(tmp_path: Path, placer: Placer) -> None:
    """
    No node of that name, more said than it takes, neither node nor machine: all in one go.
    """
    text = LIKE.replace(
        "  - {name: new, machine: core-i7-1270p, price: 5}",
        "  - {name: odd, like: odl, price: 5}\n"
        "  - {name: both, like: old, machine: dgx-2, packOf: 2, price: 5}\n"
        "  - {name: none, price: 5}",
    )
    plan, old = plan_file(tmp_path, text), plan_file(tmp_path, OLD, "old.yaml")

    command = ["plan", "buy", str(plan), str(old)]
    told = [line.split(": ", 1)[1] for line in placer(*command, code=2).err.splitlines()]

    assert [line.partition(":")[2] for line in told] == [
        "5: offers[1].like: no node that is there is called 'odl'; did you mean 'old'?",
        "6: offers[2].like: the offer is all that the node 'old' is; leave out machine",
        "7: offers[3].machine: is missing; name a machine, or say `like` with a node",
    ]


def test_more_pods_like_one_of_the_instance_are_asked_for(tmp_path: Path, placer: Placer) -> None:
    """
    As `--pod` asks for them: running and waiting ones; a name that nobody has is told.
    """
    text = GOOD.replace("demand:\n", "demand:\n  more: {db-0: 3}\n")
    plan, beside = plan_file(tmp_path, text), plan_file(tmp_path, PODS_ALONE, "pods.yaml")

    question = load_question(plan, [beside])
    by_option = load_question(plan_file(tmp_path, GOOD), [beside], more=[("db-0", 3)])

    assert question.instance.gangs == by_option.instance.gangs

    plan = plan_file(tmp_path, text.replace("db-0", "dc-0"))

    printed = placer("plan", "buy", str(plan), str(beside), code=2)
    assert "demand.more.dc-0: no pod or gang is called 'dc-0'" in printed.err


def test_a_fault_of_a_gang_with_replicas_is_told_once(tmp_path: Path) -> None:
    """
    The gang is read once for each replica, and each found its fault again.
    """
    (tmp_path / "p.yaml").write_text(GOOD.replace("cpu: 2}", "cpu: many}"), "utf-8")

    with pytest.raises(InputError) as caught:
        load_question(tmp_path / "p.yaml", [])

    (message,) = caught.value.messages
    assert ": demand.gangs[0].pods[0].requests.cpu: 'many' is no amount" in message
