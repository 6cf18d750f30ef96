"""Who is beside whom while pods are being placed: what affinity allows, and would like."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from placer.greedy.in_node_affinity import FirstOfKind, Places
from placer_models.problem import Choice, Choices, Problem
from placer_models.tasks import AffinityTask

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]


class AffinityCounts:
    """How many pods of each shape are on each node.

    Pods come one by one, and whoever is placed keeps what its affinities require: so a pod
    that needs another one comes after it.
    """

    def __init__(self, problem: Problem) -> None:
        """Begin with nothing placed but what runs."""
        nodes = len(problem.nodes)
        self._tasks = problem.affinity.tasks
        self._placed: Counts = np.zeros((len(problem.shapes), nodes), dtype=np.int64)
        self._running = [_counts(task.here, nodes) for task in problem.affinity.tasks]
        self._runs = [running > 0 for running in self._running]
        self._first = FirstOfKind(problem)
        self._barred = [_mask(barred, nodes) for barred in problem.affinity.barred]

    def add(self, shape: int, node: int, count: int) -> None:
        """Note that so many pods of the shape come to the node, or go."""
        self._placed[shape, node] += count

    def allowed(self, shape: int) -> Mask:
        """Return the nodes where one pod more of the shape breaks nothing required."""
        mask = ~self._barred[shape]
        for number, task in enumerate(self._tasks):
            if not task.required:
                continue
            meant = self._meant(task)
            if task.apart:
                if task.shape == shape:
                    mask &= meant == 0
                if shape in task.matches:
                    mask &= self._placed[task.shape] == 0
                continue
            there = self._runs[number] | (meant > 0)
            means_itself = task.shape in task.matches
            if task.shape == shape and (there.any() or not means_itself):
                mask &= there
            # The first of its kind may be alone only while nobody else is meant anywhere.
            alone = means_itself and meant.sum() == 1 and self._placed[task.shape].sum() == 1
            if shape in task.matches and alone and not self._runs[number].any():
                mask &= meant > 0
        return mask

    def wishes_lost(self, shape: int) -> Counts:
        """Return for each node how much more is lost in tier affinity with a pod of the shape."""
        lost: Counts = np.zeros(self._placed.shape[1], dtype=np.int64)
        for number, task in enumerate(self._tasks):
            if task.required:
                continue
            meant, others = self._meant(task), self._placed[task.shape]
            if task.apart:  # by ordered pairs
                if task.shape == shape:
                    lost += meant + self._running[number]
                if shape in task.matches:
                    lost += others
                continue
            if task.shape == shape:
                lost += ~(self._runs[number] | (meant > 0))
            if shape in task.matches:
                itself = int(task.shape in task.matches)
                first = ~self._runs[number] & (meant <= itself)
                lost -= np.where(first, others, 0)
        return lost

    def waived(self, shape: int) -> frozenset[int]:
        """Return the positions of the terms inside a node that the shape need not keep now."""
        return self._first.waived(shape, self._placed)

    def to_cover(self, shape: int, choices: Choices) -> tuple[int, Places] | None:
        """Return where a pod of the shape has to be, for the sake of a first of its kind."""
        return self._first.to_cover(shape, self._placed, choices)

    def covers(self, choice: Choice, node: int, places: Places) -> bool:
        """Return whether a pod with the place is with a first one that is there."""
        return self._first.covers(choice, node, places)

    def holds(self, choices: Choices) -> bool:
        """Return whether every pod that requires another one has it."""
        if not self._first.holds(choices):
            return False
        for number, task in enumerate(self._tasks):
            if not task.required or task.apart:
                continue
            meant = self._meant(task)
            means_itself = task.shape in task.matches
            with_another = self._runs[number] | (meant > means_itself)
            missing = (self._placed[task.shape] > 0) & ~with_another
            first = means_itself and meant.sum() == 1 and not self._runs[number].any()
            if missing.any() and not first:
                return False
        return True

    def _meant(self, task: AffinityTask) -> Counts:
        """Return how many placed pods are meant on each node."""
        meant: Counts = self._placed[sorted(task.matches)].sum(axis=0)
        return meant


def _counts(here: Mapping[int, int], nodes: int) -> Counts:
    counts = np.zeros(nodes, dtype=np.int64)
    counts[list(here)] = list(here.values())
    return counts


def _mask(nodes: frozenset[int], count: int) -> Mask:
    mask = np.zeros(count, dtype=np.bool_)
    mask[sorted(nodes)] = True
    return mask
