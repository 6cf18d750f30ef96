"""The tier of affinity, by hand."""

from dataclasses import replace

import pytest

from judge.cases_affinity import DB, NODES, NOT_WITH_DB, WITH_DB, app, on
from judge.hand import placed, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.affinity import AffinityTerm
from placer_models.goals import AFFINITY
from placer_models.policy import Strength

NEAR = replace(WITH_DB, strength=Strength.PREFERRED)
FAR = replace(NOT_WITH_DB, strength=Strength.PREFERRED)


@pytest.mark.parametrize(
    ("terms", "kind", "db_on", "unmet"),
    [
        ((NEAR,), "web", "n", 0),
        ((NEAR,), "web", "m", 1),
        ((NEAR,), "db", "m", 1),  # of its own kind, but a wish is not met by itself
        ((FAR,), "web", "n", 1),
        ((FAR,), "web", "m", 0),
        ((FAR,), "db", "m", 0),
        ((NEAR, FAR), "web", "n", 1),
        ((NEAR, NOT_WITH_DB), "web", "m", 1),
        ((FAR, WITH_DB), "web", "n", 1),
    ],
)
@pytest.mark.parametrize("runs", [False, True])
def test_wishes_that_are_not_met(
    terms: tuple[AffinityTerm, ...], kind: str, db_on: str, unmet: int, runs: bool
) -> None:
    """
    One for each wish; it does not matter whether the other pod runs already or is new.
    """
    asking = app("a", kind, *terms)
    instance = world(asking, DB, nodes=NODES)
    placement = placed(on("a", "n"), on("db", db_on))
    if runs:
        instance = world(asking, nodes=NODES, running=[(DB, on("db", db_on))])
        placement = placed(on("a", "n"))

    assert breaches(instance, placement) == ()
    assert dict(measure(instance, placement))[AFFINITY] == unmet


def test_wishes_of_running_pods_are_not_asked() -> None:
    """
    An instance in which only running pods wish for something has no such tier.
    """
    instance = world(DB, nodes=NODES, running=[(app("a", "web", NEAR), on("a", "n"))])

    assert AFFINITY not in dict(measure(instance, placed(on("db", "m"))))
