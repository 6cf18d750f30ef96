"""The way of a dump: 1,000 nodes and 5,000 pods read, solved and emitted, with the time of each.

    python benchmarks/dump_way.py [--nodes 1000] [--pods 5000] [--placer PATH] [--keep DIR]

Two pods in five wait. They spread over zones, keep apart, have ports of the node or a volume in a
zone; a fifth of the nodes have GPUs. `--placer` is another checkout's command, to compare with.
"""

import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _arguments import parser_for
from _mixed_cluster import HOST, ZONE, spread, term
from cluster_dump import SEED, nodes, pod

Json = dict[str, Any]

_TIMES = re.compile(r"read in ([0-9.]+) s, solved in ([0-9.]+) s")


def objects(node_count: int, pod_count: int) -> Iterator[Json]:
    """Yield the cluster."""
    yield from nodes(node_count)
    draw = random.Random(SEED)
    for i in range(pod_count):
        waits = i % 5 > 2
        node = None if waits else draw.randrange(node_count)
        asked = {"cpu": draw.choice(["250m", "500m", "1", "2"]), "memory": "1Gi"}
        found = pod(f"app-{i % 400}-{i:06}", i, asked, {"memory": "1Gi"}, {}, node)
        if waits:
            yield from _with_a_wish(found, i // 5)
        else:
            yield found


def _with_a_wish(found: Json, number: int) -> Iterator[Json]:
    """Yield a pod that waits, and what its volume is."""
    app = found["metadata"]["labels"]["app"]
    spec, wish = found["spec"], number % 10
    if wish < 4:
        spec |= spread(app, ZONE)
    elif wish == 4:
        spec["affinity"] = term("podAntiAffinity", {"app": app}, HOST)
    elif wish == 5:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    elif wish == 6:
        name, namespace = found["metadata"]["name"], found["metadata"]["namespace"]
        mounted = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
        spec["volumes"] = [*spec["volumes"], mounted]
        yield from _volume(name, namespace, f"zone-{number % 3}")
    yield found


def _volume(name: str, namespace: str, zone: str) -> Iterator[Json]:
    """Yield a volume in a zone, and the claim that is bound to it."""
    expression = {"key": ZONE, "operator": "In", "values": [zone]}
    there = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    amount, modes = "10Gi", ["ReadWriteOnce"]
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"volume-{name}"},
        "spec": {
            "capacity": {"storage": amount},
            "accessModes": modes,
            "storageClassName": "disks",
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "claimRef": {"namespace": namespace, "name": name},
            "nodeAffinity": {"required": there},
        },
        "status": {"phase": "Bound"},
    }
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"claim-{name}",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {
            "accessModes": modes,
            "storageClassName": "disks",
            "resources": {"requests": {"storage": amount}},
            "volumeName": name,
        },
        "status": {"phase": "Bound"},
    }


def measure(placer: str, dump: Path, told: Path) -> None:
    """Run the command, and print what each part took."""
    limits = ["--workers", "1", "--work-limit", "20", "--seed", "0"]
    output = ["--emit", "bindings", str(told), "--output", str(told.with_suffix(".json"))]
    begun = time.monotonic()
    done = subprocess.run(
        [placer, "solve", str(dump), *limits, *output], capture_output=True, text=True
    )
    spent_s = time.monotonic() - begun
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = _TIMES.search(done.stderr + done.stdout)
    if times is None:
        raise SystemExit(f"{placer}: {done.stderr[-2000:]}")
    read_s, solved_s = (float(one) for one in times.groups())
    bindings = sum(1 for _ in told.glob("bindings/*/*/*.json"))
    size_mib, peak_mib = dump.stat().st_size / 2**20, used.ru_maxrss / 1024
    else_s = spent_s - read_s - solved_s
    print(
        f"{size_mib:.0f} MiB: read in {read_s:.1f} s, "
        f"solved in {solved_s:.1f} s, all else (start, {bindings:,} bindings) {else_s:.1f} s; "
        f"{used.ru_utime:.1f} s of CPU, peak {peak_mib:.0f} MiB"
    )


def main() -> None:
    """Write the dump, and go the way."""
    parser = parser_for(__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--placer", default=str(Path(sys.executable).parent / "placer"))
    parser.add_argument("--keep", type=Path, help="a folder in which the dump stays")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        dump = (said.keep or Path(scratch)) / "cluster.json"
        if not dump.exists():
            with dump.open("w") as file:
                found = list(objects(said.nodes, said.pods))
                json.dump({"apiVersion": "v1", "kind": "List", "items": found}, file, indent=1)
        measure(said.placer, dump, Path(scratch) / "told")


if __name__ == "__main__":
    main()
