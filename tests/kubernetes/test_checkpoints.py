"""Checkpoints of a kubelet: every version reads, and whatever was changed is refused (C16, D12)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.runtimes import MissingError
from kubernetes.kubelet_rows import NAMES, READ, ROWS, flips, row_of
from kubernetes.kubelet_writes.run import PROGRAMS, written_by
from placer_models.cpuset import parse_cpu_list
from placer_models.kubernetes.checkpoints.allocate_response import KubeletAllocateResponse
from placer_models.kubernetes.checkpoints.checksum import fnv_1a
from placer_models.kubernetes.checkpoints.cpu_manager import read_cpu_manager_state
from placer_models.kubernetes.checkpoints.device_manager import (
    KubeletDevicesOfContainer,
    read_device_manager_checkpoint,
)
from placer_models.kubernetes.checkpoints.go_types import MEND, KubeletCheckpointError
from placer_models.kubernetes.checkpoints.memory_manager import (
    KubeletMemoryBlock,
    read_memory_manager_state,
)
from shared_files import Row, rows_named, shared

ONE, TWO = "55784671-0e4e-49e2-b4d6-c0377ca14c81", "6c5f3038-adfc-485d-9943-3fd5e825300d"
GIB = 2**30


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_what_a_kubelet_wrote_is_read(row: dict[str, str]) -> None:
    """
    Each row was written by the code of the kubelet that it names.
    """
    assert READ[row["format"]](row["text"])


@pytest.mark.slow
@pytest.mark.parametrize("version", PROGRAMS)
def test_the_kubelets_code_still_writes_the_rows(version: str) -> None:
    """
    With Go and the modules of Kubernetes at hand, they come out as they stand here.
    """
    try:
        written = written_by(version)
    except MissingError as error:
        pytest.skip(str(error))
    assert written == [row for row in ROWS if row["kubelet"] == version]


COLLECTED = [
    "1353318690",
    "273146150",
    "1058907510",
    "3558029577",
    "318470969",
    "3610638499",
    "3680390589",
    "3660592824",
    "2530956716",
    "4215593881",
    "1377086031",
]
"""Checksums of the files that others collected."""


def _checksum(row: Row) -> str:
    names = ("dataChecksum", "checksum", "Checksum")
    return str(next(row["json"][name] for name in names if row["json"].get(name)))


def test_files_that_others_collected_are_read() -> None:
    """
    Each checksum of them is the one that is worked out.
    """
    table = json.loads(shared("cases/kubelet_checkpoints.json").read_text("utf-8"))
    formats = {"device": "devices"}
    for file in rows_named(COLLECTED, table["files"], _checksum):
        name = file["fmt"].split("-")[0]
        assert READ[formats.get(name, name)](json.dumps(file["json"]))


def test_cpus_of_pods_are_told_by_every_version() -> None:
    """
    By pod what it and its containers own, by container where the file knows no more.
    """
    first = '{"policyName":"none","defaultCpuSet":"1-3",'
    first += '"entries":{"containerID1":"4-6","containerID2":"1-3"},"checksum":3680390589}'
    cases = [
        (first, {"containerID1": "4-6", "containerID2": "1-3"}),
        (row_of("cpu", "2"), {ONE: "1-2,5,7"}),
        (row_of("cpu", "3"), {ONE: "1-2,5,7", TWO: "9-10,12"}),
        (row_of("cpu", "4"), {ONE: "1-2,5,7", TWO: "9-10,12"}),
    ]
    for text, owned in cases:
        state = read_cpu_manager_state(text)

        assert state.cpus == {owner: parse_cpu_list(cpus) for owner, cpus in owned.items()}
        assert state.gives_out == (state.policy == "static")


def test_memory_of_pods_is_told_by_every_version() -> None:
    """
    By NUMA node what pods have and what the system keeps, and by pod.
    """
    for version in ("1", "2", "3"):
        state = read_memory_manager_state(row_of("memory", version))

        assert state.gives_out
        assert state.given_bytes[0, "memory"] == 8 * GIB
        assert state.pods[ONE][0] == KubeletMemoryBlock((0,), "memory", 8 * GIB)
    state = read_memory_manager_state(row_of("memory", "1"))
    assert state.kept_bytes(0, "memory") == 9 * GIB
    assert state.kept_bytes(7, "memory") == 0
    assert not read_memory_manager_state(row_of("memory", "1", 0)).gives_out


def test_devices_of_pods_are_told_by_every_version() -> None:
    """
    With what their plugin told the container's runtime.
    """
    old = read_device_manager_checkpoint(row_of("devices", "1"))
    new = read_device_manager_checkpoint(row_of("devices", "2"))

    told = KubeletAllocateResponse(environment=(("NVIDIA_VISIBLE_DEVICES", "GPU-1"),))
    assert old.held[0] == KubeletDevicesOfContainer(
        ONE, "app", "nvidia.com/gpu", ("GPU-1", "GPU-2"), told
    )
    assert old.registered == {"nvidia.com/gpu": ("GPU-1", "GPU-2")}
    assert new.held[0].ids == ("a<b", "GPU-1", "GPU-2", "GPU-3")
    assert new.held[0].response == KubeletAllocateResponse(
        environment=(("NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-2,GPU-3"),),
        mounts=("/usr/lib",),
        devices=("/dev/nvidia1",),
        annotations=(("cdi.k8s.io/gpus", "nvidia.com/gpu=GPU-1"),),
        cdi_devices=("nvidia.com/gpu=GPU-1",),
    )
    assert [entry.container for entry in new.held[1:]] == ["app", "side"]


def refused(format: str, data: bytes) -> bool:
    """Return whether a file with this content is refused."""
    try:
        READ[format](data.decode())
    except (KubeletCheckpointError, UnicodeDecodeError):
        return True
    return False


@pytest.mark.parametrize(
    ("format", "version"), [("cpu", "3"), ("cpu", "4"), ("memory", "1"), ("devices", "2")]
)
def test_a_flipped_byte_is_refused(format: str, version: str) -> None:
    """
    Wherever it is, in the shortest file of a version.
    """
    data = row_of(format, version, 0).encode()
    assert [one for one in flips(data, (1, 2, 32, 128)) if not refused(format, one)] == []


@pytest.mark.check
@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_every_flipped_bit_is_refused(row: dict[str, str]) -> None:
    """
    Every bit of every file, and every byte turned over.
    """
    masks = (1, 2, 4, 8, 16, 32, 64, 128, 255)
    data = row["text"].encode()
    assert [one for one in flips(data, masks) if not refused(row["format"], one)] == []


def with_sum(tree: dict[str, Any], shown: str) -> str:
    """Return a checkpoint with the checksum of what spew shows."""
    return json.dumps({**tree, "checksum": fnv_1a(shown.encode())})


PODS = {"policyName": "static", "defaultCpuSet": "0", "podEntries": {"p": {"cpuSet": "7,8"}}}
PODS_SHOWN = (
    "(*state.CPUManagerCheckpoint){PolicyName:(string)static DefaultCPUSet:(string)0 "
    "Entries:(map[string]map[string]string)map[] PodEntries:(state.PodCPUAssignments)map["
    "p:{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[7:{} 8:{}]}}] "
    "Checksum:(checksum.Checksum)0}"
)
CPU, CPU_4 = row_of("cpu", "2"), row_of("cpu", "4")
MEMORY, DEVICES = row_of("memory", "2"), row_of("devices", "2")
LAX = {
    "a field that Go spells in any case": (
        "cpu",
        CPU.replace("defaultCpuSet", "defaultCPUSet"),
        "defaultCPUSet: no such field; did you mean 'defaultCpuSet'?",
    ),
    "a field that nobody knows": (
        "cpu",
        CPU[:-1] + ',"more":1}',
        "more: no such field; expected policyName, ",
    ),
    "an unknown field inside": (
        "memory",
        MEMORY.replace('"size"', '"Size"', 1),
        f"entries.{ONE}.app[0].Size: no such field; did you mean 'size'?",
    ),
    "an unknown field in a list": (
        "devices",
        DEVICES.replace('"PodUID"', '"PodUid"', 1),
        "Data.PodDeviceEntries[0].PodUid: no such field; did you mean 'PodUID'?",
    ),
    "no checksum": (
        "cpu",
        '{"policyName":"none","defaultCpuSet":""}',
        "checksum: is missing; ",
    ),
    "a checksum of 0": (
        "cpu",
        '{"policyName":"none","defaultCpuSet":"","checksum":0}',
        "checksum: is 0, so nothing proves what the file says; expected 1353318690; ",
    ),
    "a checksum of 0, devices": (
        "devices",
        '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":0}',
        "Checksum: is 0, so nothing proves what the file says; expected 3467439661; ",
    ),
    "another checksum": (
        "cpu",
        '{"policyName":"static","defaultCpuSet":"0-27","checksum":7}',
        "checksum: the file is corrupt: its checksum is 7, and that of what it says 273146150; ",
    ),
    "a field twice": (
        "cpu",
        '{"policyName":"none","policyName":"none","defaultCpuSet":"","checksum":1353318690}',
        "the field 'policyName' is there twice; ",
    ),
    "other CPUs outside than inside": (
        "cpu",
        CPU_4.replace('"defaultCpuSet":"0,3-4,6"', '"defaultCpuSet":"0,3-4"', 1),
        "defaultCpuSet: differs from data.defaultCpuSet; ",
    ),
    "no pods outside, some inside": (
        "cpu",
        CPU_4.replace(CPU_4[CPU_4.index('"entries"') : CPU_4.index('"checksum"')], "", 1),
        "entries: differs from data.entries; ",
    ),
    "a corrupt checksum outside": (
        "cpu",
        CPU_4.replace('"checksum":3126393980', '"checksum":3126393981'),
        "checksum: the file is corrupt: its checksum is 3126393981, and that of ",
    ),
    "no data for a checksum": (
        "cpu",
        CPU_4[: CPU_4.index(',"data"')] + ',"dataChecksum":1}',
        "data: is missing; ",
    ),
    "no checksum for the data": (
        "cpu",
        CPU_4[: CPU_4.index(',"dataChecksum"')] + "}",
        "dataChecksum: is missing; ",
    ),
    "an unknown field in the data": (
        "cpu",
        '{"policyName":"none","defaultCpuSet":"4-6","checksum":0,"data":"{\\"policyName\\":'
        '\\"none\\",\\"defaultCpuSet\\":\\"4-6\\",\\"unknownField\\":\\"value\\"}",'
        '"dataChecksum":2996606123}',
        "data.unknownField: no such field; expected policyName, ",
    ),
    "a second spelling of the same CPUs": (
        "cpu",
        with_sum(PODS, PODS_SHOWN),
        "podEntries.p.cpuSet: got '7,8'; expected it as Go writes it, '7-8'; ",
    ),
    "a second spelling of an escape": (
        "devices",
        DEVICES.replace("\\u003c", "\\u003C"),
        "has an escape in upper case, as no kubelet writes it; ",
    ),
    "a second spelling of bytes": (
        "devices",
        DEVICES.replace('"AllocResp":""', '"AllocResp":"Zx=="'),
        "Data.PodDeviceEntries[1].AllocResp: got 'Zx=='; expected bytes in base64; ",
    ),
    "a second spelling of a number": (
        "memory",
        row_of("memory", "2", 0).replace('"10":{', '"+10":{', 1),
        "machineState: got '+10'; expected a whole number as the name of each field; ",
    ),
    "a fraction": (
        "memory",
        MEMORY.replace('"size":8589934592', '"size":8589934592.0', 1),
        f"entries.{ONE}.app[0].size: got 8589934592.0; expected a whole number from 0 to ",
    ),
    "no list of CPUs": (
        "cpu",
        CPU.replace('"7"', '"x"'),
        f"entries.{ONE}.side: got 'x'; expected a list of CPUs such as 0-3,8; ",
    ),
    "pods of two versions": (
        "cpu",
        '{"policyName":"static","defaultCpuSet":"","entries":{"u":"1","v":{"a":"2"}}}',
        "entries.v: got an object; expected a text; ",
    ),
    "no policy": (
        "cpu",
        '{"policyName":"","defaultCpuSet":"","checksum":1067625376}',
        "policyName: got ''; expected none or static; ",
    ),
    "another document": ("cpu", "[]", "got a list; expected an object; "),
    "half a file": ("memory", MEMORY[:99], "is not JSON: "),
    "half a character": (
        "cpu",
        '{"policyName":"\\ud800","defaultCpuSet":"","checksum":1}',
        "policyName: got '?'; expected a text of whole characters; ",
    ),
    "brackets without end": ("cpu", "[" * 100_000, "brackets are nested too deep; "),
    "a number without end": ("cpu", "1" * 5000, "a number has 5000 digits; "),
    "no number": ("cpu", '{"checksum":NaN}', "NaN is no number; "),
}


@pytest.mark.parametrize(("format", "text", "words"), LAX.values(), ids=LAX)
def test_where_the_kubelet_is_lax_we_are_not(format: str, text: str, words: str) -> None:
    """
    One message: the field, what it says, what was expected, and what to do.
    """
    with pytest.raises(KubeletCheckpointError) as caught:
        READ[format](text)
    message = str(caught.value)
    assert message.startswith(words)
    assert message.endswith(f"; {MEND}")
    assert message.count(MEND) == 1


def test_the_checksum_outside_may_be_cleared_where_the_data_has_its_own() -> None:
    """
    As kubelets on the way to 1.37 wrote it, pods outside included; or be left out.
    """
    tree = json.loads(CPU_4)
    owned = read_cpu_manager_state(CPU_4)
    cleared = {**tree, "checksum": 0}
    older = {**cleared, "podEntries": json.loads(tree["data"])["podEntries"]}
    without = {key: value for key, value in tree.items() if key != "checksum"}
    for one in (cleared, older, without):
        assert read_cpu_manager_state(json.dumps(one)) == owned


def test_a_plugins_answer_that_is_none_is_named() -> None:
    """
    Bytes with a good checksum that are no message.
    """
    entry = {
        "PodUID": "u",
        "ContainerName": "c",
        "ResourceName": "r",
        "DeviceIDs": None,
        "AllocResp": "Cg==",
    }
    shown = (
        "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)[{PodUID:"
        "(string)u ContainerName:(string)c ResourceName:(string)r DeviceIDs:"
        "(checkpoint.DevicesPerNUMA)<nil> AllocResp:([]uint8)[10]}] RegisteredDevices:"
        "(map[string][]string)<nil>}"
    )
    tree = {
        "Data": {"PodDeviceEntries": [entry], "RegisteredDevices": None},
        "Checksum": fnv_1a(shown.encode()),
    }
    with pytest.raises(KubeletCheckpointError) as caught:
        read_device_manager_checkpoint(json.dumps(tree))
    assert str(caught.value) == (
        "Data.PodDeviceEntries[0].AllocResp: is no ContainerAllocateResponse of a device plugin: "
        f"it ends inside a number; {MEND}"
    )


@given(st.sampled_from(ROWS), st.data())
def test_characters_less_or_other_are_refused(row: dict[str, str], data: st.DataObject) -> None:
    """
    A file that was cut short or hit anywhere never gives away what somebody holds.
    """
    text = row["text"]
    at = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.sampled_from(["", "0", "7", "a", '"', "}", "\\", "é", "00", "null"]))
    changed = text[:at] + put + text[at + 1 :]
    if changed != text:
        assert refused(row["format"], changed.encode())


@given(st.sampled_from([*READ]), st.text(max_size=20) | st.text('[]{}:,"0e-', max_size=20))
def test_any_text_is_refused_with_one_message(format: str, text: str) -> None:
    """
    Never with a traceback.
    """
    with pytest.raises(KubeletCheckpointError):
        READ[format](text)
