"""The plan: which cgroup files get which values, in which order, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from placer.node.cgroups import (
    CPU,
    CPUS,
    CPUSET,
    HUGETLB,
    MEMORY,
    MEMS,
    PIDS,
    CgroupReader,
    as_proc_cgroup_path,
    child_cgroup_path,
    parent_cgroup_path,
    parse_cpuset,
)
from placer.node.container_roots import OUR_ROOT, check_cgroup_path_syntax
from placer.node.cpu_order import ContainerCpuMove, NoCpusetStepOrderError, cpu_handover_steps
from placer.node.current_values import ContainerLeafCgroup, ContainerLeafCgroupReader
from placer.node.document import node_placement_faults, offline_owned_cpus_fault
from placer.node.errors import HostCannotApplyError, InapplicableDocumentError
from placer.node.held_devices import kubelet_device_conflicts
from placer.node.host import HostFactsForApply
from placer.node.nested_cgroups import CpusetWritePlanner
from placer.node.operations import SUBTREE, CgroupOperation, CgroupOperationKind
from placer.node.pools import cpu_pools_of_node
from placer.node.render.cgroup import cgroup_settings
from placer.node.settings import CgroupSettingWritePlanner
from placer.node.targets import desired_container_cgroups
from placer.node.ways import CgroupWritableByOthersCheck
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.node_placement import NodePlacement

_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class CgroupPlan:
    """The operations to carry out on a node.

    Attributes:
        operations: The operations in order; if one fails they are taken back in reverse.
        finish: The cleaning up after all of them are done, which is never undone.
        absent: Containers that should run here and do not, by name.
        left_alone: Containers that are not as they are to be because their cgroup is not certain
            or cannot be written, in words; all others are.
        observed: Differences in files of other writers, which are not written, in words.
        cgroups: Cgroups of the containers that run here or are ours, after the plan is done.
        lacking: Settings that are not written because this kernel has no file for them, in words.

    """

    operations: tuple[CgroupOperation, ...] = ()
    finish: tuple[CgroupOperation, ...] = ()
    absent: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    cgroups: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


def cgroup_plan_of(
    document: NodePlacement,
    cgroups: CgroupReader,
    host: HostFactsForApply,
    *,
    root: str = OUR_ROOT,
    previous: NodePlacement | None = None,
    in_force: bool = False,
    trusted: frozenset[str] = frozenset(),
    aside: Mapping[str, str] = MappingProxyType({}),
) -> CgroupPlan:
    """Return the plan that makes the cgroups of this machine as the document wants them.

    Args:
        document: The document of this node.
        cgroups: The cgroups of the machine, which are only read.
        host: What else is true of the machine.
        root: The cgroup below which our own cgroups are.
        previous: The document that was applied before, if any: what it held may be left over.
        in_force: Whether the document was applied before. Then it is not checked again, and
            pods that own a CPU that went offline make do with their others, or with shared
            ones. Otherwise the plan is refused because of such a pod.
        trusted: Containers' cgroups that are known to be as the document wants them: they are
            not read. Where there are any, nothing is looked for that pods left behind.
        aside: Cgroup of a container that is not ours and is left alone -> why.

    Raises:
        InapplicableDocumentError: The document is wrong, or is not for this machine.
        HostCannotApplyError: This node cannot do it now.

    """
    check_cgroup_path_syntax(root)
    if not in_force:
        if faults := [
            *node_placement_faults(document),
            *kubelet_device_conflicts(document, host.held, host.held_file),
        ]:
            more = f" (and {len(faults) - 1} more)" if faults[1:] else ""
            raise InapplicableDocumentError(faults[0] + more)
        if host.held_fault and any(one.placement.devices for one in document.pods):
            raise HostCannotApplyError(
                f"nobody can tell which devices the kubelet has given to pods: {host.held_fault}"
            )
    if host.present is not None:
        unknown = document.node.machine.topology.cpu.keys() - host.present
        if unknown:
            raise InapplicableDocumentError(
                f"the node {document.node.name!r} has CPUs {format_cpu_list(unknown)}, and this "
                f"machine has {format_cpu_list(host.present)}: the document is for another machine"
            )
    return _Planner(document, cgroups, host, root, previous, in_force, trusted, aside).plan()


class _Planner:
    def __init__(
        self,
        document: NodePlacement,
        cgroups: CgroupReader,
        host: HostFactsForApply,
        root: str,
        previous: NodePlacement | None,
        make_do: bool,
        trusted: frozenset[str],
        aside: Mapping[str, str],
    ) -> None:
        self._document = document
        self._cgroups = cgroups
        self._root = root
        self._online = cgroups.effective("", CPUS)
        self._nodes = cgroups.effective("", MEMS)
        self._make_do = make_do
        self._trusted = trusted
        self._host = host
        if not make_do and (wrong := offline_owned_cpus_fault(document, self._online)):
            raise HostCannotApplyError(wrong)
        self._settings = CgroupSettingWritePlanner(cgroups, host, root)
        self._shared = cpu_pools_of_node(document).shared & self._online
        self._ways = CgroupWritableByOthersCheck(cgroups)
        reader = ContainerLeafCgroupReader(cgroups, host, root, previous)
        self._aside = aside
        self._absent: list[str] = []
        self._left_alone: list[str] = []
        # What a cgroup above containers has; cached, as one is above hundreds of them.
        self._effective_above = cache(cgroups.effective)
        self._leaves = list(self._wanted(reader))
        wanted = {leaf.cgroup for leaf in self._leaves}
        self._gone: list[str] = []
        for cgroup in () if trusted else reader.leftovers(wanted):
            ours = cgroup.startswith(f"{root}/")
            if cgroups.has_processes(cgroup):
                leaf = reader.leaf(cgroup, None, self._shared, self._nodes, ours=ours)
                self._leaves.append(leaf)
            elif ours:
                self._gone.append(cgroup)

    def plan(self) -> CgroupPlan:
        self._leaves = [
            leaf for leaf in self._leaves if leaf.cgroup in self._trusted or self._is_possible(leaf)
        ]
        read = [one for one in self._leaves if one.rival or one.cgroup not in self._trusted]
        moving = [leaf for leaf in read if leaf.rival is None]
        operations = (
            *self._ancestors(moving),
            *self._settings.before_sets(moving),
            *self._cpusets(),
            *self._settings.writes(moving),
        )
        return CgroupPlan(
            operations,
            () if self._trusted else tuple(self._removals()),
            tuple(self._absent),
            tuple(self._left_alone),
            tuple(self._observed()),
            tuple(leaf.cgroup for leaf in self._leaves),
            tuple(self._settings.lacking),
        )

    def _wanted(self, reader: ContainerLeafCgroupReader) -> Iterator[ContainerLeafCgroup]:
        """Yield the cgroup of each container, or several if those of its pod are not told apart."""
        by_cgroup: dict[str, ContainerLeafCgroup] = {}
        for target in desired_container_cgroups(
            self._document, self._online, make_do=self._make_do
        ):
            found = reader.find(target.one, target.container)
            if found.why_not:
                self._leave_alone(target.title, found.why_not)
            elif not found.runs and target.stays:
                self._absent.append(target.title)
            for cgroup in found.cgroups:
                leaf = reader.leaf(
                    cgroup,
                    target,
                    target.cpus,
                    target.mems,
                    ours=target.one.ours,
                    trusted=cgroup in self._trusted,
                )
                if leaf.ours or leaf.exists:  # else it went meanwhile
                    other = by_cgroup.setdefault(cgroup, leaf)
                    by_cgroup[cgroup] = self._for_both(other, leaf)
        if self._absent:
            for cgroup, why in reader.containers.barred.items():
                self._leave_alone(f"whatever is in {as_proc_cgroup_path(cgroup)}", why)
        yield from by_cgroup.values()

    def _for_both(
        self, one: ContainerLeafCgroup, other: ContainerLeafCgroup
    ) -> ContainerLeafCgroup:
        """Return what becomes of a cgroup that is that of two containers."""
        if (one.goal_cpus, one.goal_mems) == (other.goal_cpus, other.goal_mems):
            return one
        assert one.target
        assert other.target
        if one.target.one is not other.target.one:
            raise InapplicableDocumentError(
                f"the containers {one.title} and {other.title} have one cgroup, "
                f"{as_proc_cgroup_path(one.cgroup)}; give their pods the uids and "
                "containerIds that they have"
            )
        pod = one.target.one.pod.title
        self._leave_alone(
            f"how the containers of {pod} share its CPUs",
            "they differ, and nothing tells which cgroup is whose; give the pod containerIds",
        )
        return replace(
            one,
            goal_cpus=one.goal_cpus | other.goal_cpus,
            goal_mems=one.goal_mems | other.goal_mems,
        )

    def _leave_alone(self, what: str, why: str) -> None:
        if (words := f"{what} is left alone: {why}") not in self._left_alone:
            self._left_alone.append(words)

    def _is_possible(self, leaf: ContainerLeafCgroup) -> bool:
        """Return whether a cgroup can be as it is to be; one that is not ours stops no other.

        Raises:
            HostCannotApplyError: It cannot, and is ours, or no cgroup could.

        """
        if not leaf.goal_cpus:
            raise HostCannotApplyError(
                f"{leaf.title} has no CPU left: all of its pool are owned or offline"
            )
        try:
            if leaf.cgroup in self._aside:
                raise HostCannotApplyError(self._aside[leaf.cgroup])
            self._check(leaf)
        except HostCannotApplyError as error:
            if leaf.ours:
                raise
            self._leave_alone(leaf.title, str(error))
            return False
        return True

    def _check(self, leaf: ContainerLeafCgroup) -> None:
        """Refuse a goal that the cgroups above do not allow."""
        longest = max(map(len, leaf.cgroup.split("/")))
        if longest > _LONGEST_NAME:
            raise InapplicableDocumentError(
                f"{leaf.title}: the name of its cgroup is longer than {_LONGEST_NAME} characters"
            )
        if leaf.rival is not None:
            return
        above = parent_cgroup_path(self._root) if leaf.ours else parent_cgroup_path(leaf.cgroup)
        handed_down = leaf.ours or leaf.unit  # systemd hands down what its units need
        if not handed_down and (lacking := self._lacks_cpuset(leaf.cgroup)) is not None:
            raise HostCannotApplyError(
                f"{leaf.title}: {as_proc_cgroup_path(lacking)} is not ours "
                f"and does not hand cpuset down; write '+cpuset' to its {SUBTREE}"
            )
        for name, goal, what in (
            (CPUS, leaf.goal_cpus, "CPUs"),
            (MEMS, leaf.goal_mems, "NUMA nodes"),
        ):
            has = self._effective_above(above, name)
            if missing := goal - has:
                raise HostCannotApplyError(
                    f"{leaf.title} is to have the {what} {format_cpu_list(missing)}, "
                    f"and {as_proc_cgroup_path(above)} above it has {format_cpu_list(has)}; "
                    "give it more, or place again"
                )
        self._check_memory(leaf)

    def _lacks_cpuset(self, cgroup: str) -> str | None:
        """Return the first cgroup, from the root, that does not hand cpuset down, or None."""
        if self._cgroups.version == 1 or self._cgroups.has_file(cgroup, CPUS):
            return None
        at = ""
        for name in cgroup.split("/"):
            on = self._cgroups.files.read(self._cgroups.path(CPUSET, at, SUBTREE)).split()
            if CPUSET not in on:
                return at
            at = child_cgroup_path(at, name)
        return None

    def _check_memory(self, leaf: ContainerLeafCgroup) -> None:
        """Refuse a limit below what is used: the kernel would end processes."""
        limit = leaf.target.limits.memory_bytes if leaf.target else None
        if not leaf.exists or not leaf.ours or limit is None:
            return
        file = "memory.current" if self._cgroups.version == 2 else "memory.usage_in_bytes"
        path = self._cgroups.path(MEMORY, leaf.cgroup, file)
        if not self._cgroups.files.exists(path):
            return
        used = int(self._cgroups.files.read(path))
        if used > limit:
            raise HostCannotApplyError(
                f"{leaf.title} uses {used:,} bytes of memory, more than its limit of {limit:,}; "
                "the kernel would end processes of it: raise the limit"
            )

    def _ancestors(self, moving: list[ContainerLeafCgroup]) -> Iterator[CgroupOperation]:
        """Make our cgroups from the top, each with all that the cgroup above our root has.

        So no container is ever held back by a cgroup of ours that is above it.
        """
        ours = [leaf for leaf in moving if leaf.ours]
        if not ours:
            return
        above = parent_cgroup_path(self._root)
        whole = {name: self._cgroups.effective(above, name) for name in (MEMS, CPUS)}
        controllers = self._controllers(ours)
        self._check_controllers(above, controllers)
        made: set[str] = set()
        inner = dict.fromkeys([self._root, *(parent_cgroup_path(leaf.cgroup) for leaf in ours)])
        for cgroup in inner:
            if trouble := self._ways.trouble(cgroup):
                raise HostCannotApplyError(f"{trouble}; name another by --root")
            if rival := self._host.rival(cgroup):
                raise HostCannotApplyError(
                    f"{as_proc_cgroup_path(cgroup)}: {rival}; name another by --root"
                )
            yield from self._make(cgroup, controllers, made)
            yield from self._hand_down(cgroup, controllers, fresh=cgroup in made)
            for name, cpus in whole.items():
                text = "" if cgroup in made else self._cgroups.configured(cgroup, name)
                if self._cgroups.version == 2 and not text:
                    continue  # it has what the cgroup above has
                if parse_cpuset(text) != cpus or self._effective(cgroup, name, made) != cpus:
                    why = "room for the containers below"
                    yield CgroupOperation(
                        CgroupOperationKind.WRITE,
                        CPUSET,
                        cgroup,
                        name,
                        text,
                        format_cpu_list(cpus),
                        why,
                        cgroup in made,
                    )
        for leaf in ours:
            yield from self._make(leaf.cgroup, controllers, made)

    def _effective(self, cgroup: str, name: str, made: set[str]) -> CpuSet:
        return frozenset() if cgroup in made else self._cgroups.effective(cgroup, name)

    def _controllers(self, ours: list[ContainerLeafCgroup]) -> list[str]:
        limits = [leaf.target.limits for leaf in ours if leaf.target]
        found = [CPUSET, CPU]
        found += [MEMORY] if any(one.memory_bytes is not None for one in limits) else []
        found += [PIDS] if any(one.pids is not None for one in limits) else []
        pages = any(leaf.target.hugepages for leaf in ours if leaf.target)
        return [*found, HUGETLB] if pages and self._settings.hugetlb_lack() is None else found

    def _check_controllers(self, above: str, controllers: list[str]) -> None:
        """Refuse where the cgroup above our root, which is not ours, lacks a controller."""
        files = self._cgroups.files
        if self._cgroups.version == 1:
            missing = [name for name in controllers if not files.exists(name)]
            if missing:
                raise HostCannotApplyError(f"the controller {missing[0]} is not mounted; mount it")
            return
        if self._cgroups.exists(above):
            on = files.read(self._cgroups.path(CPUSET, above, SUBTREE)).split()
            if missing := [name for name in controllers if name not in on]:
                raise HostCannotApplyError(
                    f"{as_proc_cgroup_path(above)} is not ours and does not hand "
                    f"{', '.join(missing)} down; "
                    f"write '{' '.join('+' + name for name in missing)}' to its {SUBTREE}"
                )

    def _make(
        self, cgroup: str, controllers: list[str], made: set[str]
    ) -> Iterator[CgroupOperation]:
        for controller in controllers if self._cgroups.version == 1 else [CPUSET]:
            if not self._cgroups.exists(cgroup, controller):
                yield CgroupOperation(
                    CgroupOperationKind.MAKE, controller, cgroup, why="a cgroup of our own"
                )
                if controller == CPUSET:
                    made.add(cgroup)

    def _hand_down(
        self, cgroup: str, controllers: list[str], *, fresh: bool
    ) -> Iterator[CgroupOperation]:
        if self._cgroups.version == 1:
            return
        path = self._cgroups.path(CPUSET, cgroup, SUBTREE)
        on = [] if fresh else self._cgroups.files.read(path).split()
        if missing := [name for name in controllers if name not in on]:
            yield CgroupOperation(
                CgroupOperationKind.ENABLE,
                CPUSET,
                cgroup,
                SUBTREE,
                " ".join(on),
                " ".join(missing),
                "for the cgroups below",
                fresh,
            )

    def _cpusets(self) -> Iterator[CgroupOperation]:
        """Write the sets, in the order in which no exclusive CPU is ever in two places."""
        holders = [
            ContainerCpuMove(
                leaf.title,
                leaf.owner,
                leaf.qos,
                leaf.cpus,
                leaf.cpus if leaf.rival else leaf.goal_cpus,
                leaf.rival is not None,
                leaf.was,
            )
            for leaf in self._leaves
        ]
        try:
            steps = cpu_handover_steps(holders, self._shared)
        except NoCpusetStepOrderError as error:
            raise HostCannotApplyError(str(error)) from None
        last = {step.holder: n for n, step in enumerate(steps)}
        sets = CpusetWritePlanner(self._cgroups)

        def mems(leaf: ContainerLeafCgroup) -> Iterator[CgroupOperation]:
            if leaf.mems_differ:
                why = "memory beside its CPUs"
                yield from sets.writes(leaf, MEMS, leaf.mems_text, leaf.goal_mems, why)

        for n, (i, cpus, why) in enumerate(steps):
            leaf = self._leaves[i]
            if last[i] == n:
                yield from mems(leaf)
            yield from sets.writes(leaf, CPUS, leaf.cpus_text, cpus, why or self._why(leaf))
        for i, leaf in enumerate(self._leaves):
            if i in last or leaf.rival is not None:
                continue
            yield from mems(leaf)
            if leaf.cpus_differ:  # in effect already, but not by its own file
                why = self._why(leaf)
                yield from sets.writes(leaf, CPUS, leaf.cpus_text, leaf.goal_cpus, why)

    def _why(self, leaf: ContainerLeafCgroup) -> str:
        if leaf.target is None:
            return "its pod is gone: it shares what is shared until it ends"
        found = cgroup_settings(leaf.target, self._cgroups.version, ours=leaf.ours)
        return next(setting.why for setting in found if setting.file == CPUS)

    def _removals(self) -> Iterator[CgroupOperation]:
        """Remove cgroups of ours whose pods are gone, from the bottom."""
        keep = {parent_cgroup_path(leaf.cgroup) for leaf in self._leaves}
        gone = [below for cgroup in self._gone for below in self._cgroups.below(cgroup)]
        gone += self._gone
        if self._cgroups.exists(self._root):
            gone += [pod for pod in self._cgroups.children(self._root) if pod not in keep]
        for cgroup in sorted(gone, key=lambda one: (-one.count("/"), one)):
            # The cpuset hierarchy last: it says if there are processes, and what is left over.
            others = (CPU, MEMORY, PIDS, HUGETLB) if self._cgroups.version == 1 else ()
            for controller in (*others, CPUSET):
                if self._cgroups.exists(cgroup, controller):
                    yield CgroupOperation(
                        CgroupOperationKind.REMOVE, controller, cgroup, why="its pod is gone"
                    )

    def _observed(self) -> Iterator[str]:
        for leaf in self._leaves:
            if leaf.rival is not None and (leaf.cpus_differ or leaf.mems_differ or not leaf.exists):
                yield (
                    f"{leaf.title} in {as_proc_cgroup_path(leaf.cgroup)} is on CPUs "
                    f"{format_cpu_list(leaf.cpus) or 'none'}, to be on "
                    f"{format_cpu_list(leaf.goal_cpus)}: {leaf.rival}; Placer only observes it"
                )
