"""Rows of the peer's table in our form, and what Placer answers to them.

A row asks for device resources (``ask``) and says one of:

- ``refused``: the request breaks a rule;
- ``names``: the names that the request stands on, after validation;
- ``resources``: the request once its shorthands are translated;
- ``each``, ``count`` (and ``shared``): what that is of each of how many devices, where
  ``nics`` lists the labels of the node's NICs and ``hint`` how they are to be chosen.
"""

import json
from collections.abc import Mapping
from typing import Any

from placer_models.annotations.device_hint import (
    DeviceAllocateHint,
    read_device_hints_annotation,
    with_device_hint_applied,
)
from placer_models.device_request import (
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    KOORD_RDMA,
    DeviceRequestError,
    checked_device_request_amounts,
    devices_asked,
    without_gpu_shorthands,
)
from placer_models.pod import DeviceRequest
from placer_models.quantity import parse_bytes

Row = Mapping[str, Any]

FLAGS = {
    "NvidiaGPU": "nvidia.com/gpu",
    "AMDGPU": "amd.com/gpu",
    "HygonDCU": "dcu.com/gpu",
    "KoordGPU": "koordinator.sh/gpu",
    "GPUShared": "koordinator.sh/gpu.shared",
    "GPUCore": "koordinator.sh/gpu-core",
    "GPUMemory": "koordinator.sh/gpu-memory",
    "GPUMemoryRatio": "koordinator.sh/gpu-memory-ratio",
    "HuaweiNPUCore": "huawei.com/npu-core",
    "HuaweiNPUCPU": "huawei.com/npu-cpu",
    "HuaweiNPUDVPP": "huawei.com/npu-dvpp",
    "FPGA": "koordinator.sh/fpga",
    "RDMA": "koordinator.sh/rdma",
}
"""The peer's word for a resource -> its name."""


def from_peer(case: Row) -> Row:
    """Return a case of the peer's table as a row."""
    row: dict[str, Any] = {"name": case["name"], "ask": case["requests"]}
    expected = case["expect"]
    if expected.get("error"):
        row["refused"] = True
    elif case["op"] == "validate":
        row["names"] = sorted(FLAGS[flag] for flag in expected["combination"])
    elif case["op"] == "convert":
        names = frozenset(FLAGS[flag] for flag in case["combination"])
        if expected["resources"] is None:
            # The peer is told a combination that it does not know.
            row |= {"ask": dict.fromkeys(sorted(names), "1"), "refused": True}
        else:
            row["resources"] = expected["resources"]
    else:
        row["each"] = expected.get("per_gpu") or expected["per_nic"]
        row["count"] = expected.get("gpus") or expected["count"]
        if "shared" in expected:
            row["shared"] = expected["shared"]
    if case["op"] == "per_nic":
        row["nics"] = [{"type": kind} for kind, n in case["nics"].items() for _ in range(n)]
        row["hint"] = case["hint"]
    return row


def answer(row: Row) -> Row:
    """Return what Placer says to a row, in the row's own form."""
    said: dict[str, Any] = {key: row[key] for key in ("name", "ask", "nics", "hint") if key in row}
    try:
        if "names" in row:
            said["names"] = sorted(checked_device_request_amounts(row["ask"]))
        elif "resources" in row:
            said["resources"] = _written(
                without_gpu_shorthands(checked_device_request_amounts(row["ask"])), row["resources"]
            )
        else:
            (demand,) = devices_asked(row["ask"])
            if "nics" in row:
                demand = with_device_hint_applied(demand, _hint(row["hint"]), row["nics"])
            said["each"] = _written(_resources(demand), row.get("each", {}))
            said["count"] = demand.count
            if "shared" in row:
                said["shared"] = demand.share.shared
    except DeviceRequestError:
        said["refused"] = True
    return said


def _hint(hint: object) -> DeviceAllocateHint:
    return (
        read_device_hints_annotation(json.dumps({"rdma": hint}))["rdma"]
        if hint
        else DeviceAllocateHint()
    )


def _resources(demand: DeviceRequest) -> dict[str, int]:
    each = demand.share
    percent_name = GPU_CORE if demand.type == "gpu" else KOORD_RDMA
    amounts = {
        percent_name: each.percent,
        GPU_MEMORY: each.memory_bytes,
        GPU_MEMORY_RATIO: each.memory_percent,
        **{q.name: q.amount for q in each.capacity},
    }
    return {name: amount for name, amount in amounts.items() if amount is not None}


def _written(amounts: Mapping[str, int], like: Mapping[str, str]) -> dict[str, str]:
    """Return amounts as the row writes them, where they are the same amounts."""
    return {
        name: like[name] if parse_bytes(like.get(name, "0")) == amount else str(amount)
        for name, amount in amounts.items()
    }
