"""Room made by running pods: the fewest that have to move, or to end, for others to fit (G7)."""

from dataclasses import dataclass, replace

from placer.explain.alike_nodes import with_only_nodes
from placer.explain.explanation import SufficientChange
from placer.explain.fewest import smallest_change_combining_options
from placer.explain.kind_outcome import (
    MOST_TRIALS,
    KindOutcome,
    Option,
    all_change_outcomes_proven,
    is_placing_all_ruled_out,
    outcome_if_no_change_found,
)
from placer.explain.trial import ChangeTrials, TrialVerdict, trial_outcome_of
from placer_models.goals import MOVES, OPENED
from placer_models.placement import NamespacedName, Placed
from placer_models.pod import Gang, pods_of_gangs
from placer_models.reach import any_pod_asks_beyond_node
from placer_models.relations import asks_something_of_other_pods
from placer_models.whatif.pods import AllowPodMoves, RemovePods

MOST_MOVES = 8
"""How many running pods a proposed change moves at most."""

MOST_ENDED = 16
"""Of how many running pods some may have to end where nodes cannot be looked at one by one; of more
only those of one node are looked at together."""

MOST_LEFT, MOST_TAKEN = 8, 40
"""On a large fleet moves are looked for from so many nodes more than pods wait, to so many."""

SHARE_OF_PROOF = 0.5
"""The share of the time that is left of what is spent on nodes that are no better, for a proof."""


def smallest_change_by_moving_pods(trials: ChangeTrials) -> KindOutcome:
    """Look for the fewest running pods whose move makes room."""
    every = trials.whole or trials
    could = sum(one.movable for one in every.instance.running)
    if not could or _has_no_room_when_empty(trials):
        return TrialVerdict.RULED_OUT
    among = _among_few_nodes(every) if trials.whole else every
    answer = among.answer(replace(among.instance, move_budget=MOST_MOVES))
    if answer is None or not isinstance(answer, Placed):
        known = TrialVerdict.OPEN if answer is None else trial_outcome_of(answer, among.instance)
        return known if could <= MOST_MOVES and among is every else TrialVerdict.OPEN
    if not answer.moves:
        return TrialVerdict.OPEN
    changes = tuple(AllowPodMoves(one.home.key) for one in answer.moves)
    if among.outcome(changes) is not TrialVerdict.FITS:
        return TrialVerdict.OPEN
    # Where nodes are offered the fewest moves are those of answers that open the fewest.
    proven = (
        among is every
        and all(value.tier != OPENED for value in answer.tiers)
        and any(value.tier == MOVES and value.proven for value in answer.tiers)
    )
    return SufficientChange("move", changes, proven or len(changes) == 1)


def first_by_name_of_equal_moves(found: SufficientChange, trials: ChangeTrials) -> SufficientChange:
    """Return a change that moves as many pods, the first by name, as far as time allows.

    The last name is as early as may be, then the one before it: which pods may move is halved
    again and again. Each answer is a change by itself, so the best one counts when time is over.
    """
    every = trials.whole or trials
    among = _among_few_nodes(every) if trials.whole else every
    names = sorted(one.pod.key for one in among.instance.running if one.movable)
    best = sorted(one.key for one in found.changes if isinstance(one, AllowPodMoves))
    for left in range(len(best), 0, -1):
        kept = best[left:]
        refused, fits = left - 1, names.index(best[left - 1]) + 1
        while fits - refused > 1:
            middle = (refused + fits) // 2
            moved = _moved(len(best), {*names[:middle], *kept}, among)
            if moved is not None and len(moved) == len(best) and moved[left:] == kept:
                best, fits = moved, names.index(moved[left - 1]) + 1
            else:
                refused = middle
    changes = tuple(map(AllowPodMoves, best))
    if among.outcome(changes) is not TrialVerdict.FITS:
        return found
    return replace(found, changes=changes)


def _moved(
    most: int, may_move: set[NamespacedName], among: ChangeTrials
) -> list[NamespacedName] | None:
    """Return who moves where no others may, and so many at most; None: that is not known to do."""
    running = tuple(
        one if not one.movable or one.pod.key in may_move else replace(one, movable=False)
        for one in among.instance.running
    )
    answer = among.answer(replace(among.instance, running=running, move_budget=most))
    if not isinstance(answer, Placed):
        return None
    return sorted(one.home.key for one in answer.moves)


