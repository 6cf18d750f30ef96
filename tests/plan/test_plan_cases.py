"""Cases of plans: changes of scenarios, losses, headroom, a mix each, and what would do."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from answers import expect
from commands import Placer
from json_schemas import faults
from placer.load import load_question
from placer.plan import plan
from placer.plan.answer import NoPlanExists, PurchasePlan
from placer.plan.cases import plan_cases_of
from placer.plan.plan import buy
from placer.plan.question import (
    FailureTolerance,
    NodeOffer,
    PlanQuestion,
    PlanScenario,
    question_per_scenario,
)
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_cli.app import main
from placer_cli.commands.schema import SchemaDocumentKind, json_schema_of_document_kind
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.goals import placed_tier
from placer_models.placement import (
    Answer,
    GaveUp,
    PartlyPlaced,
    Placed,
    Placement,
    TierValue,
    Unplaced,
)
from placer_models.pod import Container, GangGroup, Resources
from plan_worlds import GIB, lone, machine, spec

PLAN = """\
apiVersion: placer/v1
kind: Plan
currency: EUR
offers:
  - {name: a, machine: core-i7-1270p, price: 1.50, labels: {zone: a}}
  - {name: b, machine: core-i7-1270p, price: 1.60, labels: {zone: b}}
  - {name: c, machine: core-i7-1270p, price: 1.70, labels: {zone: c}}
demand:
  pods:
    - {name: web, replicas: 4, requests: {cpu: 8, memory: 1Gi}}
    - {name: low, replicas: 2, priority: -1, requests: {cpu: 8, memory: 1Gi}}
"""
INSTANCE = """\
apiVersion: placer/v1
kind: Instance
nodes:
  - {name: old, machine: core-i7-1270p, labels: {zone: a}}
running:
  - {name: there, node: old, requests: {cpu: 8, memory: 1Gi}}
