"""What holds for every test: how Hypothesis searches, and which batches the gate takes."""

import os

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail: nothing here may look at the clock.
_patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

# gate: the same examples in every run, so that a red gate is a change's own fault.
settings.register_profile("gate", derandomize=True, print_blob=True, **_patient)
# explore: new examples in every run, for a hunt by hand.
settings.register_profile("explore", max_examples=2_000, **_patient)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that goes through batches of worlds the gate takes the first, `check` the rest."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.params.get("batch", 0) > 0:
            item.add_marker(pytest.mark.check)
