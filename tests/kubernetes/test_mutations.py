"""Objects with anything anywhere: a fault that is told, or a cluster that is sound."""

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubernetes_dumps import gathered
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import DumpError, instance_of_cluster_objects, read_dump
from placer.kubernetes.objects import ClusterObjects
from placer_models.legal import check_pods_legal

DUMP = Path(__file__).parents[2] / "instances" / "dumps" / "cluster.yaml"

OBJECTS: list[Any] = yaml.safe_load(DUMP.read_text())["items"]

VALUES: list[Any] = [
    *(None, True, 0, -1, 2**63, 1.5, 1e30, "", "x", "-1", "1e99", "0-3", "9-2", "{}", "[1]"),
    *([], {}, [{}], [None], {"a": None}, "é" * 300, '{"cpuset":"0-3"}', '{"gpu":[{"minor":0}]}'),
    *('[{"cpuset":"0"}]', '{"detail":[{"id":0}]}', '["a/b"]', "Always", "LSE", "BE", "gpu-1"),
]

BYTES = [b"{", b"]", b'"', b"\n", b"\t", b"&a ", b"\xff", b"\0", b"\x85", b"---\n"]


def paths(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part."""
    if path:
        yield path
    steps: Any = tree if isinstance(tree, dict) else range(len(tree)) if type(tree) is list else ()
    for step in steps:
        yield from paths(tree[step], (*path, step))


def mutated(draw: random.Random) -> list[Any]:
    """Return the objects of the example with one or two parts replaced or left out."""
    objects = copy.deepcopy(OBJECTS)
    for _ in range(draw.choice([1, 2])):
        found = draw.choice(objects)
        *above, last = draw.choice(
            [p for p in paths(found) if p not in (("kind",), ("apiVersion",))]
        )
        for step in above:
            found = found[step]
        if draw.random() < 0.8:
            found[last] = copy.deepcopy(draw.choice(VALUES))
        else:
            del found[last]
    return objects


def sound_or_refused(seed: int, count: int) -> None:
    """Read so many clusters; nothing but a fault may be raised."""
    draw = random.Random(seed)
    told: list[str] = []
    for _ in range(count):
        known = gathered(mutated(draw), ClusterObjects())
        try:
            instance, _ = instance_of_cluster_objects(known)
        except DumpError as error:
            told += error.messages
            continue
        check_pods_legal((pod for gang in instance.gangs for pod in gang.pods), instance.nodes)
        misfits_of_instance(instance)
    assert not any("\n" in message for message in told)


@pytest.mark.parametrize("batch", range(5))
def test_any_value_anywhere_is_refused_or_read(batch: int) -> None:
    """
    A few, and then more; what is read is legal, and the judge can look at it.
    """
    sound_or_refused(1 + batch, 150 if batch else 25)


def test_any_byte_anywhere_is_refused_or_read(tmp_path: Path) -> None:
    """
    Bytes replaced, inserted, or cut off behind some.
    """
    draw = random.Random(7)
    told: list[str] = []
    path = tmp_path / "d.yaml"
    for _ in range(25):
        text = bytearray(DUMP.read_bytes())
        at = draw.randrange(len(text))
        new = draw.choice(BYTES)
        text[at : at + draw.choice([0, 1, 100, 10**6])] = new
        path.write_bytes(text)
        try:
            read_dump([path])
        except DumpError as error:
            told += error.messages
    assert not any("\n" in message for message in told)
