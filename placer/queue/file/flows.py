"""The tree of flows of a file: names that fit together, and no cycle."""

from collections.abc import Mapping, Sequence

from placer.queue.file.amounts import parse_weight_milli
from placer.queue.file.fields import Fields
from placer.queue.simulation.scenario import GroupSpec
from placer.queue.words import DEFAULT_GROUP, ONE_MILLI

_KNOWN = ("name", "weight", "parent")


def read_groups(document: Fields) -> dict[str, GroupSpec]:
    """Return the groups by name, each after its parent."""
    found: dict[str, GroupSpec] = {}
    places: dict[str, Fields] = {}
    for fields in document.mappings("groups", _KNOWN):
        name = read_name(fields, places)
        weight_milli = fields.parsed("weight", ONE_MILLI, parse_weight_milli)
        parent = fields.text("parent", "") or None
        if name:
            found[name] = GroupSpec(name, weight_milli, parent)
            places[name] = fields
    for name, group in found.items():
        if group.parent is not None and group.parent not in found:
            places[name].place.at("parent").fault(
                f"there is no group '{group.parent}'; add it to 'groups'",
                name=group.parent,
                known=found,
            )
    return _parents_first(found, places)


def read_name(fields: Fields, taken: Mapping[str, Fields]) -> str:
    """Return the name of a flow, which no other has; empty if there is none."""
    name = fields.text("name")
    if "name" in fields and (not name or not name.isprintable() or len(name) > 100):
        fields.fault("name", "expected 1 to 100 characters that can be printed")
        return ""
    if name in taken:
        where = taken[name].place.at("name").where
        fields.fault("name", f"'{name}' is the name of another flow, at {where}; rename one")
        return ""
    return name


def read_group_of(fields: Fields, groups: Mapping[str, GroupSpec]) -> str | None:
    """Return the group of a job; None: the default group."""
    group = fields.text("group", "") or None
    if group is not None and group not in groups and group != DEFAULT_GROUP:
        fields.place.at("group").fault(
            f"there is no group '{group}'; add it to 'groups'", name=group, known=groups
        )
        return None
    return group


def _parents_first(
    found: Mapping[str, GroupSpec], places: Mapping[str, Fields]
) -> dict[str, GroupSpec]:
    ordered: dict[str, GroupSpec] = {}
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


def _note_cycle(cycle: Sequence[str], places: Mapping[str, Fields]) -> None:
    first = places[cycle[0]]
    shown = " -> ".join(cycle[:8]) + (" -> ..." if len(cycle) > 8 else "")
    first.fault("parent", f"its parents lead back to it: {shown}; leave one 'parent' out")
