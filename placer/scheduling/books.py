"""The state of a cluster as a value: a call makes a new one, or leaves the old one be.

The words are the accounts: what is free is always counted from them, so nothing can
drift away from a fresh count. Kept besides are only the pools of LS and BE pods, node by
node, and where each pod is. A change copies rows of references; what it does not touch
stays the same objects, by which later calls know what they need not look at again.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from placer.realise.pools import in_their_pools
from placer.scheduling.errors import UnknownNodeError
from placer.scheduling.shared import Shared
from placer.scheduling.words import Batch, Key
from placer.search.ground import Ground, Memory, known_ground
from placer.state.account import Account, account_of, alike_when_idle
from placer_models.bound import binds, bound_to
from placer_models.cluster import Instance, Node, Nodes, RunningPod
from placer_models.pieces import Joined, differing
from placer_models.placement import PodPlacement


@dataclass(frozen=True, slots=True, eq=False)
class Book:
    """One node and what runs there; ``book_of`` makes it, and it never changes.

    Attributes:
        pods: Ascending by key; LS and BE pods run in the pools that the others leave.
        counted: The pods as accounts can read them.
        account: What is left on the node.

    """

    node: Node
    pods: tuple[RunningPod, ...]
    counted: tuple[RunningPod, ...]
    account: Account


@dataclass(frozen=True, slots=True, eq=False)
class Books:
    """All nodes of a cluster, ascending by name.

    Attributes:
        nodes: One object as long as no node comes, goes or becomes another one.
        books: Of each node.
        running: What each of them has counted.
        accounts: What is left on each node.
        node_of: Key of a running pod -> name of its node.
        version: Counts the changes.

    """

    nodes: Nodes
    books: tuple[Book, ...]
    running: tuple[tuple[RunningPod, ...], ...]
    accounts: tuple[Account, ...]
    node_of: Shared[Key, str]
    version: int

    def __contains__(self, name: str) -> bool:
        """Return whether there is a node of the name."""
        return name in self.nodes.position

    def of(self, name: str) -> Book:
        """Return the book of a node.

        Raises:
            UnknownNodeError: There is no such node.

        """
        position = self.nodes.position
        if name not in position:
            raise UnknownNodeError(name, position)
        return self.books[position[name]]

    def asking(self, batch: Batch) -> Instance:
        """Return the problem of a batch."""
        return Instance(
            nodes=self.nodes,
            gangs=batch.gangs,
            groups=batch.groups,
            running=Joined(self.running),
        )

    def ground(self, memory: Memory) -> Ground:
        """Return the same, counted: of nodes that did not change, nothing anew.

        Args:
            memory: What earlier batches have left.

        """
        return known_ground(self.nodes, self.running, self.accounts, memory)

    def with_node(self, node: Node) -> "Books":
        """Return the books with the node in place of the one of its name, or besides."""
        if node.name in self:
            before = self.of(node.name)
            pods = (_as_bound(runner, before.node, node) for runner in before.pods)
            return self._with((book_of(node, pods),))
        more = (*self.books, book_of(node, ()))
        return _bound(sorted(more, key=_name_of), self.node_of, self.version + 1)

    def without_node(self, name: str) -> "Books":
        """Return the books without a node on which nothing runs."""
        left = (book for book in self.books if book.node.name != name)
        return _bound(left, self.node_of, self.version + 1)

    def with_pods(self, pods: Iterable[RunningPod]) -> "Books":
        """Return the books with more pods, each on the node of its place."""
        new: dict[str, list[RunningPod]] = {}
        for runner in pods:
            new.setdefault(runner.placement.node, []).append(runner)
        return self._with(
            book_of(self.of(name).node, (*self.of(name).pods, *more)) for name, more in new.items()
        )

    def without_pods(self, keys: Iterable[Key]) -> "Books":
        """Return the books without some of the pods that run."""
        gone = set(keys)
        touched = {self.node_of[key] for key in gone}
        return self._with(
            book_of(
                self.of(name).node,
                (runner for runner in self.of(name).pods if runner.pod.key not in gone),
            )
            for name in touched
        )

    def _with(self, new: Iterable[Book]) -> "Books":
        """Return the books with new ones of nodes that are there."""
        books, running, accounts = list(self.books), list(self.running), list(self.accounts)
        gone: set[Key] = set()
        came: dict[Key, str] = {}
        touched = []
        for book in new:
            position = self.nodes.position[book.node.name]
            gone |= {runner.pod.key for runner in books[position].pods}
            came |= {runner.pod.key: book.node.name for runner in book.pods}
            books[position], running[position] = book, book.counted
            accounts[position] = book.account
            touched.append(position)
        if not touched:
            return self
        same = all(books[position].node is self.nodes[position] for position in touched)
        return Books(
            self.nodes if same else Nodes(book.node for book in books),
            tuple(books),
            tuple(running),
            tuple(accounts),
            self.node_of.changed(
                gone - came.keys(), {key: came[key] for key in came.keys() - gone}
            ),
            self.version + 1,
        )


def books_of(nodes: Iterable[Node], running: Iterable[RunningPod], version: int) -> Books:
    """Open the books of nodes with names of their own, and of pods on them.

    Idle nodes that differ in names alone share their account.
    """
    on_node: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for runner in running:
        on_node[runner.placement.node].append(runner)
    idle: dict[Hashable, Account] = {}
    books = []
    for node in sorted(nodes, key=lambda node: node.name):
        here = on_node.get(node.name, ())
        alike = alike_when_idle(node)
        known = not here and alike in idle
        book = Book(node, (), (), idle[alike]) if known else book_of(node, here)
        if not here:
            idle[alike] = book.account
        books.append(book)
    node_of = Shared.of((r.pod.key, name) for name, here in on_node.items() for r in here)
    return _bound(books, node_of, version)


def _bound(books: Iterable[Book], node_of: Shared[Key, str], version: int) -> Books:
    """Return books that are in order as those of a cluster."""
    books = tuple(books)
    return Books(
        Nodes(book.node for book in books),
        books,
        tuple(book.counted for book in books),
        tuple(book.account for book in books),
        node_of,
        version,
    )


def _name_of(book: Book) -> str:
    return book.node.name


def book_of(node: Node, pods: Iterable[RunningPod]) -> Book:
    """Open the book of a node: every LS and BE pod moves to the pool as it is now (C7)."""
    found = tuple(sorted(pods, key=lambda runner: runner.pod.key))
    counted = _counted(node, found)
    account = account_of(node, counted)
    settled = tuple(in_their_pools(node, found, account))
    if settled != found:
        counted = _counted(node, settled)
        account = account_of(node, counted)
    return Book(node, settled, counted, account)


def followers(before: Books, after: Books) -> tuple[PodPlacement, ...]:
    """Return the new places of pods that run in both and whose CPUs differ."""
    if len(before.books) != len(after.books):
        return ()  # a node has come or gone, on which nothing runs
    moved = []
    for position in differing(before.books, after.books):
        places = {runner.pod.key: runner.placement for runner in before.books[position].pods}
        moved += [
            runner.placement
            for runner in after.books[position].pods
            if runner.pod.key in places and places[runner.pod.key] != runner.placement
        ]
    return tuple(moved)


def _as_bound(runner: RunningPod, before: Node, node: Node) -> RunningPod:
    """Return a pod bound, or not, as it was: another policy of its node moves no running pod."""
    place, spec = runner.placement, runner.pod.spec
    floated = place.cpu_milli is None and not bound_to(place, spec, before)
    if floated and binds(spec, node):
        return replace(runner, placement=replace(place, cpu_milli=()))
    return runner


def _counted(node: Node, pods: tuple[RunningPod, ...]) -> tuple[RunningPod, ...]:
    """Leave out what is on NUMA nodes that the machine has no more, since it was updated."""
    known = {numa.id for numa in node.machine.topology.numa_nodes}

    def cleaned(runner: RunningPod) -> RunningPod:
        place = runner.placement
        memory = tuple(held for held in place.memory_bytes if held[0] in known)
        pages = tuple(held for held in place.hugepages if held[0] in known)
        milli = place.cpu_milli and tuple(part for part in place.cpu_milli if part[0] in known)
        if (memory, pages, milli) == (place.memory_bytes, place.hugepages, place.cpu_milli):
            return runner
        place = replace(place, memory_bytes=memory, hugepages=pages, cpu_milli=milli)
        return replace(runner, placement=place)

    return tuple(map(cleaned, pods))
