"""What holds for every test: how Hypothesis searches."""

import os

from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail: nothing here may look at the clock.
_patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

# gate: the same examples in every run, so that a red gate is a change's own fault.
settings.register_profile("gate", derandomize=True, print_blob=True, **_patient)
# explore: new examples in every run, for a hunt by hand.
settings.register_profile("explore", max_examples=2_000, **_patient)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))