def _has_no_room_when_empty(trials: ChangeTrials) -> bool:
    """Return whether it is proven that not all fit even where only pods of nodes run.

    Only where nobody who runs is company for who waits: where nodes may stand for each other, or
    where who waits asks nothing of others.
    """
    waiting = pods_of_gangs(trials.instance.gangs)
    if trials.whole is None and any(asks_something_of_other_pods(pod.spec) for pod in waiting):
        return False
    left = tuple(one for one in trials.instance.running if one.of_node)
    return is_placing_all_ruled_out(replace(trials.instance, running=left), trials)


def _among_few_nodes(every: ChangeTrials) -> ChangeTrials:
    """Return trials with the nodes that few pods have to leave, and with some that have room.

    What fits there fits in the whole instance, where moved pods look at nothing beyond a node.
    """
    instance, running = every.instance, every.counted.running
    waiting = sum(len(gang.pods) for gang in instance.gangs)
    movers = [one for one in instance.running if one.movable]
    most = waiting + MOST_LEFT + MOST_TAKEN
    if len(instance.nodes) <= most or instance.running_gangs:
        return every
    if any(asks_something_of_other_pods(one.pod.spec) for one in movers):
        return every
    crowded = [i for i, runners in enumerate(running) if any(one.movable for one in runners)]
    leaving = sorted(crowded, key=lambda i: len(running[i]))[: waiting + MOST_LEFT]
    roomy = sorted(range(len(instance.nodes)), key=lambda i: _room(every, i), reverse=True)
    taking = [i for i in roomy if i not in leaving][:MOST_TAKEN]
    few = with_only_nodes(instance, every.counted, sorted({*leaving, *taking}))
    return every.with_instance(*few)


def _room(every: ChangeTrials, index: int) -> tuple[int, int, int]:
    """Return how much a node has left: devices, CPU, memory."""
    account = every.counted.accounts[index]
    memory = sum(account.memory.bytes_in.values())
    return len(account.devices.free), account.pools.shared.left_milli, memory


@dataclass(frozen=True, slots=True)
class _RoomOnNode:
    """What has to end on one node for one pod to fit there."""

    index: int
    ended: Option


def smallest_change_by_ending_pods(trials: ChangeTrials) -> KindOutcome:
    """Look for the fewest running pods whose end makes room.

    For pods that ask for the same each node is looked at by itself, which is the same question as
    long as no rule looks beyond it. Else all running pods are, if there are few. Pods that run for
    their node would come back, and are not looked at. Nobody says the
    priority of a running pod, so of equally many the first by name win, as for moves.
    """
    every = trials.whole or trials
    instance = every.instance
    pods = list(pods_of_gangs(instance.gangs))
    runners = [one.pod for one in instance.running]
    may_end = sorted(one.pod.key for one in instance.running if not one.of_node)
    if _has_no_room_when_empty(trials):
        return TrialVerdict.RULED_OUT
    alone = len(pods) == 1 or (trials.whole is not None and _ask_alike(instance.gangs))
    if len(pods) > 1 and len(may_end) <= MOST_ENDED:
        alone = False  # so that fewer are ruled out one by one
    if not alone or any_pod_asks_beyond_node((*pods, *runners)):
        if len(may_end) > MOST_ENDED:
            return _ended_by_trying(every) if len(pods) == 1 else TrialVerdict.OPEN
        return smallest_change_combining_options(
            "end", [(RemovePods(key),) for key in may_end], every
        )
    outcomes: list[KindOutcome] = []
    rooms = _cheapest_rooms(every, len(pods), outcomes)
    if not rooms:
        return outcome_if_no_change_found(outcomes) if len(pods) == 1 else TrialVerdict.OPEN
    among = _with_rooms(every, rooms) if trials.whole is not None else every
    enough = _fewest_rooms(rooms, among)
    if enough is None:
        return TrialVerdict.OPEN
    best = _ended(rooms[:enough])
    certain = len(best) == 1 or (len(pods) == 1 and all_change_outcomes_proven(outcomes))
    return SufficientChange("end", best, certain)


