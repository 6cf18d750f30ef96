"""A dump of a large cluster: written by seed, then read, with the time and the memory that takes.

    python benchmarks/cluster_dump.py [--nodes 2000] [--pods 18000] [--format json] [--keep DIR]
        [--against FOLDER] [--rounds 3]

With --against the same dump is read with the placer of another checkout too, the two in turn, so
that both meet the machine in the same mood; the last line is the ratio of the medians.

A fifth of the nodes have GPUs, a NodeResourceTopology and a Device object; objects are as long as
kubectl prints them (managed fields left out, as it does). Each reading is a process of its own, so
that its peak memory is its own.
"""

import gc
import json
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import SUPPRESS
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _node_objects
from _arguments import parser_for
from _checkouts import HERE, output_of

Json = dict[str, Any]

SEED = 20261122
_AS_IT_IS = re.compile(
    r"[A-Za-z/](?:[A-Za-z0-9/._() -]|:(?! ))*(?<![ :])|[0-9.:/a-z-]*[.:/-][a-z0-9./-]+"
)
GPU_NODE = 5
"""Every so many nodes one has GPUs."""


def nodes(count: int) -> Iterator[Json]:
    """Yield the nodes, and what is known of their insides."""
    for i in range(count):
        name, has_gpus = f"node-{i:05}", i % GPU_NODE == 0
        capacity = {"cpu": "64", "memory": "263716748Ki", "pods": "110"}
        allocatable = {"cpu": "63500m", "memory": "261517196Ki", "pods": "110"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": f"00000000-0000-0000-0000-{i:012}",
                "resourceVersion": str(i),
                "labels": {
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": name,
                    "node.kubernetes.io/instance-type": "gpu.8x" if has_gpus else "plain.64",
                    "topology.kubernetes.io/zone": f"zone-{i % 3}",
                },
                "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            },
            "spec": {"podCIDR": f"10.{i // 256}.{i % 256}.0/24"}
            | ({"taints": [{"key": "gpu", "effect": "NoSchedule"}]} if has_gpus else {}),
            "status": {
                "capacity": capacity,
                "allocatable": allocatable,
                "conditions": [
                    condition(kind, "False")
                    for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")
                ]
                + [condition("Ready", "True")],
                "images": [
                    {"names": [f"registry.example/app-{n}:1"], "sizeBytes": 10**8 + n}
                    for n in range(50)
                ],
            },
        }
        if has_gpus:
            yield topology(name)
            yield devices(name)


def condition(kind: str, status: str) -> Json:
    """Return a condition of a node or a pod."""
    when = "2026-03-10T03:29:20Z"
    reason = f"Kubelet{kind}"
    return {
        "lastHeartbeatTime": when,
        "lastTransitionTime": when,
        "message": f"kubelet says {kind} is {status}",
        "reason": reason,
        "status": status,
        "type": kind,
    }


def topology(name: str) -> Json:
    """Return a NodeResourceTopology of two sockets of 16 cores, two threads each."""
    found = _node_objects.topology(name, 64, 252)
    policy = {"kubelet.koordinator.sh/cpu-manager-policy": '{"policy":"none"}'}
    found["metadata"]["annotations"] |= policy
    return {**found, "topologyPolicies": ["None"]}


def devices(name: str) -> Json:
    """Return a Device object of eight GPUs."""
    found = _node_objects.devices(name, 8)
    found["metadata"]["labels"] = {"node.koordinator.sh/gpu-model": "H100"}
    for one in found["spec"]["devices"]:
        one["topology"]["pcieID"] = "p"
    return found


