"""openb's pods and node types as a question of what to buy: traces of a production GPU cluster.

The files are Alibaba's cluster-trace-gpu-v2023, which Placer does not carry: name the folder of
its CSV files by an argument or by PLACER_OPENB. Prices are made up, per node:
cores / 16 + 0.5 for each 64 GiB + a price for each GPU.
"""

import os
from argparse import ArgumentParser, ArgumentTypeError
from decimal import Decimal
from pathlib import Path

from placer.openb.lists import TraceNode, read_trace_nodes, read_trace_pods
from placer.openb.words import TraceConverter, gpu_models_of_nodes
from placer.plan.question import NodeOffer, PlanQuestion, PlanScenario
from placer_models.cluster import Instance

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

TRACES_MISSING = "name the folder of openb's CSV files by an argument or by PLACER_OPENB"


def folder_of_traces(argument: str | None) -> Path | None:
    """Return the folder of the traces, or None if it is not known or not there."""
    said = argument or os.environ.get("PLACER_OPENB", "")
    return Path(said) if said and (Path(said) / "openb_node_list_all_node.csv").is_file() else None


def add_folder_of_traces(parser: ArgumentParser) -> None:
    """Add the argument `folder`: by default what PLACER_OPENB names, None if that is not there."""
    # A default that is text goes through the type, too.
    parser.add_argument(
        "folder",
        type=_named,
        nargs="?",
        default="",
        help="of openb's CSV files; without it, or if it is empty, PLACER_OPENB names them",
    )


def _named(word: str) -> Path | None:
    folder = folder_of_traces(word)
    if word and folder is None:
        raise ArgumentTypeError(f"there is no openb_node_list_all_node.csv in {word!r}")
    return folder


def openb(folder: Path, pods: str) -> PlanQuestion:
    """Return the pods of a list, and all node types of the cluster as offers without an end."""
    words = TraceConverter()
    nodes = read_trace_nodes(folder / "openb_node_list_all_node.csv")
    types = {(one.cpu_milli, one.memory_mib, one.gpus, one.model): one for one in nodes}
    listed = read_trace_pods(folder / f"openb_pod_list_{pods}.csv", gpu_models_of_nodes(nodes))
    gangs = tuple(words.lone(pod) for pod in listed)
    offers = tuple(_offer(types[key], words) for key in sorted(types))
    return PlanQuestion(Instance((), gangs), offers, (PlanScenario("as traced"),))


def _offer(node: TraceNode, words: TraceConverter) -> NodeOffer:
    name = f"c{node.cpu_milli // 1000}-m{node.memory_mib >> 10}"
    name += f"-{node.gpus}x{node.model}" if node.gpus else ""
    thousandths = node.cpu_milli / 16 + 500 * node.memory_mib / 65536
    thousandths += node.gpus * GPU_PRICE[node.model]
    return NodeOffer(words.node(node, name), Decimal(round(thousandths)) / 1000)
