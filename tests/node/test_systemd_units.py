"""Containers in units of systemd get their CPUs from systemd, which may refuse, be late, or die."""

import asyncio
import errno
import importlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from node.fake_cgroupfs import FakeV1, FakeV2
from node.node_documents import a_document, a_pod
from node.systemd_stand_in import NO_LIMIT, StandIn, bits, private_bus, systemctl
from placer.node.apply import apply, recover_interrupted_apply
from placer.node.cgroups import CgroupReader
from placer.node.errors import HostCannotApplyError, ObserveOnlyError
from placer.node.host import HostFactsForApply
from placer.node.plan import cgroup_plan_of
from placer.node.render.systemd import systemd_properties_of, systemd_property_for
from placer.node.state import OBSERVE_ONLY, AppliedStateFolder
from placer.node.systemd_units import SystemdBusClient, SystemdError
from placer.node.targets import desired_container_cgroups
from placer_models.cpuset import format_cpu_list
from placer_models.limits import ContainerLimits
from placer_models.policy import QosClass

LSE, LSR, LS = QosClass.LSE, QosClass.LSR, QosClass.LS
GIB = 1 << 30


def scope(uid: str) -> str:
    """Where the runtime puts a container of a pod under the kubelet's systemd driver."""
    slice_ = f"kubepods-pod{uid}.slice"
    return f"kubepods.slice/{slice_}/cri-containerd-c{uid}.scope"