"""


def question(folder: Path, more: str = "", *, beside: bool = False) -> PlanQuestion:
    """Read the plan with further lines, perhaps beside a node that is there."""
    (folder / "plan.yaml").write_text(PLAN + more)
    (folder / "instance.yaml").write_text(INSTANCE)
    return load_question(folder / "plan.yaml", [folder / "instance.yaml"] if beside else [])


def price(asked: PlanQuestion) -> Decimal:
    answer = expect(PurchasePlan, buy(asked, 20.0, threads=1))
    assert answer.bound == answer.price
    return answer.price


def test_two_pods_go_on_a_node(tmp_path: Path) -> None:
    """
    Six pods of 8 of 16 CPUs: three nodes of the cheapest offer.
    """
    assert price(question(tmp_path)) == Decimal("4.50")


def test_headroom_is_bought_and_not_scaled(tmp_path: Path) -> None:
    """
    Room for two more pods is a fourth node; twice the demand is six nodes, and headroom a seventh.
    """
    more = "headroom: [{name: spare, replicas: 2, requests: {cpu: 8}}]\n"

    assert price(question(tmp_path, more)) == Decimal("6.00")
    twice = "scenarios: [{name: x, scale: 2}]\n"
    assert price(question(tmp_path, more + twice)) == Decimal("10.50")


def test_a_zone_is_lost_with_all_that_was_bought_there(tmp_path: Path) -> None:
    """
    Three nodes have to be left whichever zone is lost. Two and two in the cheap zones and one in
    the dear one do, which is less than three and three.
    """
    answer = buy(question(tmp_path, "survive: {domain: zone}\n"), 20.0, threads=1)

    assert isinstance(answer, PurchasePlan)
    assert (answer.price, answer.bound) == (Decimal("7.90"), Decimal("7.90"))
    assert [one.loss for one in answer.witnesses] == ["", "a", "b", "c"]


def test_pods_of_low_priority_need_no_place_after_a_loss(tmp_path: Path) -> None:
    """
    Four pods are to survive: two nodes have to be left, so three nodes in three zones do.
    """
    more = "survive: {domain: zone, priority: 0}\n"

    assert price(question(tmp_path, more)) == Decimal("4.80")


def test_a_running_pod_of_a_lost_node_needs_a_place(tmp_path: Path) -> None:
    """
    Beside an old node with room for one pod, 6 pods take it and three more nodes; if any node may
    be lost, seven pods need four nodes that are left.
    """
    asked = question(tmp_path, beside=True)
    assert price(asked) == Decimal("4.50")
    whole = question(tmp_path, "survive: {nodes: 1}\n", beside=True)

    answer = expect(PurchasePlan, buy(whole, 30.0, threads=1))

    assert (answer.price, answer.bound) == (Decimal("6.00"), Decimal("6.00"))
    assert {one.loss for one in answer.witnesses} == {"", "old", "one a"}
    (gone,) = [one for one in answer.witnesses if one.loss == "old"]
    assert {place.name for place in gone.placement.pods} >= {"there"}


def test_scenarios_change_what_is_there(tmp_path: Path) -> None:
    """
    With the old node cordoned its room is lost; with another like it there is more.
    """
    more = "scenarios: [{name: x, changes: [%s]}]\n"

    assert price(question(tmp_path, more % "cordon=old", beside=True)) == Decimal("4.50")
    assert price(question(tmp_path, more % "'add=1:old'", beside=True)) == Decimal("3.00")
    assert price(question(tmp_path, more % "remove=there", beside=True)) == Decimal("3.00")
    both = "scenarios: [{name: x, changes: [remove=there]}, {name: y, changes: ['scale=web-0:5']}]"
    asked = question(tmp_path, both, beside=True)
    assert [len(case.instance.gangs) for case in plan_cases_of(asked)] == [6, 10]
    assert price(asked) == Decimal("7.50")


def test_each_scenario_has_its_own_prices_and_limits(tmp_path: Path) -> None:
    more = "scenarios:\n  - {name: now}\n  - {name: dear, changes: ['reprice=a:9', 'maxOf=b:1']}\n"
    asked = question(tmp_path, more)

    with pytest.raises(ValueError, match="'dear' has another price of a"):
        buy(asked, 5.0)
    now, dear = question_per_scenario(asked)
    assert price(now) == Decimal("4.50")
    assert price(dear) == Decimal("5.00")


def test_one_mix_keeps_the_least_limit(tmp_path: Path) -> None:
    more = "scenarios: [{name: x, changes: ['maxOf=a:1']}, {name: y}]\n"

    assert price(question(tmp_path, more)) == Decimal("4.70")


def test_what_would_do_is_the_least_that_has_to_be_had(tmp_path: Path) -> None:
    asked = question(tmp_path)
    few = tuple(replace(offer, most=1) for offer in asked.offers[:2])

    answer = expect(NoPlanExists, buy(replace(asked, offers=few), 20.0, threads=1))

    assert [(mend.changes, mend.price, mend.smallest) for mend in answer.mends[:2]] == [
        (("offers.a.max=2",), Decimal("4.60"), True),
        (("offers.b.max=2",), Decimal("4.70"), True),
    ]


def test_of_a_pod_that_no_node_holds_the_smallest_change_is_named(tmp_path: Path) -> None:
    low = "name: low, replicas: 2, priority: -1, requests: {cpu: 8"
    text = PLAN.replace(low, "name: big, requests: {cpu: 40")
    (tmp_path / "plan.yaml").write_text(text)

    answer = expect(NoPlanExists, buy(load_question(tmp_path / "plan.yaml"), 20.0, threads=1))

    assert [one.name for one in answer.unplaced] == ["big"]
    assert answer.mends[0].changes == ("ask-less=default/big:cpu=16",)


def test_what_cannot_survive_is_said_with_what_could(tmp_path: Path) -> None:
    """
    Of two offers that end at 3 and 1, all six pods fit, and after the loss of a zone only two.
    """
    asked = question(tmp_path, "survive: {domain: zone}\n")
    offers = (replace(asked.offers[0], most=3), replace(asked.offers[1], most=1))

    answer = expect(NoPlanExists, buy(replace(asked, offers=offers), 20.0, threads=1))

    assert answer.mends[0].changes == ("offers.b.max=3",)


FAULTY = """\
apiVersion: placer/v1
kind: Plan
offers:
  - {name: a, machine: core-i7-1270p, price: free, labels: {zone: a}}
  - {name: b, machine: core-i7-1270p, price: 1.60, labels: {zone: b}}
demand:
  pods: [{name: web, replicas: 5, requests: {cpu: 8}}]
