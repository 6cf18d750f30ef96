"""Rows of the peers' tests as objects of a cluster: what its files would say of them."""

import json
from collections.abc import Collection, Mapping

from alignment.hint_machines import Stock
from alignment.peer_rows import Row
from kubernetes_dumps import read
from kubernetes_worlds import Json, node, owned, pod, topology
from placer_models.cluster import Instance
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.policy import AlignmentPolicy

SPELT = {
    AlignmentPolicy.NONE: "none",
    AlignmentPolicy.BEST_EFFORT: "best-effort",
    AlignmentPolicy.RESTRICTED: "restricted",
    AlignmentPolicy.SINGLE_NUMA_NODE: "single-numa-node",
}
"""As the kubelet's topology manager spells its policies."""

CPUS = 104
NODE = "node.koordinator.sh/"
POD = "scheduling.koordinator.sh/"


def stocks_as_objects(
    stocks: Mapping[str, Stock], numa_nodes: int, policy: AlignmentPolicy
) -> Instance:
    """Return the node of the stocks, told by its zones, and the pods that ask and that hold."""
    zones = [
        {
            "name": f"node-{i}",
            "type": "Node",
            "resources": [
                {"name": "cpu", "capacity": "1", "allocatable": "1", "available": "1"},
                *(
                    {
                        "name": f"example.com/{name}",
                        "capacity": str(stock.has[i]),
                        "allocatable": str(stock.has[i]),
                        "available": str(stock.free[i]),
                    }
                    for name, stock in stocks.items()
                    if stock.has[i]
                ),
            ],
        }
        for i in range(numa_nodes)
    ]
    told = {"topologyManagerPolicy": SPELT[policy], "topologyManagerScope": "pod"}
    attributes = [{"name": name, "value": value} for name, value in told.items()]
    cpus = [(i, i, 0, i) for i in range(numa_nodes)]
    held = {name: sum(stock.has) - sum(stock.free) for name, stock in stocks.items()}
    return read(
        node(amounts={"cpu": str(numa_nodes)}),
        topology(cpus=cpus, zones=zones, attributes=attributes),
        *([_asking("holding", held, nodeName="n1")] if any(held.values()) else []),
        _asking("asking", {name: stock.need for name, stock in stocks.items()}),
    )[0]


def row_as_objects(row: Row, allowed: Collection[int], policy: AlignmentPolicy) -> Instance:
    """Return what a row of the NUMA resource manager allots, and to whom."""
    taken = parse_cpu_list(row.get("taken", ""))
    withheld = frozenset(cpu for cpu in range(CPUS) if cpu // 52 not in allowed) - taken
    pages, ratio = row.get("has_pages", [0, 0]), row.get("amplified", 1)
    amounts = {
        "cpu": str(int(CPUS * ratio)),
        "memory": "256Gi",
        "hugepages-1Gi": f"{sum(pages)}Gi",
    }
    said = {
        f"{NODE}reservation": json.dumps({"reservedCPUs": format_cpu_list(withheld)}),
        f"{NODE}resource-amplification-ratio": json.dumps({"cpu": ratio}),
    }
    zones = [
        {
            "name": f"node-{i}",
            "type": "Node",
            "resources": [
                {"name": name, "capacity": amount}
                for name, amount in (
                    ("cpu", "52"),
                    ("memory", "128Gi"),
                    ("hugepages-1Gi", f"{count}Gi"),
                )
            ],
        }
        for i, count in enumerate(pages)
    ]
    need = row["need"]
    asks = {"cpu": str(need["cpus"]), "memory": f"{need.get('memory_gib', 0)}Gi"}
    asks |= {"hugepages-1Gi": f"{need['pages']}Gi"} if "pages" in need else {}
    wishes: dict[str, object] = {}
    if "bind" in need:
        wishes[f"{POD}resource-spec"] = {"requiredCPUBindPolicy": need["bind"]}
    if policy is not AlignmentPolicy.NONE:
        wishes[f"{POD}numa-topology-spec"] = {"numaTopologyPolicy": policy}
    return read(
        node(annotations=said, amounts=amounts, capacity={**amounts, "cpu": str(CPUS)}),
        topology(cpus=[(i, i // 2, i // 52, i // 52) for i in range(CPUS)], zones=zones),
        *_runners(row, len(taken)),
        _of_class("LSR" if "bind" in need else "LS", "p", asks, annotations=wishes),
    )[0]


def _runners(row: Row, taken: int) -> list[Json]:
    """Return a pod that owns what is taken, and one that shares; the first has the memory."""
    memory, pages = row.get("memory_gib", [0, 0]), row.get("pages", [0, 0])
    found: list[Json] = []
    for name, qos, cpus in (
        ("owns", "LSR", taken),
        ("shares", "LS", sum(row.get("shared", [0, 0]))),
    ):
        if not cpus:
            continue
        status: dict[str, object] = {"cpuset": row["taken"]} if qos == "LSR" else {}
        asks = {"cpu": str(cpus)}
        if not found and any(memory):
            asks |= {"memory": f"{sum(memory)}Gi", "hugepages-1Gi": f"{sum(pages)}Gi"}
            status["numaNodeResources"] = [
                {"node": i, "resources": {"memory": f"{n}Gi"}} for i, n in enumerate(memory)
            ]
        notes = {f"{POD}resource-status": status} if status else owned("")
        found.append(_of_class(qos, name, asks, annotations=notes, nodeName="n1"))
    return found


def _asking(name: str, counts: Mapping[str, int], **spec: str) -> Json:
    amounts = {f"example.com/{kind}": str(count) for kind, count in counts.items() if count}
    return _of_class("LS", name, amounts, **spec)


def _of_class(qos: str, name: str, amounts: Mapping[str, str], **more: object) -> Json:
    labels = {"koordinator.sh/qosClass": qos}
    return pod(name, amounts, limits=amounts, labels=labels, **more)
