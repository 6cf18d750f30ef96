"""Sweeps compiled by Numba: the steps of `run_annealing_sweeps_with_numpy`, pair by pair.

The first call on a machine compiles for some seconds; later processes read what it kept.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from placer.compiled import remove_code_of_other_sources
from placer.search.exchanges.draws import GUMBEL, GUMBEL_BITS
from placer.search.exchanges.move_rules import NO_RULE, NOWHERE, ExchangeDomainCountRuleKind
from placer.search.exchanges.sweeps import EXCHANGES, PAIRS, THEIRS, ExchangeSweepArrays
from placer_models.splitmix import FIRST_FACTOR, GOLDEN, SECOND_FACTOR

_GOLDEN = np.uint64(GOLDEN)
_FIRST = np.uint64(FIRST_FACTOR)
_SECOND = np.uint64(SECOND_FACTOR)
_ONE, _27, _30, _31 = np.uint64(1), np.uint64(27), np.uint64(30), np.uint64(31)
_TO_GUMBEL = np.uint64(64 - GUMBEL_BITS)
_STAY, _APART, _AT_MOST, _EVEN = (
    int(ExchangeDomainCountRuleKind.STAY),
    int(ExchangeDomainCountRuleKind.APART),
    int(ExchangeDomainCountRuleKind.AT_MOST),
    int(ExchangeDomainCountRuleKind.EVEN),
)
_THEIRS, _EXCHANGES, _PAIRS = np.uint64(THEIRS), np.uint64(EXCHANGES), np.uint64(PAIRS)


def run_annealing_sweeps_with_numba(
    bins: ExchangeSweepArrays,
    stream: int,
    first: int,
    heats: NDArray[np.float64],
    pairs: int,
    taken: int,
) -> None:
    """Run some sweeps, as `run_annealing_sweeps_with_numpy` does; other threads go on meanwhile."""
    _sweeps(bins, np.uint64(stream), first, heats, pairs, taken, GUMBEL)


@numba.njit(cache=True, nogil=True, inline="always")
def _draw(stream, number):
    z = stream + (number + _ONE) * _GOLDEN
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@numba.njit(cache=True, nogil=True, inline="always")
def _looked_at(slots, stream, known, first):
    """Write the slots of a bin that are looked at, the last known one first; return how many."""
    taken = len(slots)
    slots[0] = known - 1
    for k in range(1, taken):
        slots[k] = k - 1
        if known > taken:
            slots[k] = np.int64(_draw(stream, np.uint64(k) + first) % np.uint64(known - 1))
    return min(known, taken)


@numba.njit(cache=True, nogil=True, inline="always")
def _put(slots, held, where, at, item, gap):
    """Put an item, or a gap, into a slot of a bin; gaps stay behind all items."""
    was_gap = slots[where, at] == gap
    slots[where, at] = item
    if was_gap and item != gap:
        held[where] += 1
    elif item == gap and not was_gap:
        held[where] -= 1
        slots[where, at] = slots[where, held[where]]
        slots[where, held[where]] = gap


@numba.njit(cache=True, nogil=True, inline="always")
def _net(rules, item, other, position):
    """Return what an item weighs in a rule of it more than another item does."""
    net = rules.weights[item, position]
    for k in range(rules.of.shape[1]):
        if rules.of[other, k] == rules.of[item, position]:
            net -= rules.weights[other, k]
    return net


@numba.njit(cache=True, nogil=True, inline="always")
def _allows(kind, base, most, count):
    """Return whether a rule that looks at each domain by itself allows the count."""
    if kind == _APART:
        return count < base or (count % base == 0 and count <= most)
    return count == 0 or count >= base


@numba.njit(cache=True, nogil=True)
def _kept(rules, item, other, here, there):
    """Return whether the rules of an item are kept when it is exchanged for the other one."""
    for position in range(rules.of.shape[1]):
        rule = rules.of[item, position]
        if rule == NO_RULE:
            break
        net = _net(rules, item, other, position)
        a, b = rules.domains[rules.rows[rule], here], rules.domains[rules.rows[rule], there]
        if net == 0 or a == b:
            continue
        if net < 0:
            net, a, b = -net, b, a
        kind = rules.kinds[rule]
        if kind == _STAY:
            return False
        start, most, least = rules.starts[rule], rules.most[rule], rules.least[rule]
        less = rules.counts[start + a] - net if a != NOWHERE else 0
        more = rules.counts[start + b] + net if b != NOWHERE else 0
        if kind == _AT_MOST:
            if b != NOWHERE and more > most:
                return False
        elif kind == _EVEN:
            fewest = min(least, less) if a != NOWHERE else least
            if b != NOWHERE and more - fewest > most:
                return False
            if fewest != least and rules.largest[rule] - fewest > most:
                return False
        else:
            base = rules.bases[rule]
            if not (_allows(kind, base, most, less) and _allows(kind, base, most, more)):
                return False
    return True


@numba.njit(cache=True, nogil=True)
def _touched(rules, touched, sweep, item, other, here, there):
    """Return whether the sweep has changed a rule already that an exchange changes for an item."""
    for position in range(rules.of.shape[1]):
        rule = rules.of[item, position]
        if rule == NO_RULE:
            break
        domains = rules.domains[rules.rows[rule]]
        apart = domains[here] != domains[there]
        if apart and touched[rule] == sweep and _net(rules, item, other, position) != 0:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def _note(rules, touched, sweep, gains, known, item, other, here, there):
    """Note what the exchange of an item for another one changes; return how much is noted."""
    for position in range(rules.of.shape[1]):
        rule = rules.of[item, position]
        if rule == NO_RULE:
            break
        net = _net(rules, item, other, position)
        a, b = rules.domains[rules.rows[rule], here], rules.domains[rules.rows[rule], there]
        if net == 0 or a == b or touched[rule] == sweep:
            continue
        touched[rule] = sweep
        start = rules.starts[rule]
        for domain, gain in ((a, -net), (b, net)):
            if domain != NOWHERE:
                gains[known, 0], gains[known, 1], gains[known, 2] = rule, start + domain, gain
                known += 1
    return known


@numba.njit(cache=True, nogil=True)
def _count(rules, gains, known):
    """Take over what was noted in a sweep."""
    for k in range(known):
        rules.counts[gains[k, 1]] += gains[k, 2]
    for k in range(known):
        rule = gains[k, 0]
        own = rules.counts[rules.starts[rule] : rules.starts[rule + 1]]
        rules.least[rule], rules.largest[rule] = own.min(), own.max()


@numba.njit(cache=True, nogil=True)
def _sweeps(bins, stream, first, heats, pairs, taken, gumbel):
    sizes, room, weights, likes, slots, loads = (
        bins.sizes,
        bins.room,
        bins.weights,
        bins.likes,
        bins.slots,
        bins.loads,
    )
    barred, rules = bins.barred, bins.rules
    count, width = slots.shape
    gap = len(sizes) - 1
    held = np.zeros(count, dtype=np.int64)
    for b in range(count):
        for k in range(width):
            held[b] += slots[b, k] != gap
    resources = sizes.shape[1]
    keys = np.empty(count, dtype=np.uint64)
    at = np.arange(taken)
    to = np.arange(taken)
    above = np.empty(resources)
    beyond = np.empty(resources)
    has_rules = rules.of.shape[1] > 0
    touched = np.full(len(rules.kinds), -1)
    gains = np.empty((4 * pairs * rules.of.shape[1], 3), dtype=np.int64)
    for sweep in range(len(heats)):
        heat = heats[sweep]
        own = _draw(stream, np.uint64(first + sweep))
        for b in range(count):
            keys[b] = _draw(own, np.uint64(b))
        drawn = np.argsort(keys, kind="mergesort")
        known = 0
        for pair in range(pairs):
            here, there = drawn[pair], drawn[pairs + pair]
            mine_of = _draw(own, np.uint64(pair) + _PAIRS)
            at_known = _looked_at(at, mine_of, min(held[here] + 1, width), np.uint64(0))
            to_known = _looked_at(to, mine_of, min(held[there] + 1, width), _THEIRS)
            apart = bins.endless[here] != bins.endless[there]
            for d in range(resources):
                above[d] = loads[here, d] - room[here, d]
                beyond[d] = loads[there, d] - room[there, d]
            home, away = bins.kinds[here], bins.kinds[there]
            least, best_p, best_q = np.inf, -1, -1
            for p in range(at_known):
                mine = slots[here, at[p]]
                mine_barred = barred[mine, away] - barred[mine, home]
                for q in range(to_known):
                    theirs = slots[there, to[q]]
                    if apart and likes[mine] != likes[theirs]:
                        continue
                    if has_rules and not (
                        _kept(rules, mine, theirs, here, there)
                        and _kept(rules, theirs, mine, there, here)
                    ):
                        continue
                    cost = 0.0
                    for d in range(resources):
                        gain = sizes[theirs, d] - sizes[mine, d]
                        cost += max(above[d] + gain, 0.0) * weights[here, d]
                        cost += max(beyond[d] - gain, 0.0) * weights[there, d]
                    cost += mine_barred
                    cost += barred[theirs, home] - barred[theirs, away]
                    number = np.uint64(p * taken + q) + _EXCHANGES
                    cost = cost / heat - gumbel[_draw(mine_of, number) >> _TO_GUMBEL]
                    if cost < least:
                        least, best_p, best_q = cost, p, q
            if best_p < 0:
                continue
            out, back = slots[here, at[best_p]], slots[there, to[best_q]]
            if has_rules:
                if _touched(rules, touched, sweep, out, back, here, there) or _touched(
                    rules, touched, sweep, back, out, there, here
                ):
                    continue
                known = _note(rules, touched, sweep, gains, known, out, back, here, there)
                known = _note(rules, touched, sweep, gains, known, back, out, there, here)
            for d in range(resources):
                shift = sizes[back, d] - sizes[out, d]
                loads[here, d] += shift
                loads[there, d] -= shift
            _put(slots, held, here, at[best_p], back, gap)
            _put(slots, held, there, to[best_q], out, gap)
        if known:
            _count(rules, gains, known)


remove_code_of_other_sources(__name__)
