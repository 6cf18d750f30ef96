"""Objects that cannot be read, in a dump that is answered all the same: they loosen nothing."""

import pytest

from kubernetes_dumps import notes, places, read
from kubernetes_worlds import REQUIRED, Json, device, gpu, held, lsr, node, owned, pod, topology
from placer.kubernetes.dump import DumpError
from placer_models.reasons import NotTried

BROKEN = {"node.koordinator.sh/reservation": "{"}
GIVEN: dict[str, object] = {"scheduling.koordinator.sh/device-allocated": "{"}
ZONE = "topology.kubernetes.io/zone"


def apart(**more: object) -> dict[str, object]:
    """Return the wish to have nobody with the label app=a in the zone."""
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": ZONE}
    required = {REQUIRED: [term]}
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
    assert next(one for one in instance.nodes if one.name == "n2").closed
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
    assert isinstance(why, NotTried)
    assert "'-1' is negative" in str(why)
    assert notes(summary).count("'-1' is negative") == 2


def test_what_holds_by_id_on_a_closed_node_ends_nothing() -> None:
    """
    Neither CPUs nor devices of a node that cannot be read contradict it.
    """
    amounts = {"cpu": "2", "memory": "1Gi"}
    runs = [
        lsr("cpus", annotations=owned("0-1"), nodeName="n1"),
        pod("gpus", {"cpu": "1", "nvidia.com/gpu": "2"}, nodeName="n1", annotations=held(0, 1)),
        pod("static", amounts, limits=amounts, nodeName="n1"),
    ]
    broken = node("n1", annotations=BROKEN), topology("n1"), device("n1")
    instance, _ = read(*broken, node("n2"), *runs, pod(), bears=True)

    assert places(instance)["p"].node == "n2"
    assert len(instance.running) >= 3


@pytest.mark.parametrize(
    "bad", [device("n1", [gpu(0), gpu(0)]), topology("n1", cpus=[(0, 0, 0, 0), (0, 0, 0, 1)])]
)
def test_what_describes_a_node_and_cannot_be_read_closes_it(bad: Json) -> None:
    """
    As the node's devices, or its NUMA nodes, are not known then.
    """
    runs = pod("r", {"nvidia.com/gpu": "1"}, nodeName="n1", annotations=held(0))
    instance, summary = read(node("n1"), node("n2"), bad, runs, pod(), bears=True)

    assert places(instance)["p"].node == "n2"
    assert bad["kind"] in notes(summary)


def test_objects_that_contradict_each_other_close_their_node() -> None:
    """
    Such as a Node that reserves CPUs which its NodeResourceTopology does not have.
    """
    keeps = {"node.koordinator.sh/reservation": '{"reservedCPUs": "99"}'}
    nodes = node("n1", annotations=keeps), topology("n1"), node("n2")
    instance, summary = read(*nodes, pod("r", nodeName="n1"), pod(), bears=True)

    assert places(instance)["p"].node == "n2"
    assert "CPUs 99 are reserved" in notes(summary)


def test_what_says_not_which_object_it_is_ends_the_reading() -> None:
    """
    As an object without a name, or one that is there twice, may be any other.
    """
    unnamed = node()
    unnamed["metadata"]["name"] = 5
    with pytest.raises(DumpError, match="name"):
        read(node("n2"), unnamed, pod(), bears=True)
    with pytest.raises(DumpError, match="is given already"):
        read(node(), node(), pod(), bears=True)


def test_anti_affinity_that_cannot_be_read_keeps_all_off_its_reach() -> None:
    """
    Its domain alone if that can be read, and otherwise every node.
    """
    zones = here("n1"), here("n2"), here("n3", "z2")
    for term, node_of_p in (
        ({"labelSelector": {"matchLabels": "x"}, "topologyKey": ZONE}, "n3"),
        ({"labelSelector": {"matchLabels": {"app": "q"}}, "topologyKey": 5}, ""),
        ({"labelSelector": 5}, ""),
        (5, ""),
    ):
        wish = {"podAntiAffinity": {REQUIRED: [term]}}
        runs = pod("r", nodeName="n1", affinity=wish)
        asked = pod(labels={"app": "q"})
        instance, summary = read(*zones, runs, asked, bears=True)
        found = {name: place.node for name, place in places(instance).items()}
        assert found == ({"p": node_of_p} if node_of_p else {}), term
        assert "Pod default/r" in notes(summary)
    narrow = {"labelSelector": {"matchLabels": {"app": "q"}}, "topologyKey": 5}
    wish = {"podAntiAffinity": {REQUIRED: [narrow]}}
    instance, _ = read(*zones, pod("r", nodeName="n1", affinity=wish), pod(), bears=True)
    assert places(instance)["p"].node in ("n2", "n3")


def test_a_pod_that_may_be_anywhere_closes_every_node() -> None:
    """
    As nobody knows where its room is; a nominated one closes the node that it names.
    """
    instance, _ = read(node(), pod("r", nodeName=1), pod(), bears=True)
    assert not places(instance)
    nominated = pod("r", {"cpu": "-1"})
    nominated["status"]["nominatedNodeName"] = "n1"
    instance, _ = read(node("n1"), node("n2"), nominated, pod(), bears=True)
    assert places(instance)["p"].node == "n2"
    assert [one.name for one in instance.left_out] == ["r"]


@pytest.mark.parametrize(
    "more",
    [
        {"amounts": {"cpu": "-4"}},
        {"annotations": {"node.koordinator.sh/reservation": '{"reservedCPUs": "99"}'}},
    ],
)
def test_a_closed_node_keeps_its_taints(more: dict[str, object]) -> None:
    """
    As topology spread may be told to look at them.
    """
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    instance, _ = read(node("n1", taints=[taint], **more), topology("n1"), node("n2"), bears=True)

    closed = next(one for one in instance.nodes if one.name == "n1")
    assert closed.closed
    assert [one.key for one in closed.taints] == ["k"]
