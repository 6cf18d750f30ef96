"""The answers of plans as documents for programs; prices are decimals, written as text."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from placer.plan.answer import (
    NoPlanExists,
    NoPlanFoundInTime,
    PlanAnswer,
    PodsShortOfOffers,
    PurchasePlan,
    SufficientQuestionChange,
)
from placer.plan.cases import plan_cases_of
from placer.plan.fit_answer import FitCount
from placer.plan.growth import GrowthCurve, GrowthStep
from placer.plan.question import PlanQuestion
from placer.plan.survive import LossOutcome, LossPurchase, SurvivalAnswer
from placer_models.files.documents import API_VERSION
from placer_models.files.part import Json
from placer_models.instance.placement_file import solve_answer_to_dict
from placer_models.placement import PartlyPlaced, Placed, Unplaced
from placer_models.pod import pods_of_gangs


def plan_answers_to_dict(questions: Sequence[PlanQuestion], answers: Sequence[PlanAnswer]) -> Json:
    """Return the answers for single scenarios as `PlanAnswersFile` describes them."""
    return {
        "apiVersion": API_VERSION,
        "kind": "PlanAnswers",
        "answers": [
            plan_answer_to_dict(question, answer)
            for question, answer in zip(questions, answers, strict=True)
        ],
    }


def plan_answer_to_dict(question: PlanQuestion, answer: PlanAnswer) -> Json:
    """Return the answer as `PlanAnswerFile` describes it."""
    head: Json = {"apiVersion": API_VERSION, "kind": "PlanAnswer"}
    asked = [
        {
            "name": case.scenario,
            "lost": case.loss or None,
            "pods": sum(1 for _ in pods_of_gangs(case.instance.gangs)),
        }
        for case in plan_cases_of(question)
    ]
    nothing: Json = {"price": None, "bound": None, "gapPercent": None, "proven": False}
    lists: Json = {
        "mix": [],
        "binding": [],
        "runnersUp": [],
        "scenarios": asked,
        "relaxed": [],
        "unplaced": [],
        "mends": [],
        "lookedFor": [],
        "placements": [],
    }
    money: Json = {"currency": question.currency}
    match answer:
        case PurchasePlan():
            return head | {"status": "bought"} | money | _bought(answer, lists)
        case NoPlanExists():
            said = {
                "unplaced": [*_unplaced(answer.unplaced), *map(_short, answer.short)],
                "mends": [*map(_mend, answer.mends)],
                "lookedFor": list(answer.looked_for),
            }
            return (
                head | {"status": "infeasible"} | money | nothing | {"proven": True} | lists | said
            )
        case NoPlanFoundInTime():
            said = {
                "bound": f"{answer.bound:f}",
                "unplaced": _unplaced(answer.unplaced),
                "mends": [*map(_mend, answer.mends)],
            }
            return head | {"status": "gave-up"} | money | nothing | lists | said


def _short(one: PodsShortOfOffers) -> Json:
    found: Json = {"name": one.pod, "count": one.count}
    if one.reasons:
        found["reasons"] = list(one.reasons)
    if one.case:
        found["case"] = one.case
    return found


def _mend(one: SufficientQuestionChange) -> Json:
    return {
        "changes": list(one.changes),
        "alike": one.alike,
        "price": None if one.price is None else f"{one.price:f}",
        "smallest": one.smallest,
    }


def _bought(answer: PurchasePlan, lists: Json) -> Json:
    return {
        "price": f"{answer.price:f}",
        "bound": f"{answer.bound:f}",
        "gapPercent": round(answer.gap_percent, 3),
        "proven": answer.price == answer.bound,
        **lists,
        "mix": [
            {"offer": one.offer, "count": one.count, "price": f"{one.price:f}"}
            for one in answer.mix
        ],
        "binding": [
            {
                "offer": one.offer,
                "resource": one.resource,
                "percent": round(one.percent, 1),
                "uses": [
                    {"resource": use.resource, "percent": round(use.percent, 1)} for use in one.uses
                ],
            }
            for one in answer.binding
        ],
        "runnersUp": [
            {
                "without": one.without,
                "price": None if one.price is None else f"{one.price:f}",
                "mix": [{"offer": offer, "count": count} for offer, count in one.mix],
            }
            for one in answer.runners_up
        ],
        "relaxed": list(answer.relaxed),
        "scenarios": [
            {"name": one.scenario, "lost": one.loss or None, "pods": len(one.placement.pods)}
            for one in answer.witnesses
        ],
        "placements": [
            solve_answer_to_dict(Placed(one.placement, ()), one.instance, {})
            for one in answer.witnesses
        ],
    }


def plan_growth_to_dict(question: PlanQuestion, curve: GrowthCurve) -> Json:
    """Return a growth curve as `PlanGrowthFile` describes it."""
    enough, beyond = curve.bursts()
    return {
        "apiVersion": API_VERSION,
        "kind": "PlanGrowth",
        "currency": question.currency,
        "enoughUpTo": _decimal(enough),
        "boughtFrom": _decimal(beyond),
        "steps": [_step(step) for step in curve.steps],
        "stretches": [
            {
                "from": _decimal(one.first),
                "to": _decimal(one.last),
                "binds": [{"offer": name, "resource": word or None} for name, word in one.binds],
            }
            for one in curve.stretches()
        ],
        "missing": [{"scale": _decimal(scale), "case": case} for scale, case in curve.missing],
    }


def _step(step: GrowthStep) -> Json:
    gap = step.gap_percent
    return {
        "scale": _decimal(step.scale),
        "case": step.case,
        "pods": step.pods,
        "price": None if step.price is None else f"{step.price:f}",
        "bound": None if step.bound is None else f"{step.bound:f}",
        "gapPercent": None if gap is None else round(gap, 3),
        "nodes": step.nodes,
        "mix": [{"offer": offer, "count": count} for offer, count in step.mix],
        "binds": [{"offer": name, "resource": word or None} for name, word in step.binds],
        "reason": step.reason,
    }


def _decimal(scale: Fraction | None) -> str | None:
    return None if scale is None else f"{float(scale):.6g}"


def _unplaced(pods: Iterable[Unplaced]) -> list[Json]:
    return [{"name": one.title, "reasons": list(one.reasons)} for one in pods]


def survival_answer_to_dict(answer: SurvivalAnswer, move_budget: int, currency: str) -> Json:
    """Return the answer as `SurvivalAnswerFile` describes it."""
    return {
        "apiVersion": API_VERSION,
        "kind": "SurvivalAnswer",
        "survives": not answer.failed,
        "tried": answer.tried,
        "choices": answer.choices,
        "unmended": answer.unmended,
        "moveBudget": move_budget,
        "outside": list(answer.outside),
        "currency": currency,
        "losses": [_loss(one) for one in answer.losses],
    }


def _loss(one: LossOutcome) -> Json:
    placed = (
        Placed(one.placement, (), one.moves)
        if one.survives
        else PartlyPlaced(one.placement, (), one.unplaced, one.moves)
    )
    return {
        "name": one.loss.name,
        "nodes": list(one.loss.nodes),
        "alike": list(one.loss.alike),
        "pods": one.pods,
        "survives": one.survives,
        "proven": one.proven,
        "moves": len(one.moves),
        "unplaced": _unplaced(one.unplaced),
        "mend": None if one.mend is None else _loss_mend(one.mend),
        "placement": solve_answer_to_dict(placed, one.instance, {}),
    }


def _loss_mend(mend: LossPurchase) -> Json:
    plan = mend.plan if isinstance(mend.plan, PurchasePlan) else None
    return {
        "price": None if plan is None else f"{plan.price:f}",
        "bound": None if plan is None else f"{plan.bound:f}",
        "mix": [
            {"offer": one.offer, "count": one.count, "price": f"{one.price:f}"} for one in mend.mix
        ],
    }


def fit_answer_to_dict(steps: Sequence[FitCount], waiting: int) -> Json:
    """Return the answer as `FitAnswerFile` describes it.

    Args:
        steps: As it is, then with each change.
        waiting: How many other pods wait, which nobody placed.

    """
    pod = steps[0].pod
    return {
        "apiVersion": API_VERSION,
        "kind": "FitAnswer",
        "pod": pod.name,
        "namespace": pod.namespace,
        "waiting": waiting,
        "steps": [_fit_step(step) for step in steps],
    }


def _fit_step(step: FitCount) -> Json:
    return {
        "changes": list(step.changes),
        "count": step.count,
        "bound": step.bound,
        "proven": step.proven,
        "classes": [
            {
                "machine": one.machine,
                "nodes": list(one.nodes),
                "count": one.count,
                "rule": one.rule or None,
                "reason": one.reason,
            }
            for one in step.classes
        ],
        "placement": solve_answer_to_dict(Placed(step.placement, ()), step.instance, {}),
    }
