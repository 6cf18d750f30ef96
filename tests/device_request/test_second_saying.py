"""The rules for GPUs, said a second time: as the peer's program goes about them."""

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from placer_models.device_request import DeviceRequestError, devices_asked

NAMES = {
    "vendor": "nvidia.com/gpu",
    "gpu": "koordinator.sh/gpu",
    "shared": "koordinator.sh/gpu.shared",
    "core": "koordinator.sh/gpu-core",
    "memory": "koordinator.sh/gpu-memory",
    "ratio": "koordinator.sh/gpu-memory-ratio",
    "npu": "huawei.com/npu-core",
    "npu_cpu": "huawei.com/npu-cpu",
    "dvpp": "huawei.com/npu-dvpp",
}
COUNTS = ("vendor", "shared")

GOOD = (
    *("vendor", "gpu", "memory", "ratio", "core memory", "core ratio", "npu ratio"),
    *("memory shared", "ratio shared", "core memory shared", "core ratio shared"),
    *("memory npu npu_cpu shared", "dvpp memory npu npu_cpu shared"),
)

REQUESTS = st.one_of(
    st.sampled_from(GOOD).map(str.split),
    st.lists(st.sampled_from(sorted(NAMES)), min_size=1, max_size=5, unique=True),
).flatmap(
    lambda names: st.fixed_dictionaries(
        {
            name: st.sampled_from([1, 2, 3] if name in COUNTS else [1, 50, 60, 100, 150, 200, 300])
            for name in names
        }
    )
)

Said = tuple[int, dict[str, int]] | Literal["refused"]


def as_the_peer(asked: dict[str, int]) -> Said:
    """Return on how many GPUs the request falls, and how much of each that is."""
    names = sorted(asked)
    percentages = [asked.get(name, 0) for name in ("gpu", "core", "ratio")]
    shares = asked.get("shared", 0)
    if " ".join(names) not in GOOD:
        return "refused"
    if not shares and any(amount > 100 and amount % 100 for amount in percentages):
        return "refused"
    if shares and any(amount % shares or amount // shares > 100 for amount in percentages):
        return "refused"
    if shares and "npu" in names and (shares > 1 or asked.get("dvpp", 0) > 100):
        return "refused"
    if "vendor" in asked:
        asked = {"core": 100 * asked["vendor"], "ratio": 100 * asked["vendor"]}
    if "gpu" in asked:
        asked = {"core": asked["gpu"], "ratio": asked["gpu"]}
    if not shares:
        # The webhook's part where there is no ratio, the scheduler's where there is one.
        whole = asked.get("ratio", asked.get("core", 0))
        shares = whole // 100 if whole > 100 else 1
    each = {name: amount // shares for name, amount in asked.items() if name != "shared"}
    return shares, {name: amount for name, amount in each.items() if amount}


def as_placer(asked: dict[str, int]) -> Said:
    """Return the same, said by Placer."""
    try:
        (demand,) = devices_asked({NAMES[name]: amount for name, amount in asked.items()})
    except DeviceRequestError:
        return "refused"
    short = {name: word for word, name in NAMES.items()}
    each = {
        "core": demand.share.percent,
        "memory": demand.share.memory_bytes,
        "ratio": demand.share.memory_percent,
        **{short[q.name]: q.amount for q in demand.share.capacity},
    }
    return demand.count, {name: amount for name, amount in each.items() if amount}


@settings(max_examples=500)
@given(REQUESTS)
def test_two_programs_say_the_same(asked: dict[str, int]) -> None:
    """
    Whatever is asked for, Placer refuses what the peer refuses, and makes the same of the rest.
    """
    assert as_placer(asked) == as_the_peer(asked)
