"""The tree of flows of a file, checked: no name twice, none unknown, and no cycle."""

from collections.abc import Mapping, Sequence

from placer.queue.file.schema import FlowGroupPart
from placer.queue.model import DEFAULT_GROUP
from placer.queue.simulation.scenario import FlowGroupSpec
from placer_models.files.faults import DocumentLocation


def read_flow_groups(
    parts: Sequence[FlowGroupPart], place: DocumentLocation
) -> dict[str, FlowGroupSpec]:
    """Return the groups by name, each after its parent."""
    found: dict[str, FlowGroupSpec] = {}
    places: dict[str, DocumentLocation] = {}
    for i, part in enumerate(parts):
        if note_unique_flow_name(part.name, place.at(i), places):
            found[part.name] = FlowGroupSpec(part.name, part.weight, part.parent or None)
    for name, group in found.items():
        if group.parent is not None:
            _check_group(group.parent, found, places[name].at("parent"))
    return _parents_first(found, places)


def note_unique_flow_name(
    name: str, place: DocumentLocation, taken: dict[str, DocumentLocation]
) -> bool:
    """Note the name of a flow, or a fault if another has it; return whether it was free."""
    if name in taken:
        where = taken[name].at("name").where
        message = f"'{name}' is the name of another flow, at {where}; rename one"
        place.at("name").fault(message)
        return False
    taken[name] = place
    return True


def flow_group_of_job(
    name: str | None, groups: Mapping[str, FlowGroupSpec], place: DocumentLocation
) -> str | None:
    """Return the group that a job names at the place, or None for the default group."""
    if name and name != DEFAULT_GROUP:
        _check_group(name, groups, place)
    return name or None


def _check_group(name: str, groups: Mapping[str, FlowGroupSpec], place: DocumentLocation) -> None:
    if name not in groups:
        place.fault(f"there is no group '{name}'; add it to 'groups'", name=name, known=groups)


def _parents_first(
    found: Mapping[str, FlowGroupSpec], places: Mapping[str, DocumentLocation]
) -> dict[str, FlowGroupSpec]:
    ordered: dict[str, FlowGroupSpec] = {}
    for name in found:
        path: list[str] = []
        step: str | None = name
        while step is not None and step in found and step not in ordered:
            if step in path:
                _note_cycle([*path[path.index(step) :], step], places)
                return dict(found)
            path.append(step)
            step = found[step].parent
        ordered.update((group, found[group]) for group in reversed(path))
    return ordered


def _note_cycle(cycle: Sequence[str], places: Mapping[str, DocumentLocation]) -> None:
    shown = " -> ".join(cycle[:8]) + (" -> ..." if len(cycle) > 8 else "")
    message = f"its parents lead back to it: {shown}; leave one 'parent' out"
    places[cycle[0]].at("parent").fault(message)
