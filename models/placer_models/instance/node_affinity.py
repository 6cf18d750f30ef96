"""Node affinity in files, read and written."""

from placer_models.files.part import Json
from placer_models.instance.wish_schema import (
    ExpressionPart,
    NodeAffinityPart,
    NodeTermPart,
    PreferredNodeTermPart,
)
from placer_models.node_affinity import NodeAffinity, NodeTerm, PreferredTerm
from placer_models.selectors import LabelExpression


def read_node_affinity(part: NodeAffinityPart | None) -> NodeAffinity | None:
    """Return what a pod asks, or would like, of its node, or None if nothing is said."""
    if part is None:
        return None
    return NodeAffinity(
        tuple(written.term for written in part.required),
        tuple(PreferredTerm(written.term, written.weight) for written in part.preferred),
    )


def node_affinity_to_dict(affinity: NodeAffinity | None) -> Json | None:
    """Return node affinity as files write it, or None if there is none."""
    if affinity is None:
        return None
    required = [NodeTermPart.written(**_fields(term)) for term in affinity.required]
    preferred = [
        PreferredNodeTermPart.written(**_fields(wish.term), weight=wish.weight)
        for wish in affinity.preferred
    ]
    return NodeAffinityPart.written(required=required, preferred=preferred)


def _fields(term: NodeTerm) -> dict[str, object]:
    return {
        "match_expressions": list(map(_expression, term.expressions)),
        "match_fields": list(map(_expression, term.fields)),
    }


def _expression(one: LabelExpression) -> Json:
    return ExpressionPart.written(key=one.key, operator=one.operator, values=one.values or None)
