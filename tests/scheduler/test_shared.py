"""A mapping whose successors share what stays."""

from random import Random

from placer.scheduling.persistent_map import PersistentMap


def test_it_is_as_good_as_a_copy() -> None:
    """
    Every version stays what it was, whatever comes after it.
    """
    rng = Random(3)
    start = {("default", f"pod-{i}"): i for i in range(500)}
    versions = [(PersistentMap.of(start.items()), start)]
    for step in range(100):
        known, expected = rng.choice(versions)
        gone = rng.sample(sorted(expected), rng.randrange(5))
        new = {("default", f"pod-{rng.randrange(600)}"): -step for _ in range(rng.randrange(5))}
        after = {key: value for key, value in expected.items() if key not in gone} | new
        versions.append((known.changed(gone, new), after))

    for known, expected in versions:
        assert dict(known) == expected
        assert len(known) == len(expected)
        assert all(key in known for key in expected)
        assert ("default", "nobody") not in known