survive: {domain: zone, count: 2}
scenarios:
  - name: later
    pods: {nobody: 3}
    changes: ["ask-less=lo:cpu=1", "reprice=x:1", "maxOf=a:-1", "reprice=a:0", "maxOf=a", "foo=1"]
"""


def test_all_faults_of_cases_are_told_at_once_with_their_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(FAULTY)

    code = main(["plan", "buy", str(file)])

    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    told = printed.err.splitlines()
    assert len(told) == 9
    for line, words in (
        (4, "offers[0].price: got 'free'"),
        (8, "survive.count: got 2; there are 2 domains (a, b), and some node has to be left"),
        (11, "scenarios[0].pods.nobody: no pod or gang of the demand is called 'nobody'"),
        (12, "scenarios[0].changes: ask-less=default/lo:cpu=1: there is no pod or gang that waits"),
        (12, "scenarios[0].changes[1]: got 'reprice=x:1'; no offer is called 'x'"),
        (12, "scenarios[0].changes[2]: got 'maxOf=a:-1'; expected a whole number"),
        (12, "scenarios[0].changes[3]: got '0'; expected more than 0"),
        (12, "scenarios[0].changes[4]: got 'maxOf=a'; expected maxOf=OFFER:COUNT"),
        (12, "scenarios[0].changes[5]: got 'foo=1'; there is no change 'foo'"),
    ):
        assert any(f"plan.yaml:{line}: {words}" in one for one in told), words


@pytest.mark.parametrize(
    ("survive", "told"),
    [
        ("{}", "says what may be lost: either 'nodes: 1' or 'domain: KEY'"),
        ("{nodes: 1, domain: zone}", "says what may be lost: either"),
        (
            "{nodes: 2}",
            "survive.nodes: got 2; expected 1: a plan survives the loss of any one node",
        ),
        ("{nodes: 1, count: 2}", "survive.count: counts domains"),
        (
            "{domain: rack}",
            "survive.domain: no node and no offer has the label",
        ),
    ],
)
def test_what_is_to_survive_is_said_in_one_way(
    survive: str, told: str, tmp_path: Path, placer: Placer
) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(f"{PLAN}survive: {survive}\n")

    assert told in placer("plan", "buy", str(file), code=2).err


def test_the_command_buys_each_and_more_of_a_pod(tmp_path: Path, placer: Placer) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(f"{PLAN}scenarios: [{{name: now}}, {{name: dear, changes: ['reprice=a:9']}}]\n")

    assert "ask for one mix a scenario (--each)" in placer("plan", "buy", str(file), code=2).err
    arguments = ["--each", "--pod", "web-0=2", "--format", "json", "--seconds", "20"]
    answer = json.loads(placer("plan", "buy", str(file), *arguments).out)
    schema = json_schema_of_document_kind(SchemaDocumentKind.PLAN_ANSWERS)
    assert faults(answer, schema, schema["$defs"]) == []
    assert [one["price"] for one in answer["answers"]] == ["6.0", "6.4"]
    printed = placer("plan", "buy", str(file), "--each", "--pod", "wob=2", code=2)
    assert "--pod: no pod or gang is called 'wob'" in printed.err


def test_pods_that_only_old_nodes_hold_are_told_so() -> None:
    """
    Two pods want what one old node has once: more of it cannot be bought, however much is paid.
    """
    fpga = ("example.com/fpga", 1)
    asks = Container("main", Resources(1000, GIB, extended=(fpga,)))
    wants = replace(spec(1000, 1), containers=(asks,))
    old = Node("old", machine("old", 4, 8, 0), extended=(fpga,))
    question = PlanQuestion(
        Instance((old,), (lone("a", wants), lone("b", wants))),
        (NodeOffer(Node("new", machine("new", 4, 8, 0)), Decimal(1)),),
        (PlanScenario("now"),),
    )

    answer = expect(NoPlanExists, buy(question, 5.0, 1))

    (short,) = answer.short
    assert (short.pod, short.count) == ("a", 1)
    assert "example.com/fpga" in " ".join(short.reasons)


def test_a_pod_that_there_was_no_time_for_is_not_said_to_fit_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    The pod fits on no node, and the search for its place ends too early to show that.
    """
    late = GaveUp(5.0, (Unplaced("big", "default", None, ("no place found in time",)),))
    monkeypatch.setattr(plan, "solve", lambda *_: late)
    offer = NodeOffer(Node("new", machine("new", 4, 4, 0)), Decimal(5))
    asked = PlanQuestion(Instance((), (lone("big", spec(8000, 1)),)), (offer,))

    answer = buy(asked, 2.0, threads=1)

    assert not getattr(answer, "unplaced", ())


