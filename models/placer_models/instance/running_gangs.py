"""Turns what files say about gangs that run into the words."""

from collections.abc import Collection

from placer_models.cluster import RunningGang
from placer_models.files.errors import shown
from placer_models.files.faults import Place
from placer_models.instance.network import gather_of, level_rules
from placer_models.instance.pods import Key, Names
from placer_models.instance.schema import RunningGangPart, RunningPart


class RunningGangReader:
    """Reads gangs that run; knows the levels of the network, and the names of other gangs."""

    def __init__(self, names: Names, levels: Collection[str]) -> None:
        self._names = names
        self._levels = levels
        self._gangs: dict[Key, tuple[RunningGang, Place]] = {}
        self._members: set[Key] = set()

    def add(self, part: RunningGangPart, place: Place) -> None:
        """Read one gang; who is in it is said by the running pods."""
        levels = level_rules(part, self._levels, place)
        gang = RunningGang(part.name, part.namespace, gather_of(part), levels)
        if self._names.take(gang.key, place):
            self._gangs[gang.key] = gang, place

    def member(self, part: RunningPart, place: Place) -> None:
        """Note that a running pod is in the gang that it names, one of its namespace."""
        if part.gang is None:
            return
        self._members.add((part.namespace, part.gang))
        if (part.namespace, part.gang) not in self._gangs:
            place.at("gang").fault(
                f"no gang {shown(part.gang)} is given under 'runningGangs'",
                name=part.gang,
                known=[name for namespace, name in self._gangs if namespace == part.namespace],
            )

    def finish(self) -> tuple[RunningGang, ...]:
        """Return the gangs, once every running pod has been noted; each has a member."""
        misspelt = self._members - self._gangs.keys()
        for key, (_, place) in self._gangs.items():
            if key not in self._members and not misspelt:
                what = f"no running pod is in it; say 'gang: {key[1]}' at its pods, or delete it"
                place.at("name").fault(what)
        return tuple(gang for gang, _ in self._gangs.values())
