"""FGD (fragmentation gradient descent): the place after which typical pods can use the most.

The policy of "Beware of Fragmentation" (USENIX ATC '23). A node's fragmentation is what of its free
GPUs a typical pod cannot use, on average over typical pods, weighted by how many there are. A place
scores by how much fragmentation it adds: 100 / (1 + e^added), in whole GPUs, rounded down. So
places that differ by little are equal, and the first node has it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.greedy.columns import Indices, Mask, Numbers
from placer.greedy.scorer import ANY_GPU, NodeScores, ScorerNodeColumnsLeft, ScorerPodAsk
from placer_models.cluster import Node
from placer_models.demand import WHOLE_MILLI
from placer_models.device import GPU
from placer_models.device_share import WHOLE_PERCENT
from placer_models.node_rules import node_rules_allow
from placer_models.pod import PodSpec

Parts = NDArray[np.float64]

TYPICAL_PERCENT = 95
"""The commonest shapes of pods are typical, as many as make up this part of all pods."""

MOST_AT_ONCE = 2**21
"""How many pairs of a GPU and a typical pod are looked at in one go, to bound the memory."""


class FragmentationTypicalPod(NamedTuple):
    """What pods of one kind ask for, memory aside; the order is that of ties in count.

    Attributes:
        cpu_milli: CPUs.
        gpu_milli: How much of each GPU, in 1/1000.
        gpus: How many GPUs.
        where: The spec that tells on which nodes the pods may run.

    """

    cpu_milli: int
    gpu_milli: int
    gpus: int
    where: PodSpec


@dataclass(frozen=True, slots=True)
class FragmentationScoring:
    """FGD with its typical pods.

    Attributes:
        typical: (typical pod, how many such pods there are).
        all_pods: How many pods there are, typical or not.

    """

    typical: tuple[tuple[FragmentationTypicalPod, int], ...]
    all_pods: int

    @classmethod
    def of(cls, specs: Iterable[PodSpec]) -> "FragmentationScoring":
        """Return FGD for a list of pods, of which the commonest are typical."""
        counts: Counter[tuple[int, int, int, str]] = Counter()
        where: dict[tuple[int, int, int, str], PodSpec] = {}
        for spec in specs:
            key = _key_of(spec)
            counts[key] += 1
            where.setdefault(key, spec)
        ranked = sorted(counts, key=lambda key: (counts[key], key), reverse=True)
        typical, so_far = [], 0
        for key in ranked:
            typical.append((FragmentationTypicalPod(*key[:3], where[key]), counts[key]))
            so_far += counts[key]
            if 100 * so_far >= TYPICAL_PERCENT * counts.total():
                break
        return cls(tuple(typical), counts.total())

    def on(self, nodes: Sequence[Node]) -> "_Fragmentation":
        """Return a scorer for the nodes."""
        pods = [pod for pod, _ in self.typical]
        admitted: dict[tuple[tuple[str, str], ...], list[bool]] = {}
        rows = []
        for node in nodes:
            # Of what a node is, FGD's pods look at labels alone.
            if node.labels not in admitted:
                bare = Node(node.name, node.machine, labels=node.labels)
                admitted[node.labels] = [node_rules_allow(bare, pod.where) for pod in pods]
            rows.append(admitted[node.labels])
        counts = np.array([count for _, count in self.typical], dtype=np.float64)
        kept = counts.sum() / max(1, self.all_pods)
        return _Fragmentation(
            cpu_milli=np.array([pod.cpu_milli for pod in pods], dtype=np.int64),
            gpu_milli=np.array([pod.gpu_milli for pod in pods], dtype=np.int64),
            gpus=np.array([pod.gpus for pod in pods], dtype=np.int64),
            parts=counts / max(1, self.all_pods) / (kept or 1.0),
            admitted=np.array(rows, dtype=np.bool_).reshape(len(nodes), len(pods)),
        )


@dataclass(frozen=True, slots=True)
class _Fragmentation:
    """FGD on nodes that are known.

    Sums are made in floating point, in the published order: first for each reason why a typical
    pod cannot use GPUs, then over the reasons. Whether two places are equal may hang on the last
    bit, and places are to be those that were published.

    Attributes:
        cpu_milli: What each typical pod asks for.
        gpu_milli: What it asks of each of its GPUs.
        gpus: How many GPUs it asks for.
        parts: The part of all typical pods that such pods are.
        admitted: admitted[node, typical pod]: whether it may run there.

    """

    cpu_milli: Numbers
    gpu_milli: Numbers
    gpus: Numbers
    parts: Parts
    admitted: Mask

    def epoch(self, free: ScorerNodeColumnsLeft) -> None:
        """Scores depend on the pod and the node alone."""

    def score(self, ask: ScorerPodAsk, free: ScorerNodeColumnsLeft, nodes: Indices) -> NodeScores:
        """Return scores from 0 to 100 by the fragmentation that is added."""
        gpus, cpu = free.gpu_milli[nodes], free.cpu_milli[nodes]
        before = self._fragmentation(nodes, cpu, gpus)
        if not ask.is_share:
            after = self._fragmentation(nodes, cpu - ask.cpu_milli, _without(gpus, ask))
            return NodeScores(_points(before - after))
        at, gpu = (gpus >= ask.gpu_milli).nonzero()
        left = gpus[at]
        left[np.arange(len(at)), gpu] -= ask.gpu_milli
        after = self._fragmentation(nodes[at], cpu[at] - ask.cpu_milli, left)
        points: Numbers = np.full(gpus.shape, -1, dtype=np.int64)
        points[at, gpu] = _points(before[at] - after)
        best = np.argmax(points, axis=1)  # the first one of equal GPUs
        scores: Numbers = points[np.arange(len(nodes)), best]
        return NodeScores(scores, np.where(scores < 0, ANY_GPU, best))

    def _fragmentation(self, nodes: Indices, cpu_milli: Numbers, gpus: Numbers) -> Parts:
        """Return what a typical pod cannot use of each node on average, in 1/1000 GPU.

        Args:
            nodes: The nodes.
            cpu_milli: What each has left.
            gpus: gpus[position in ``nodes``, gpu]: what is left of each GPU, in 1/1000.

        """
        found: Parts = np.zeros(len(nodes))
        if not self.parts.size:
            return found
        step = max(1, MOST_AT_ONCE // max(1, gpus.shape[1] * len(self.parts)))
        for first in range(0, len(nodes), step):
            part = slice(first, first + step)
            left = gpus[part, np.newaxis, :]
            fits = left >= np.maximum(1, self.gpu_milli)[np.newaxis, :, np.newaxis]
            idle = np.add.reduce(gpus[part], axis=1)[:, np.newaxis]
            small = idle - np.add.reduce(left * fits, axis=2)
            has_gpus = np.add.reduce(fits, axis=2) >= self.gpus
            has_cpus = cpu_milli[part, np.newaxis] >= self.cpu_milli
            # Reasons in the published order; a pod that runs counts with the first of the second.
            runs = has_gpus & has_cpus
            reason = np.where(has_gpus & ~has_cpus, _NO_CPU, np.where(has_cpus, _NO_GPU, _NEITHER))
            reason[~self.admitted[nodes[part]]] = _NOT_ADMITTED
            runs &= self.admitted[nodes[part]]
            no_gpu = self.gpus == 0
            reason[:, no_gpu] = np.where(has_cpus[:, no_gpu], _ASKS_NONE, _ASKS_NONE_NO_CPU)
            runs[:, no_gpu] = False
            lost = self.parts * np.where(runs, small, idle)
            of_each = np.where(reason == _REASONS, lost, 0.0)
            # Accumulated, not reduced: that adds one after the other.
            sums = np.add.accumulate(of_each, axis=2)[:, :, -1]
            found[part] = np.add.accumulate(sums, axis=0)[-1]
        return found


_NEITHER, _NO_GPU, _NO_CPU, _ASKS_NONE, _ASKS_NONE_NO_CPU, _NOT_ADMITTED = range(6)

_REASONS = np.arange(6)[:, np.newaxis, np.newaxis]


def _points(lost: Parts) -> Numbers:
    """Return 100 / (1 + e^-lost), rounded down; ``lost`` is fragmentation in 1/1000 GPU."""
    points: Numbers = (1 / (1 + np.exp(-lost / WHOLE_MILLI)) * 100).astype(np.int64)
    return points


def _without(gpus: Numbers, ask: ScorerPodAsk) -> Numbers:
    """Return the GPUs once the fullest that fit are taken, the first of equal ones."""
    if not ask.gpus:
        return gpus
    left = gpus.copy()
    fitting = np.where(gpus >= ask.gpu_milli, gpus, np.iinfo(np.int64).max)
    taken = np.argsort(fitting, axis=1, kind="stable")[:, : ask.gpus]
    rows = np.arange(len(gpus))[:, np.newaxis]
    left[rows, taken] -= ask.gpu_milli
    return left


def _key_of(spec: PodSpec) -> tuple[int, int, int, str]:
    """Return what makes pods alike to FGD; where they may run comes last."""
    requests, devices = spec.requests, spec.requests.devices
    gpus = [device for device in devices if device.type == GPU and device.count]
    count = sum(device.count for device in gpus)
    parts = [device.share.percent or 0 if device.share else WHOLE_PERCENT for device in gpus]
    milli = WHOLE_MILLI * max(parts, default=0) // WHOLE_PERCENT
    where = f"{spec.node_selector}{spec.node_affinity or ''}"
    return requests.cpu_milli, milli, count, where if count else ""
