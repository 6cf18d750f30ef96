"""Places of simple pods on simple nodes, one after the other, by columns alone.

The greedy path writes a Problem for each pod, looks into nodes, and turns counts into ids. Where
pods, nodes and what runs there are simple, all of that follows from a few numbers: the places are
the same to the last id, at a fraction of the cost. Where the pod or the best node is not simple
there is no answer from here, and the greedy path gives it. The judge looks at these places as at
all others. The words of a place, its pool, memory, GPUs and environment, follow from its ids.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from placer.counting.account import Account
from placer.greedy.columns import Indices, Mask
from placer.greedy.expected.scorer import ExpectedScorer
from placer.search.by_columns.ask_ranking import SimpleNodeRanking
from placer.search.by_columns.simple_asks import SimplePodAsk, simple_ask
from placer.search.by_columns.simple_columns import SimpleNodeColumns
from placer.state.fits import best_pair_minimum_of, fit_of
from placer.state.problem_cache import ProblemCache
from placer.state.requirements import PodRequirements, relevant_facts_of
from placer_models.cluster import Node, NodesWithCachedFacts
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.environment import Env
from placer_models.incremental import PersistentTuple
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Gang, PodSpec
from placer_models.policy import AlignmentPolicy
from placer_models.problem.problem import Fit
from placer_models.recent import RecentlyUsedCache
from placer_models.visible_devices import UNNAMED_GPUS, gpu_environment

MOST_RANKINGS, MOST_RANKED = 1_000, 8_000_000
"""How many rankings are kept at most, and how many nodes they have together, at 16 bytes each."""

MOST_CHANGES = 8
"""How many changes of each node are noted before all that is kept begins anew."""


class SimplePodPlaceResult(NamedTuple):
    """What was found for a pod; None if no node has a place for it."""

    place: PodPlacement | None


class SimplePodPlacer:
    """Finds places, and keeps what it knows of nodes from call to call. For one thread at a time.

    No answer depends on what is kept.
    """

    def __init__(self) -> None:
        """Begin with no nodes."""
        self._nodes: tuple[Node, ...] = NodesWithCachedFacts()
        self._columns = SimpleNodeColumns(NodesWithCachedFacts(), PersistentTuple(()))
        self._words = SimplePlaceBuilder(())
        self._scorer: ExpectedScorer | None = None
        self._rankings = RecentlyUsedCache[PodSpec, SimpleNodeRanking | None](1)

    def columns_of(
        self, nodes: NodesWithCachedFacts, accounts: PersistentTuple[Account]
    ) -> SimpleNodeColumns:
        """Return the columns of the nodes as they are now."""
        most = MOST_CHANGES * (len(nodes) + 1_000)
        if self._nodes is not nodes or len(self._columns.changed) > most:
            self._nodes = nodes
            self._columns = SimpleNodeColumns(nodes, accounts)
            self._words = SimplePlaceBuilder(nodes)
            self._rankings.clear()
            self._rankings.most = max(1, min(MOST_RANKINGS, MOST_RANKED // max(1, len(nodes))))
        else:
            self._columns.turn_to(accounts)
        return self._columns

    def find(
        self, gang: Gang, scorer: ExpectedScorer, cache: ProblemCache
    ) -> SimplePodPlaceResult | None:
        """Return what a call of its own would find for a lone pod, and take its place.

        The answer is None if numbers alone do not tell.

        Args:
            gang: The gang that the pod is alone in.
            scorer: Chooses among the nodes of `columns_of`.
            cache: What was worked out for earlier Problems.

        """
        columns, (pod,) = self._columns, gang.pods
        ask = simple_ask(pod.spec) if columns.are_of_use else None
        if ask is None:
            return None
        if scorer is not self._scorer:
            self._scorer = scorer
            for known in filter(None, self._rankings.values()):
                known.forget()
        ranking = self._rankings.of(pod.spec, lambda: self._ranked(pod.spec, ask, cache))
        if ranking is None:
            return None
        at = ranking.best(columns, scorer)
        if at is None:
            return SimplePodPlaceResult(None)
        if not columns.is_simple(at):
            return None  # If there is a place on it, that is the best.
        gpus = ranking.gpus_on(at, columns)
        place = self._words.place(gang, ask, at, columns.account(at), gpus)
        columns.take(at, ask, gpus)
        return SimplePodPlaceResult(place)

    def _ranked(
        self, spec: PodSpec, ask: SimplePodAsk, cache: ProblemCache
    ) -> SimpleNodeRanking | None:
        """Return a ranking of the nodes to which pods of a spec may come at all.

        None if more than numbers decides: they would rather have some nodes.
        """
        relevant = relevant_facts_of((PodRequirements(spec, (), ""),))
        kinds, numbers = cache.kinds_of(self._nodes, relevant)
        fits = [cache.memo((fit_of, spec), (kind,), partial(fit_of, spec, kind)) for kind in kinds]
        kind_of: Indices = np.array(numbers, dtype=np.intp)
        simple = set(kind_of[self._columns.simple].tolist())
        if best_pair_minimum_of(spec, kinds) or not all(_says_nothing(fits[at]) for at in simple):
            return None
        may: Mask = np.array([isinstance(fit, Fit) for fit in fits], dtype=np.bool_)
        return SimpleNodeRanking(ask, may[kind_of])


def _says_nothing(fit: object) -> bool:
    """Return whether a fit makes no place on a node better than another, and rules none out."""
    return not isinstance(fit, Fit) or (
        fit.alignment is AlignmentPolicy.NONE
        and fit.cell_limit is None
        and fit.joint is None
        and not fit.containers
        and fit.locality is None
        and not fit.weight_missed
        and not fit.best_pair_sum
    )


class SimplePlaceBuilder:
    """The words for places on some nodes; those that are alike on many of them are made once."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        """Begin with none.

        Args:
            nodes: The nodes, which are simple.

        """
        self._nodes = nodes
        # The nodes keep their machines alive, so that ids tell them apart.
        self._envs: dict[tuple[int, bool, tuple[int, ...]], Env] = {}
        self._grants: dict[tuple[str, int, DeviceShare | None], DeviceGrant] = {}

    def place(
        self, gang: Gang, ask: SimplePodAsk, at: int, account: Account, gpus: Sequence[int]
    ) -> PodPlacement:
        """Return the place of a pod.

        Args:
            gang: The gang that it is alone in.
            ask: What it asks for.
            at: The index of its node.
            account: What was left there before this pod came, and others like it.
            gpus: The positions of its GPUs among the healthy ones, ascending.

        """
        node, (pod,) = self._nodes[at], gang.pods
        healthy = account.devices.healthy
        grants = tuple([self._grant(healthy[position], ask.share) for position in gpus])
        env = self._env(node, tuple([grant.minor for grant in grants]))
        pool = account.pools.shared.cpus
        (numa,) = account.memory.bytes_in
        return PodPlacement(
            name=pod.name,
            namespace=pod.namespace,
            gang=None if gang.lone else gang.name,
            node=node.name,
            cpuset=pool,
            containers=(ContainerPlacement(ask.container, pool, devices=grants, env=env),),
            memory_bytes=((numa, ask.memory_bytes),) if ask.memory_bytes else (),
            devices=grants,
            env=env,
        )

    def _grant(self, device: Device, share: DeviceShare | None) -> DeviceGrant:
        key = device.id, device.minor, share
        found = self._grants.get(key)
        if found is None:
            found = self._grants[key] = DeviceGrant(GPU, device.minor, device.id, share)
        return found

    def _env(self, node: Node, minors: tuple[int, ...]) -> Env:
        unnamed = UNNAMED_GPUS in node.labels
        key = id(node.machine), unnamed, minors
        found = self._envs.get(key)
        if found is None:
            gpus = [device for device in node.machine.devices if device.type == GPU]
            found = ()
            if gpus:
                found = gpu_environment(set(minors), gpus, has_instances=False, unnamed=unnamed)
            self._envs[key] = found
        return found
