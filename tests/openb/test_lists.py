"""Files of the trace: what they say, and every fault in them by row and column."""

import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openb.small_trace import FIVE_COLUMNS, NODES, PODS, trace, written
from placer.openb.arrivals import read_arrival_order
from placer.openb.lists import read_trace_nodes, read_trace_pods
from placer.openb.trace import instance_of_trace, read_trace
from placer.openb.words import TraceConverter, gpu_models_of_nodes
from placer_models.files.errors import InputError


def test_a_trace_says_what_its_files_say(tmp_path: Path) -> None:
    """
    Names, amounts, models without doubles, and ranks, by which nodes are named.
    """
    found = trace(tmp_path)
    assert [(n.name, n.cpu_milli, n.gpus, n.model) for n in found.nodes] == [
        ("a", 8000, 2, "T4"),
        ("b", 8000, 2, "V100"),
        ("c", 16000, 0, ""),
    ]
    assert [(p.gpus, p.gpu_milli, p.models) for p in found.pods] == [
        (1, 500, ()),
        (1, 1000, ("T4", "V100")),
        (0, 0, ()),
        (2, 1000, ("T4",)),
        (1, 300, ("V100",)),
    ]
    assert found.capacity_milli == 4000
    assert [node.name for node in found.ranked_nodes(TraceConverter())] == ["1-a", "0-b", "2-c"]


def test_lists_of_five_columns_have_pods_of_any_model(tmp_path: Path) -> None:
    """
    Without the column of models nobody asks for one.
    """
    nodes, pods, _ = written(tmp_path, pods=FIVE_COLUMNS)
    found = read_trace_pods(pods, gpu_models_of_nodes(read_trace_nodes(nodes)))
    assert [(pod.gpus, pod.models) for pod in found] == [
        (1, ()),
        (1, ()),
        (0, ()),
        (2, ()),
        (1, ()),
    ]


