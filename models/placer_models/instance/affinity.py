"""Affinity between pods in files, read and written."""

from placer_models.affinity import OF_ONE_NODE, AffinityTerm
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.instance.schema import PodSpecPart
from placer_models.instance.wish_schema import (
    AffinityTermPart,
    PodExpressionPart,
    PreferredAffinityTermPart,
)
from placer_models.pod import PodSpec
from placer_models.policy import Strength
from placer_models.selectors import LabelExpression

STRENGTHS = (Strength.REQUIRED, Strength.PREFERRED)


def affinity_terms(part: PodSpecPart) -> tuple[AffinityTerm, ...]:
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
            term.weight if strength is Strength.PREFERRED else 1,
        )
        for written, apart in ((part.affinity, False), (part.anti_affinity, True))
        if written is not None
        for strength in STRENGTHS
        for term in getattr(written, strength.value)
    )


def term_level_location(part: PodSpecPart, index: int, place: DocumentLocation) -> DocumentLocation:
    """Return where the level of one of the terms is written."""
    places = []
    for field, written in (("affinity", part.affinity), ("antiAffinity", part.anti_affinity)):
        for strength in STRENGTHS if written is not None else ():
            said = place.at(field, strength.value)
            for i, _ in enumerate(getattr(written, strength.value)):
                places.append(said.at(i) if said.at(i).exists else said)
    return places[index].at("level")


def selector_to_dict(
    labels: tuple[tuple[str, str], ...], expressions: tuple[LabelExpression, ...]
) -> dict[str, object]:
    """Return the fields that say which labels pods have."""
    written = [
        PodExpressionPart.written(key=e.key, operator=e.operator, values=e.values or None)
        for e in expressions
    ]
    said = dict(labels) if labels or not expressions else None
    return {"match_labels": said, "match_expressions": written}


def affinity_to_dict(spec: PodSpec) -> Json:
    """Return the fields that say what the pod asks of others."""
    said: dict[str, dict[str, list[Json]]] = {"affinity": {}, "anti_affinity": {}}
    for term in sorted(spec.affinity, key=lambda term: STRENGTHS.index(term.strength)):
        terms = said["anti_affinity" if term.apart else "affinity"]
        weighs = {} if term.required else {"weight": term.weight}
        part = AffinityTermPart if term.required else PreferredAffinityTermPart
        written = part.written(
            **selector_to_dict(term.labels, term.expressions),
            level=term.level,
            topology_key=term.topology,
            namespaces=term.namespaces or None,
            **weighs,
        )
        terms.setdefault(term.strength.value, []).append(written)
    return PodSpecPart.written(**{name: terms or None for name, terms in said.items()})
