"""The uid by which a kubelet knows a pod, from the pod's object."""

import pytest

from kubernetes_worlds import Json, pod
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.pod import read_kube_pod

HASH = "0123456789abcdef" * 2
UUID = "0a1b2c3d-0000-4000-8000-00000000000d"


def read(annotations: Json, uid: str = "uid-p") -> str:
    """Return what a kubelet calls the pod."""
    found = pod(annotations=annotations)
    found["metadata"]["uid"] = uid
    return read_kube_pod(found).kubelet_uid


@pytest.mark.parametrize(
    ("annotations", "uid"),
    [
        ({}, "uid-p"),
        ({"kubernetes.io/config.mirror": HASH}, HASH),
        ({"kubernetes.io/config.hash": HASH}, "uid-p"),
        ({"kubernetes.io/config.mirror": UUID}, "uid-p"),
        ({"kubernetes.io/config.mirror": f"{HASH}/../x"}, "uid-p"),
    ],
)
def test_a_static_pod_is_known_by_the_hash_of_its_file(annotations: Json, uid: str) -> None:
    """
    What is no such hash may be written by anybody to be taken for another pod: it does not count.
    """
    assert read(annotations) == uid


@pytest.mark.parametrize("uid", ["../x", "a/b", "a b", "x\ny"])
def test_a_uid_that_is_no_part_of_a_path_is_refused(uid: str) -> None:
    """
    It would become a part of a cgroup's name.
    """
    with pytest.raises(KubernetesObjectError, match=r"is no id; expected letters, digits"):
        read({}, uid)
