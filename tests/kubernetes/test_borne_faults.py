"""Objects that cannot be read, in a dump that is answered all the same: they loosen nothing."""

from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, node, pod
from placer_models.reasons import NotAsked

BROKEN = {"node.koordinator.sh/reservation": "{"}
GIVEN: dict[str, object] = {"scheduling.koordinator.sh/device-allocated": "{"}
ZONE = "topology.kubernetes.io/zone"


def apart(**more: object) -> dict[str, object]:
    """Return the wish to have nobody with the label app=a in the zone."""
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": ZONE}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": required}, **more}


def here(name: str, zone: str = "z1", **more: object) -> Json:
    """Return a node in a zone."""
    return node(name, labels={ZONE: zone}, **more)


def test_a_node_that_cannot_be_read_offers_nothing() -> None:
    """
    Others do; the summary has its fault, with file, line and field.
    """
    instance, summary = read(node("n1"), node("n2", amounts={"cpu": "-4"}), pod(), bears=True)

    assert {name: place.node for name, place in places(instance).items()} == {"p": "n1"}
    assert next(one for one in instance.nodes if one.name == "n2").cordoned
    assert "dump.json:2: status." in notes(summary)
    assert "Node n2: '-4' is negative" in notes(summary)


def test_pods_on_a_node_that_cannot_be_read_keep_others_away() -> None:
    """
    As their wishes about their zone hold whatever their node has.
    """
    first = here("n1"), here("n2", annotations=BROKEN)
    runs = pod("r", nodeName="n2", **apart())
    asked = pod(labels={"app": "a"})

    instance, _ = read(*first, runs, asked, bears=True)
    assert not places(instance)
    instance, _ = read(*first, here("n3", "z2"), runs, asked, bears=True)
    assert places(instance)["p"].node == "n3"


def test_a_bound_pod_that_cannot_be_read_closes_its_node() -> None:
    """
    What it holds there is not known; what it wants of others still holds.
    """
    runs = pod("r", nodeName="n1", annotations=GIVEN, **apart())
    nodes = here("n1"), here("n2"), here("n3", "z2")
    instance, summary = read(*nodes, runs, pod(), pod("a", labels={"app": "a"}), bears=True)

    found = {name: place.node for name, place in places(instance).items()}
    assert found["p"] in ("n2", "n3")
    assert found["a"] == "n3"
    assert "nothing more comes there: n1" in notes(summary)
    assert "Pod default/r" in notes(summary)


def test_a_bound_pod_that_contradicts_its_node_closes_it() -> None:
    """
    Such as one that names devices which the node lacks.
    """
    given = {"gpu": [{"minor": 7, "resources": {"koordinator.sh/gpu-core": "100"}}]}
    runs = pod(
        "r", nodeName="n1", annotations={"scheduling.koordinator.sh/device-allocated": given}
    )
    instance, summary = read(node("n1"), node("n2"), runs, pod(), bears=True)

    assert places(instance)["p"].node == "n2"
    assert "Node n1 has no such device" in notes(summary)


def test_a_waiting_pod_that_cannot_be_read_is_not_asked() -> None:
    """
    It is in the answer, with what is wrong; those that have ended are not.
    """
    ended = pod("ended", {"cpu": "-1"}, phase="Succeeded")
    instance, summary = read(node(), pod("bad", {"cpu": "-1"}), ended, pod(), bears=True)

    assert set(places(instance)) == {"p"}
    (left_out,) = instance.left_out
    assert left_out.name == "bad"
    (why,) = left_out.why
    assert isinstance(why, NotAsked)
    assert "'-1' is negative" in str(why)
    assert notes(summary).count("'-1' is negative") == 2
