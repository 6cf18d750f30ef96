"""The answer of ``placer plan survive`` as a document for programs."""

from placer.plan.answer import PurchasePlan
from placer.plan.survival import LossOutcome, LossPurchase
from placer.plan.survive import SurvivalAnswer
from placer_models.files.documents import API_VERSION
from placer_models.files.part import Json
from placer_models.instance.placement_file import answer_to_json
from placer_models.placement import PartlyPlaced, Placed, pod_or_gang_title


def survival_to_json(answer: SurvivalAnswer, move_budget: int, currency: str) -> Json:
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
        "unplaced": [
            {"name": pod_or_gang_title(pod.namespace, pod.name), "reasons": list(pod.reasons)}
            for pod in one.unplaced
        ],
        "mend": None if one.mend is None else _mend(one.mend),
        "placement": answer_to_json(placed, one.instance, {}),
    }


def _mend(mend: LossPurchase) -> Json:
    plan = mend.plan if isinstance(mend.plan, PurchasePlan) else None
    return {
        "price": None if plan is None else f"{plan.price:f}",
        "bound": None if plan is None else f"{plan.bound:f}",
        "mix": [
            {"offer": one.offer, "count": one.count, "price": f"{one.price:f}"} for one in mend.mix
        ],
    }
