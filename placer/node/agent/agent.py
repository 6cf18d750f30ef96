"""The agent's round at each wake-up: take a document, look at the node, repair it."""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum

from placer.node.agent.clearing import move_stray_processes_back
from placer.node.agent.inbox import AgentDocumentFolderReader
from placer.node.agent.owned import MOST_TOLD, OwnedCpuWatch
from placer.node.apply import (
    apply_to_this_host,
    recover_interrupted_apply,
    retry_while_cgroups_vanish,
)
from placer.node.cgroups import CPUS, MEMS, CgroupReader, parent_cgroup_path
from placer.node.container_roots import OUR_ROOT
from placer.node.document import offline_owned_cpus_fault
from placer.node.errors import HostCannotApplyError, InapplicableDocumentError, ObserveOnlyError
from placer.node.host import HostFactsForApply
from placer.node.operations import CgroupOperationKind
from placer.node.plan import CgroupPlan, cgroup_plan_of
from placer.node.state import AppliedStateFolder
from placer_models.cpuset import CpuSet
from placer_models.node_placement import NodePlacement

log = logging.getLogger(__name__)

REPAIRS_A_MINUTE = 5
"""The most repairs of a cgroup within a minute before another writer is assumed to be at work."""

_NVIDIA = ("GPU-", "MIG-")
"""How the ids of NVIDIA's GPUs, and of parts of one, begin."""


class DriftResponse(StrEnum):
    """What to do with a node that differs from its document."""

    REPAIR = "repair"
    """The node is made again what the document says."""

    REPORT = "report"
    """The drift is reported in logs, metrics and health, and the node is left as it is."""


@dataclass(slots=True)
class AgentStatus:
    """The state of the node at the last look.

    Attributes:
        observe_only: Why nothing may be written; empty if writing is allowed.
        refused: Why the document in force cannot be carried out now.
        drift: Differences that were not repaired, in words.
        refused_files: Files that arrived and were refused, in words.
        refused_newer: Those of them that are newer than the document in force, or may be.
        offline: The pod that owns CPUs that are offline, in words; empty if there is none.
        unhealthy: Unhealthy devices that pods hold, in words.
        unknown_health: Why the health of GPUs that pods hold is not known, in words; or empty.

    """

    observe_only: str = ""
    refused: str = ""
    drift: tuple[str, ...] = ()
    refused_files: tuple[str, ...] = ()
    refused_newer: tuple[str, ...] = ()
    offline: str = ""
    unhealthy: tuple[str, ...] = ()
    unknown_health: str = ""
    plan: CgroupPlan = field(default_factory=CgroupPlan)

    def refusals(self) -> tuple[str, ...]:
        """Return why the node refuses its document, or is only observed."""
        found = (self.observe_only, self.refused, *self.plan.left_alone, *self.plan.observed)
        return tuple(text for text in found if text)

    def trouble(self) -> list[str]:
        """Return why the node does not obey its newest document; empty if it does."""
        found = (
            *self.refusals(),
            *self.refused_newer,
            self.offline,
            *self.drift,
            *(f"{name} should run here and does not" for name in self.plan.absent),
            *self.unhealthy,
            self.unknown_health,
        )
        return [text for text in found if text]


@dataclass(slots=True)
class AgentEventCounts:
    """Counters of events since the start."""

    applied: int = 0
    refused: int = 0
    drifts: int = 0
    repairs: int = 0