class Node:
    """A node of 8 CPUs on which the kubelet runs pods a and b in units of systemd.

    Attributes:
        patience_s: So long systemd may take for an answer, and twice as long be away.

    """

    def __init__(self, address: str, folder: Path, patience_s: float = 10) -> None:
        self.tree = FakeV2()
        self.address = address
        self.units = {scope(uid).rpartition("/")[2]: scope(uid) for uid in ("a", "b")}
        for cgroup in self.units.values():
            above = ""
            for part in cgroup.split("/"):
                above = f"{above}/{part}" if above else part
                if not self.tree.exists(above):
                    self.tree.make_directory(above)
                if above != cgroup:
                    self.tree.write(f"{above}/cgroup.subtree_control", "+cpu")
            self.tree.start(cgroup)
            self.tree.write(f"{cgroup}/cpu.max", "200000 100000")
        self.systemd = StandIn(self.tree, address, self.units)
        quota = {"CPUQuotaPerSecUSec": 2_000_000}
        self.systemd.known = {unit: dict(quota) for unit in self.units}
        self.host = HostFactsForApply("n0", frozenset(range(8)), systemd=True)
        self.state = AppliedStateFolder(folder / "state")
        self.asks = SystemdBusClient(address, answer_s=patience_s, settle_s=2 * patience_s)
        self.cgroups = CgroupReader(self.tree, self.asks)

    def apply(self, a: str, b: str = "", generation: int = 1) -> object:
        """Give pod a CPUs of its own, and pod b: others, or the shared pool."""
        pods = [a_pod("a", LSE, a, uid="a"), a_pod("b", LSR if b else LS, b, uid="b")]
        document = a_document(*pods, generation=generation)
        with self.state.locked():
            return apply(document, self.cgroups, self.host, self.state)

    def has(self) -> tuple[str, str]:
        """Return what the pods' containers run on."""
        found = [self.cgroups.effective(scope(uid), "cpuset.cpus") for uid in ("a", "b")]
        return format_cpu_list(found[0]), format_cpu_list(found[1])


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A node with systemd on a private bus."""
    with private_bus(tmp_path) as (address, _):
        found = Node(address, tmp_path)
        found.systemd.start()
        try:
            yield found
        finally:
            found.asks.close()
            found.systemd.die()


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[Node]:
    """The same, where Placer soon gives up waiting."""
    with private_bus(tmp_path) as (address, _):
        found = Node(address, tmp_path, patience_s=0.5)
        found.systemd.start()
        try:
            yield found
        finally:
            found.asks.close()
            found.systemd.die()


def test_systemd_writes_the_cgroups_of_its_units(node: Node) -> None:
    """
    Each change is a property of the unit that lasts until the next boot; the kernel says the
    same, and nothing is left to observe.
    """
    applied = node.apply("2-3", "5")

    assert not applied.plan.observed
    assert node.has() == ("2-3", "5")
    assert {(unit, runtime) for unit, runtime, _ in node.systemd.told} == {
        (unit, True) for unit in node.units
    }
    known = node.systemd.known["cri-containerd-ca.scope"]
    assert bits(known["AllowedCPUs"]) == {2, 3}
    assert bits(known["AllowedMemoryNodes"]) == {0, 1}
    assert known["CPUQuotaPerSecUSec"] == NO_LIMIT, "its CPUs are its own"
    assert not node.tree.exists(f"{scope('a')}/cpu.max"), "nothing there needs the controller"
    assert not node.apply("2-3", "5").plan.operations


def test_a_reload_of_systemd_loses_nothing(node: Node) -> None:
    """
    What somebody wrote behind systemd's back is gone after a reload; what it was told is there.
    """
    node.apply("2-3", "5")
    node.tree.write(f"{scope('a')}/cpuset.cpus", "6")

    node.systemd.reload()

    assert node.has() == ("2-3", "5")


def test_what_is_overwritten_is_asked_for_again(node: Node) -> None:
    """
    Drift of a unit is repaired by systemd, too: it still thinks that all is well.
    """
    node.apply("2-3", "5")
    node.tree.write(f"{scope('a')}/cpuset.cpus", "6")

    applied = node.apply("2-3", "5")

    assert [(one.unit, one.old, one.new) for one in applied.plan.operations] == [
        ("cri-containerd-ca.scope", "6", "2-3")
    ]
    assert node.has() == ("2-3", "5")


def test_two_units_swap_their_cpus_and_never_share_one(node: Node) -> None:
    """
    systemd answers before it writes: the next is asked only once the kernel says so.
    """
    node.apply("2-3", "4-5")
    seen = []

    async def look(message: object) -> None:
        await asyncio.sleep(0.02)
        a, b = (node.cgroups.effective(scope(uid), "cpuset.cpus") for uid in ("a", "b"))
        seen.append(a & b)

    node.systemd.answered = look
    node.apply("4-5", "2-3", generation=2)

    assert node.has() == ("4-5", "2-3")
    assert len(seen) >= 3  # one of them is parked meanwhile
    assert not any(seen)


def test_systemds_own_client_says_the_same(node: Node) -> None:
    """
    `systemctl set-property` with the words that are rendered sends what Placer sends: names,
    types and values; it pads its bit masks.
    """
    limits = ContainerLimits(1500, 2 * GIB, 50)
    pods = [
        a_pod("a", LSE, "1-3,6", memory={1: GIB}, limits=ContainerLimits(pids=7)),
        a_pod("b", LS, milli=250, limits=limits),
    ]
    for target in desired_container_cgroups(a_document(*pods)):
        wanted = systemd_properties_of(target)
        unit = next(iter(node.units))
        node.asks.set(unit, wanted)
        ours = node.systemd.told[-1]
        systemctl(
            node.address,
            "set-property",
            "--runtime",
            unit,
            *(f"{one.name}={one.text}" for one in wanted),
        )
        theirs = node.systemd.told[-1]

        assert ours is not theirs
        assert ours[:2] == theirs[:2]
        assert list(ours[2]) == list(theirs[2])
        for name, value in ours[2].items():
            other = theirs[2][name]
            assert value.signature == other.signature
            if value.signature == "ay":
                assert bits(value.value) == bits(other.value)
            else:
                assert value.value == other.value


def test_partitions_are_told_where_systemd_knows_them(node: Node) -> None:
    """
    CPUSetPartition is a text; systemd has it since 261.
    """
    (target,) = desired_container_cgroups(a_document(a_pod("a", LSE, "2-3")))
    node.asks.set(next(iter(node.units)), systemd_properties_of(target, 261, partition="isolated"))

    told = node.systemd.told[-1][2]
    assert (told["CPUSetPartition"].signature, told["CPUSetPartition"].value) == ("s", "isolated")
    assert told["CPUQuotaPerSecUSec"].value == NO_LIMIT


def test_a_unit_that_systemd_does_not_know_is_undone(node: Node) -> None:
    """
    Its reason is told, and what it did before is taken back by it.
    """
    node.apply("2-3", "5")
    del node.units["cri-containerd-cb.scope"]
    told = len(node.systemd.told)

    with pytest.raises(
        HostCannotApplyError, match=r"systemd says Unit .*cb.scope not loaded"
    ) as refused:
        node.apply("2-3,6", "7", generation=2)

    assert not isinstance(refused.value, ObserveOnlyError)
    assert node.has() == ("2-3", "5")
    assert len(node.systemd.told) in (told, told + 2)
    assert node.state.applied().generation == 1


def test_a_quota_comes_back_though_its_controller_was_taken_away(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    systemd takes the CPU controller from where nobody has a quota; an undo brings both back.
    """
    gone = []

    def full() -> None:
        gone.append(not node.tree.exists(f"{scope('a')}/cpu.max"))
        raise OSError(errno.ENOSPC, "No space left on device", "journal.json")

    monkeypatch.setattr(node.state, "commit", full)
    with pytest.raises(HostCannotApplyError, match="No space left"):
        node.apply("2-3", "5")

    assert gone == [True]
    assert node.tree.read(f"{scope('a')}/cpu.max") == "200000 100000"


