"""Features of tiny worlds: none is forgotten by the world generator."""

from collections import Counter
from importlib import import_module
from pathlib import Path

from features.feature import Feature
from mixed_worlds import FEATURES

FOLDER = Path(__file__).parents[1] / "features"


def test_the_world_generator_mixes_every_feature_once() -> None:
    """
    A family whose words are in no world is held against brute force by nobody.
    """
    modules = [import_module(f"features.{file.stem}") for file in sorted(FOLDER.glob("*.py"))]
    features = [value for module in modules for value in vars(module).values()]
    defined = {id(feature) for feature in features if isinstance(feature, Feature)}

    assert Counter(map(id, FEATURES)) == Counter(defined)


def test_a_feature_has_the_name_of_its_file() -> None:
    """
    And ends it, so that a reader finds the one by the other.
    """
    for feature in FEATURES:
        assert import_module(f"features.{feature.name}").FEATURE is feature
