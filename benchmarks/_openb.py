"""openb's pods and node types as a question of what to buy: traces of a production GPU cluster.

The files are Alibaba's cluster-trace-gpu-v2023, which Placer does not carry: name the folder of
its CSV files by an argument or by PLACER_OPENB. Prices are made up, per node:
cores / 16 + 0.5 for each 64 GiB + a price for each GPU.
"""

import csv
import os
from decimal import Decimal
from pathlib import Path

from placer.plan.question import NodeOffer, PlanQuestion, PlanScenario
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.node_affinity import NodeAffinity, NodeTerm
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.topology import Cpu, NumaNode, Topology

GPU_PRICE = {
    "": 0,
    "P100": 1000,
    "T4": 1200,
    "A10": 2000,
    "G2": 2000,
    "V100M16": 2500,
    "V100M32": 3000,
    "G3": 3500,
}
"""In thousandths."""

MODEL = "gpu-model"
"""The label that tells models of GPUs."""


def folder_of_traces(argument: str | None) -> Path | None:
    """Return the folder of the traces, or None if it is not known or not there."""
    said = argument or os.environ.get("PLACER_OPENB", "")
    return Path(said) if said and (Path(said) / "openb_node_list_all_node.csv").is_file() else None


def openb(folder: Path, pods: str) -> PlanQuestion:
    """Return the pods of a list, and all node types of the cluster as offers without an end."""
    types = {
        (int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])
        for row in _rows(folder / "openb_node_list_all_node.csv")
    }
    specs: dict[tuple[int, int, int, int, str], PodSpec] = {}
    gangs = []
    for row in _rows(folder / f"openb_pod_list_{pods}.csv"):
        gpus = int(row["num_gpu"])
        key = (
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
            gpus,
            min(1000, int(row["gpu_milli"])) if gpus else 0,
            row["gpu_spec"] if gpus else "",
        )
        if key not in specs:
            specs[key] = _spec(*key)
        pod = Pod(row["name"], "default", specs[key])
        gangs.append(Gang(pod.name, "default", (pod,), 1, lone=True))
    offers = tuple(_offer(*one) for one in sorted(types))
    return PlanQuestion(Instance((), tuple(gangs)), offers, (PlanScenario("as traced"),))


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _offer(cpu_milli: int, memory_mib: int, gpus: int, model: str) -> NodeOffer:
    name = f"c{cpu_milli // 1000}-m{memory_mib >> 10}" + (f"-{gpus}x{model}" if gpus else "")
    topology = Topology(
        "x86_64",
        tuple(Cpu(i, core=i, package=0, numa_node=0) for i in range(cpu_milli // 1000)),
        (NumaNode(0, memory_mib << 20),),
    )
    machine = Machine(name, name, topology, tuple(Device(GPU, minor) for minor in range(gpus)))
    thousandths = cpu_milli / 16 + 500 * memory_mib / 65536 + gpus * GPU_PRICE[model]
    price = Decimal(round(thousandths)) / 1000
    return NodeOffer(Node(name, machine, labels=((MODEL, model),)), price)


def _spec(cpu_milli: int, memory_mib: int, gpus: int, gpu_milli: int, models: str) -> PodSpec:
    devices: tuple[DeviceRequest, ...] = ()
    if gpus:
        percent = gpu_milli // 10
        share = None if gpu_milli == 1000 else DeviceShare(percent, memory_percent=percent)
        devices = (DeviceRequest(GPU, gpus, share),)
    requests = Resources(cpu_milli, memory_mib << 20, devices=devices)
    affinity = None
    if models:
        among = tuple(sorted(set(models.split("|"))))
        term = NodeTerm((LabelExpression(MODEL, SelectorOperator.IN, among),))
        affinity = NodeAffinity(required=(term,))
    return PodSpec((Container("main", requests),), QosClass.LS, node_affinity=affinity)
