"""From a batch to a decision, and from a decision to books that hold it."""

from dataclasses import replace
from time import monotonic

from placer.judge.breaches import breaches
from placer.scheduling.books import Books
from placer.scheduling.words import Batch, Decision, Refusal
from placer.search.cp import SolverError
from placer.search.ground import Memory
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer.state.affinity import lonely_terms
from placer_models.cluster import Instance, RunningPod
from placer_models.pod import pods_of

LEAST_TIME_S = 0.001
"""What a solve is given where waiting and counting took all of its time."""


def decide(books: Books, batch: Batch, options: SolveOptions, memory: Memory) -> Decision:
    """Solve a batch that is well (`check_batch`), and let the judge look at the answer.

    Raises:
        SolverError: Parts of Placer contradict each other: a defect of ours.

    """
    began_s = monotonic()
    instance, ground = books.asking(batch), books.ground(memory)
    left_s = max(LEAST_TIME_S, options.time_limit_s - (monotonic() - began_s))
    answer = solve(instance, replace(options, time_limit_s=left_s), ground=ground)
    decision = Decision(batch, answer, books.version)
    found = breaches(instance, decision.placement, ground.standing)
    if found:
        raise SolverError("; ".join(f"{b.rule}: {b.message}" for b in found[:3]))
    return decision


def refusal_of(books: Books, decision: Decision) -> Refusal | None:
    """Return why a decision cannot be taken; None: it can."""
    places = decision.placement.pods
    nodes = sorted({place.node for place in places})
    stale = tuple(name for name in nodes if not _is_as_seen(books, name, decision.version))
    running = tuple(place.key for place in places if place.key in books.node_of)
    if stale or running:
        return Refusal(stale, running)
    found = breaches(_touched(books, decision), decision.placement)
    return Refusal(breaches=found) if found else None


def taking(books: Books, decision: Decision) -> Books:
    """Return the books with the pods of a decision in their places."""
    pods = {pod.key: pod for pod in pods_of(decision.batch.gangs)}
    return books.with_pods(RunningPod(pods[p.key], p) for p in decision.placement.pods)


def _is_as_seen(books: Books, node: str, version: int) -> bool:
    """Return whether a decision of the version saw the node as it is now."""
    # A version that is still to come is that of another Scheduler.
    return node in books and books.of(node).changed <= version <= books.version


def _touched(books: Books, decision: Decision) -> Instance:
    """Return the batch and the nodes that a decision gives to it.

    All nodes where a pod may be the first of its kind: others of it may be anywhere.
    """
    if any(True for pod in pods_of(decision.batch.gangs) for _ in lonely_terms(pod.spec)):
        return books.asking(decision.batch)
    names = sorted({place.node for place in decision.placement.pods})
    touched = [books.of(name) for name in names]
    return Instance(
        nodes=tuple(book.node for book in touched),
        gangs=decision.batch.gangs,
        groups=decision.batch.groups,
        running=tuple(runner for book in touched for runner in book.counted),
    )