def _ended_by_trying(every: ChangeTrials) -> KindOutcome:
    """Look for running pods of one node whose end makes room, where rules look beyond nodes.

    What is left of the cluster is tried each time, so that a node takes longer.
    """
    running = every.counted.running
    best: SufficientChange | None = None
    half_s = SHARE_OF_PROOF * every.left_s
    for there in sorted(filter(None, running), key=len):
        if every.left_s < half_s or (best is not None and len(best.changes) == 1):
            break
        found = smallest_change_combining_options(
            "end", [(RemovePods(one.pod.key),) for one in there if not one.of_node], every
        )
        if isinstance(found, SufficientChange) and (
            best is None or len(found.changes) < len(best.changes)
        ):
            best = found
    if best is None:
        return TrialVerdict.OPEN
    return replace(best, smallest=len(best.changes) == 1)


def _with_rooms(every: ChangeTrials, rooms: list[_RoomOnNode]) -> ChangeTrials:
    """Return trials with these nodes, and with those that have most left, where pods may fit."""
    instance = every.instance
    waiting = sum(len(gang.pods) for gang in instance.gangs)
    roomy = sorted(range(len(instance.nodes)), key=lambda i: _room(every, i), reverse=True)
    kept = sorted({*(room.index for room in rooms), *roomy[:waiting]})
    return every.with_instance(*with_only_nodes(instance, every.counted, kept))


def _fewest_rooms(rooms: list[_RoomOnNode], among: ChangeTrials) -> int | None:
    """Return of how many of the rooms, the cheapest first, all have a place; None: of none."""
    if among.outcome(_ended(rooms)) is not TrialVerdict.FITS:
        return None
    too_few, enough = 0, len(rooms)
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if among.outcome(_ended(rooms[:middle])) is TrialVerdict.FITS:
            enough = middle
        else:
            too_few = middle
    return enough


def _ended(rooms: list[_RoomOnNode]) -> Option:
    return tuple(change for room in rooms for change in room.ended)


def _ask_alike(gangs: tuple[Gang, ...]) -> bool:
    """Return whether any node is as good for any pod as for the others."""
    pods = list(pods_of_gangs(gangs))
    return len({pod.spec for pod in pods}) == 1 and all(gang.gather is None for gang in gangs)


def _cheapest_rooms(
    every: ChangeTrials, pods: int, outcomes: list[KindOutcome]
) -> list[_RoomOnNode]:
    """Return nodes, one for each pod, on which the fewest running pods have to end.

    Args:
        every: The trials of the whole instance.
        pods: How many pods need a node.
        outcomes: Gets what was found of each node; a node that was not looked at is open.

    """
    running = every.counted.running
    rooms: list[_RoomOnNode] = []
    order = sorted((i for i, there in enumerate(running) if there), key=lambda i: len(running[i]))
    half_s = SHARE_OF_PROOF * every.left_s
    for index in order:
        worst = len(rooms[-1].ended) if len(rooms) == pods else None
        if worst == 1 and len(order) > MOST_TRIALS:
            break
        if every.left_s < (half_s if worst and worst <= len(running[index]) else 0):
            outcomes.append(TrialVerdict.OPEN)
            break
        found = _ended_on(index, every)
        outcomes.append(found)
        if isinstance(found, SufficientChange):
            changes = found.changes
            rooms = sorted((*rooms, _RoomOnNode(index, changes)), key=_size_and_names)[:pods]
    return rooms


def _size_and_names(room: _RoomOnNode) -> tuple[int, list[str]]:
    return len(room.ended), [str(change) for change in reversed(room.ended)]


def _ended_on(index: int, every: ChangeTrials) -> KindOutcome:
    """Look for the fewest running pods of a node whose end lets one pod fit there."""
    instance, counted = every.instance, every.counted
    gang = instance.gangs[0]
    one = replace(gang, pods=gang.pods[:1], minimum=1)
    asked = replace(instance, gangs=(one,), running_gangs=())
    alone = every.with_instance(*with_only_nodes(asked, counted, [index]))
    may_end = sorted(one.pod.key for one in counted.running[index] if not one.of_node)
    options = [(RemovePods(key),) for key in may_end]
    return smallest_change_combining_options("end", options, alone)
