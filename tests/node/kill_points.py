"""Breaks an apply off at every point, and looks at what the cgroups say at each."""

import errno
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from random import Random
from typing import Any

from node.fake_cgroupfs import FakeV1, FakeV2
from node.node_documents import GIB, a_document, a_node, a_pod
from node.systemd_stand_in import written
from placer.node.apply import apply, carry_out_cgroup_plan, recover_interrupted_apply
from placer.node.cgroups import CgroupReader
from placer.node.container_lookup import container_cgroup_path
from placer.node.cpu_order import qos_classes_may_not_share_cpu
from placer.node.errors import HostCannotApplyError, ObserveOnlyError
from placer.node.host import HostFactsForApply
from placer.node.plan import CgroupPlan, cgroup_plan_of
from placer.node.pools import cpu_pools_of_node
from placer.node.state import AppliedStateFolder
from placer.node.systemd_units import SystemdError, SystemdUnitProperty
from placer.node.targets import desired_container_cgroups
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list
from placer_models.limits import ContainerLimits
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.policy import QosClass

ERRNOS = {
    "write": (
        errno.EACCES,
        errno.EBUSY,
        errno.EINVAL,
        errno.EIO,
        errno.ENODEV,
        errno.ENOENT,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EOPNOTSUPP,
        errno.EPERM,
        errno.ERANGE,
        errno.EROFS,
    ),
    "make_directory": (errno.EACCES, errno.ENOMEM, errno.ENOSPC, errno.EAGAIN, errno.EROFS),
    "remove_directory": (errno.EACCES, errno.EBUSY, errno.ENOENT, errno.EROFS),
}
"""What the kernel may answer to each kind of operation."""

KUBELETS = "kubepods/pod{uid}/c1"
UNITS = "kubepods.slice/kubepods-pod{name}.slice/cri-containerd-{name}.scope"
"""Where the kubelet's containers are, without systemd and with it; there `-` is `_` in names."""


class Killed(BaseException):
    """The process ends here: nothing of it runs any more."""


class Clock:
    """Counts points at which the process may end, and ends it at one of them."""

    def __init__(self, last: int | None = None) -> None:
        self.now = 0
        self._last = last

    def tick(self) -> None:
        """Pass a point."""
        self.now += 1
        if self.now == self._last:
            raise Killed


class KilledFiles:
    """Cgroup files of a process that may end before and after each change.

    Attributes:
        seen: (Method, path) of each change, in order.
        fail: Is asked with the number of a change and its path; an errno makes it fail.

    """

    def __init__(
        self,
        files: FakeV1 | FakeV2,
        clock: Clock,
        look: Callable[[str], None],
        fail: Callable[[int, str], int | None] = lambda *_: None,
    ) -> None:
        self._files = files
        self._clock = clock
        self._look = look
        self._fail = fail
        self.version = files.version
        self.seen: list[tuple[str, str]] = []

    def read(self, path: str) -> str:
        return self._files.read(path)

    def exists(self, path: str) -> bool:
        return self._files.exists(path)

    def children(self, path: str) -> list[str]:
        return self._files.children(path)

    def owner(self, path: str) -> tuple[int, int]:
        return self._files.owner(path)

    def write(self, path: str, text: str) -> None:
        self._change("write", path, text)

    def make_directory(self, path: str) -> None:
        self._change("make_directory", path)

    def remove_directory(self, path: str) -> None:
        self._change("remove_directory", path)

    def _change(self, method: str, path: str, *more: str) -> None:
        self._clock.tick()
        self.seen.append((method, path))
        if code := self._fail(len(self.seen) - 1, path):
            raise OSError(code, errno.errorcode[code], path)
        getattr(self._files, method)(path, *more)
        self._look(path)
        self._clock.tick()


