"""Words of scenarios: changes of what-if, and two words that only plans have."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from placer_models.cluster import Machine
from placer_models.files.errors import InputError
from placer_models.files.faults import DocumentLocation
from placer_models.instance.nodes import MachineFinder
from placer_models.message_text import in_quotes, near_or_first_names_text
from placer_models.whatif.change import InstanceChange, WhatIfChangeError
from placer_models.whatif.language import KINDS, parse_change

_PRICE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")
MOST_NODES = 1_000_000

REPRICE, MAX_OF = "reprice", "maxOf"
"""The words that only plans have."""

ScenarioChanges = tuple[InstanceChange, ...]
ScenarioPrices = tuple[tuple[str, Decimal], ...]
ScenarioLimits = tuple[tuple[str, int], ...]


def read_price(text: str, place: DocumentLocation) -> Decimal:
    """Return a price, or note what is wrong with it."""
    if _PRICE.fullmatch(text) and Decimal(text):
        return Decimal(text)
    why = "expected a decimal such as 12.50, above 0, with at most 6 digits after the point"
    if _PRICE.fullmatch(text.removeprefix("-")):
        why = "expected more than 0; nodes that cost nothing stand in an instance"
    place.fault(f"got {in_quotes(text)}; {why}")
    return Decimal(1)


@dataclass(frozen=True, slots=True)
class ScenarioChangeReader:
    """Reads the changes of scenarios.

    Attributes:
        offers: The names of the offers.
        find_machine: Finds machines for ``add``.
        plan: The place of the plan.

    """

    offers: Sequence[str]
    find_machine: MachineFinder
    plan: DocumentLocation

    def read(
        self, texts: Sequence[str], place: DocumentLocation
    ) -> tuple[ScenarioChanges, ScenarioPrices, ScenarioLimits]:
        """Return the changes that texts name, prices and limits of offers; faults are noted."""
        changes: list[InstanceChange] = []
        prices: dict[str, Decimal] = {}
        limits: dict[str, int] = {}
        for i, text in enumerate(texts):
            word, _, value = text.partition("=")
            offer, colon, amount = value.rpartition(":")
            if word in (REPRICE, MAX_OF):
                at = place.at(i)
                what = "PRICE" if word == REPRICE else "COUNT"
                known = prices if word == REPRICE else limits
                if not (colon and offer and amount):
                    at.fault(f"got {in_quotes(text)}; expected {word}=OFFER:{what}")
                elif offer not in self.offers:
                    near = near_or_first_names_text(offer, self.offers)
                    at.fault(f"got {in_quotes(text)}; no offer is called {in_quotes(offer)}{near}")
                elif offer in known:
                    at.fault(f"got {in_quotes(text)}; {offer} has its {word} already")
                elif word == REPRICE:
                    prices[offer] = read_price(amount, at)
                elif not amount.isdecimal() or int(amount) > MOST_NODES:
                    at.fault(f"got {in_quotes(text)}; expected a whole number up to {MOST_NODES:,}")
                else:
                    limits[offer] = int(amount)
                continue
            try:
                changes.append(parse_change(text, self._machine))
            except WhatIfChangeError as error:
                more = "" if word in KINDS else f"; a plan has {REPRICE} and {MAX_OF} as well"
                place.at(i).fault(f"{error}{more}")
        return tuple(changes), tuple(prices.items()), tuple(limits.items())

    def _machine(self, name: str) -> Machine | None:
        try:
            return self.find_machine(name, self.plan.document)
        except (InputError, ValueError):
            return None