def test_a_unit_without_a_set_gets_all_that_is_above_it_back(node: Node) -> None:
    """
    systemd leaves the file of a set that is emptied as it is, so that an undo says a whole one.
    """
    del node.units["cri-containerd-cb.scope"]

    with pytest.raises(HostCannotApplyError, match="not loaded"):
        node.apply("2-3", "5")

    assert node.has() == ("0-7", "0-7")
    known = node.systemd.known.get("cri-containerd-ca.scope", {})
    assert all(value for value in known.values())


@pytest.mark.check
def test_a_value_that_the_kernel_does_not_take_is_undone(hurried: Node) -> None:
    """
    systemd only writes to its log that the kernel refused; the cgroup says so.
    """
    hurried.apply("2-3", "5")
    write = hurried.tree.write

    def refuse(path: str, text: str) -> None:
        if text == "4-6":
            raise OSError(22, "Invalid argument", path)
        write(path, text)

    hurried.tree.write = refuse
    with pytest.raises(HostCannotApplyError, match=r"systemd wrote '4-6', and it says '5'"):
        hurried.apply("2-3", "4-6", generation=2)

    assert hurried.has() == ("2-3", "5")


@pytest.mark.check
def test_a_late_answer_is_waited_for_and_taken_back(hurried: Node) -> None:
    """
    systemd does what it was asked after Placer gave up: the undo comes behind it.
    """
    hurried.apply("2-3", "5")
    calls = []

    async def late(message: object) -> None:
        if message.member == "SetUnitProperties":
            calls.append(message)
            if len(calls) == 1:
                await asyncio.sleep(0.8)

    hurried.systemd.before = late
    with pytest.raises(HostCannotApplyError, match=r"did not answer in 0.5 s") as refused:
        hurried.apply("2-3,6", "5", generation=2)

    assert not isinstance(refused.value, ObserveOnlyError)
    assert len(calls) == 2, "it was done, and taken back"
    assert hurried.has() == ("2-3", "5")
    hurried.systemd.before = None
    hurried.apply("2-3,6", "5", generation=3)
    assert hurried.has() == ("2-3,6", "5")


@pytest.mark.check
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_when_systemd_dies_nothing_more_is_written(hurried: Node, done: bool) -> None:
    """
    Without it nothing can be taken back: Placer only observes. Once it is there again, and
    somebody has looked, the next run takes back what was begun.
    """
    hurried.apply("2-3", "5")
    first = hurried.systemd

    async def die(message: object) -> None:
        if message.member == "SetUnitProperties":
            if done:
                first.obey(message)
            first.die()
            await asyncio.sleep(10)

    first.before = die
    with pytest.raises(ObserveOnlyError, match="it cannot be taken back without systemd"):
        hurried.apply("2-3,6", "5", generation=2)

    assert hurried.has() == ("2-3,6" if done else "2-3", "5")
    again = StandIn(hurried.tree, hurried.address, hurried.units, known=first.known)
    again.start()
    try:
        with pytest.raises(ObserveOnlyError, match="only observes"):
            hurried.apply("2-3,6", "5", generation=2)
        (hurried.state.folder / OBSERVE_ONLY).unlink()
        assert recover_interrupted_apply(hurried.cgroups, hurried.state).startswith(
            "took back generation 2"
        )
        assert hurried.has() == ("2-3", "5")
    finally:
        again.die()


@pytest.mark.check
def test_a_systemd_that_starts_anew_is_waited_for(hurried: Node) -> None:
    """
    `systemctl daemon-reexec` leaves the bus for a moment: what was asked is undone after that.
    """
    hurried.apply("2-3", "5")
    first = hurried.systemd
    again = StandIn(hurried.tree, hurried.address, hurried.units, known=first.known)

    async def start_anew(message: object) -> None:
        if message.member == "SetUnitProperties":
            first.die()
            threading.Timer(0.3, again.start).start()
            await asyncio.sleep(10)

    first.before = start_anew
    try:
        with pytest.raises(HostCannotApplyError) as refused:
            hurried.apply("2-3,6", "5", generation=2)
        assert not isinstance(refused.value, ObserveOnlyError)
        assert hurried.has() == ("2-3", "5")
        hurried.apply("2-3,6", "5", generation=2)
        assert hurried.has() == ("2-3,6", "5")
    finally:
        again.die()


