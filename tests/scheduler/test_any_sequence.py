"""Random sequences of calls on random tiny clusters, against a model that forgets nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from features.quantities import DISK, asking_gangs, quantity_instance
from features.shares import sharing_gangs, sharing_instance
from mixed_worlds import mixed, mixed_instance
from placer.judge.breaches import breaches
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, ClusterChange, Decision
from placer.scheduling.errors import (
    NodeExistsError,
    NodeInUseError,
    PodAlreadyRunningError,
    UnknownNodeError,
    UnknownPodError,
)
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.device import GPU
from placer_models.placement import NamespacedName, PartlyPlaced, Placed, Placement, PodPlacement
from placer_models.pod import Gang, Pod, lone_gang, pods_of_gangs
from scheduler.by_trying import may_be_refused
from scheduler.cluster import DEADLINE_S, QUICK, check_fresh_count
from tiny_pods import scale_of, tiny_gangs, tiny_groups
from worlds import STATE_RULES, tiny_instance

EXACT = SolveOptions(engine=Engine.EXACT, workers=1, work_limit=1)
SEEDS = st.integers(0, 2**32 - 1)
STEPS = (
    "placer.scheduling.decide.solve",
    "placer.search.solver.build_problem",
    "placer.search.scored.place_greedily",
    "placer.search.judged.realise_choices",
    "placer.search.judged.breaches_in_scene",
    "placer.scheduling.decide.breaches",
    "placer.scheduling.deployment.breaches",
    "placer.scheduling.scheduler_state.account_of",
    "placer.scheduling.scheduler_state.running_pods_with_current_pools",
)


def own(place: PodPlacement, *, owns_cpus: bool) -> object:
    """Return what of a place never changes while the pod runs: all but its part of the pool."""
    return place if owns_cpus else replace(place, cpuset=frozenset(), containers=(), cpu_milli=None)


@dataclass
class Known:
    """A node as the model knows it.

    Attributes:
        changed: The version in which the node or its pods last changed.
        updated: Its facts have changed since the beginning, or it was in disorder then.

    """

    node: Node
    changed: int
    updated: bool = False


def with_the_places_taken(decision: Decision, change: ClusterChange) -> Decision:
    """Return a confirmed decision with the places that its pods really have."""
    assert isinstance(decision.answer, Placed | PartlyPlaced) or not decision.placement.pods
    anew = {place.key: place for place in change.laid_anew}
    if not anew:
        return decision
    assert isinstance(decision.answer, Placed | PartlyPlaced)
    places = tuple(anew.get(place.key, place) for place in decision.placement.pods)
    answer = replace(decision.answer, placement=Placement(places))
    return replace(decision, answer=answer)


class AnySequence(RuleBasedStateMachine):
    """Calls in any order; after each, the state is what the calls add up to."""

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        worlds = (sharing_instance, mixed_instance, tiny_instance, quantity_instance)
        world = worlds[seed % 4](seed)
        self.scheduler = Scheduler(world.nodes, world.running)
        self.version = 0
        self.names = 0
        self.nodes = {node.name: Known(node, 0) for node in world.nodes}
        self.pods = {runner.pod.key: runner for runner in world.running}
        for name, known in self.nodes.items():
            known.updated = self.is_given_out_twice(name)  # found in disorder
        self.found_running = set(self.pods)
        self.waiting: list[Decision] = []
        self.gone: dict[NamespacedName, Pod] = {}
        self.failures = pytest.MonkeyPatch()

    def teardown(self) -> None:
        self.failures.undo()

    # What the calls should do, in the model's words.

    def take(self, decision: Decision) -> None:
        pods = {pod.key: pod for pod in pods_of_gangs(decision.batch.gangs)}
        new = [RunningPod(pods[place.key], place) for place in decision.placement.pods]
        self.pods |= {runner.pod.key: runner for runner in new}
        self.pin_no_longer(new)
        self.change({runner.placement.node for runner in new})

    def pin_no_longer(self, new: Iterable[RunningPod]) -> None:
        """Who is placed on CPUs that a kubelet had pinned to others is not pinned to them."""
        for runner in new:
            known = self.nodes[runner.placement.node]
            if runner.pod.spec.qos.owns_cpus:
                unpooled = known.node.unpooled_cpus - runner.placement.cpuset
                known.node = replace(known.node, unpooled_cpus=unpooled)

    def change(self, names: set[str]) -> None:
        self.version += bool(names)
        for name in names:
            self.nodes[name].changed = self.version

    def drawn_batch(self, seed: int) -> Batch:
        """Draw gangs of pods with names that no pod had before."""
        rng = Random(seed)
        self.names += 1
        nodes = [known.node for known in self.nodes.values()] or list(tiny_instance(seed).nodes)
        gangs = tiny_gangs(rng, scale_of(nodes, unit_bytes=1 << 20))
        if rng.random() < 0.4:
            gangs = sharing_gangs(rng, gangs)
        elif any(d.type == DISK for node in nodes for d in node.machine.devices):
            gangs = asking_gangs(rng, gangs, nodes, bare=rng.random() < 0.5)
        named = tuple(self._named(gang, f"b{self.names}") for gang in gangs)
        drawn = Instance(tuple(nodes), named, tiny_groups(rng, named))
        if rng.random() < 0.4:
            drawn = mixed(rng, drawn)
        return Batch(drawn.gangs, drawn.groups)

    def _named(self, gang: Gang, prefix: str) -> Gang:
        pods = tuple(replace(pod, name=f"{prefix}-{pod.name}") for pod in gang.pods)
        return replace(gang, name=f"{prefix}-{gang.name}", pods=pods)

    def some_pods(self, seed: int) -> list[NamespacedName]:
        keys = sorted(self.pods)
        return Random(seed).sample(keys, Random(seed).randint(1, len(keys)))

    def some_node(self, seed: int) -> str:
        return Random(seed).choice(sorted(self.nodes))

    # The calls.

    @rule(seed=SEEDS, options=st.sampled_from((QUICK, QUICK, QUICK, EXACT)))
    def place(self, seed: int, options: SolveOptions) -> None:
        decision = self.scheduler.place(self.drawn_batch(seed), DEADLINE_S, options=options)

        assert decision.version == self.version
        self.take(decision)
        assert decision.change is not None
        assert decision.change.version == self.version

    @rule(seed=SEEDS)
    def dry_run(self, seed: int) -> None:
        """Nothing changes, and what is kept of earlier calls changes no decision."""
        before = self.scheduler.snapshot()
        batch = self.drawn_batch(seed)
        self.waiting.append(self.scheduler.place(batch, DEADLINE_S, dry_run=True, options=QUICK))

        assert self.scheduler.snapshot() == before
        fresh = Scheduler.restore(before).place(batch, DEADLINE_S, dry_run=True, options=QUICK)
        assert self.waiting[-1].placement == fresh.placement

    @rule(seed=SEEDS)
    @precondition(lambda self: self.waiting)
    def confirm(self, seed: int) -> None:
        """What fits is taken, as decided where nothing has changed; what is gone is named."""
        decision = Random(seed).choice(self.waiting)
        nodes = {place.node for place in decision.placement.pods}
        lost = nodes - self.nodes.keys()
        again = {p.key for p in decision.placement.pods} & set(self.pods)
        before = self.scheduler.snapshot().instance

        outcome = self.scheduler.confirm(decision, options=EXACT)

        if isinstance(outcome, ClusterChange):
            assert not lost
            assert not again
            if all(self.nodes[name].changed <= decision.version for name in nodes):
                assert outcome.laid_anew == ()
            self.take(with_the_places_taken(decision, outcome))
            assert outcome.version == self.version
        else:
            assert set(outcome.running) == again
            assert {gone.node for gone in outcome.gone if gone.resource == "node"} == lost
            assert lost or again or may_be_refused(before, decision)

    @rule(seed=SEEDS)
    @precondition(lambda self: self.pods)
    def release(self, seed: int) -> None:
        keys = self.some_pods(seed)
        nodes = {self.pods[key].placement.node for key in keys}

        change = self.scheduler.release(keys)

        for key in keys:
            self.gone[key] = self.pods.pop(key).pod
        self.change(nodes)
        assert change.version == self.version
        assert {place.node for place in change.followers} <= nodes

    @rule()
    @precondition(lambda self: self.gone)
    def place_again(self) -> None:
        """Pods that were released are as good as new."""
        gangs = tuple(lone_gang(pod) for key, pod in self.gone.items() if key not in self.pods)
        self.gone.clear()
        self.take(self.scheduler.place(Batch(gangs), DEADLINE_S, options=QUICK))

    @rule(seed=SEEDS)
    def place_and_release(self, seed: int) -> None:
        """What is placed and released was never there, but for CPUs that nobody is pinned to."""
        before = self.scheduler.snapshot().instance
        decision = self.scheduler.place(self.drawn_batch(seed), DEADLINE_S, options=QUICK)
        self.scheduler.release(place.key for place in decision.placement.pods)
        pods = {pod.key: pod for pod in pods_of_gangs(decision.batch.gangs)}
        self.pin_no_longer(RunningPod(pods[p.key], p) for p in decision.placement.pods)

        now = (self.nodes[node.name].node for node in before.nodes)
        assert self.scheduler.snapshot().instance == replace(before, nodes=tuple(now))
        nodes = {place.node for place in decision.placement.pods}
        self.change(nodes)
        self.change(nodes)

    @rule(seed=SEEDS)
    def add_node(self, seed: int) -> None:
        self.names += 1
        defaults = self.scheduler.snapshot().instance.common_defaults
        drawn = mixed_instance(seed).nodes[0]
        node = replace(drawn, name=f"new{self.names}", defaults=defaults)
        before = self.scheduler.snapshot().instance
        self.scheduler.add_node(node)
        if Random(seed).random() < 0.5 or len(self.nodes) >= 3:
            self.scheduler.remove_node(node.name)

            assert self.scheduler.snapshot().instance == before
            self.version += 2
        else:
            self.nodes[node.name] = Known(node, self.version)
            self.change({node.name})

    @rule(seed=SEEDS, what=st.sampled_from(("all", "machine", "health", "labels", "nothing")))
    @precondition(lambda self: self.nodes)
    def update_node(self, seed: int, what: str) -> None:
        known = self.nodes[self.some_node(seed)]
        drawn = mixed_instance(seed).nodes[-1]
        changes: dict[str, dict[str, Any]] = {
            "machine": {
                "machine": drawn.machine,
                "unhealthy": frozenset(),
                "reserved_cpus": frozenset(),
            },
            "health": {
                "unhealthy": frozenset((d.type, d.minor) for d in known.node.machine.devices[:1])
            },
            "labels": {"labels": drawn.labels, "alignment": drawn.alignment},
            "nothing": {},
        }
        if what == "all":
            # A Scheduler gives its defaults to all its nodes.
            node = replace(drawn, name=known.node.name, defaults=known.node.defaults)
        else:
            node = replace(known.node, **changes[what])

        change = self.scheduler.update_node(node)

        if node != known.node:
            known.node, known.updated = node, True
            self.change({node.name})
        assert change.version == self.version
        assert change.misfits == tuple(
            misfit for misfit in self.scheduler.misfits() if misfit.node == node.name
        )
        in_mig_mode = {(GPU, minor) for minor, _ in node.mig}
        broken = {(d.type, d.minor) for d in node.devices if not node.is_healthy(d)} - in_mig_mode
        for runner in self.scheduler.running_on(node.name):
            held = {(grant.type, grant.minor) for grant in runner.placement.devices}
            rules = {misfit.rule for misfit in change.misfits if misfit.pod == runner.pod.key}
            assert ("device-health" in rules) == bool(held & broken)

    @rule(seed=SEEDS)
    @precondition(lambda self: self.nodes)
    def remove_node(self, seed: int) -> None:
        name = self.some_node(seed)
        there = {key for key, runner in self.pods.items() if runner.placement.node == name}
        if there:
            with pytest.raises(NodeInUseError) as refused:
                self.scheduler.remove_node(name)
            assert set(refused.value.pods) == there
        else:
            self.scheduler.remove_node(name)
            del self.nodes[name]
            self.version += 1

    @rule(seed=SEEDS, cordoned=st.booleans())
    @precondition(lambda self: self.nodes)
    def cordon(self, seed: int, cordoned: bool) -> None:
        known = self.nodes[self.some_node(seed)]
        (self.scheduler.cordon if cordoned else self.scheduler.uncordon)(known.node.name)

        if known.node.cordoned != cordoned:
            known.node = replace(known.node, cordoned=cordoned)
            self.change({known.node.name})

    @rule()
    def restore(self) -> None:
        """A restored Scheduler goes on, and takes what was decided before."""
        snapshot = self.scheduler.snapshot()
        self.scheduler = Scheduler.restore(snapshot)

        assert self.scheduler.snapshot() == snapshot

    # Calls that fail: the invariants say that nothing has changed.

    @rule(seed=SEEDS, where=st.sampled_from(STEPS), dry_run=st.booleans())
    def place_and_fail(self, seed: int, where: str, dry_run: bool) -> None:
        def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        batch = self.drawn_batch(seed)
        self.failures.setattr(where, fail)
        try:
            decision = self.scheduler.place(batch, DEADLINE_S, dry_run=dry_run, options=QUICK)
        except ZeroDivisionError:
            pass
        else:  # the call did not come by the step that fails
            if not dry_run:
                self.take(decision)
        finally:
            self.failures.undo()

    @rule(seed=SEEDS, where=st.sampled_from(STEPS[-3:]))
    @precondition(lambda self: self.waiting or self.pods)
    def confirm_or_release_and_fail(self, seed: int, where: str) -> None:
        def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        calls: list[tuple[Callable[[], object], Callable[[], None] | None]] = []
        if self.pods:
            calls.append((lambda: self.scheduler.release(sorted(self.pods)), self._release_all))
        if self.waiting:
            decision = Random(seed).choice(self.waiting)
            calls.append((lambda: self.scheduler.confirm(decision, options=EXACT), None))
        call, then = Random(seed).choice(calls)
        self.failures.setattr(where, fail)
        try:
            outcome = call()
        except ZeroDivisionError:
            pass
        else:
            if then is not None:
                then()
            elif isinstance(outcome, ClusterChange):
                self.take(with_the_places_taken(decision, outcome))
        finally:
            self.failures.undo()

    def _release_all(self) -> None:
        nodes = {runner.placement.node for runner in self.pods.values()}
        self.pods.clear()
        self.change(nodes)

    @rule(seed=SEEDS)
    def wrong_names(self, seed: int) -> None:
        drawn = tiny_instance(seed)
        for call in (self.scheduler.cordon, self.scheduler.uncordon, self.scheduler.remove_node):
            with pytest.raises(UnknownNodeError):
                call("nowhere")
        for key in (("default", "nobody"), *(self.gone.keys() - self.pods.keys())):
            with pytest.raises(UnknownPodError):
                self.scheduler.placement_of(key)
            with pytest.raises(UnknownPodError):
                self.scheduler.release([*self.pods, key])
        with pytest.raises(UnknownNodeError):
            self.scheduler.update_node(replace(drawn.nodes[0], name="nowhere"))
        for name in self.nodes:
            with pytest.raises(NodeExistsError):
                self.scheduler.add_node(replace(drawn.nodes[0], name=name))
        for runner in self.pods.values():
            batch = Batch((*self.drawn_batch(seed).gangs, lone_gang(runner.pod)))
            with pytest.raises(PodAlreadyRunningError):
                self.scheduler.place(batch, DEADLINE_S, options=QUICK)

    # What always holds.

    @invariant()
    def accounts_equal_a_fresh_count(self) -> None:
        check_fresh_count(self.scheduler)

    @invariant()
    def the_state_is_what_the_calls_add_up_to(self) -> None:
        snapshot = self.scheduler.snapshot()

        assert snapshot.version == self.version
        nodes = {name: known.node for name, known in self.nodes.items()}
        assert {node.name: node for node in snapshot.instance.nodes} == nodes
        running = {runner.pod.key: runner for runner in snapshot.instance.running}
        assert running.keys() == self.pods.keys()
        for key, runner in running.items():
            expected = self.pods[key]
            owns_cpus = runner.pod.spec.qos.owns_cpus
            assert runner.pod == expected.pod
            assert own(runner.placement, owns_cpus=owns_cpus) == own(
                expected.placement, owns_cpus=owns_cpus
            )

    @invariant()
    def nothing_is_given_out_twice(self) -> None:
        """All pods of a node could have come at once, unless its facts have changed."""
        for name, known in self.nodes.items():
            assert known.updated or not self.is_given_out_twice(name)

    def is_given_out_twice(self, name: str) -> bool:
        node = self.nodes[name].node
        runners = self.scheduler.running_on(name)
        pinned = tuple(  # only while they run are their CPUs in no pool
            r
            for r in runners
            if r.pod.spec.qos.owns_cpus and r.placement.cpuset & node.unpooled_cpus
        )
        here = [runner for runner in runners if runner not in pinned]
        gangs = tuple(lone_gang(runner.pod) for runner in here)
        arriving = Instance((node,), gangs, running=pinned)
        placement = Placement(tuple(replace(r.placement, gang=None) for r in here))
        return any(breach.rule in STATE_RULES for breach in breaches(arriving, placement))

    @invariant()
    def what_was_placed_fits(self) -> None:
        """A pod that was placed stays a good tenant until its node changes."""
        updated = {name for name, known in self.nodes.items() if known.updated}
        for misfit in self.scheduler.misfits():
            assert misfit.node in updated or misfit.pod in self.found_running


class MoreSequences(AnySequence):
    """The same more often."""


class LongSequence(AnySequence):
    """The same for longer."""


AnySequence.TestCase.settings = settings(max_examples=15, stateful_step_count=30)
MoreSequences.TestCase.settings = settings(max_examples=50, stateful_step_count=30)
LongSequence.TestCase.settings = settings(max_examples=2_000, stateful_step_count=50)
test_any_sequence_of_calls_adds_up = AnySequence.TestCase
test_more_sequences_of_calls_add_up = pytest.mark.check(MoreSequences.TestCase)
test_any_long_sequence_of_calls_adds_up = pytest.mark.slow(LongSequence.TestCase)
