"""What pods of a dump ask about other pods: ports, affinity, spread, as kube-scheduler takes it."""

from kubernetes_dumps import notes, places, read
from kubernetes_worlds import REQUIRED, namespace, node, pod, spreading
from placer_models.kubernetes.names import HOSTNAME


def test_ports_of_nodes_are_had_once_running_sidecars_included() -> None:
    """
    One node's is taken on one address by a sidecar that runs there.
    """

    def at(*ports: object) -> list[object]:
        return [{"name": "c", "ports": list(ports)}]

    sidecar = {"ports": [{"hostPort": 80, "hostIP": "10.0.0.7"}], "restartPolicy": "Always"}
    runs = pod("r", initContainers=[{"name": "s", **sidecar}], nodeName="n1")
    instance, _ = read(
        node(), runs, pod("a", containers=at({"hostPort": 80})), pod("b", containers=at())
    )
    assert set(places(instance)) == {"b"}
    other = pod("c", containers=at({"hostPort": 80, "hostIP": "10.0.0.8"}))
    instance, _ = read(node(), node("n2"), runs, pod("a", containers=at({"hostPort": 80})), other)
    assert places(instance)["a"].node == "n2"
    assert set(places(instance)) == {"a", "c"}


def test_who_runs_keeps_off_whole_namespaces_by_their_labels() -> None:
    """
    Also those that no Namespace tells of, since they might have the labels.
    """
    term = {
        "topologyKey": HOSTNAME,
        "labelSelector": {},
        "namespaceSelector": {"matchLabels": {"team": "x"}},
    }
    alone = {"podAntiAffinity": {REQUIRED: [term]}}
    there = pod("r", namespace="db", affinity=alone, nodeName="n1")
    of_x, of_y = namespace("x", team="x"), namespace("y", team="y")
    pods = [pod(name, namespace=name) for name in ("x", "y", "z")]

    instance, summary = read(node(), there, of_x, of_y, *pods)
    assert set(places(instance)) == {"y"}
    assert "selected by required anti-affinity alone: db, z" in notes(summary)
    instance, _ = read(node(), there, of_x, of_y, namespace("z"), namespace("db"), *pods)
    assert set(places(instance)) == {"y", "z"}


def test_pods_that_are_being_deleted_are_not_spread_with() -> None:
    """
    Two run in zone a and leave, one in b stays: the next comes to a.
    """
    nodes = [node(f"n{zone}", labels={"zone": zone}) for zone in "ab"]
    spread = spreading("web", "zone")
    labels, asks = {"app": "web"}, {"cpu": "1"}
    leaving = [pod(name, asks, labels=labels, nodeName="na") for name in "de"]
    for one in leaving:
        one["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    there = [pod("c", asks, labels=labels, nodeName="nb"), *leaving]
    new = pod("p", asks, labels=labels, topologySpreadConstraints=[spread])
    instance, _ = read(*nodes, *there, new)

    assert places(instance)["p"].node == "na"


def test_a_node_without_a_host_name_is_in_no_domain_of_host_names() -> None:
    """
    The key is a label like any other to Kubernetes; so is `node`.
    """
    bare = node("bare")
    del bare["metadata"]["labels"][HOSTNAME]
    spread = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    pods = [pod(name, topologySpreadConstraints=[spread]) for name in "pq"]
    instance, _ = read(bare, node("n1"), *pods)
    assert {name: place.node for name, place in places(instance).items()} == {"p": "n1", "q": "n1"}

    new = pod("p", topologySpreadConstraints=[{**spread, "topologyKey": "node"}])
    instance, _ = read(node("n1"), new)
    assert not places(instance)
    instance, _ = read(node("n1"), node("n2", labels={"node": "x"}), new)
    assert places(instance)["p"].node == "n2"