def test_a_run_that_is_killed_while_systemd_works_is_taken_back(node: Node) -> None:
    """
    The next run waits until systemd is done with what the dead one asked, and only then looks.
    """

    class Killed(BaseException):
        pass

    class KilledUnits(SystemdBusClient):
        def set(self, unit: str, properties: object) -> None:
            self.answer_s = 0.05
            try:
                super().set(unit, properties)
            except SystemdError:
                raise Killed from None

    node.apply("2-3", "5")
    asked = []

    async def late(message: object) -> None:
        if message.member == "SetUnitProperties" and not asked:
            asked.append(message)
            await asyncio.sleep(0.3)

    node.systemd.before = late
    killed = KilledUnits(node.address)
    killed.trouble()
    node.cgroups.units = killed
    with pytest.raises(Killed):
        node.apply("2-3,6", "5", generation=2)
    killed.close()
    assert node.has() == ("2-3", "5"), "systemd has not done it yet"

    node.cgroups.units = node.asks
    assert recover_interrupted_apply(node.cgroups, node.state).startswith("took back generation 2")

    assert node.has() == ("2-3", "5")
    node.asks.settle()
    assert node.has() == ("2-3", "5")
    assert len(asked) == 1


def test_without_the_daemon_units_are_only_observed(tmp_path: Path) -> None:
    """
    The plan says why, and what the unit has and should have.
    """
    node = Node(f"unix:path={tmp_path}/nobody", tmp_path)

    applied = node.apply("2-3", "5")
    node.asks.close()

    assert not applied.plan.operations
    assert len(applied.plan.observed) == 2
    text = applied.plan.observed[0]
    assert "a/main in /kubepods.slice" in text
    assert "is on CPUs 0-7, to be on 2-3" in text
    assert "D-Bus cannot be used: [Errno 2] No such file or directory" in text


def test_what_systemd_cannot_do_is_only_observed(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The units of a user's systemd or of one in a container are not its own, old ones have no
    AllowedCPUs, version 1 of cgroups has none for it, and without the extra there is no D-Bus.
    """
    host, inner = node.host, "a.slice/docker-1.scope/system.slice/b.scope"
    assert host.rival(scope("a"), node.asks) is None
    assert "is not that of the system" in str(host.rival(inner, node.asks))
    assert host.rival(f"{scope('a')}/container", node.asks) is None

    node.systemd.version = "243-1"
    old = SystemdBusClient(node.address)
    assert "systemd 243-1 has no AllowedCPUs; from version 244 on" in old.trouble()
    old.close()

    text = str(host.rival(scope("a"), CgroupReader(FakeV1(), node.asks).units))
    assert text.endswith("at each reload, and it sets CPUs on cgroup v2 only")

    missing = importlib.import_module

    def no_module(name: str) -> object:
        if name == "dbus_fast":
            raise ImportError(name)
        return missing(name)

    monkeypatch.setattr(importlib, "import_module", no_module)
    text = str(host.rival(scope("a"), SystemdBusClient(node.address)))
    assert text.endswith(
        "writes its cgroup again at each reload, and the package dbus-fast is not installed: "
        "pip install 'placer[systemd]'"
    )


def test_the_plan_of_a_unit_takes_nobody_else_s_cpus_meanwhile(node: Node) -> None:
    """
    A unit that cannot be asked for stays where it is, and an owner that needs its CPUs waits.
    """
    node.apply("2-3", "5")
    host = replace(node.host, disputed=frozenset({scope("b")}))
    document = a_document(
        a_pod("a", LSE, "5", uid="a"), a_pod("b", LSR, "2", uid="b"), generation=2
    )

    with pytest.raises(HostCannotApplyError, match="on which b/main is and stays"):
        cgroup_plan_of(document, node.cgroups, host)


@pytest.mark.parametrize(
    ("file", "text", "name", "value"),
    [
        ("cpuset.cpus", "0,9", "AllowedCPUs", bytes([1, 2])),
        ("cpuset.mems", "1", "AllowedMemoryNodes", bytes([2])),
        ("cpu.max", "max", "CPUQuotaPerSecUSec", NO_LIMIT),
        ("cpu.max", "max 100000", "CPUQuotaPerSecUSec", NO_LIMIT),
        ("cpu.max", "50000 100000", "CPUQuotaPerSecUSec", 500_000),
        ("cpu.max", "12345 50000", "CPUQuotaPerSecUSec", 250_000),
    ],
)
def test_a_file_has_a_property(file: str, text: str, name: str, value: object) -> None:
    """
    What a file says or is to say becomes a property; CPU time is rounded up as systemd does.
    """
    found = systemd_property_for(file, text)

    assert (found.bus_name, found.value) == (name, value)
