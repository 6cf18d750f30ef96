"""From a dump's Node and Pod to the kubelet's container of that pod, by its uid."""

import json
from pathlib import Path

import pytest

from cli_samples import written
from kubernetes_worlds import lsr, node, pod, topology
from node.fake_cgroupfs import FakeV1, FakeV2
from placer.node.agent.agent import Agent
from placer.node.agent.inbox import AgentDocumentFolderReader
from placer.node.cgroups import CgroupReader
from placer.node.host import HostFactsForApply
from placer.node.state import AppliedStateFolder
from placer_cli.app import main
from placer_models.cpuset import parse_cpu_list

DB, WEB, KUBE = "0a1b2c3d-0000-4000-8000-00000000000d", "0a1b-7", "5" * 32
HOMES = {
    DB: f"kubepods/pod{DB}/c-db",
    WEB: f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{WEB.replace('-', '_')}"
    ".slice/cri-containerd-c.scope",
    KUBE: f"kubepods/burstable/pod{KUBE}/c-kube",
}


def documents_of(folder: Path) -> Path:
    """Return the folder of the documents of a cluster's nodes, made as a user makes them."""
    db, web = lsr("db"), pod("web", {"cpu": "1", "memory": "1Gi"}, nodeName="n1")
    # A static pod's object in the API server has a uid that its kubelet does not know.
    mirrored = {"kubernetes.io/config.mirror": KUBE}
    kube = pod("kube-proxy-n1", {"cpu": "1"}, annotations=mirrored, nodeName="n1")
    for one, uid in ((db, DB), (web, WEB)):
        one["metadata"]["uid"] = uid
    objects = [node(capacity={"cpu": "8", "memory": "16Gi"}), topology(), db, web, kube]
    dump = written(folder, json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    placement = str(folder / "placement.json")
    assert main(["solve", dump, "--workers", "1", "--seed", "1", "--output", placement]) == 0
    assert main(["apply", dump, placement, "--documents", str(folder / "documents")]) == 0
    return folder / "documents"


def made(kernel: FakeV1 | FakeV2, cgroup: str) -> None:
    """Make a cgroup as the kubelet and its runtime do."""
    cgroups, above = CgroupReader(kernel), ""
    for part in cgroup.split("/"):
        above = f"{above}/{part}" if above else part
        if not cgroups.exists(above):
            for controller in ("cpuset", "cpu") if kernel.version == 1 else ("",):
                kernel.make_directory(cgroups.path(controller, above))
            for name, text in (("cpus", "0-7"), ("mems", "0-1")) * (kernel.version == 1):
                kernel.write(cgroups.path("cpuset", above, f"cpuset.{name}"), text)
        if kernel.version == 2 and above != cgroup:
            kernel.write(f"{above}/cgroup.subtree_control", "+cpuset +cpu")


@pytest.mark.parametrize("version", [1, 2])
def test_the_kubelets_containers_are_where_the_solver_put_their_pods(
    version: int, tmp_path: Path
) -> None:
    """
    The document keeps the uids; until its container runs the node does not obey, and says of
    whom; then the process is on the pod's own CPUs, and all others beside them.
    """
    documents = documents_of(tmp_path)
    kernel = FakeV1() if version == 1 else FakeV2()
    cgroups = CgroupReader(kernel)
    (tmp_path / "state").mkdir(mode=0o700)
    agent = Agent(
        cgroups,
        lambda: HostFactsForApply("n1", parse_cpu_list("0-7")),
        AppliedStateFolder(tmp_path / "state"),
        AgentDocumentFolderReader(documents, "n1"),
    )
    agent.begin()
    agent.take()
    agent.look()
    names = {one.pod.name: one.uid for one in agent.document.pods}
    assert names == {"db": DB, "web": WEB, "kube-proxy-n1": KUBE}
    assert sorted(agent.status.trouble()) == [
        f"{name}/main should run here and does not" for name in ("db", "kube-proxy-n1", "web")
    ]

    for home in HOMES.values():
        made(kernel, home)
    agent.look()
    assert len(agent.status.trouble()) == 3, "cgroups without a process are no containers"

    pids = {uid: kernel.start(cgroups.path("cpuset", home)) for uid, home in HOMES.items()}
    agent.look()

    assert agent.status.trouble() == []
    own = next(one.placement.cpuset for one in agent.document.pods if one.uid == DB)
    assert len(own) == 2
    assert kernel.cpus_of(pids[DB]) == own
    assert kernel.cpus_of(pids[WEB]) == kernel.cpus_of(pids[KUBE]) == set(range(8)) - own
    assert not cgroups.exists("placer")
