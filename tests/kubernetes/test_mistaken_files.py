"""Files that are no dump, though taken for one: one message that says what they are."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import yaml

from kubernetes_worlds import node, pod
from placer.load import load_instance
from placer_models.files.documents import MAX_FILE_BYTES
from placer_models.files.errors import InputError
from placer_models.kubernetes.stream import ParsedObject, load_kubernetes_objects

DUMP = yaml.safe_dump_all([node(), pod()]).encode()


def refusal(folder: Path, content: bytes, name: str = "dump.yaml") -> str:
    """Return what is said about a file."""
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_instance([path])
    return str(caught.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(DUMP), "dump.yaml: is compressed by gzip; unpack it first: gzip -dc FILE"),
        (bz2.compress(DUMP), "dump.yaml: is compressed by bzip2; unpack it first: bzip2 -dc FILE"),
        (lzma.compress(DUMP), "dump.yaml: is compressed by xz; unpack it first: xz -dc FILE"),
        (b"\x28\xb5\x2f\xfd\x04\x58", "is compressed by zstd; unpack it first: zstd -dc FILE"),
        (b"PK\x03\x04\x14\x00", "is a zip archive; unpack it first: unzip -p FILE"),
        (
            DUMP.decode().encode("utf-16"),
            "is UTF-16 or UTF-32; save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE (`>` of Windows "
            "PowerShell writes UTF-16)",
        ),
        (DUMP.decode().encode("utf-32"), "save it as UTF-8: iconv -f UTF-32 -t UTF-8 FILE"),
        (
            b'Error from server (NotFound): pods "web" not found\n',
            "dump.yaml:1: is what kubectl says when it fails (Error from server (NotFound): pods "
            '"web" not found)',
        ),
        (b'error: the server doesn\'t have a resource type "x"\n', "leave that kind out"),
        (
            b"NAMESPACE   NAME   READY   STATUS\nshop   web-0   1/1   Running\n",
            "dump.yaml:1: is a table, which tells people only a part; get the objects: kubectl get "
            "nodes,pods -A -o yaml",
        ),
        (b"NAME     STATUS   ROLES    AGE   VERSION\nn1  Ready  x  1d  v1\n", ":1: is a table"),
    ],
)
def test_a_file_of_something_else_is_told_with_the_mend(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """
    Compressed, of another encoding, an error, a table: the message names it and the way on.
    """
    assert message in refusal(tmp_path, content)


def test_what_a_large_file_is_comes_before_its_size(tmp_path: Path) -> None:
    """
    A large dump that PowerShell wrote is UTF-16 first of all: splitting it would not help.
    """
    content = b"\xff\xfe" + b"a\0" * (MAX_FILE_BYTES // 2)

    assert "is UTF-16" in refusal(tmp_path, content)


@pytest.mark.parametrize("pad", [0, 2**20 - 10, 2**20, 3 * 2**20])
@pytest.mark.parametrize(
    "error", ['Error from server (NotFound): pods "web" not found', "error: no such kind 'x'"]
)
def test_an_error_of_kubectl_inside_a_dump_is_found_with_its_line(
    tmp_path: Path, pad: int, error: str
) -> None:
    """
    Where stderr went to the same file the dump lacks objects, however far into it that stands.
    """
    head = DUMP.decode() + "# " + "x" * pad + "\n"
    line = head.count("\n") + 1

    told = refusal(tmp_path, f"{head}{error}\n".encode())

    assert told.startswith(f"dump.yaml:{line}: holds what kubectl says when it fails ({error})")
    assert "without 2>&1" in told


def test_an_error_before_the_objects_is_found_too(tmp_path: Path) -> None:
    """
    kubectl tells of kinds it could not get before it writes the others.
    """
    told = refusal(tmp_path, b"error: no such kind\n" + DUMP)

    assert told.startswith("dump.yaml:1: holds what kubectl says when it fails")


def test_an_error_within_a_text_of_an_object_is_no_error_of_the_dump(tmp_path: Path) -> None:
    """
    An annotation may quote kubectl.
    """
    quoting = node()
    quoting["metadata"].setdefault("annotations", {})["said"] = "x\nerror: a\nError from server b\n"
    path = tmp_path / "dump.yaml"
    for style in (None, "|", '"'):
        path.write_text(yaml.safe_dump(quoting, default_style=style))
        assert [type(one) for one in load_kubernetes_objects(path)] == [ParsedObject]


def test_workloads_alone_are_no_pods(tmp_path: Path) -> None:
    """
    A file of manifests says which objects it has and that pods are needed, and how to get them.
    """
    kinds = ["Deployment", "Deployment", "ReplicaSet"]
    text = yaml.safe_dump_all(
        {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"}} for kind in kinds
    )

    told = refusal(tmp_path, text.encode())

    assert "holds 2 Deployment, 1 ReplicaSet and no Pod" in told
    assert "kubectl get nodes,pods -A -o yaml" in told
