"""Affinity between pods, node affinity and topology spread in files, read and written."""

from placer_models.affinity import OF_ONE_NODE, AffinityTerm
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.instance.schema import PodSpecPart
from placer_models.instance.wish_schema import (
    LabelExpressionPart,
    NodeAffinityPart,
    NodeInclusionPolicy,
    NodeTermPart,
    PodAffinityTermPart,
    PodSelectorPart,
    PreferredNodeTermPart,
    PreferredPodAffinityTermPart,
    TopologySpreadPart,
    WhenUnsatisfiable,
)
from placer_models.network import NODE_LEVEL
from placer_models.node_affinity import NodeAffinity, NodeTerm, PreferredNodeTerm
from placer_models.pod import PodSpec
from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression
from placer_models.topology_spread import SpreadConstraint

STRENGTHS = (RequiredOrPreferred.REQUIRED, RequiredOrPreferred.PREFERRED)


def read_affinity_terms(part: PodSpecPart) -> tuple[AffinityTerm, ...]:
    """Return what a pod asks of others, in the order in which files are written."""
    return tuple(
        AffinityTerm(
            term.labels,
            apart,
            strength,
            term.level,
            "" if term.topology_key in OF_ONE_NODE else term.topology_key,
            term.expressions,
            tuple(sorted({*(term.namespaces or ())})),
            term.weight if strength is RequiredOrPreferred.PREFERRED else 1,
        )
        for written, apart in ((part.affinity, False), (part.anti_affinity, True))
        if written is not None
        for strength in STRENGTHS
        for term in getattr(written, strength.value)
    )


def file_location_of_term_level(
    part: PodSpecPart, index: int, place: DocumentLocation
) -> DocumentLocation:
    """Return where the level of one of the terms is written."""
    places = []
    for field, written in (("affinity", part.affinity), ("antiAffinity", part.anti_affinity)):
        for strength in STRENGTHS if written is not None else ():
            said = place.at(field, strength.value)
            for i, _ in enumerate(getattr(written, strength.value)):
                places.append(said.at(i) if said.at(i).exists else said)
    return places[index].at("level")


def label_selector_to_dict(
    labels: tuple[tuple[str, str], ...], expressions: tuple[LabelExpression, ...]
) -> dict[str, object]:
    """Return the fields that say which labels pods have."""
    written = list(map(_expression, expressions))
    said = dict(labels) if labels or not expressions else None
    return {"match_labels": said, "match_expressions": written}


def pod_affinity_to_dict(spec: PodSpec) -> Json:
    """Return the fields that say what the pod asks of others."""
    said: dict[str, dict[str, list[Json]]] = {"affinity": {}, "anti_affinity": {}}
    for term in sorted(spec.affinity, key=lambda term: STRENGTHS.index(term.strength)):
        terms = said["anti_affinity" if term.apart else "affinity"]
        weighs = {} if term.required else {"weight": term.weight}
        part = PodAffinityTermPart if term.required else PreferredPodAffinityTermPart
        written = part.written(
            **label_selector_to_dict(term.labels, term.expressions),
            level=term.level,
            topology_key=term.topology,
            namespaces=term.namespaces or None,
            **weighs,
        )
        terms.setdefault(term.strength.value, []).append(written)
    return PodSpecPart.written(**{name: terms or None for name, terms in said.items()})


def read_node_affinity(part: NodeAffinityPart | None) -> NodeAffinity | None:
    """Return what a pod asks, or would like, of its node, or None if nothing is said."""
    if part is None:
        return None
    return NodeAffinity(
        tuple(written.term for written in part.required),
        tuple(PreferredNodeTerm(written.term, written.weight) for written in part.preferred),
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
    return LabelExpressionPart.written(
        key=one.key, operator=one.operator, values=one.values or None
    )


def read_spread_constraints(parts: tuple[TopologySpreadPart, ...]) -> tuple[SpreadConstraint, ...]:
    """Return the spread constraints, in the order of the file."""
    return tuple(
        SpreadConstraint(
            NODE_LEVEL if part.topology_key in OF_ONE_NODE else part.topology_key,
            part.max_skew,
            RequiredOrPreferred.REQUIRED
            if part.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE
            else RequiredOrPreferred.PREFERRED,
            part.label_selector.labels,
            part.label_selector.expressions,
            part.min_domains,
            part.node_affinity_policy is NodeInclusionPolicy.HONOR,
            part.node_taints_policy is NodeInclusionPolicy.HONOR,
        )
        for part in parts
    )


def spread_to_list(spread: tuple[SpreadConstraint, ...]) -> list[Json]:
    """Return the constraints as files write them."""
    return [
        TopologySpreadPart.written(
            topology_key=constraint.topology,
            max_skew=constraint.max_skew,
            when_unsatisfiable=WhenUnsatisfiable.DO_NOT_SCHEDULE
            if constraint.required
            else WhenUnsatisfiable.SCHEDULE_ANYWAY,
            label_selector=PodSelectorPart.written(
                **label_selector_to_dict(constraint.labels, constraint.expressions)
            ),
            min_domains=constraint.min_domains,
            node_affinity_policy=_inclusion(honors=constraint.by_selector),
            node_taints_policy=_inclusion(honors=constraint.by_taints),
        )
        for constraint in spread
    ]


def _inclusion(*, honors: bool) -> NodeInclusionPolicy:
    return NodeInclusionPolicy.HONOR if honors else NodeInclusionPolicy.IGNORE
