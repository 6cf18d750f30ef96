"""Each rule for requests of devices, from both sides of its edge (D2, D4)."""

import pytest

from placer_models.capacity import DeviceQuantity
from placer_models.device_request import (
    MAX_DEVICES,
    DeviceRequestError,
    DeviceRequestRuleName,
    devices_asked,
)
from placer_models.device_share import DeviceShare
from placer_models.pod import DeviceRequest

Asked = dict[str, str | float]

K = "koordinator.sh/"
CORE, MEMORY, RATIO = f"{K}gpu-core", f"{K}gpu-memory", f"{K}gpu-memory-ratio"
SHARED = f"{K}gpu.shared"
NPU: Asked = {SHARED: 1, MEMORY: "16Gi", "huawei.com/npu-core": 10, "huawei.com/npu-cpu": 3}
GIB = 2**30


def gpus(
    count: int,
    percent: int | None = None,
    memory_bytes: int | None = None,
    memory_percent: int | None = None,
) -> tuple[DeviceRequest, ...]:
    """Return the demand for such shares of so many GPUs."""
    return (DeviceRequest("gpu", count, DeviceShare(percent, memory_bytes, memory_percent)),)


@pytest.mark.parametrize(
    ("asked", "demands"),
    [
        ({"nvidia.com/gpu": 2}, gpus(2, percent=100, memory_percent=100)),
        ({"amd.com/gpu": "1"}, gpus(1, percent=100, memory_percent=100)),
        ({"gpu": 1}, gpus(1, percent=100, memory_percent=100)),
        ({f"{K}gpu": 50}, gpus(1, percent=50, memory_percent=50)),
        ({f"{K}gpu": 300}, gpus(3, percent=100, memory_percent=100)),
        ({CORE: 50, RATIO: 60}, gpus(1, percent=50, memory_percent=60)),
        ({CORE: 60, MEMORY: "4Gi"}, gpus(1, percent=60, memory_bytes=4 * GIB)),
        ({CORE: 200, MEMORY: "32Gi"}, gpus(2, percent=100, memory_bytes=16 * GIB)),
        ({MEMORY: "4Gi"}, gpus(1, memory_bytes=4 * GIB)),
        ({RATIO: 200}, gpus(2, memory_percent=100)),
        ({SHARED: 2, CORE: 100, RATIO: 50}, gpus(2, percent=50, memory_percent=25)),
        ({SHARED: 3, MEMORY: "10"}, gpus(3, memory_bytes=3)),
        ({"huawei.com/npu-core": 1, RATIO: 200}, gpus(2, memory_percent=100)),
    ],
)
def test_a_request_for_gpus_is_so_much_of_each(
    asked: Asked, demands: tuple[DeviceRequest, ...]
) -> None:
    """
    Shorthands, percent, bytes and shares all become: this of each of so many GPUs.
    """
    assert devices_asked(asked) == demands


def test_every_type_that_is_asked_for_has_its_demand() -> None:
    """
    GPUs, a part of a NIC, FPGAs and a type that nobody has heard of, in one request.
    """
    asked: Asked = {
        "nvidia.com/gpu": 1,
        f"{K}rdma": 50,
        f"{K}fpga": 200,
        "example.com/ve": 3,
        "cpu": "4",
        "memory": "8Gi",
        "hugepages-2Mi": "4Mi",
        "ephemeral-storage": "1Gi",
        "kubernetes.io/batch-cpu": 2000,
    }

    assert devices_asked(asked) == (
        DeviceRequest("example.com/ve", 3, DeviceShare(percent=100)),
        DeviceRequest("fpga", 2, DeviceShare(percent=100)),
        *gpus(1, percent=100, memory_percent=100),
        DeviceRequest("rdma", 1, DeviceShare(percent=50)),
    )


@pytest.mark.parametrize("name", ["gpu", "gpu-core", "gpu-memory-ratio", "rdma", "fpga"])
def test_the_names_of_the_proposal_mean_the_same(name: str) -> None:
    """
    kubernetes.io/ stands for koordinator.sh/ in what older pods ask for.
    """
    beside = {RATIO: 70} if name == "gpu-core" else {}

    assert devices_asked({f"kubernetes.io/{name}": 40, **beside}) == devices_asked(
        {f"{K}{name}": 40, **beside}
    )


def test_an_npu_is_asked_for_by_its_parts() -> None:
    """
    What has no word of its own is carried along by its name.
    """
    parts = (DeviceQuantity("huawei.com/npu-core", 10), DeviceQuantity("huawei.com/npu-cpu", 3))

    assert devices_asked(NPU) == (
        DeviceRequest("gpu", 1, DeviceShare(memory_bytes=16 * GIB, capacity=parts)),
    )


