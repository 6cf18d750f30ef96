"""The page on annotations shows documents that are read as it says."""

import re
from pathlib import Path

import pytest

from annotations.documents import READERS

PAGE = (Path(__file__).parents[2] / "docs" / "annotations.md").read_text("utf-8")
SAMPLES = dict(re.findall(r"^```json (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("key", sorted(READERS))
def test_each_annotation_has_a_sample_that_is_read(key: str) -> None:
    """
    Who copies a document from the page gets no message.
    """
    assert READERS[key](SAMPLES[key.removeprefix("scheduling.koordinator.sh/")])


def test_the_message_on_the_page_is_the_message() -> None:
    """
    Annotation, path, value, and what is expected.
    """
    key = "scheduling.koordinator.sh/device-allocated"

    with pytest.raises(ValueError, match=key) as caught:
        READERS[key]('{"gpu":[{"minor":"a"}]}')

    assert f"\n    {caught.value}\n" in PAGE
