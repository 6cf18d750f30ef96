"""The kubelet's checkpoint of the CPUs that it gave out, in every version (C16).

The checksums are the kubelet's own: they stand in its tests (kubernetes/kubernetes,
pkg/kubelet/cm/cpumanager/state), and in files of real nodes.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.node.kubelet import cpu_manager_state_of
from placer_models.cpuset import parse_cpu_list
from shared_files import shared

UIDS = ("55784671-0e4e-49e2-b4d6-c0377ca14c81", "6c5f3038-adfc-485d-9943-3fd5e825300d")
STATES: dict[str, tuple[dict[str, Any], str, dict[str, str]]] = {
    "no policy": (
        {"policyName": "none", "defaultCpuSet": "", "checksum": 1353318690},
        "none",
        {},
    ),
    "nothing given out": (
        {"policyName": "static", "defaultCpuSet": "0-27", "checksum": 273146150},
        "static",
        {},
    ),
    "version 1: containers alone": (
        {
            "policyName": "none",
            "defaultCpuSet": "1-3",
            "entries": {"containerID1": "4-6", "containerID2": "1-3"},
            "checksum": 3680390589,
        },
        "none",
        {"containerID1": "4-6", "containerID2": "1-3"},
    ),
    "version 2: containers of pods": (
        {
            "policyName": "static",
            "defaultCpuSet": "0,13",
            "entries": {UIDS[0]: {"app": "1-12"}, UIDS[1]: {"app": "14-27"}},
            "checksum": 3558029577,
        },
        "static",
        {UIDS[0]: "1-12", UIDS[1]: "14-27"},
    ),
    "version 3: pods, too": (
        {
            "policyName": "static",
            "defaultCpuSet": "1-2",
            "entries": {"pod1": {"container1": "5-6", "container2": "3-4"}},
            "podEntries": {"pod2": {"cpuSet": "7-9"}},
            "checksum": 2284712151,
        },
        "static",
        {"pod1": "3-6", "pod2": "7-9"},
    ),
    "a text inside, before version 4": (
        {
            "data": '{"policyName":"static","defaultCPUSet":"7-9",'
            '"entries":{"pod":{"container1":"4-6","container2":"1-3"}}}',
            "checksum": 1420829534,
        },
        "static",
        {"pod": "1-6"},
    ),
    "version 4: a text inside": (
        {
            "policyName": "static",
            "defaultCpuSet": "0-27",
            "checksum": 0,
            "data": '{"policyName":"static","defaultCpuSet":"0-27"}',
            "dataChecksum": 1377086031,
        },
        "static",
        {},
    ),
    "without checksum, as the first kubelets wrote it": (
        {"policyName": "static", "defaultCpuSet": "0", "entries": {"c": "1-2"}},
        "static",
        {"c": "1-2"},
    ),
}


@pytest.mark.parametrize(("state", "policy", "cpus"), STATES.values(), ids=STATES)
def test_every_version_is_read(state: dict[str, Any], policy: str, cpus: dict[str, str]) -> None:
    """
    By pod what its containers own, by container where the file knows no more.
    """
    read = cpu_manager_state_of(json.dumps(state))

    assert read.policy == policy
    assert read.cpus == {owner: parse_cpu_list(text) for owner, text in cpus.items()}


def of_another_text(state: dict[str, Any]) -> dict[str, Any]:
    """Another policy in the text inside, or outside where there is none."""
    if "data" in state:
        return state | {"data": state["data"].replace("static", "none")}
    return state | {"policyName": "other"}


def with_a_sum(state: dict[str, Any]) -> dict[str, Any]:
    """Another checksum."""
    name = "dataChecksum" if "dataChecksum" in state else "checksum"
    return state | {name: state[name] ^ 1}


@pytest.mark.parametrize("name", [name for name in STATES if "without" not in name])
@pytest.mark.parametrize("change", [of_another_text, with_a_sum])
def test_a_corrupt_one_is_refused(
    name: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """
    Whatever was changed, and in whichever version, as the kubelet refuses it.
    """
    with pytest.raises(ValueError, match=r"is corrupt: its checksum is \d+, and that of what it"):
        cpu_manager_state_of(json.dumps(change(STATES[name][0])))


@pytest.mark.parametrize("name", ["nothing given out", "version 2: containers of pods"])
def test_entries_that_were_changed_are_refused(name: str) -> None:
    """
    CPUs that a pod is said to own are as covered as the policy is.
    """
    with pytest.raises(ValueError, match="is corrupt"):
        cpu_manager_state_of(json.dumps(STATES[name][0] | {"entries": {"pod": {"app": "1"}}}))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        '{"policyName":3}',
        '{"policyName":"static","entries":{"u":"x"}}',
        '{"policyName":"static","entries":{"u":3}}',
        '{"policyName":"static","entries":{"u":"1","v":{"a":"2"}}}',
        '{"policyName":"static","podEntries":{"u":"1"}}',
        '{"policyName":"static","defaultCpuSet":"0","checksum":"much"}',
        '{"policyName":"\\ud800","checksum":1}',
        '{"data":"{}","checksum":1}',
        '{"data":"{\\"policyName\\":\\"none\\"}"}',
        '{"data":3,"dataChecksum":1}',
    ],
)
def test_another_file_in_its_place_is_refused(text: str) -> None:
    """
    With one message, which says what is wrong.
    """
    with pytest.raises(ValueError, match=r"^is (no state of a kubelet's CPU manager|corrupt)[;:] "):
        cpu_manager_state_of(text)


@given(st.data())
def test_one_character_less_or_other_is_refused_or_changes_nothing(data: st.DataObject) -> None:
    """
    A file that was cut short or hit anywhere never gives CPUs to somebody else.
    """
    state, policy, cpus = data.draw(st.sampled_from([*STATES.values()][:-1]))
    text = json.dumps(state)
    at = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.sampled_from(["", "0", "7", "a", '"', "}"]))
    try:
        read = cpu_manager_state_of(text[:at] + put + text[at + 1 :])
    except ValueError:
        return

    owned = {owner: parse_cpu_list(cpus) for owner, cpus in cpus.items()}
    assert (read.policy, read.cpus) == (policy, owned)


def test_files_that_others_collected_are_read() -> None:
    """
    Each checksum of them is the one that is worked out.
    """
    table = json.loads(shared("cases/kubelet_checkpoints.json").read_text("utf-8"))
    files = [row["json"] for row in table["files"] if row["path"].endswith("cpu_manager_state")]
    assert len(files) >= 8
    for state in files:
        assert cpu_manager_state_of(json.dumps(state)).policy == state["policyName"]
        with pytest.raises(ValueError, match="is corrupt"):
            cpu_manager_state_of(json.dumps(with_a_sum(state)))