@pytest.mark.parametrize(
    ("asked", "rule", "words"),
    [
        ({}, DeviceRequestRuleName.ASKED, "names no device"),
        ({"cpu": 4, "nvidia.com/gpu": 0}, DeviceRequestRuleName.ASKED, "names no device"),
        (
            {f"{K}gpu-cores": 5},
            DeviceRequestRuleName.NAME,
            "'koordinator.sh/gpu-cores' is no device resource",
        ),
        ({"kubernetes.io/npu": 5}, DeviceRequestRuleName.NAME, "'kubernetes.io/npu'"),
        ({"two words": 1}, DeviceRequestRuleName.NAME, "'two words' is no resource"),
        ({"": 1}, DeviceRequestRuleName.NAME, "'' is no resource"),
        (
            {"nvidia.com/gpu": "0.5"},
            DeviceRequestRuleName.AMOUNT,
            "nvidia.com/gpu: '0.5' is not a whole number",
        ),
        ({"nvidia.com/gpu": -1}, DeviceRequestRuleName.AMOUNT, "-1 is negative"),
        (
            {"nvidia.com/gpu": MAX_DEVICES + 1},
            DeviceRequestRuleName.AMOUNT,
            "got 10001; expected up to 10,000",
        ),
        (
            {f"{K}gpu": 100 * MAX_DEVICES + 100},
            DeviceRequestRuleName.AMOUNT,
            "expected up to 1,000,000",
        ),
        ({MEMORY: "half"}, DeviceRequestRuleName.AMOUNT, "gpu-memory: 'half' is no amount"),
        ({MEMORY: "0.5"}, DeviceRequestRuleName.AMOUNT, "not a whole number of bytes"),
        (
            {f"{K}gpu": 50, "kubernetes.io/gpu": 50},
            DeviceRequestRuleName.ONCE,
            "koordinator.sh/gpu is asked",
        ),
        ({"rdma": 1, f"{K}rdma": 50}, DeviceRequestRuleName.ONCE, "rdma counts devices"),
        (
            {CORE: 50},
            DeviceRequestRuleName.COMBINATION,
            "cannot be asked for alone; add koordinator.sh/gpu-memory",
        ),
        (
            {MEMORY: 1, RATIO: 1},
            DeviceRequestRuleName.COMBINATION,
            "leave out koordinator.sh/gpu-memory-ratio",
        ),
        (
            {f"{K}gpu": 50, SHARED: 1},
            DeviceRequestRuleName.COMBINATION,
            "leave out koordinator.sh/gpu.shared",
        ),
        ({SHARED: 2}, DeviceRequestRuleName.COMBINATION, "cannot be asked for alone"),
        (
            {"gpu": 1, "nvidia.com/gpu": 1},
            DeviceRequestRuleName.COMBINATION,
            "gpu and nvidia.com/gpu",
        ),
        ({f"{K}gpu": 101}, DeviceRequestRuleName.WHOLE, "101 percent"),
        ({f"{K}rdma": 250}, DeviceRequestRuleName.WHOLE, "ask for up to 100, for 200 or for 300"),
        (
            {SHARED: 1, RATIO: 50, f"{K}rdma": 101},
            DeviceRequestRuleName.WHOLE,
            "koordinator.sh/rdma: 101",
        ),
        ({CORE: 150, MEMORY: "1Gi"}, DeviceRequestRuleName.WHOLE, "gpu-core: 150 percent"),
        ({SHARED: 2, RATIO: 51}, DeviceRequestRuleName.SPLIT, "a multiple of 2, up to 200"),
        ({SHARED: 2, RATIO: 202}, DeviceRequestRuleName.SPLIT, "202 percent over 2 GPUs"),
        (
            {SHARED: 2, RATIO: 50, CORE: 7},
            DeviceRequestRuleName.SPLIT,
            "gpu-core: 7 percent over 2 GPUs",
        ),
        ({**NPU, SHARED: 2}, DeviceRequestRuleName.NPU, "got 2; expected 1 at most"),
        (
            {**NPU, "huawei.com/npu-dvpp": 101},
            DeviceRequestRuleName.NPU,
            "npu-dvpp: got 101; expected 100",
        ),
    ],
)
def test_what_breaks_a_rule_is_refused_in_its_name(
    asked: Asked, rule: DeviceRequestRuleName, words: str
) -> None:
    """
    One line that names the rule, the resource, the value and the mend.
    """
    with pytest.raises(DeviceRequestError) as caught:
        devices_asked(asked)

    message = str(caught.value)
    assert caught.value.rule is rule
    assert message.startswith(f"{rule}: ")
    assert words in message
    assert message.isprintable()


@pytest.mark.parametrize(
    "asked",
    [
        {f"{K}gpu": 100},
        {f"{K}rdma": 200},
        {SHARED: 2, RATIO: 200},
        {SHARED: 2, RATIO: 50, CORE: 6},
        {**NPU, "huawei.com/npu-dvpp": 100},
        {"nvidia.com/gpu": MAX_DEVICES},
    ],
)
def test_what_just_keeps_a_rule_is_taken(asked: Asked) -> None:
    """
    On the edge, a request is good.
    """
    assert devices_asked(asked)