def pods(count: int, node_count: int, draw: random.Random) -> Iterator[Json]:
    """Yield the pods: nine in ten run, spread over the nodes, two GPUs at most on each."""
    gpus = dict.fromkeys(range(0, node_count, GPU_NODE), 0)
    for i in range(count):
        node = draw.randrange(node_count)
        runs = draw.random() < 0.9
        wants = node in gpus and (not runs or gpus[node] < 8)
        annotations: Json = {"prometheus.io/scrape": "true"}
        asked = {"cpu": draw.choice(["250m", "500m", "1", "2"]), "memory": "1Gi"}
        limits = {"memory": "1Gi"}
        if wants:
            asked["nvidia.com/gpu"] = limits["nvidia.com/gpu"] = "1"
        if wants and runs:
            given = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}
            held = {"gpu": [{"minor": gpus[node], "resources": given}]}
            annotations["scheduling.koordinator.sh/device-allocated"] = json.dumps(held)
            gpus[node] += 1
        yield pod(f"app-{i % 400}-{i:06}", i, asked, limits, annotations, node if runs else None)


POD_CONDITIONS = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


def probe(path: str) -> Json:
    """Return a container's probe."""
    return {
        "failureThreshold": 3,
        "httpGet": {"path": path, "port": "http", "scheme": "HTTP"},
        "initialDelaySeconds": 5,
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }


def token_sources() -> list[Json]:
    """Return what the volume of a service account's token is made of."""
    reference = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    crt = {"key": "ca.crt", "path": "ca.crt"}
    return [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [crt], "name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [{"fieldRef": reference, "path": "namespace"}]}},
    ]


def draw_id(number: int) -> str:
    """Return an id of 64 hexadecimal digits."""
    return f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}" * 4


def pod(name: str, i: int, asked: Json, limits: Json, annotations: Json, node: int | None) -> Json:
    """Return a pod as long as kubectl prints one."""
    toleration = {"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 300}
    waits = ("not-ready", "unreachable")
    spec: Json = {
        "containers": [
            {
                "name": "main",
                "image": "registry.example/app:1",
                "imagePullPolicy": "IfNotPresent",
                "env": [{"name": f"SETTING_{n}", "value": f"value {n}"} for n in range(12)],
                "livenessProbe": probe("/live"),
                "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
                "readinessProbe": probe("/ready"),
                "resources": {"requests": asked, "limits": limits},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                },
                "volumeMounts": [
                    {"mountPath": f"/etc/app/{n}", "name": f"config-{n}"} for n in range(4)
                ]
                + [
                    {
                        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                        "name": "token",
                        "readOnly": True,
                    }
                ],
            }
        ],
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "tolerations": [{**toleration, "key": f"node.kubernetes.io/{key}"} for key in waits]
        + [{"key": "gpu", "operator": "Exists"}] * ("nvidia.com/gpu" in asked),
        "volumes": [
            {"configMap": {"defaultMode": 420, "name": f"app-{n}"}, "name": f"config-{n}"}
            for n in range(4)
        ]
        + [{"name": "token", "projected": {"defaultMode": 420, "sources": token_sources()}}],
    }
    status: Json = {"phase": "Pending"}
    if node is not None:
        spec["nodeName"] = f"node-{node:05}"
        status = {
            "phase": "Running",
            "conditions": [condition(kind, "True") for kind in POD_CONDITIONS],
            "containerStatuses": [
                {
                    "containerID": f"containerd://{draw_id(i)}",
                    "image": "registry.example/app:1",
                    "imageID": f"registry.example/app@sha256:{draw_id(i % 400)}",
                    "lastState": {},
                    "name": "main",
                    "ready": True,
                    "restartCount": i % 3,
                    "started": True,
                    "state": {"running": {"startedAt": "2026-03-10T03:29:20Z"}},
                }
            ],
            "hostIP": f"10.0.{node // 256}.{node % 256}",
            "hostIPs": [{"ip": f"10.0.{node // 256}.{node % 256}"}],
            "podIP": f"10.1.{i // 256}.{i % 256}",
            "podIPs": [{"ip": f"10.1.{i // 256}.{i % 256}"}],
            "startTime": "2026-03-10T03:29:20Z",
            "qosClass": "Burstable",
        }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": f"team-{i % 20}",
            "uid": f"11111111-0000-0000-0000-{i:012}",
            "resourceVersion": str(i),
            "labels": {"app": f"app-{i % 400}", "pod-template-hash": "7d4b9c6f5d"},
            "annotations": annotations,
        },
        "spec": spec,
        "status": status,
    }


