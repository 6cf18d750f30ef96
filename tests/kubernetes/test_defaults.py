"""Defaults of a cluster's scheduler, beside its objects (C8, C9, C11, C12, C22)."""

import json
from pathlib import Path

import pytest

from kubernetes_dumps import places, read
from kubernetes_worlds import Json, lsr, node, pod, topology
from placer.kubernetes.objects import ClusterObjects
from placer.load import load_cluster, load_instance
from placer_models.defaults import Defaults
from placer_models.files.errors import InputError
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy, NumaStrategy

SPREAD = Defaults(bind=BindPolicy.SPREAD_BY_PCPUS)
SINGLE = Defaults(alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
OURS = "apiVersion: placer/v1\nkind: Instance\n"


def asking(**spec: str) -> Json:
    """Return an LSR pod of 2 CPUs with the annotation about its CPUs."""
    return lsr(annotations={"scheduling.koordinator.sh/resource-spec": spec})


def cores(*objects: Json, defaults: Defaults) -> int:
    """Return on how many cores the pod that waits has its CPUs."""
    instance, _ = read(*objects, defaults=defaults)
    return len({cpu // 2 for cpu in places(instance)["p"].cpuset})


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ({}, 2),
        ({"preferredCPUBindPolicy": ""}, 2),
        ({"preferredCPUBindPolicy": "Default"}, 2),
        ({"preferredCPUBindPolicy": "FullPCPUs"}, 1),
        ({"requiredCPUBindPolicy": "FullPCPUs"}, 1),
    ],
)
def test_default_and_an_empty_policy_are_what_the_scheduler_is_set_to(
    said: dict[str, str], count: int
) -> None:
    """
    As the proposal says; a policy that is named goes before.
    """
    assert cores(node(), topology(), asking(**said), defaults=SPREAD) == count


def test_the_label_of_a_node_goes_before() -> None:
    """
    And so does the kubelet, which rejects all but whole cores.
    """
    label = {"node.koordinator.sh/cpu-bind-policy": "FullPCPUsOnly"}
    options = {"policy": "static", "options": {"full-pcpus-only": "true"}}
    told = {"kubelet.koordinator.sh/cpu-manager-policy": options}

    assert cores(node(labels=label), topology(), lsr(), defaults=SPREAD) == 1
    assert cores(node(), topology(annotations=told), lsr(), defaults=SPREAD) == 1


@pytest.mark.parametrize(
    ("word", "exclusive"),
    [
        ("", None),
        ("Default", None),
        ("None", ExclusivePolicy.NONE),
        ("NUMANodeLevel", ExclusivePolicy.NUMA_NODE_LEVEL),
    ],
)
def test_none_is_an_exclusive_policy_and_default_is_not(
    word: str, exclusive: ExclusivePolicy | None
) -> None:
    """
    None keeps the scheduler's default off.
    """
    instance, _ = read(node(), topology(), asking(preferredCPUExclusivePolicy=word))

    assert instance.gangs[0].pods[0].spec.exclusive is exclusive


@pytest.mark.parametrize(
    ("label", "distributes", "strategy"),
    [
        ("", "false", NumaStrategy.MOST_ALLOCATED),
        ("", "true", NumaStrategy.DISTRIBUTE_EVENLY),
        ("LeastAllocated", "true", NumaStrategy.LEAST_ALLOCATED),
    ],
)
def test_label_kubelet_and_default_say_the_strategy_in_that_order(
    label: str, distributes: str, strategy: NumaStrategy
) -> None:
    """
    The first of them that says anything.
    """
    labels = {"node.koordinator.sh/numa-allocate-strategy": label} if label else {}
    policy = {"policy": "static", "options": {"distribute-cpus-across-numa": distributes}}
    told = {"kubelet.koordinator.sh/cpu-manager-policy": policy}
    instance, _ = read(
        node(labels=labels),
        topology(annotations=told),
        defaults=Defaults(numa_strategy=NumaStrategy.MOST_ALLOCATED),
    )

    assert instance.nodes[0].effective_strategy is strategy


@pytest.mark.parametrize(
    ("label", "kubelet", "aligned"),
    [
        (None, [], True),
        (None, ["None"], True),
        (None, ["BestEffort"], False),
        ("None", [], False),
        ("BestEffort", ["None"], False),
    ],
)
def test_label_kubelet_and_default_say_the_numa_policy_in_that_order(
    label: str | None, kubelet: list[str], aligned: bool
) -> None:
    """
    A kubelet that aligns nothing has said nothing; a label None has.

    Six CPUs are on two NUMA nodes of four, or under SingleNUMANode nowhere.
    """
    labels = {"node.koordinator.sh/numa-topology-policy": label} if label else {}
    instance, _ = read(
        node(labels=labels), topology(policies=kubelet), lsr(cpus=6), defaults=SINGLE
    )

    assert ("p" in places(instance)) is not aligned


def test_without_numa_nodes_a_default_cannot_align() -> None:
    """
    A silent pod goes where NUMA nodes are known, or where the node says that it aligns nothing.
    """
    bare = node("bare")
    open_node = node("open", labels={"node.koordinator.sh/numa-topology-policy": "None"})
    known = (node("known"), topology("known"))
    own = {"scheduling.koordinator.sh/numa-topology-spec": {"numaTopologyPolicy": "None"}}

    def where(*objects: Json, defaults: Defaults | None = SINGLE) -> str | None:
        place = places(read(*objects, defaults=defaults)[0]).get("p")
        return place and place.node

    assert where(bare, pod()) is None
    assert where(bare, *known, pod()) == "known"
    assert where(bare, open_node, pod()) == "open"
    assert where(bare, pod(annotations=own)) == "bare"
    assert where(bare, pod(), defaults=Defaults(alignment=AlignmentPolicy.BEST_EFFORT)) == "bare"
    assert where(bare, pod(), defaults=None) == "bare"


def files(folder: Path, *ours: str) -> list[Path]:
    """Write a node and a pod as a dump, and documents of ours beside it."""
    dump = folder / "dump.json"
    items = [node(), topology(), lsr()]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    paths = [dump]
    for i, text in enumerate(ours):
        paths.append(folder / f"ours{i}.yaml")
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def test_a_document_of_defaults_stands_beside_a_dump(tmp_path: Path) -> None:
    """
    In any order, with a name or without, and for those who keep the objects.
    """
    ours = f"{OURS}metadata: {{name: ours}}\ndefaults: {{cpuBindPolicy: SpreadByPCPUs}}\n"
    paths = files(tmp_path, ours)

    for found in (
        load_instance(paths),
        load_instance(paths[::-1]),
        load_cluster(paths, ClusterObjects()),
    ):
        assert found.common_defaults == SPREAD
    assert load_instance(paths[:1]).common_defaults == Defaults()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{OURS}defaults: {{numaPolicy: Restricted}}\nstrategy: pack\n",
            "ours0.yaml:4: strategy: beside the objects of Kubernetes in DUMP a document of ours "
            "is an Instance that gives 'defaults' alone; pods and nodes are among the objects",
        ),
        (
            "apiVersion: placer/v1\nkind: Machine\nname: m\n",
            "ours0.yaml:2: kind: got Machine; beside the objects of Kubernetes in DUMP",
        ),
        (
            f"{OURS}defaults: {{numaPolicy: Strict}}\n",
            "ours0.yaml:3: defaults.numaPolicy: got 'Strict'; expected 'None'",
        ),
        (f"{OURS}podz: []\n", "ours0.yaml:3: podz: beside the objects of Kubernetes"),
    ],
)
def test_anything_else_beside_a_dump_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """
    One message that names the place, the dump, and what may be there.
    """
    paths = files(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_instance(paths)

    said = str(caught.value).replace(str(paths[0]), "DUMP").removeprefix(f"{tmp_path}/")
    assert said.startswith(message)


def test_two_documents_beside_a_dump_do_not_both_say_it(tmp_path: Path) -> None:
    """
    As beside the nodes of an instance.
    """
    ours = f"{OURS}defaults: {{numaPolicy: Restricted}}\n"
    with pytest.raises(InputError, match=r"ours1\.yaml:3: defaults: is given by another document"):
        load_instance(files(tmp_path, ours, ours))