class Agent:
    """The agent of one node, whose state is locked by the caller."""

    def __init__(
        self,
        cgroups: CgroupReader,
        read_host: Callable[[], HostFactsForApply],
        state: AppliedStateFolder,
        inbox: AgentDocumentFolderReader,
        *,
        root: str = OUR_ROOT,
        on_drift: DriftResponse = DriftResponse.REPAIR,
        unhealthy_devices: Callable[[], Mapping[str, str]] = dict,
        device_fault: Callable[[], str] = str,
        owned: OwnedCpuWatch | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what the agent works with.

        Args:
            cgroups: The cgroups of the machine.
            read_host: Reads the other facts about the machine.
            state: The folder with the journal.
            inbox: The folder in which documents arrive.
            root: The cgroup below which our own cgroups are.
            on_drift: What to do about drift.
            unhealthy_devices: Returns id of an unhealthy device -> what is wrong with it.
            device_fault: Returns why the health of GPUs is not known, empty if it is.
            owned: Looks for strangers on owned CPUs; None: nobody does.
            clock: Returns seconds of a monotonic clock.

        """
        self._cgroups = cgroups
        self._read_host = read_host
        self._state = state
        self._inbox = inbox
        self._root = root
        self._on_drift = on_drift
        self._unhealthy_devices = unhealthy_devices
        self._device_fault = device_fault
        self.owned = owned
        self._clock = clock
        self._repairs: dict[str, deque[float]] = {}
        self._disputed: frozenset[str] = frozenset()
        self._taken: NodePlacement | None = None
        self.document: NodePlacement | None = None
        self.status = AgentStatus()
        self.counts = AgentEventCounts()

    def begin(self) -> None:
        """Resume what an earlier run left unfinished: finish it, or take it back."""
        try:
            if recovered := recover_interrupted_apply(self._cgroups, self._state):
                log.warning("recovered", extra={"what": recovered})
            self.document = self._state.applied()
        except ObserveOnlyError as error:
            self._stop_writing(error)
            return
        if self.document is not None:
            log.info(
                "a document is in force from before",
                extra={"generation": self.document.generation, "pods": len(self.document.pods)},
            )
        self.look()

    def take(self) -> None:
        """Take the newest document of the inbox, if it is newer than the one in force."""
        try:
            newest, faults = self._inbox.newest()
        except HostCannotApplyError as error:
            newest, faults = None, (str(error),)
        harmless = self._inbox.foreign
        if newest is not None and newest is not self._taken and newest != self.document:
            before = self._disputed, self._repairs
            self._disputed, self._repairs = frozenset(), {}
            try:
                self._apply(newest)
            except ObserveOnlyError as error:
                self._stop_writing(error)
            except (InapplicableDocumentError, HostCannotApplyError) as error:
                self._disputed, self._repairs = before
                fault = f"generation {newest.generation}: {error}"
                faults = (*faults, fault)
                if self.document is not None and newest.generation < self.document.generation:
                    harmless = (*harmless, fault)
            else:
                self.document, self._taken = self._state.applied(), newest
                self.counts.applied += 1
                log.info(
                    "applied a document",
                    extra={"generation": newest.generation, "pods": len(newest.pods)},
                )
        for fault in faults:
            if fault not in self.status.refused_files:
                self.counts.refused += 1
                log.error("refused a document", extra={"why": fault})
        self.status.refused_files = faults
        self.status.refused_newer = tuple(fault for fault in faults if fault not in harmless)

    def trouble(self) -> list[str]:
        """Return why the node does not obey, which it does not without a document, either."""
        none = ["there is no document yet"] if self.document is None else []
        return [*none, *self.status.trouble()]

    def look(self, at: frozenset[str] = frozenset()) -> None:
        """Compare the node with its document, and repair it or report the drift.

        Args:
            at: The containers' cgroups to look at, where it is known that nothing else changed
                since the last look; none means all of the node.

        """
        if self.document is None:
            return
        status = self.status
        trusted = frozenset(status.plan.cgroups) - at if at else frozenset()
        status.offline = offline_owned_cpus_fault(self.document, self._online()) or ""
        try:
            repair = self._on_drift is DriftResponse.REPAIR and not status.observe_only
            plan = self._apply(self.document, trusted) if repair else self._plan(self.document)
            drift = self._drift(plan)
            if drift:
                self.counts.drifts += 1
                log.warning(
                    "the node differed from its document, and was repaired"
                    if repair
                    else "the node differs from its document",
                    extra={"drift": drift[:MOST_TOLD], "changes": len(drift)},
                )
            if repair and drift:
                self._count_repairs(plan)
            if repair and move_stray_processes_back(self._cgroups, at or plan.cgroups):
                self.counts.repairs += 1
            for lack in plan.lacking:
                if lack not in status.plan.lacking:
                    log.warning("this kernel cannot limit all", extra={"why": lack})
            if trusted:
                before = status.plan
                lacking = tuple(dict.fromkeys((*before.lacking, *plan.lacking)))
                alone = tuple(dict.fromkeys((*before.left_alone, *plan.left_alone)))
                plan = replace(plan, cgroups=before.cgroups, left_alone=alone, lacking=lacking)
            if new := [one for one in plan.left_alone if one not in status.plan.left_alone]:
                log.error("containers are left alone", extra={"why": new[:MOST_TOLD]})
            status.plan = plan
            status.drift = () if repair else drift
            status.refused = ""
        except ObserveOnlyError as error:
            self._stop_writing(error)
        except (InapplicableDocumentError, HostCannotApplyError) as error:
            self._refuse(str(error))
        except OSError as error:
            self._refuse(f"{error.filename or 'the cgroup files'}: {error.strerror or error}")

    def repairs_alone(self, cgroups: Set[str]) -> bool:
        """Return whether these are containers' cgroups that can be repaired without the others.

        That takes a last look that found nothing to refuse or only to observe.
        """
        return (
            self._on_drift is DriftResponse.REPAIR
            and not self.status.refusals()
            and cgroups <= set(self.status.plan.cgroups)
        )

    def look_at_devices(self) -> None:
        """Look for unhealthy devices that pods hold; they are reported, not repaired."""
        pods = self.document.pods if self.document else ()
        held = [(one, grant) for one in pods for grant in one.placement.devices if grant.id]
        ill = self._unhealthy_devices() if held else {}
        found = tuple(
            f"{grant.type} {grant.id} of pod {one.pod.title!r}: {ill[grant.id]}"
            for one, grant in held
            if grant.id in ill
        )
        for text in found:
            if text not in self.status.unhealthy:
                log.error("a device is unhealthy", extra={"device": text})
        self.status.unhealthy = found
        nvidia = any(grant.id.startswith(_NVIDIA) for _, grant in held if grant.id)
        fault = self._device_fault() if nvidia else ""
        unknown = f"the health of GPUs is not known: {fault}" if fault else ""
        if unknown and unknown != self.status.unknown_health:
            log.error("the health of GPUs is not known", extra={"why": fault})
        self.status.unknown_health = unknown

    def look_at_strangers(self) -> None:
        """Look for strangers on CPUs that pods own, if that is wanted."""
        if self.owned is not None:
            in_pods = (self._root, *self.status.plan.cgroups)
            writes = not self.status.observe_only
            self.owned.look(self.document, in_pods, self._online(), writes=writes)

    def effective_files(self) -> tuple[str, ...]:
        """Return the files with the effective CPUs and NUMA nodes of containers and those above."""
        found = []
        above = {""}
        for cgroup in self.status.plan.cgroups:
            while cgroup not in above:
                above.add(cgroup)
                cgroup = cgroup.rpartition("/")[0]
        for cgroup in sorted(above):
            if self._cgroups.has_file(cgroup, CPUS) or not cgroup:
                found += [self._cgroups.effective_path(cgroup, name) for name in (CPUS, MEMS)]
        return tuple(found)

    def written_files(self) -> tuple[str, ...]:
        """Return the files that the last look wrote, or whose cgroups it made or removed."""
        return tuple(
            self._cgroups.path(one.controller, one.cgroup, one.file)
            for one in (*self.status.plan.operations, *self.status.plan.finish)
        )

    def concerns(self, cgroup: str, setting: bool) -> bool:
        """Return whether a change in a cgroup may matter to the document.

        Args:
            cgroup: The cgroup that was written to, came or went.
            setting: Whether the change is to what the cgroup may use. Otherwise its processes
                changed, or the cgroup came or went.

        """
        if cgroup == self._root or cgroup.startswith(f"{self._root}/"):
            return True
        leaves = self.status.plan.cgroups
        if setting:
            return any(leaf == cgroup or leaf.startswith(f"{cgroup}/") for leaf in leaves)
        # A container that does not run yet may come anywhere below the roots, any other beside
        # those of its pod.
        missing = self.status.plan.absent or self.status.plan.left_alone
        roots = self._cgroups.container_roots if missing else ()
        return any(_is_near(cgroup, root) for root in roots) or any(
            cgroup in (leaf, parent_cgroup_path(leaf), parent_cgroup_path(parent_cgroup_path(leaf)))
            or parent_cgroup_path(cgroup) == parent_cgroup_path(leaf)
            for leaf in leaves
            if not leaf.startswith(f"{self._root}/")
        )

    def _online(self) -> CpuSet:
        return self._cgroups.effective("", CPUS)

    def _host(self) -> HostFactsForApply:
        host = self._read_host()
        return replace(host, disputed=self._disputed)

    def _plan(self, document: NodePlacement) -> CgroupPlan:
        return retry_while_cgroups_vanish(
            lambda: cgroup_plan_of(
                document,
                self._cgroups,
                self._host(),
                root=self._root,
                previous=document,
                in_force=True,
            )
        )

    def _apply(self, document: NodePlacement, trusted: frozenset[str] = frozenset()) -> CgroupPlan:
        # A new document must fit the CPUs that are online; the one in force makes do with them.
        return apply_to_this_host(
            document,
            self._cgroups,
            self._host,
            self._state,
            root=self._root,
            in_force=document is self.document,
            trusted=trusted,
        ).plan

    def _drift(self, plan: CgroupPlan) -> tuple[str, ...]:
        """Return in words what a plan would change."""
        return tuple(
            f"/{one.cgroup}/{one.file}: {one.old!r}, to be {one.new!r}"
            if one.kind is CgroupOperationKind.WRITE
            else f"/{one.cgroup}: {one.kind} {one.new}".rstrip()
            for one in (*plan.operations, *plan.finish)
        )

    def _count_repairs(self, plan: CgroupPlan) -> None:
        """Count repairs, and stop repairing cgroups that another writer changes back each time."""
        self.counts.repairs += 1
        now = self._clock()
        for cgroup in {
            one.cgroup for one in plan.operations if one.kind is CgroupOperationKind.WRITE
        }:
            times = self._repairs.setdefault(cgroup, deque())
            times.append(now)
            while times[0] < now - 60:
                times.popleft()
            if len(times) > REPAIRS_A_MINUTE and cgroup in plan.cgroups:
                self._disputed |= {cgroup}
                log.error(
                    "somebody else writes this cgroup: it is only observed until the next document",
                    extra={"cgroup": f"/{cgroup}", "repairs": len(times)},
                )

    def _refuse(self, why: str) -> None:
        if why != self.status.refused:
            log.error("the document in force cannot be done", extra={"why": why})
        self.status.refused = why

    def _stop_writing(self, error: ObserveOnlyError) -> None:
        if str(error) != self.status.observe_only:
            log.error("nothing is written any more", extra={"why": str(error)})
        self.status.observe_only = str(error)


def _is_near(cgroup: str, root: str) -> bool:
    """Return whether a cgroup is a root, or above or below it."""
    return f"{cgroup}/".startswith(f"{root}/") or f"{root}/".startswith(f"{cgroup}/")