class KilledUnits:
    """systemd, asked by a process that may end before it asks, and before it has an answer.

    What systemd was asked by a process that ended it does when it gets to it: in `settle`, or
    before it does anything else. That is kept with the tree, which outlasts the process.
    """

    answer_s = 0.0

    def __init__(self, tree: FakeV2, files: KilledFiles, clock: Clock) -> None:
        self._tree = tree
        self._files = files
        self._clock = clock
        self._asked: list[tuple[str, str]] = vars(tree).setdefault("asked", [])

    def trouble(self) -> str:
        return ""

    def set(self, unit: str, properties: Sequence[SystemdUnitProperty]) -> None:
        self.settle()
        (one,) = properties
        file, text = written(one.bus_name, one.value) or ("", "")
        name = unit.removeprefix("cri-containerd-").removesuffix(".scope")
        path = f"{UNITS.format(name=name)}/{file}"
        self._clock.tick()
        self._asked.append((path, text))
        self._clock.tick()
        self._asked.clear()
        try:
            self._files.write(path, text)
        except OSError as error:
            raise SystemdError(f"{unit}: {path}: {error}") from None

    def settle(self) -> None:
        for path, text in self._asked:
            self._tree.write(path, text)
        self._asked.clear()


class KilledState(AppliedStateFolder):
    """The journal in memory, written by a process that may end before and after each change."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}
        self.clock = Clock()

    def copied(self) -> "KilledState":
        """Return the same files, for another run."""
        other = KilledState()
        other.files = dict(self.files)
        return other

    def begin(self, document: NodePlacement, plan: CgroupPlan) -> None:
        self._change(lambda: self.files.update(journal=(document, plan)))

    def commit(self) -> None:
        self._change(lambda: self.files.update(committed=self.files.pop("journal")))

    def abandon(self) -> None:
        self._change(lambda: self.files.pop("committed", None))
        self._change(lambda: self.files.pop("journal", None))

    def finished(self, document: NodePlacement) -> None:
        self._change(lambda: self.files.update(applied=document))
        self._change(lambda: self.files.pop("committed", None))

    def unfinished(self) -> tuple[NodePlacement, CgroupPlan] | None:
        return self.files.get("journal")

    def committed(self) -> tuple[NodePlacement, CgroupPlan] | None:
        return self.files.get("committed")

    def applied(self) -> NodePlacement | None:
        return self.files.get("applied")

    def was_applied(self, document: NodePlacement) -> bool:
        return self.files.get("applied") == document

    def stop_writing(self, why: str) -> None:
        self._change(lambda: self.files.update(stopped=why))

    def check_may_write(self) -> None:
        if "stopped" in self.files:
            raise ObserveOnlyError(self.files["stopped"])

    def _change(self, what: Callable[[], object]) -> None:
        self.clock.tick()
        what()
        self.clock.tick()


@dataclass
class Transition:
    """A node that obeys one document, and gets another one.

    Attributes:
        tree: Every container of the first document has a process.
        host: With the containers of the kubelet.

    """

    before: NodePlacement
    after: NodePlacement
    tree: FakeV1 | FakeV2
    host: HostFactsForApply

    @cached_property
    def _pickled(self) -> bytes:
        return pickle.dumps(self.tree)

    def fresh(self) -> FakeV1 | FakeV2:
        """Return the cgroups as they are before."""
        return pickle.loads(self._pickled)

    @cached_property
    def plan(self) -> CgroupPlan:
        """What leads from the one to the other."""
        return cgroup_plan_of(self.after, whole(self.tree), self.host, previous=self.before)

    @cached_property
    def homes(self) -> list[tuple[str, tuple[str, str], QosClass, CpuSet]]:
        """Return (cgroup, pod, its class, its CPUs) of either document.

        A container that the second one no longer has shares what is shared there, which may be
        the very CPUs that it owned.
        """
        before, after = (
            [
                (cgroup, target.one.pod.key, target.qos, target.cpus)
                for target in desired_container_cgroups(document)
                for cgroup in cgroups_of(target.one, target.container, systemd=self.host.systemd)
            ]
            for document in (self.before, self.after)
        )
        kept = {cgroup for cgroup, *_ in after}
        shared = cpu_pools_of_node(self.after).shared
        gone = [(c, key, QosClass.LS, shared) for c, key, *_ in before if c not in kept]
        return [*before, *after, *gone]

    def run(
        self,
        tree: FakeV1 | FakeV2,
        state: KilledState,
        last: int | None = None,
        fail: Callable[[int, str], int | None] = lambda *_: None,
        *,
        only_recover: bool = False,
        look_from: int = 0,
    ) -> KilledFiles:
        """Carry the plan out, or only recover; end at a point, or fail at a change.

        Args:
            tree: Of cgroups.
            state: Of the node.
            last: The point at which it ends.
            fail: Returns the errno with which a change fails.
            only_recover: Begin nothing.
            look_from: The first change after which the cgroups are looked at: up to where it
                is broken off a run goes through what a clean one has been looked at in.

        """
        clock = state.clock = Clock(last)

        def look(path: str) -> None:
            if len(files.seen) > look_from:
                self.look(tree, path)

        files = KilledFiles(tree, clock, look, fail)
        units = KilledUnits(tree, files, clock) if isinstance(tree, FakeV2) else None
        cgroups = CgroupReader(files, units)
        try:
            recover_interrupted_apply(cgroups, state)
            if not only_recover and state.applied() != self.after:
                carry_out_cgroup_plan(self.after, self.plan, cgroups, state)
        except Killed:
            pass
        return files

    def look(self, tree: FakeV1 | FakeV2, path: str) -> None:
        """Hold the cgroups to what must be true at every instant."""
        first = "" if tree.version == 2 else path.partition("/")[0] + "/"
        allowed = (f"{first}placer", f"{first}kubepods/pod", f"{first}kubepods.slice/kubepods-pod")
        assert path.startswith(allowed), f"{path} is not ours"
        if not path.endswith((".cpus", ".mems", ".subtree_control")):
            return  # no set has changed
        cgroups = CgroupReader(tree)
        has: dict[str, CpuSet] = {}
        for cgroup, *_ in self.homes:
            if cgroups.exists(cgroup) and cgroups.has_processes(cgroup):
                has[cgroup] = cgroups.effective(cgroup, "cpuset.cpus")
                assert has[cgroup], f"{cgroup} has no CPU"
                assert cgroups.effective(cgroup, "cpuset.mems"), f"{cgroup} has no memory"
        # A pod that changes its class counts as either where it may be as either.
        classes: dict[str, list[QosClass]] = {}
        for cgroup, _, qos, cpus in self.homes:
            if cgroup in has and has[cgroup] <= cpus:
                classes.setdefault(cgroup, []).append(qos)
        pod_of = {cgroup: key for cgroup, key, *_ in self.homes}
        for one, other in combinations(classes, 2):
            both = has[one] & has[other]
            if both and pod_of[one] != pod_of[other]:
                pairs = product(classes[one], classes[other])
                legal = not all(qos_classes_may_not_share_cpu(*pair) for pair in pairs)
                assert legal, f"{one} and {other} are both on {format_cpu_list(both)}"


def whole(tree: FakeV1 | FakeV2) -> CgroupReader:
    """The cgroups of a tree, for a process that never ends, with systemd."""
    if isinstance(tree, FakeV1):
        return CgroupReader(tree)
    files = KilledFiles(tree, Clock(), lambda _: None)
    return CgroupReader(tree, KilledUnits(tree, files, Clock()))


def cgroups_of(one: NodePlacementPod, container: str, *, systemd: bool) -> tuple[str, ...]:
    """Where a container of these tests is."""
    if one.uid:
        return (_kubelets(one.uid, systemd=systemd),)
    return (container_cgroup_path("placer", one.pod, container),)


def _kubelets(uid: str, *, systemd: bool) -> str:
    return UNITS.format(name=uid.replace("-", "_")) if systemd else KUBELETS.format(uid=uid)


def texts(tree: FakeV1 | FakeV2) -> dict[str, str]:
    """Return what all files of all cgroups say, but who is in."""
    cgroups, found = CgroupReader(tree), {}
    roots = ("cpuset", "cpu", "memory", "pids") if tree.version == 1 else ("",)
    names = ("cpuset.cpus", "cpuset.mems", "cgroup.subtree_control", "cpu.max", "cpu.weight")
    names += ("cpu.shares", "cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes", "pids.max")

    def walk(path: str) -> Iterator[str]:
        yield path
        for child in cgroups.files.children(path):
            yield from walk(f"{path}/{child}" if path else child)

    for root in roots:
        for path in walk(root):
            for name in names:
                file = f"{path}/{name}" if path else name
                if tree.exists(file):
                    found[file] = tree.read(file)
    return found


def a_transition(seed: int, version: int, *, systemd: bool) -> Transition | None:
    """Return a random one; None where the second document is refused on the first."""
    rng = Random(seed)
    names = [f"p{i}" for i in range(rng.randint(2, 4))]
    uids = {
        name: f"{i}-u" for i, name in enumerate(names) if rng.random() < (0.7 if systemd else 0.25)
    }
    before = _document(rng, names, uids, 1)
    after = _document(rng, names, uids, 2)
    tree = FakeV1() if version == 1 else FakeV2()
    present = {one.uid for one in before.pods if one.uid}
    cgroups = whole(tree)
    homes = [_kubelets(uid, systemd=systemd) for uid in sorted(present)]
    for cgroup in homes:
        _kubelet_makes(cgroups, cgroup)
        if systemd:
            cgroups.files.write(f"{cgroup}/cpu.max", "150000 100000")
    host = HostFactsForApply("n0", parse_cpu_list("0-7"), systemd)
    state = KilledState()
    apply(before, cgroups, host, state)
    for target in desired_container_cgroups(before):
        for cgroup in cgroups_of(target.one, target.container, systemd=systemd):
            if not target.one.uid:
                tree.start(cgroups.path("cpuset", cgroup))
    found = Transition(before, after, tree, host)
    try:
        return found if found.plan.operations else None
    except HostCannotApplyError:
        return None


def _state_of(before: NodePlacement) -> KilledState:
    state = KilledState()
    state.files["applied"] = before
    return state


def _document(
    rng: Random, names: list[str], uids: dict[str, str], generation: int
) -> NodePlacement:
    cpus = rng.sample(range(8), 8)
    cpus = cpus[: rng.randint(5, 7)]  # the others are shared
    pods = []
    for name in rng.sample(names, rng.randint(2, len(names))):
        qos = rng.choice([QosClass.LSE, QosClass.LSR, QosClass.LSE, QosClass.LS, QosClass.BE])
        own = cpus[: rng.randint(1, 3)] if qos.owns_cpus else []
        cpus = cpus[len(own) :]
        if qos.owns_cpus and not own:
            qos = QosClass.LS
        memory = {rng.randrange(2): GIB} if rng.random() < 0.5 else None
        limits = ContainerLimits()
        if not qos.owns_cpus and rng.random() < 0.4:
            most = rng.choice([None, 2 * GIB])
            swap = None if most is None else rng.choice([None, 0, GIB])
            limits = ContainerLimits(rng.choice([500, 1500]), most, 50, swap)
        parts: tuple[tuple[str, str], ...] = ()
        if len(own) > 1 and name not in uids and rng.random() < 0.3:
            parts = (("x", str(own[0])), ("y", format_cpu_list(own[1:])))
            memory = None
        pods.append(
            a_pod(
                name,
                qos,
                format_cpu_list(own),
                limits=limits,
                memory=memory,
                uid=uids.get(name, ""),
                parts=parts,
            )
        )
    node = a_node(pages={GIB: 2} if rng.random() < 0.2 else None)
    return a_document(*pods, generation=generation, node=node)


def _kubelet_makes(cgroups: CgroupReader, path: str) -> None:
    above = ""
    for part in path.split("/"):
        if above and cgroups.version == 2:
            cgroups.files.write(f"{above}/cgroup.subtree_control", "+cpuset +cpu")
        above = f"{above}/{part}" if above else part
        if not cgroups.exists(above):
            for controller in ("cpuset", "cpu") if cgroups.version == 1 else ("cpuset",):
                cgroups.files.make_directory(cgroups.path(controller, above))
            if cgroups.version == 1:
                cgroups.files.write(f"cpuset/{above}/cpuset.cpus", "0-7")
                cgroups.files.write(f"cpuset/{above}/cpuset.mems", "0-1")
    cgroups.files.start(cgroups.path("cpuset", path))


def transitions(
    seeds: Iterator[int], count: int, version: int, *, systemd: bool = False
) -> Iterator[Transition]:
    """Yield so many transitions that are not refused."""
    for seed in seeds:
        found = a_transition(seed, version, systemd=systemd)
        if found is not None:
            yield found
            count -= 1
            if not count:
                return


def sweep(transition: Transition) -> int:
    """Break a transition off at every point, in every way; return how many there were."""
    old = texts(transition.tree)
    clean, state = transition.fresh(), _state_of(transition.before)
    seen = transition.run(clean, state).seen
    points, new = state.clock.now, texts(clean)
    for target in desired_container_cgroups(transition.after):
        for cgroup in cgroups_of(target.one, target.container, systemd=transition.host.systemd):
            if CgroupReader(clean).exists(cgroup):
                assert CgroupReader(clean).effective(cgroup, "cpuset.cpus") == target.cpus
    for point in range(1, points + 1):
        tree, state = transition.fresh(), _state_of(transition.before)
        transition.run(tree, state, point, look_from=len(seen))
        committed = "journal" not in state.files and "applied" in state.files
        half = pickle.loads(pickle.dumps(tree)), state.copied()
        transition.run(tree, state, only_recover=True)
        found = texts(tree)
        if "committed" in half[1].files or state.files["applied"] == transition.after:
            assert found == new, f"point {point}: not finished"
        elif committed:
            assert found == old, f"point {point}: not begun"
        else:
            assert found == old, f"point {point}: not taken back"
        _break_off_again(transition, *half, found, Random(point))
        transition.run(tree, state, look_from=len(seen))
        assert texts(tree) == new, f"point {point}: not applied after all"
    for number, (method, path) in enumerate(seen):
        for code in ERRNOS[method]:
            _fail_once(transition, number, code, path, (old, new))
        _fail_for_good(transition, number)
    return points


def _break_off_again(
    transition: Transition,
    tree: FakeV1 | FakeV2,
    state: KilledState,
    recovered: dict[str, str],
    rng: Random,
) -> None:
    """End the recovery at a point, too, and recover from that."""
    transition.run(tree, state, rng.randint(1, 12), only_recover=True)
    transition.run(tree, state, only_recover=True)

    assert texts(tree) == recovered


def _fail_once(
    transition: Transition,
    number: int,
    code: int,
    path: str,
    ends: tuple[dict[str, str], dict[str, str]],
) -> None:
    tree, state = transition.fresh(), _state_of(transition.before)
    try:
        transition.run(
            tree, state, fail=lambda n, _: code if n == number else None, look_from=number
        )
    except ObserveOnlyError:
        raise AssertionError(f"{path}: one failure is taken back") from None
    except HostCannotApplyError as error:
        refused = str(error)
    else:  # What follows the commit may fail: a cgroup stays until the next run.
        assert {p: t for p, t in texts(tree).items() if p in ends[1]} == ends[1]
        return
    assert texts(tree) == ends[0], f"{path}: {errno.errorcode[code]} left something"
    assert "journal" not in state.files
    assert path in refused


def _fail_for_good(transition: Transition, number: int) -> None:
    """From a change on none succeeds: what is there stays, and is one of the safe states."""
    tree, state = transition.fresh(), _state_of(transition.before)
    try:
        transition.run(
            tree, state, fail=lambda n, _: errno.EIO if n >= number else None, look_from=number
        )
    except ObserveOnlyError:
        assert "stopped" in state.files
        assert "journal" in state.files
        del state.files["stopped"]
        transition.run(tree, state)
        assert state.files["applied"] == transition.after
    except HostCannotApplyError:
        assert number == 0 or texts(tree) == texts(transition.tree)