def write(path: Path, node_count: int, pod_count: int) -> None:
    """Write the dump, an object at a time, as one List."""
    draw = random.Random(SEED)
    with path.open("w") as file:
        is_json = path.suffix == ".json"
        file.write('{"apiVersion":"v1","items":[\n' if is_json else "apiVersion: v1\nitems:\n")
        first = True
        for found in (*nodes(node_count), *pods(pod_count, node_count, draw)):
            if is_json:
                file.write(("" if first else ",\n") + json.dumps(found, indent=1))
            else:
                file.write(block(found, 0, "- "))
            first = False
        file.write('],"kind":"List"}\n' if is_json else 'kind: List\nmetadata:\n  x: ""\n')


def block(value: Any, depth: int, lead: str = "") -> str:
    """Return YAML in blocks, as kubectl prints it."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        lines = []
        for i, (key, inner) in enumerate(value.items()):
            start = pad + (lead if i == 0 else " " * len(lead))
            deeper = depth + len(lead) // 2
            if isinstance(inner, dict) and inner:
                lines.append(f"{start}{key}:\n{block(inner, deeper + 1)}")
            elif isinstance(inner, list) and inner:
                lines.append(f"{start}{key}:\n{''.join(block(x, deeper, '- ') for x in inner)}")
            else:
                lines.append(f"{start}{key}: {scalar(inner)}\n")
        return "".join(lines)
    return f"{pad}{lead}{scalar(value)}\n"


def scalar(value: Any) -> str:
    """Return a scalar as kubectl prints it: without quotes where that means the same."""
    if not isinstance(value, str):
        return json.dumps(value)
    words = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
    if _AS_IT_IS.fullmatch(value) and value.lower() not in words:
        return value
    return "'" + value.replace("'", "''") + "'" if '"' in value else json.dumps(value)


def read(path: Path) -> None:
    """Read the dump, and print what that took."""
    from placer.kubernetes.dump import read_dump

    gc.set_threshold(100_000, 50, 100)  # as the command does
    begun = time.process_time()
    instance, summary = read_dump([path])
    spent_s = time.process_time() - begun
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    machines = len({id(node.machine) for node in instance.nodes})
    print(f"{path.name}: {path.stat().st_size / 2**20:.0f} MiB, {'; '.join(summary.lines()[:1])}")
    print(
        f"  {spent_s:.2f} s of CPU, peak {peak_mib:.0f} MiB; {len(instance.nodes):,} nodes of "
        f"{machines:,} machines, {len(instance.running):,} running, {len(instance.gangs):,} waiting"
    )


def compare(path: Path, other: Path, rounds: int) -> None:
    """Read the dump with both checkouts in turn, and print the ratio of their CPU time."""
    spent: dict[str, list[float]] = {"before": [], "after": []}
    for _ in range(rounds):
        for label, folder in (("before", other), ("after", HERE)):
            told = output_of(folder, __file__, "--read", str(path))
            print(f"{label}: {told}", end="", flush=True)
            spent[label].append(float(told.split(" s of CPU")[0].split()[-1]))
    before, after = (statistics.median(spent[label]) for label in ("before", "after"))
    print(f"after / before: {after / before:.2f}")


def main() -> None:
    """Write and read."""
    parser = parser_for(__doc__)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--pods", type=int, default=18_000)
    parser.add_argument("--format", choices=["yaml", "json"], default="yaml")
    parser.add_argument("--keep", type=Path, help="a folder in which the dump stays")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--read", type=Path, help=SUPPRESS)
    said = parser.parse_args()
    if said.read:
        read(said.read)
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = (said.keep or Path(scratch)) / f"cluster.{said.format}"
        write(path, said.nodes, said.pods)
        if said.against:
            compare(path, said.against, said.rounds)
        else:
            subprocess.run([sys.executable, __file__, "--read", str(path)], check=True)


if __name__ == "__main__":
    main()
