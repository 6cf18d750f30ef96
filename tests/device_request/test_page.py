"""The page on requests for devices and the code say the same."""

import re
from pathlib import Path

import pytest

from placer_models.device_request import (
    GPU_COMBINATIONS,
    OTHER_SPELLINGS,
    DeviceRequestError,
    DeviceRequestRuleName,
    devices_asked,
)

PAGE = (Path(__file__).parents[2] / "docs" / "rules" / "device-requests.md").read_text("utf-8")


def test_the_page_has_a_row_for_each_rule() -> None:
    """
    No rule without its row, no row without its rule.
    """
    assert re.findall(r"^\| `(device-\w+)` \|", PAGE, re.MULTILINE) == [*DeviceRequestRuleName]


def test_the_page_has_a_row_for_each_name() -> None:
    """
    Each resource by which GPUs are asked for stands in the table of parameters.
    """
    names = {name.removeprefix("huawei.com/") for names in GPU_COMBINATIONS for name in names}

    assert [name for name in sorted(names) if f"{name}`" not in PAGE] == []
    assert {"kubernetes.io/gpu", "kubernetes.io/rdma", "gpu-core"} <= OTHER_SPELLINGS.keys()


def test_the_message_on_the_page_is_the_message() -> None:
    """
    Rule, name, value and mend.
    """
    with pytest.raises(DeviceRequestError) as caught:
        devices_asked({"koordinator.sh/rdma": 101})

    assert f"refused: `{caught.value}`" in PAGE