def test_an_instance_has_all_nodes_and_pods(tmp_path: Path) -> None:
    """
    gpu_spec is a required node affinity; shares take compute and memory alike.
    """
    nodes, pods, _ = written(tmp_path)
    found = read_trace_nodes(nodes)
    instance = instance_of_trace(found, read_trace_pods(pods, gpu_models_of_nodes(found)))
    assert [node.name for node in instance.nodes] == ["a", "b", "c"]
    specs = [gang.pods[0].spec for gang in instance.gangs]
    (share,) = specs[0].requests.devices
    assert share.share is not None
    assert (share.share.percent, share.share.memory_percent) == (50, 50)
    assert specs[1].node_affinity is not None
    assert [specs[1].node_affinity.allows(node.name, node.labels) for node in instance.nodes] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("p0,1000,1024,1,500,", "p0,1000,1024,1,505,", ":2: gpu_milli: 505 is no multiple of 10"),
        ("p0,1000,1024,1,500,", "p0,1000,1024,1,1010,", ":2: gpu_milli: 1010 is over 1000"),
        ("p2,4000,1024,", "p2,4000,-1,", ":4: memory_mib: -1 is less than 0"),
        ("p2,4000,1024,", "p2,4k,1024,", ":4: cpu_milli: '4k' is no whole number"),
        ("T4,LS\np4", "T5,LS\np4", ":5: gpu_spec: no node has GPUs of model 'T5'; there are 'T4'"),
        ("p4,", "p0,", ":6: name: 'p0' is in row 2 already"),
        ("p4,", ",", ":6: name: there is no name"),
        ("p3,500,", "p3,", ":5: the row has 6 columns of 7"),
        ("name,", "nane,", ":1: there is no column name; expected CSV with the columns name,"),
        (",qos", ",qqos", ":1: column 'qqos' is not known; did you mean 'qos'?"),
        ("p4,", '"p4,', ":6: is no CSV: unexpected end of data"),
        (PODS, "", ":1: the file is empty; expected CSV"),
        ("p4,500,", f"p4,{10**30},", ":6: cpu_milli: 1000000000000000000 is more than"),
    ],
)
def test_a_fault_in_a_list_of_pods_names_row_and_column(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """
    One wrong cell, one message that says where, what, and what was expected.
    """
    assert old in PODS
    nodes, pods, _ = written(tmp_path, pods=PODS.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_trace_pods(pods, gpu_models_of_nodes(read_trace_nodes(nodes)))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a,8000,", "a,8500,", ":2: cpu_milli: 8500 is no whole number of CPUs"),
        ("a,8000,65536,2,T4", "a,8000,65536,2,", ":2: model: there are 2 GPUs of no model"),
        ("a,8000,65536,2", "a,8000,65536,-2", ":2: gpu: -2 is less than 0"),
        ("a,8000,65536", "a,8000,0", ":2: memory_mib: 0 is less than 1"),
    ],
)
def test_a_fault_in_a_list_of_nodes_names_row_and_column(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """
    The same for nodes.
    """
    nodes, _, _ = written(tmp_path, nodes=NODES.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_trace_nodes(nodes)
    assert message in str(caught.value)


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    """
    Three wrong cells in two rows are three messages, and a file that ends too soon one more.
    """
    wrong = PODS.replace("p0,1000,1024,1,500", "p0,-1,-1,1,500").replace(
        "p2,4000", 'p2,x,1,0,0,,LS\n"p2'
    )
    nodes, pods, _ = written(tmp_path, pods=wrong)
    with pytest.raises(InputError) as caught:
        read_trace_pods(pods, gpu_models_of_nodes(read_trace_nodes(nodes)))
    places = [message.split(": ")[0].rpartition("/")[2] for message in caught.value.messages]
    assert places == ["pods.csv:2", "pods.csv:2", "pods.csv:4", "pods.csv:7"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pods_8": [0], "noderank_8": [0, 1, 2]}, "pods_7: there is no such array; there is '8'"),
        ({"pods_7": [0, 5], "noderank_7": [0, 1, 2]}, "pods_7: entry 1 is row 5 of the list"),
        ({"pods_7": [0], "noderank_7": [0, 2, 2]}, "noderank_7: there are 3 ranks; expected each"),
        ({"pods_7": [0.5], "noderank_7": [0, 1, 2]}, "pods_7: is an array of float64"),
        ({"pods_7": [[0]], "noderank_7": [0, 1, 2]}, "with 2 dimensions"),
        (
            {"pods_7": [timedelta(0)], "noderank_7": [0, 1, 2]},
            "pods_7: is an array of timedelta64[us]",
        ),
    ],
)
def test_a_fault_in_a_file_of_orders_names_the_array(
    tmp_path: Path, arrays: dict[str, list[Any]], message: str
) -> None:
    """
    A seed that is not there, a row beyond the list, ranks that are none, other arrays.
    """
    file = tmp_path / "orders.npz"
    np.savez(file, **{name: np.array(values, _dtype_of(values)) for name, values in arrays.items()})
    with pytest.raises(InputError) as caught:
        read_arrival_order(file, 7, nodes=3, pods=5)
    assert message in str(caught.value)


def _dtype_of(values: list[Any]) -> str | None:
    return "m8[us]" if isinstance(values[0], timedelta) else None


def test_a_member_that_is_no_array_is_told_so(tmp_path: Path) -> None:
    """
    Bytes under the name of an array.
    """
    file = tmp_path / "orders.npz"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("pods_7", b"01")
        archive.writestr("noderank_7", b"012")
    with pytest.raises(InputError) as caught:
        read_arrival_order(file, 7, nodes=3, pods=5)
    assert "pods_7: is no array; expected one of whole numbers" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"name,cpu\n", b"PK\x03\x04 cut off", b"\x93NUMPY"])
def test_a_file_of_orders_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    """
    One line says what was expected.
    """
    file = tmp_path / "orders.npz"
    file.write_bytes(content)
    with pytest.raises(InputError, match="expected a file of NumPy arrays"):
        read_arrival_order(file, 7, nodes=3, pods=5)


def test_a_list_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """
    Bytes that are no UTF-8 are no list.
    """
    nodes, pods, orders = written(tmp_path)
    nodes.write_bytes(b"sn,cpu_milli\xff\xfe")
    with pytest.raises(InputError, match="is no text in UTF-8"):
        read_trace(nodes, pods, orders, 7)
