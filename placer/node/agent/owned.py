"""CPUs that pods own alone, kept clear of strangers, or looked at for them."""

import logging
from collections.abc import Iterable

from placer.node.agent.clearing import StrangerMover
from placer.node.agent.strangers import (
    Stranger,
    StrangerKind,
    stranger_in_words,
    strangers_on_owned_cpus,
)
from placer.node.errors import HostCannotApplyError, ObserveOnlyError
from placer.node.state import AppliedStateFolder
from placer_models.cpuset import CpuSet
from placer_models.node_placement import NodePlacement

log = logging.getLogger(__name__)

MOST_TOLD = 20
"""The most strangers, changes or containers that one line of the log lists one by one."""


class OwnedCpuWatch:
    """The CPUs of a node's owners, and who else may run on them.

    Attributes:
        strangers: Those that may run there now, and stay.
        cleared: How many things are moved off owned CPUs at present.

    """

    def __init__(
        self, state: AppliedStateFolder, version: int, *, clears: bool, looks: bool
    ) -> None:
        """Look at nothing yet.

        Args:
            state: The folder of the journal, locked by the caller.
            version: The version of the cgroups.
            clears: Whether strangers are moved. What an earlier agent moved is given back if not.
            looks: Whether strangers are told of.

        """
        self._state = state
        self._version = version
        self._clears = clears
        self._looks = looks or clears
        self._clearing: StrangerMover | None = None
        self._fault = ""
        self._online: CpuSet = frozenset()
        self.strangers: tuple[Stranger, ...] = ()
        self.cleared = 0

    def look(
        self,
        document: NodePlacement | None,
        in_pods: Iterable[str],
        online: CpuSet,
        *,
        writes: bool,
    ) -> None:
        """Find who may run on owned CPUs, and move them if that is wanted.

        Args:
            document: The document in force; without one nobody owns a CPU.
            in_pods: Cgroups of pods; what is below them counts, too.
            online: CPUs that are online.
            writes: Whether anything may be written.

        """
        owned = owned_cpus(document) & online
        found = tuple(strangers_on_owned_cpus(owned, in_pods, self._version)) if self._looks else ()
        if writes:
            present = online
            if document is not None:
                present |= document.node.machine.topology.cpu.keys()
            self._clear(found if self._clears else (), owned, online, present)
        if self._clearing is not None:
            moved = {one.key for one in self._clearing.moved}
            found = tuple(one for one in found if one.key not in moved)
            self.cleared = len(moved)
        known = {one.key for one in self.strangers}
        if any(one.key not in known for one in found):
            told = [stranger_in_words(one, owned) for one in found]
            log.warning(
                "strangers may run on CPUs that pods own alone",
                extra={"strangers": told[:MOST_TOLD], "count": len(told)},
            )
        self.strangers = found

    def count(self, kind: StrangerKind) -> int:
        """Return how many strangers of a kind stay on owned CPUs."""
        return sum(one.kind is kind for one in self.strangers)

    def _clear(
        self, found: tuple[Stranger, ...], owned: CpuSet, online: CpuSet, present: CpuSet
    ) -> None:
        try:
            if self._clearing is None:
                self._clearing = StrangerMover(self._state)
            self._clearing.clear(found, owned if self._clears else frozenset(), online, present)
        except (ObserveOnlyError, HostCannotApplyError) as error:
            self._tell(str(error))
        except OSError as error:
            self._tell(f"{error.filename or self._state.folder}: {error.strerror or error}")
        else:
            self._fault = ""

    def _tell(self, fault: str) -> None:
        if fault != self._fault:
            log.error("owned CPUs are not cleared", extra={"why": fault})
        self._fault = fault


def owned_cpus(document: NodePlacement | None) -> CpuSet:
    """Return the CPUs that pods of a document own alone."""
    pods = document.pods if document else ()
    return frozenset(
        cpu for one in pods if one.pod.spec.qos.owns_cpus for cpu in one.placement.cpuset
    )