@pytest.mark.parametrize("wanted", ["there-0", "there-1"])
def test_a_node_that_a_waiting_pod_asks_for_by_name_is_lost_by_itself(wanted: str) -> None:
    """
    The pod has no place once its node is lost, whichever of two nodes like each other it names.
    """
    host = "kubernetes.io/hostname"
    there = tuple(
        Node(name, machine("old", 4, 4, 0), labels=((host, name),))
        for name in ("there-0", "there-1")
    )
    picky = lone("picky", replace(spec(1000, 1), node_selector=((host, wanted),)))
    offer = NodeOffer(Node("new", machine("new", 4, 4, 0)), Decimal(5))
    asked = PlanQuestion(Instance(there, (picky,)), (offer,), survive=FailureTolerance())

    answer = expect(NoPlanExists, buy(asked, 20.0, threads=1))

    assert f"without {wanted}" in answer.unplaced[0].reasons[0]


def test_what_runs_and_cannot_survive_has_a_change_though_nothing_waits() -> None:
    """
    A pod that fills the one node that is there fits on nothing that can be bought.
    """
    there = Node("there", machine("old", 4, 4, 0))
    waits = lone("runs", spec(4000, 1))
    (place,) = expect(Placed, solve(Instance((there,), (waits,)))).placement.pods
    runs = RunningPod(waits.pods[0], place)
    offer = NodeOffer(Node("new", machine("new", 1, 4, 0)), Decimal(5))
    asked = PlanQuestion(
        Instance((there,), (), running=(runs,)), (offer,), survive=FailureTolerance()
    )

    answer = expect(NoPlanExists, buy(asked, 20.0, threads=1))

    assert ("without survive",) in [mend.changes for mend in answer.mends]


def test_a_group_that_a_smaller_demand_does_not_have_as_a_whole_binds_nobody() -> None:
    """
    Half of three workers are two, and the third is in a group with the leader.
    """
    workers = tuple(lone(f"worker-{i}", spec(1000, 1)) for i in range(3))
    leader = lone("leader", spec(2000, 1))
    group = GangGroup("job", "default", (workers[2].key, leader.key))
    offer = NodeOffer(Node("new", machine("new", 4, 4, 0)), Decimal(5))
    asked = PlanQuestion(
        Instance((), (*workers, leader), groups=(group,)),
        (offer,),
        (PlanScenario("half", Fraction(1, 2)),),
    )

    assert expect(PurchasePlan, buy(asked, 5.0, threads=1)).price == 5


def test_what_is_proven_of_urgent_pods_does_not_rule_out_that_nothing_is_bought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    A search that places the urgent pod, and has not found out about the other, leaves it open.

    The bound was the price of a node, though both pods have places on nodes that are there.
    """
    urgent = replace(lone("urgent", spec(1000, 1)), priority=10)
    other = lone("other", spec(1000, 1))
    there = tuple(Node(name, machine("old", 4, 4, 0)) for name in ("a", "b"))
    offer = NodeOffer(Node("new", machine("new", 4, 4, 0)), Decimal(5))
    asked = PlanQuestion(Instance(there, (urgent, other)), (offer,), survive=FailureTolerance())

    def unsure(instance: Instance, options: SolveOptions) -> Answer:
        answer = solve(instance, options)
        if not isinstance(answer, Placed) or len(instance.gangs) < 2:
            return answer
        places = tuple(place for place in answer.placement.pods if place.name == "urgent")
        tiers = (
            TierValue(placed_tier(10), 2, 2, proven=True),
            TierValue(placed_tier(0), 0, 2, proven=False),
        )
        return PartlyPlaced(
            Placement(places), tiers, (Unplaced("other", "default", None, ("no time was left",)),)
        )

    assert expect(PurchasePlan, buy(asked, 20.0, threads=1)).price == 0
    monkeypatch.setattr(plan, "solve", unsure)
    answer = expect(PurchasePlan, buy(asked, 20.0, threads=1))

    assert answer.bound == 0
