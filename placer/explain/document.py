"""Explanations as a document for programs, whose schema is `placer.explain.schema`."""

from collections.abc import Iterable, Sequence

from placer.explain.acts import instructions_for_changes
from placer.explain.explanation import Explanation, NodeLack, PodsPlacedInstead, SufficientChange
from placer_models.cluster import Instance
from placer_models.files.documents import API_VERSION
from placer_models.files.part import Json
from placer_models.placement import NamespacedName


def explanations_document(
    explanations: Iterable[Explanation],
    instance: Instance,
    *,
    of_cluster: bool,
    files: Sequence[str] = (),
) -> Json:
    """Return the document of some explanations of an instance; it is a cluster's, or of files."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Explanations",
        "explanations": [_explanation(one, instance, of_cluster, files) for one in explanations],
    }


def _explanation(
    one: Explanation, instance: Instance, of_cluster: bool, files: Sequence[str]
) -> Json:
    namespace, name = one.pods[0]
    return {
        "pod": name,
        "namespace": namespace,
        "gang": one.gang,
        "count": len(one.pods),
        "pods": [_pod(key) for key in one.pods],
        "token": one.token,
        "verdict": one.verdict.value if one.verdict else None,
        "sentence": one.sentence,
        "more": list(one.more),
        "funnel": [
            {"rule": step.rule, "nodes": step.nodes, "subjects": list(step.subjects)}
            for step in one.funnel
        ],
        "nearest": [
            {"node": near.node, "lacks": [_lack(lack) for lack in near.lacks]}
            for near in one.nearest
        ],
        "outvotedBy": _winner(one.winner),
        "changes": [
            _change(
                change,
                instructions_for_changes(
                    change.changes, instance, of_cluster=of_cluster, files=files
                ),
            )
            for change in one.changes
        ],
        "ruledOut": list(one.ruled_out),
        "open": list(one.open),
    }


def _pod(key: NamespacedName) -> Json:
    return {"name": key[1], "namespace": key[0]}


def _lack(lack: NodeLack) -> Json:
    return {
        "rule": lack.rule,
        "subject": lack.subject,
        "text": lack.text,
        "asked": lack.asked,
        "left": lack.left,
        "missing": lack.missing,
        "total": lack.total,
        "unit": lack.unit,
        "heldBy": [
            {**_pod(holder.pod), "amount": holder.amount, "placed": holder.placed}
            for holder in lack.held_by
        ],
    }


def _winner(winner: PodsPlacedInstead | None) -> Json | None:
    if winner is None:
        return None
    return {"pods": [_pod(key) for key in winner.pods], "tier": winner.tier}


def _change(change: SufficientChange, acts: tuple[str, ...]) -> Json:
    return {
        "kind": change.kind,
        "what": [str(part) for part in change.changes],
        "confirmed": True,
        "smallest": change.smallest,
        "act": list(acts),
        "others": [[str(part) for part in other] for other in change.others],
    }
