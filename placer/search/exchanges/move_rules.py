"""Rules of domains while items are exchanged: which exchanges keep what pods ask of each other.

Each rule counts what its items weigh in each domain of bins, and says which counts may be. A whole
sweep looks at the counts as they were before it, and each rule lets one exchange change its counts
in a sweep. So an exchange that keeps its rules by itself keeps them whatever others do, and it does
not matter in which order pairs of bins are looked at.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.greedy.columns import Mask, Numbers

NO_RULE = -1
NOWHERE = -1
"""Stands for the domain of a bin that is spare, or that a rule does not look at."""


class ExchangeDomainCountRuleKind(IntEnum):
    """What a rule says of the counts of domains."""

    STAY = 0
    """Items come to another domain only for others that weigh the same."""

    APART = 1
    """Below the base, or a multiple of it up to the most: large weights and small ones are never
    together."""

    BESIDE = 2
    """Nothing, or the base at least: where something is, there is something that weighs so much."""

    AT_MOST = 3
    """The most at most."""

    EVEN = 4
    """The most more at most than in the domain with the least."""


class ExchangeDomainRuleArrays(NamedTuple):
    """Rules, the items that they are about, and what is counted.

    Attributes:
        of: (item, position) -> a rule, or NO_RULE behind the last one; the last row is a gap's.
        weights: What the item weighs there.
        kinds: Rule -> what it says, a `ExchangeDomainCountRuleKind`.
        bases: Rule -> its base.
        most: Rule -> its most.
        rows: Rule -> the row of its domains.
        domains: (row, bin) -> the bin's domain.
        starts: Rule -> where its counts begin; the last is the number of all.
        beside: What is counted beside the items, domain by domain.
        counts: What is counted; changed by sweeps.
        least, largest: Rule -> the smallest and the largest of its counts.

    """

    of: Numbers
    weights: Numbers
    kinds: Numbers
    bases: Numbers
    most: Numbers
    rows: Numbers
    domains: Numbers
    starts: Numbers
    beside: Numbers
    counts: Numbers
    least: Numbers
    largest: Numbers

    def counted(self, slots: NDArray[np.intp]) -> "ExchangeDomainRuleArrays":
        """Return the rules with all counted that is in the bins, and what is beside it.

        Args:
            slots: (bin, position) -> the item there.

        """
        new = self._replace(
            counts=self.beside.copy(), least=self.least.copy(), largest=self.largest.copy()
        )
        for position in range(self.of.shape[1]):
            rules = self.of[slots, position]
            bins, columns = np.nonzero(rules != NO_RULE)
            rules = rules[bins, columns]
            domains = self.domains[self.rows[rules], bins]
            counts = (domains != NOWHERE) & (self.kinds[rules] != ExchangeDomainCountRuleKind.STAY)
            at = self.starts[rules[counts]] + domains[counts]
            np.add.at(new.counts, at, self.weights[slots[bins, columns], position][counts])
        for rule in range(len(self.kinds)):
            new.measure(rule)
        return new

    def kept(self, mine: Numbers, theirs: Numbers, here: Numbers, there: Numbers) -> Mask:
        """Return, for each item of a bin and each of another one, whether rules let them change.

        Args:
            mine: (pair, position) -> an item of the first bin.
            theirs: The same of the second one.
            here: The first bin of each pair.
            there: The second one.

        """
        kept = np.ones((*mine.shape, theirs.shape[1]), dtype=np.bool_)
        out, back = mine[:, :, None], theirs[:, None, :]
        home, away = here[:, None, None], there[:, None, None]
        for first, second, source, target in ((out, back, home, away), (back, out, away, home)):
            for position in range(self.of.shape[1]):
                rules = self.of[first, position]
                if (rules == NO_RULE).all():
                    break
                net = self.weights[first, position] - self._weight(second, rules)
                kept &= (rules == NO_RULE) | self._keeps(rules, net, source, target)
        return kept

    def change(self, out: Numbers, back: Numbers, here: Numbers, there: Numbers) -> Mask:
        """Count the exchanges of a sweep, in order; return which of them take place.

        Those that change counts of a rule that an earlier one has changed do not.

        Args:
            out: An item of the first bin of each pair.
            back: The one of the second bin for which it is exchanged.
            here: The first bins.
            there: The second ones.

        """
        takes_place = np.ones(len(out), dtype=np.bool_)
        changed: dict[int, list[tuple[int, int]]] = {}
        some = (self.of[out, 0] != NO_RULE) | (self.of[back, 0] != NO_RULE)
        for pair in np.flatnonzero(some).tolist():
            changes = self._changes(
                int(out[pair]), int(back[pair]), int(here[pair]), int(there[pair])
            )
            takes_place[pair] = changed.keys().isdisjoint(changes)
            if takes_place[pair]:
                changed |= changes
        for rule, changes_of_rule in changed.items():
            for at, net in changes_of_rule:
                self.counts[at] += net
            self.measure(rule)
        return takes_place

    def _changes(
        self, out: int, back: int, here: int, there: int
    ) -> dict[int, list[tuple[int, int]]]:
        """Return, for each rule that an exchange changes, (index of a count, what it gains)."""
        nets: dict[int, int] = {}
        for item, sign in ((out, 1), (back, -1)):
            for rule, weight in zip(
                self.of[item].tolist(), self.weights[item].tolist(), strict=True
            ):
                if rule != NO_RULE:
                    nets[rule] = nets.get(rule, 0) + sign * weight
        found = {}
        for rule, net in nets.items():
            row, start = self.domains[self.rows[rule]], int(self.starts[rule])
            home, away = int(row[here]), int(row[there])
            if net and home != away:
                both = ((home, -net), (away, net))
                found[rule] = [(start + d, gained) for d, gained in both if d != NOWHERE]
        return found

    def measure(self, rule: int) -> None:
        """Note the smallest and the largest count of a rule."""
        counts = self.counts[self.starts[rule] : self.starts[rule + 1]]
        if len(counts):
            self.least[rule], self.largest[rule] = counts.min(), counts.max()

    def _weight(self, items: Numbers, rules: Numbers) -> Numbers:
        """Return what the items weigh in the rules; nothing in those that are not theirs."""
        shape = np.broadcast_shapes(items.shape, rules.shape)
        found: Numbers = np.zeros(shape, dtype=np.int64)
        for position in range(self.of.shape[1]):
            found += np.where(self.of[items, position] == rules, self.weights[items, position], 0)
        return found

    def _keeps(self, rules: Numbers, net: Numbers, source: Numbers, target: Numbers) -> Mask:
        """Return whether rules are kept when so much more goes from bins to others than back."""
        rows, kinds, most, base = self.rows[rules], self.kinds[rules], self.most[rules], self.bases
        a, b = self.domains[rows, source], self.domains[rows, target]
        still = (net == 0) | (a == b)
        a, b = np.where(net < 0, b, a), np.where(net < 0, a, b)
        net, base = np.abs(net), base[rules]
        starts = self.starts[rules]
        last = max(0, len(self.counts) - 1)
        less = np.where(a == NOWHERE, 0, self.counts[np.clip(starts + a, 0, last)] - net)
        more = np.where(b == NOWHERE, 0, self.counts[np.clip(starts + b, 0, last)] + net)
        least, largest = self.least[rules], self.largest[rules]
        fewest = np.where(a == NOWHERE, least, np.minimum(least, less))
        even = ((b == NOWHERE) | (more - fewest <= most)) & (
            (fewest == least) | (largest - fewest <= most)
        )
        apart = np.ones_like(still)
        beside = np.ones_like(still)
        for count in (less, more):
            apart = apart & ((count < base) | ((count % base == 0) & (count <= most)))
            beside = beside & ((count == 0) | (count >= base))
        kept: Mask = still | np.select(
            [kinds == kind for kind in ExchangeDomainCountRuleKind],
            [np.zeros_like(even), apart, beside, (b == NOWHERE) | (more <= most), even],
            default=False,
        )
        return kept


def empty_domain_count_rule_arrays(items: int) -> ExchangeDomainRuleArrays:
    """Return no rules, for so many items, the gap among them."""
    none = np.zeros(0, dtype=np.int64)
    nothing = np.zeros((items, 0), dtype=np.int64)
    row = np.zeros((0, 0), dtype=np.int64)
    start = np.zeros(1, dtype=np.int64)
    return ExchangeDomainRuleArrays(
        nothing, nothing, none, none, none, none, row, start, none, none, none, none
    )
