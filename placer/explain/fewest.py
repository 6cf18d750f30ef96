"""Fewest of several changes that do together: one by one, two by two, then by leaving some out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

from placer.explain.explanation import SufficientChange
from placer.explain.kind_outcome import (
    MOST_TRIALS,
    KindOutcome,
    Option,
    all_changes_as_one_option,
    trial_with_more_changes_may_fail,
)
from placer.explain.trial import ChangeTrials, TrialVerdict


def smallest_change_combining_options(
    kind: str, options: Sequence[Option], trials: ChangeTrials
) -> KindOutcome:
    """Look for the fewest of some changes that do together.

    Of as few those are taken whose last one comes first among the options, then the one before it.

    Returns:
        Them; or that it is ruled out that any do, or that it is not known.

    """
    if not options:
        return TrialVerdict.RULED_OUT
    every = trials.outcome(all_changes_as_one_option(options))
    if every is not TrialVerdict.FITS:
        if not trial_with_more_changes_may_fail(trials.instance):
            return every
        return _any_of(kind, options, trials)
    certain = True
    size = 1
    while size < len(options) and comb(len(options), size) <= MOST_TRIALS:
        for some in _sets(options, size):
            outcome = trials.outcome(some)
            if outcome is TrialVerdict.FITS:
                return SufficientChange(kind, some, certain or size == 1)
            certain = certain and outcome is TrialVerdict.RULED_OUT
        size += 1
    kept = _without_needless(options, trials)
    # Every set smaller than `size` was tried.
    return SufficientChange(
        kind, all_changes_as_one_option(kept), len(kept) == 1 or (certain and len(kept) == size)
    )


def with_equally_small_alternatives(
    found: SufficientChange, options: Sequence[Option], trials: ChangeTrials
) -> SufficientChange:
    """Return a change with those that are as small and would do as well, as far as time allows."""
    size = sum(option[0] in found.changes for option in options)
    if comb(len(options), size) > MOST_TRIALS:
        return found
    others = tuple(
        some
        for some in _sets(options, size)
        if some != found.changes and trials.outcome(some) is TrialVerdict.FITS
    )
    return replace(found, others=others)


def _sets(options: Sequence[Option], size: int) -> Iterator[Option]:
    """Yield all sets of a size, each as one option; first those whose last option comes first."""
    places = sorted(combinations(range(len(options)), size), key=lambda some: some[::-1])
    return (all_changes_as_one_option(options[i] for i in some) for some in places)


def _any_of(kind: str, options: Sequence[Option], trials: ChangeTrials) -> KindOutcome:
    """Look for the fewest that do, where they may do though all of them together do not."""
    if 2 ** len(options) > MOST_TRIALS:
        return TrialVerdict.OPEN
    found: KindOutcome = TrialVerdict.RULED_OUT
    for size in range(1, len(options) + 1):
        for some in _sets(options, size):
            outcome = trials.outcome(some)
            if outcome is TrialVerdict.FITS:
                certain = size == 1 or found is TrialVerdict.RULED_OUT
                return SufficientChange(kind, some, certain)
            if outcome is TrialVerdict.OPEN:
                found = outcome
    return found


def _without_needless(options: Sequence[Option], trials: ChangeTrials) -> list[Option]:
    """Return a part of the changes of which each is needed; whole halves are left out first.

    The last ones are left out first, so that those stay that come first.
    """
    kept = list(reversed(options))
    size = len(kept) // 2
    while size:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if fewer and trials.outcome(all_changes_as_one_option(fewer)) is TrialVerdict.FITS:
                kept = fewer
            else:
                start += size
        size //= 2
    return kept[::-1]
