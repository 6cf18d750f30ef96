"""Affinity between pods in files, read and written."""

from placer_models.affinity import AffinityLevel, AffinityTerm
from placer_models.files.faults import Place
from placer_models.instance.schema import SpecPart
from placer_models.pod import PodSpec
from placer_models.policy import Strength

FIELDS = {"affinity": False, "antiAffinity": True}
"""Field -> whether its terms keep apart."""

STRENGTHS = (Strength.REQUIRED, Strength.PREFERRED)


def affinity_terms(part: SpecPart) -> tuple[AffinityTerm, ...]:
    """Return what a pod asks of others, in the order in which files are written."""
    return tuple(
        AffinityTerm(tuple(sorted(term.match_labels.items())), apart, strength, term.level)
        for written, apart in ((part.affinity, False), (part.anti_affinity, True))
        if written is not None
        for strength in STRENGTHS
        for term in getattr(written, strength.value)
    )


def place_of_term(part: SpecPart, index: int, place: Place) -> Place:
    """Return where the level of one of the terms is written."""
    places = []
    for field, written in (("affinity", part.affinity), ("antiAffinity", part.anti_affinity)):
        for strength in STRENGTHS if written is not None else ():
            said = place.at(field, strength.value)
            for i, _ in enumerate(getattr(written, strength.value)):
                places.append(said.at(i) if said.at(i).exists else said)
    return places[index].at("level")


def write_affinity(spec: PodSpec) -> dict[str, object]:
    """Return the fields that say what the pod asks of others."""
    written: dict[str, object] = {}
    for field, apart in FIELDS.items():
        terms = {
            strength.value: [
                _term(t) for t in spec.affinity if t.apart is apart and t.strength is strength
            ]
            for strength in STRENGTHS
        }
        if any(terms.values()):
            written[field] = {strength: found for strength, found in terms.items() if found}
    return written


def _term(term: AffinityTerm) -> dict[str, object]:
    written: dict[str, object] = {"matchLabels": dict(term.labels)}
    if term.level is not AffinityLevel.NODE:
        written["level"] = term.level.value
    return written
