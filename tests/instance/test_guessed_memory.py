"""Running pods whose memory nobody places: a guess in which their requests fit (C12, G7)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from random import Random

import pytest

from answers import expect
from commands import Placer
from instance_texts import reread
from placer.judge.misfits import misfits_of_instance
from placer.load import load_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_cli.exits import ExitCode
from placer_models.bound import numa_nodes_bound_to
from placer_models.cluster import Instance
from placer_models.placement import Answer, Infeasible, Placed
from placer_models.reasons import Blocked, FewMembers

Read = Callable[..., Instance]
GIB = 2**30
HEAD = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes:
      - {{id: 0, memory: {sizes[0]}Gi, cpus: 0-7}}
      - {{id: 1, memory: {sizes[1]}Gi, cpus: 8-15}}
    devices: [{{type: gpu, count: 2, numaNodes: [0, 1]}}]
nodes: [{{name: n, machine: box, numaPolicy: {policy}}}]
running:
"""


def text(
    *running: str,
    waiting: Sequence[str] = (),
    policy: str = "SingleNUMANode",
    sizes: tuple[int, int] = (64, 32),
) -> str:
    rows = [*running, "pods:", *waiting] if waiting else list(running)
    lines = [row if row == "pods:" else f"  - {{{row}}}" for row in rows]
    return HEAD.format(sizes=sizes, policy=policy) + "\n".join(lines) + "\n"


def ls(name: str, cpu: float, gib: int = 1, more: str = "") -> str:
    return f"name: {name}, node: n, requests: {{cpu: {cpu}, memory: {gib}Gi}}{more}"


def lsr(name: str, cpus: str, count: int, gib: int, more: str = "") -> str:
    asked = f"requests: {{cpu: {count}, memory: {gib}Gi}}"
    return f"name: {name}, node: n, qos: LSR, cpuset: '{cpus}', {asked}{more}"


