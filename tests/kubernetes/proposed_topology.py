"""The NodeResourceTopology of Koordinator's proposal of CPU orchestration, written down anew.

It owns and shares CPUs that its own `cpu-topology` lacks.
"""

import json

import yaml

from kubernetes_worlds import Json, node

EXAMPLE = """\
apiVersion: topology.node.k8s.io/v1alpha1
kind: NodeResourceTopology
metadata:
  annotations:
    kubelet.koordinator.sh/cpu-manager-policy: |-
      {
        "policy": "static",
        "options": {
          "full-pcpus-only": "true",
          "distribute-cpus-across-numa": "true"
        }
      }
    node.koordinator.sh/cpu-topology: |-
      {
        "detail": [
          {"id": 0, "core": 0, "socket": 0, "node": 0},
          {"id": 1, "core": 1, "socket": 1, "node": 1}
        ]
      }
    node.koordinator.sh/cpu-shared-pools: |-
      [
        {"socket": 0, "node": 0, "cpuset": "0-3"}
      ]
    node.koordinator.sh/pod-cpu-allocs: |-
      [
        {
          "namespace": "default",
          "name": "static-guaranteed-pod",
          "uid": "32b14702-2efe-4be9-a9da-f3b779175846",
          "cpu": "4-8",
          "managedByKubelet": "true"
        }
      ]
  labels:
    app.kubernetes.io/managed-by: Koordinator
  name: node1
topologyPolicies: ["SingleNUMANodePodLevel"]
zones:
- name: node-0
  type: Node
  resources:
  - {name: cpu, capacity: 20, allocatable: 15, available: 10}
  - {name: vendor/nic1, capacity: 3, allocatable: 3, available: 3}
- name: node-1
  type: Node
  resources:
  - {name: cpu, capacity: 30, allocatable: 25, available: 15}
  - {name: vendor/nic2, capacity: 6, allocatable: 6, available: 6}
- name: node-2
  type: Node
  resources:
  - {name: cpu, capacity: 30, allocatable: 25, available: 15}
  - {name: vendor/nic1, capacity: 3, allocatable: 3, available: 3}
- name: node-3
  type: Node
  resources:
  - {name: cpu, capacity: 30, allocatable: 25, available: 15}
  - {name: vendor/nic1, capacity: 3, allocatable: 3, available: 3}
"""

OWNER = "32b14702-2efe-4be9-a9da-f3b779175846"
"""The pod that owns CPUs."""


def the_topology(**annotations: object) -> Json:
    """Return the example, with some of its annotations as they are given here; None: without."""
    found: Json = yaml.safe_load(EXAMPLE)
    said = found["metadata"]["annotations"]
    for name, value in annotations.items():
        (key,) = (key for key in said if key.endswith(name.replace("_", "-")))
        said.pop(key)
        if value is not None:
            said[key] = json.dumps(value)
    return found


def the_node(cpus: str = "2") -> Json:
    """Return the node of the example."""
    return node("node1", amounts={"cpu": cpus, "memory": "16Gi"})
