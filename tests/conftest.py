"""What holds for every test: how Hypothesis searches, which batches the gate takes.

And that the judge rejects no place: answers survive that, so a test has to look for it.
"""

import logging
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from commands import Placer

# A busy machine is no reason to fail: nothing here may look at the clock.
_patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

# gate: the same examples in every run, so that a red gate is a change's own fault.
settings.register_profile("gate", derandomize=True, print_blob=True, **_patient)
# explore: new examples in every run, for a hunt by hand.
settings.register_profile("explore", max_examples=2_000, **_patient)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test in batches of worlds the gate takes the first, `check` the next four.

    `make slow` takes the rest.
    """
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.params.get("batch", 0) > 0:
            in_check = callspec.params["batch"] < 5
            item.add_marker(pytest.mark.check if in_check else pytest.mark.slow)


class _Rejections(logging.Handler):
    """Keeps what is logged about places that the judge rejects."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test in which the judge rejected a place, unless it injects a fault on purpose."""
    handler, log = _Rejections(), logging.getLogger("placer.search.rejected")
    log.addHandler(handler)
    try:
        result = yield
    finally:
        log.removeHandler(handler)
    if handler.messages and item.get_closest_marker("rejects_on_purpose") is None:
        pytest.fail("\n".join(handler.messages), pytrace=False)
    return result


@pytest.fixture
def placer(capsys: pytest.CaptureFixture[str]) -> Placer:
    """The command ``placer``, with an eye on its exit code and on what it prints."""
    return Placer(capsys)