def where(instance: Instance) -> dict[str, dict[int, int]]:
    """Return pod -> NUMA node -> Gi that it has there."""
    return {
        r.pod.name: {numa: size // GIB for numa, size in r.placement.memory_bytes}
        for r in instance.running
    }


def answer_to(instance: Instance, engine: Engine = Engine.AUTO) -> Answer:
    return solve(instance, SolveOptions(engine=engine, workers=1, seed=1))


def test_three_pods_are_not_guessed_onto_one_numa_node(read: Read) -> None:
    """
    3 CPUs each, on NUMA nodes of 8: two are where most memory is, one is on the other.
    """
    instance = read(
        text(*(ls(n, 3) for n in "abc"), waiting=["name: p, qos: LSR, requests: {cpu: 2}"])
    )

    assert sorted(numa for held in where(instance).values() for numa in held) == [0, 0, 1]
    assert misfits_of_instance(instance) == ()
    assert isinstance(answer_to(instance), Placed)


def test_memory_alone_goes_where_most_is_free(read: Read) -> None:
    """
    Where CPUs are enough anywhere, the NUMA node with most memory is taken, as ever.
    """
    instance = read(text(*(ls(n, 1, 20) for n in "abc")))

    assert where(instance) == {"a": {0: 20}, "b": {0: 20}, "c": {1: 20}}


def test_a_pod_that_only_one_numa_node_holds_leaves_it_none_of_the_others(read: Read) -> None:
    """
    40Gi fit NUMA node 0 alone; the small ones, which come first in the file, make room.
    """
    instance = read(text(ls("a", 1, 20), ls("b", 1, 10), ls("c", 1, 40)))

    assert where(instance)["c"] == {0: 40}
    assert misfits_of_instance(instance) == ()


def test_it_takes_a_second_look_to_let_all_fit(read: Read) -> None:
    """
    4, 3, 3, 2, 2 and 2 CPUs fill two NUMA nodes of 8 in one way only: 4, 2, 2 and 3, 3, 2.
    Each by itself, where most memory is, 4 and 3 would come to one of them.
    """
    instance = read(
        text(*(ls(n, cpu) for n, cpu in zip("abcdef", (4, 3, 3, 2, 2, 2), strict=True)))
    )

    assert misfits_of_instance(instance) == ()
    held = {name: min(numas) for name, numas in where(instance).items()}
    assert held["b"] == held["c"] != held["a"]


def test_owners_and_devices_say_where(read: Read) -> None:
    """
    Memory is near own CPUs and devices, where there is room; bound pods take what is left.
    """
    instance = read(
        text(
            ls("bound", 6, 30),
            lsr("owner", "0-5", 6, 40),
            ls("gpu", 1, 1, more=", devices: {gpu: [0]}").replace("1Gi}", "1Gi, gpu: 1}"),
        )
    )

    assert where(instance) == {"owner": {0: 40}, "gpu": {0: 1}, "bound": {1: 30}}
    assert misfits_of_instance(instance) == ()


def test_what_is_said_is_no_guess_and_counts(read: Read) -> None:
    """
    6 CPUs are said to be on NUMA node 0, by memory and by cpuset: 3 more go to the other one.
    """
    for said in (', memory: {"0": 1Gi}', ", cpuset: 0-7"):
        instance = read(text(ls("a", 3), ls("b", 6, 1, more=said)))

        assert where(instance) == {"a": {1: 1}, "b": {0: 1}}
        guessed = {r.pod.name for r in instance.running if r.guessed}
        assert guessed == ({"a"} if "memory" in said else {"a", "b"})


def test_a_cpuset_says_where_the_memory_is(read: Read) -> None:
    """
    The pod is bound to NUMA node 1 by its cpuset; NUMA node 0 has more memory.
    """
    instance = read(text(ls("a", 3, 4, more=", cpuset: 8-15")))

    assert where(instance) == {"a": {1: 4}}
    assert misfits_of_instance(instance) == ()


def test_restricted_pods_have_as_many_numa_nodes_as_they_need(read: Read) -> None:
    """
    12 CPUs and 80Gi are of two NUMA nodes; 4 CPUs beside them are of one, and all fit.
    """
    instance = read(text(ls("wide", 12, 80), ls("small", 4, 4), policy="Restricted"))
    (node,) = instance.nodes
    homes = {
        r.pod.name: numa_nodes_bound_to(r.placement, r.pod.spec, node) for r in instance.running
    }

    assert misfits_of_instance(instance) == ()
    assert homes["wide"] == {0, 1}
    assert len(homes["small"]) == 1


def test_who_floats_takes_what_is_left(read: Read) -> None:
    """
    A pod that is said to be bound to no NUMA node counts no CPU on one.
    """
    instance = read(text(ls("a", 7, 40, more=", cpuset: ''"), ls("b", 6, 50)))

    assert where(instance)["b"] == {0: 50}
    assert sum(where(instance)["a"].values()) == 40


def test_containers_that_are_aligned_for_themselves_may_need_several(read: Read) -> None:
    """
    6 and 5 CPUs in scope ``container`` fit no NUMA node of 8 together, but two of them.
    """
    apart = (
        "name: a, node: n, numaScope: container, containers: ["
        "{name: x, requests: {cpu: 6, memory: 2Gi}}, {name: y, requests: {cpu: 5, memory: 2Gi}}]"
    )
    instance = read(text(apart, ls("b", 5, 1, more=", numaScope: container")))

    assert misfits_of_instance(instance) == ()
    assert set(where(instance)["a"]) == {0, 1}


def test_where_not_all_can_fit_the_smaller_ones_do_not(read: Read) -> None:
    """
    7, 6 and 5 CPUs on two NUMA nodes of 8: the file is read, and who lacks CPUs is a misfit.
    """
    instance = read(text(ls("c", 5), ls("b", 6), ls("a", 7)))
    held = {name: min(numas) for name, numas in where(instance).items()}

    assert held["a"] != held["b"]
    assert {m.pod[1] for m in misfits_of_instance(instance)} >= {"c"}


def test_the_guess_depends_neither_on_the_order_nor_on_who_may_move(read: Read) -> None:
    """
    The same pods in another order, some of them immovable, are where they were.
    """
    pods = [ls("a", 5, 1), ls("b", 4, 2), ls("c", 4, 3), ls("d", 3, 4)]
    first = where(read(text(*pods)))

    rng = Random(3)
    for _ in range(6):
        some = [pod + rng.choice(("", ", movable: false")) for pod in rng.sample(pods, 4)]
        moving = text(*some).replace("kind: Instance", "kind: Instance\nmoveBudget: 2")
        assert where(read(moving)) == first


def test_hugepages_are_guessed_with_the_memory(read: Read) -> None:
    """
    Pages are of one NUMA node, where most of them are free; memory and CPUs follow there.
    """
    pages = 'hugepages: {"1": {1Gi: 8}}}]'
    body = text(ls("a", 2, 1).replace("1Gi}", "1Gi, hugepages-1Gi: 4Gi}"), sizes=(64, 64)).replace(
        "SingleNUMANode}]", f"SingleNUMANode, {pages}"
    )
    instance = read(body)
    (runner,) = instance.running

    assert runner.placement.hugepages == ((1, GIB, 4),)
    assert where(instance) == {"a": {1: 1}}
    assert runner.guessed


# What is said of a place that was guessed.


@pytest.mark.parametrize("engine", [Engine.AUTO, Engine.EXACT])
def test_a_never_that_hangs_on_a_guess_says_so(
    engine: Engine, tmp_path: Path, placer: Placer
) -> None:
    """
    The reason has a field for it, words for it, and so have verdict and file.
    """
    file, answered = tmp_path / "a.yaml", tmp_path / "p.json"
    guess = text(ls("a", 4, 1), ls("b", 6, 1), waiting=["name: p, qos: LSR, requests: {cpu: 5}"])
    file.write_text(guess)
    instance = load_instance([file])
    answer = expect(Infeasible, answer_to(instance, engine))

    (left_out,) = answer.unplaced
    verdict, *_ = left_out.why
    assert isinstance(verdict, Blocked)
    assert verdict.guessed == 1
    assert "guessed" in left_out.reasons[0]
    assert left_out.guessed
    assert answer.guessed
    arguments = ["solve", str(file), "--workers", "1", "--output", str(answered)]
    shown = placer(*arguments, code=ExitCode.NOT_ALL).flat
    assert "if running pods are on the NUMA nodes that were guessed" in shown
    assert '"guessed": true' in answered.read_text()


def test_a_never_that_hangs_on_none_says_nothing(read: Read) -> None:
    """
    The same where the memory is said, where no NUMA node could do it, and where CPUs are short.
    """
    said = [
        ls("a", 4, 1, ', memory: {"0": 1Gi}'),
        ls("b", 6, 1, ', memory: {"1": 1Gi}'),
    ]
    waiting = ["name: p, qos: LSR, requests: {cpu: 5}"]
    worlds = [
        text(*said, waiting=waiting),
        text(ls("a", 4), ls("b", 6), waiting=["name: p, qos: LSR, requests: {cpu: 9}"]),
        text(ls("a", 4), ls("b", 6), waiting=["name: p, qos: LSR, requests: {cpu: 7}"]),
        text(ls("a", 0, 20), waiting=["name: p, qos: LSR, requests: {cpu: 8, memory: 97Gi}"]),
    ]
    for body in worlds:
        answer = expect(Infeasible, answer_to(read(body)))

        assert not answer.guessed
        assert "guessed" not in " ".join(answer.unplaced[0].reasons)


def test_memory_that_a_pod_waits_for_may_be_guessed_away(read: Read) -> None:
    """
    An LSR pod wants 40Gi of one NUMA node; 30Gi of 64 were guessed to be where it could be had.
    """
    waiting = "name: p, qos: LSR, numaPolicy: SingleNUMANode, requests: {cpu: 1, memory: 40Gi}"
    instance = read(text(lsr("o", "0,8", 2, 30), waiting=[waiting], policy="None"))
    answer = expect(Infeasible, answer_to(instance))

    verdict = answer.unplaced[0].why[0]
    assert isinstance(verdict, Blocked)
    assert verdict.guessed == 1


def test_a_gang_hears_of_a_guess_too(read: Read) -> None:
    """
    Two members of 4 CPUs would fit on two free NUMA nodes; the running pods are on both.
    """
    gang = """
gangs:
  - name: g
    pods: [{name: m, replicas: 2, qos: LSR, requests: {cpu: 4}}]
"""
    body = text(ls("a", 3, 1), ls("b", 6, 1)) + gang
    answer = expect(Infeasible, answer_to(read(body)))

    few = [why for left in answer.unplaced for why in left.why if isinstance(why, FewMembers)]
    assert few
    assert all(one.guessed for one in few)
    assert any("guessed" in text for left in answer.unplaced for text in left.reasons)


def test_a_guess_is_written_as_a_guess(read: Read) -> None:
    """
    What is read back is the same place, and still a guess.
    """
    instance = read(text(ls("a", 3), ls("b", 3, 2, ', memory: {"1": 2Gi}')))
    again = reread(instance, lambda _: False)

    assert [r.guessed for r in again.running] == [True, False]
    assert again.running == instance.running


# Random worlds: if any guess fits, so does ours.


@dataclass(frozen=True)
class World:
    """A node with running pods; `free` are those whose memory nobody places."""

    body: str
    cpus: int
    sizes: tuple[int, ...]
    free: tuple[tuple[str, int, int], ...]
    policy: str


def drawn(seed: int) -> World:
    """Draw a node of 2 or 3 NUMA nodes, tight in CPUs and in memory."""
    rng = Random(f"guessed-{seed}")
    count, each = rng.choice((2, 2, 3)), rng.choice((4, 6, 8))
    sizes = tuple(rng.randint(2, 8) for _ in range(count))
    policy = rng.choice(("SingleNUMANode", "SingleNUMANode", "Restricted"))
    numas = [
        f"{{id: {i}, memory: {size}Gi, cpus: {i * each}-{i * each + each - 1}}}"
        for i, size in enumerate(sizes)
    ]
    left = list(sizes)
    taken = [0] * count
    rows, free = [], []
    for i in range(rng.randint(0, 2)):
        home = rng.randrange(count)
        gib, cpus = rng.randint(0, left[home]), rng.randint(1, max(1, each // 2))
        if taken[home] + cpus >= each:
            continue
        first = home * each + taken[home]
        held = f'{{"{home}": {gib}Gi}}'
        rows.append(
            lsr(f"o{i}", f"{first}-{first + cpus - 1}", cpus, gib, f", memory: {held}")
            if gib
            else f"name: o{i}, node: n, qos: LSR, cpuset: '{first}-{first + cpus - 1}', "
            f"requests: {{cpu: {cpus}}}"
        )
        taken[home] += cpus
        left[home] -= gib
    total = sum(left)
    for i in range(rng.randint(2, 5)):
        gib = rng.randint(1, max(1, max(left) // 2))
        if gib > total:
            break
        total -= gib
        milli = rng.choice((0, 500, 1000, 1500, 2000, 3000, 1000 * each, 500 * each))
        free.append((f"w{i}", milli, gib))
        rows.append(ls(f"w{i}", milli / 1000, gib))
    rng.shuffle(rows)
    body = (
        "apiVersion: placer/v1\nkind: Instance\nmachines:\n  - name: box\n    numaNodes: ["
        + ", ".join(numas)
        + f"]\nnodes: [{{name: n, machine: box, numaPolicy: {policy}}}]\nrunning:\n"
        + "\n".join(f"  - {{{row}}}" for row in rows)
        + "\n"
    )
    return World(body, each, sizes, tuple(free), policy)


def fits(instance: Instance) -> bool:
    """Return whether each running pod could come to where it is, as far as NUMA nodes go."""
    rules = {"bound-pool", "alignment", "memory"}
    return rules.isdisjoint(misfit.rule for misfit in misfits_of_instance(instance))


def ways(world: World) -> Iterator[Mapping[str, Mapping[int, int]]]:
    """Yield every way to lay the memory of the pods whose memory is free, in whole Gi."""
    numas = range(len(world.sizes))

    def splits(gib: int) -> Iterator[dict[int, int]]:
        for size in range(1, len(world.sizes) + 1):
            for some in combinations(numas, size):
                for cuts in combinations(range(1, gib), size - 1):
                    parts = [b - a for a, b in zip((0, *cuts), (*cuts, gib), strict=True)]
                    yield dict(zip(some, parts, strict=True))

    names = [name for name, _, _ in world.free]
    for choice in product(*(list(splits(gib)) for _, _, gib in world.free)):
        yield dict(zip(names, choice, strict=True))


MOST_WAYS = 4_000


def some_way_fits(world: World, instance: Instance) -> bool | None:
    """Return whether any way to lay the memory lets all fit; None: there are too many."""
    for count, way in enumerate(ways(world)):
        if count == MOST_WAYS:
            return None
        running = tuple(
            replace(
                r,
                placement=replace(
                    r.placement,
                    memory_bytes=tuple((n, gib * GIB) for n, gib in sorted(laid.items())),
                    cpuset=frozenset(),
                    cpu_milli=None,
                ),
            )
            if (laid := way.get(r.pod.name)) is not None
            else r
            for r in instance.running
        )
        tried = _in_their_pools(replace(instance, running=running))
        if fits(tried):
            return True
    return False


def _in_their_pools(instance: Instance) -> Instance:
    """Let each bound pod run in the pool of the NUMA nodes of its memory."""
    (node,) = instance.nodes
    topology = node.machine.topology
    owned: frozenset[int] = frozenset().union(
        *(r.placement.cpuset for r in instance.running if r.pod.spec.qos.owns_cpus)
    )
    found = []
    for r in instance.running:
        if not r.pod.spec.qos.owns_cpus:
            homes = numa_nodes_bound_to(r.placement, r.pod.spec, node)
            cpus = frozenset(
                c for c in topology.online - owned if topology.cpu[c].numa_node in homes
            )
            parts = tuple(replace(part, cpuset=cpus) for part in r.placement.containers)
            milli = (r.pod.spec.requests.cpu_milli, *[0] * len(homes))
            counted = tuple(zip(sorted(homes), milli, strict=False))
            place = replace(r.placement, cpuset=cpus, containers=parts, cpu_milli=counted)
            r = replace(r, placement=place)
        found.append(r)
    return replace(instance, running=tuple(found))


def check(seeds: Sequence[int], read: Read) -> tuple[int, int]:
    """Hold guesses against every other way; return how many fit, and how many do not."""
    fitting = failing = 0
    for seed in seeds:
        world = drawn(seed)
        instance = read(world.body)
        if fits(_in_their_pools(instance)):
            fitting += 1
            continue
        some = some_way_fits(world, instance)
        assert not some, f"seed {seed}: a guess that fits was not found\n{world.body}"
        failing += some is False
    return fitting, failing


@pytest.mark.parametrize("batch", range(8))
def test_if_any_guess_fits_ours_does(batch: int, read: Read) -> None:
    """
    On 120 worlds: where ours does not fit, no other one does, by trying them all.
    """
    fitting, failing = check(range(15 * batch, 15 * batch + 15), read)

    assert fitting
    assert fitting + failing > 10


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_if_any_guess_fits_ours_does_on_many_worlds(batch: int, read: Read) -> None:
    """
    The same on 2,000 others.
    """
    check(range(10_000 + 200 * batch, 10_200 + 200 * batch), read)
