"""Running pods as affinity and topology spread look at them: who runs on which nodes."""

from collections.abc import Iterator, Mapping

from placer.counting.account import Account, Side
from placer.state.label_index import PodLabelIndex, traits_seen_by_affinity_terms
from placer_models.affinity import AffinityTerm
from placer_models.incremental import PersistentTuple, changed_indices
from placer_models.relations import DomainLimit, asks_something_of_newcomers


class RunningPodIndex:
    """The sides of all pods that run, found by their labels.

    Brought up to date by the accounts that have changed, and so kept from one Problem to the next.
    """

    def __init__(self, accounts: PersistentTuple[Account] | None = None) -> None:
        """Begin with the pods of the accounts, if there are any."""
        self._accounts: PersistentTuple[Account] = PersistentTuple(())
        self._on_nodes: dict[Side, dict[int, int]] = {}
        self._affine: dict[Side, None] = {}
        self._index: PodLabelIndex[Side] = PodLabelIndex()
        if accounts is not None:
            self.update(accounts)

    @property
    def affine(self) -> Iterator[Side]:
        """The sides that go on asking of pods that come."""
        return iter(self._affine)

    def on_nodes(self, side: Side) -> Mapping[int, int]:
        """Return the nodes where pods have the side -> how many."""
        return self._on_nodes.get(side, {})

    def meant(self, term: AffinityTerm, namespace: str) -> Iterator[Side]:
        """Yield the sides that the term of a pod of the namespace means."""
        return self._index.meant(term, namespace)

    def counted(self, limit: DomainLimit) -> Iterator[Side]:
        """Yield the sides that count to a limit of domains."""
        for side, _ in self._index.candidates(limit.label_choices):
            if limit.means(*side):
                yield side

    def update(self, accounts: PersistentTuple[Account]) -> None:
        """Bring all up to date; accounts that are the same objects as before have not changed."""
        if len(accounts) != len(self._accounts):
            self._accounts = PersistentTuple(())
            self._on_nodes, self._affine, self._index = {}, {}, PodLabelIndex()
            for node, account in enumerate(accounts):
                self._enter(node, account.tenants)
        else:
            for node in changed_indices(self._accounts, accounts):
                self._leave(node, self._accounts[node].tenants)
                self._enter(node, accounts[node].tenants)
        self._accounts = accounts

    def _enter(self, node: int, tenants: Mapping[Side, int]) -> None:
        for side, count in tenants.items():
            nodes = self._on_nodes.get(side)
            if nodes is None:
                nodes = self._on_nodes[side] = {}
                self._index.add(side, traits_seen_by_affinity_terms(*side))
                if asks_something_of_newcomers(side[0]):
                    self._affine[side] = None
            nodes[node] = count

    def _leave(self, node: int, tenants: Mapping[Side, int]) -> None:
        for side in tenants:
            nodes = self._on_nodes[side]
            del nodes[node]
            if not nodes:
                del self._on_nodes[side]
                self._affine.pop(side, None)
                self._index.remove(side)
