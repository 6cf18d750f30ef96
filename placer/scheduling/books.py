"""The state of a cluster as a value: a call makes a new one, or leaves the old one be.

The words are the accounts: what is free is always counted from them, so nothing can
drift away from a fresh count. Kept besides are only the pools of LS and BE pods, node by
node, and where each pod is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from placer.realise.containers import in_pool
from placer.scheduling.errors import UnknownNodeError
from placer.scheduling.words import Batch, Key
from placer.search.ground import Ground, Memory, known_ground
from placer.state.account import Account, account_of
from placer.state.burst import pool_within
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import PodPlacement
from placer_models.policy import QosClass


@dataclass(frozen=True)
class Book:
    """One node and what runs there; ``book_of`` makes it, and it never changes.

    Attributes:
        pods: Ascending by key; LS and BE pods run in the pools that the others leave.
        changed: The version in which the node or its pods last changed.

    """

    node: Node
    pods: tuple[RunningPod, ...]
    changed: int

    @cached_property
    def account(self) -> Account:
        """What is left on the node."""
        return account_of(self.node, self.counted)

    @cached_property
    def counted(self) -> tuple[RunningPod, ...]:
        """The pods as accounts can read them."""
        return _counted(self.node, self.pods)


@dataclass(frozen=True, slots=True)
class Books:
    """All nodes of a cluster.

    Attributes:
        book: Name of a node -> its book, ascending.
        node_of: Key of a running pod -> name of its node.
        version: Counts the changes.

    """

    book: Mapping[str, Book]
    node_of: Mapping[Key, str]
    version: int

    def of(self, name: str) -> Book:
        """Return the book of a node.

        Raises:
            UnknownNodeError: There is no such node.

        """
        if name not in self.book:
            raise UnknownNodeError(name, self.book)
        return self.book[name]

    def asking(self, batch: Batch) -> Instance:
        """Return the problem of a batch."""
        return Instance(
            nodes=tuple(book.node for book in self.book.values()),
            gangs=batch.gangs,
            groups=batch.groups,
            running=tuple(chain.from_iterable(book.counted for book in self.book.values())),
        )

    def ground(self, memory: Memory) -> Ground:
        """Return the same, counted: of nodes that did not change, nothing anew.

        Args:
            memory: What earlier batches have left.

        """
        books = self.book.values()
        return known_ground(
            (book.node for book in books),
            (book.counted for book in books),
            [book.account for book in books],
            memory,
        )

    def with_node(self, node: Node) -> "Books":
        """Return the books with the node in place of the one of its name, or besides."""
        pods = self.book[node.name].pods if node.name in self.book else ()
        return self._with((book_of(node, pods, self.version + 1),))

    def without_node(self, name: str) -> "Books":
        """Return the books without a node on which nothing runs."""
        left = {other: book for other, book in self.book.items() if other != name}
        return Books(left, self.node_of, self.version + 1)

    def with_pods(self, pods: Iterable[RunningPod]) -> "Books":
        """Return the books with more pods, each on the node of its place."""
        new: dict[str, list[RunningPod]] = {}
        for runner in pods:
            new.setdefault(runner.placement.node, []).append(runner)
        return self._with(
            book_of(self.book[name].node, (*self.book[name].pods, *more), self.version + 1)
            for name, more in new.items()
        )

    def without_pods(self, keys: Iterable[Key]) -> "Books":
        """Return the books without some of the pods that run."""
        gone = set(keys)
        touched = {self.node_of[key] for key in gone}
        return self._with(
            book_of(
                self.book[name].node,
                (runner for runner in self.book[name].pods if runner.pod.key not in gone),
                self.version + 1,
            )
            for name in touched
        )

    def _with(self, books: Iterable[Book]) -> "Books":
        new = {book.node.name: book for book in books}
        if not new:
            return self
        book = {**self.book, **new}
        if len(book) > len(self.book):
            book = dict(sorted(book.items()))
        node_of = dict(self.node_of)
        for name in new.keys() & self.book.keys():
            for runner in self.book[name].pods:
                del node_of[runner.pod.key]
        node_of |= {r.pod.key: name for name, b in new.items() for r in b.pods}
        return Books(book, node_of, self.version + 1)


def books_of(nodes: Iterable[Node], running: Iterable[RunningPod], version: int) -> Books:
    """Open the books of nodes with names of their own, and of pods on them."""
    on_node: dict[str, list[RunningPod]] = {
        node.name: [] for node in sorted(nodes, key=lambda node: node.name)
    }
    for runner in running:
        on_node[runner.placement.node].append(runner)
    node_of = {r.pod.key: name for name, here in on_node.items() for r in here}
    by_name = {node.name: node for node in nodes}
    return Books(
        {name: book_of(by_name[name], here, version) for name, here in on_node.items()},
        node_of,
        version,
    )


def book_of(node: Node, pods: Iterable[RunningPod], changed: int) -> Book:
    """Open the book of a node: every LS and BE pod moves to the pool as it is now (C7)."""
    ordered = tuple(sorted(pods, key=lambda runner: runner.pod.key))
    left = account_of(node, _counted(node, ordered))
    pools = {QosClass.LS: left.pool, QosClass.BE: left.best_effort_pool}

    def in_its_pool(runner: RunningPod) -> RunningPod:
        spec, place = runner.pod.spec, runner.placement
        if spec.qos.owns_cpus:
            return runner
        pool = pool_within(pools[spec.qos], runner, node.machine.topology)
        containers = in_pool(spec.containers, pool, place.containers)
        if (place.cpuset, place.containers) == (pool, containers):
            return runner
        return RunningPod(runner.pod, replace(place, cpuset=pool, containers=containers))

    return Book(node, tuple(map(in_its_pool, ordered)), changed)


def followers(before: Books, after: Books) -> tuple[PodPlacement, ...]:
    """Return the new places of pods that run in both and whose CPUs differ."""
    moved = []
    for name, book in after.book.items():
        old = before.book.get(name)
        if old is None or old is book:
            continue
        places = {runner.pod.key: runner.placement for runner in old.pods}
        moved += [
            runner.placement
            for runner in book.pods
            if runner.pod.key in places and places[runner.pod.key] != runner.placement
        ]
    return tuple(moved)


def _counted(node: Node, pods: tuple[RunningPod, ...]) -> tuple[RunningPod, ...]:
    """Leave out what is on NUMA nodes that the machine has no more, since it was updated."""
    known = {numa.id for numa in node.machine.topology.numa_nodes}

    def cleaned(runner: RunningPod) -> RunningPod:
        place = runner.placement
        memory = tuple(held for held in place.memory_bytes if held[0] in known)
        pages = tuple(held for held in place.hugepages if held[0] in known)
        if (memory, pages) == (place.memory_bytes, place.hugepages):
            return runner
        return RunningPod(runner.pod, replace(place, memory_bytes=memory, hugepages=pages))

    return tuple(map(cleaned, pods))
