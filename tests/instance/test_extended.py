"""Extended resources in files: nodes say what they have, pods ask by the name."""

from collections.abc import Callable

import pytest

from instance_texts import instance_of_text, reread
from placer_models.pod import DeviceRequest

HEAD = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 1Gi, cpus: 0-3}]
    devices: [{type: rdma, count: 1}]
nodes:
  - {name: n, machine: box, extended: {tokens: 2k, example.com/licences: 4}}
"""


def test_a_name_that_a_node_has_is_asked_for_as_an_amount() -> None:
    """
    Other names stay types of devices; what is written is read back.
    """
    pods = "pods: [{name: p, requests: {tokens: 1k, rdma: 1, fpgas: 2}}]\n"
    instance = instance_of_text(HEAD + pods)

    assert instance.nodes[0].extended == (("example.com/licences", 4), ("tokens", 2000))
    requests = instance.gangs[0].pods[0].spec.requests
    assert requests.extended == (("tokens", 1000),)
    assert requests.devices == (DeviceRequest("fpgas", 2), DeviceRequest("rdma", 1))
    assert reread(instance) == instance


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "pods: [{name: p, requests: {tokens: 0.5}}]",
            "pods[0].requests.tokens: got '0.5'; expected a whole amount, such as 8 or 2k",
        ),
        (
            "pods: [{name: p, requests: {tokens: 1}, limits: {tokens: 2}}]",
            "limits.tokens: got '2'; expected a limit equal to the request (1)",
        ),
    ],
)
def test_amounts_that_cannot_be_are_refused(
    more: str, message: str, refusal: Callable[..., str]
) -> None:
    """
    Parts of one, and limits apart from requests.
    """
    assert message in refusal(HEAD + more)


def test_a_name_is_no_type_of_device_too(refusal: Callable[..., str]) -> None:
    """
    On the machine of the node, or of another one.
    """
    here = HEAD.replace("tokens: 2k", "rdma: 2")
    there = HEAD.replace("tokens: 2k", "fpga: 2") + (
        "  - {name: m, machine: other}\n"
        "---\napiVersion: placer/v1\nkind: Machine\nname: other\n"
        "numaNodes: [{id: 0, memory: 1Gi, cpus: 0-3}]\ndevices: [{type: fpga, count: 1}]\n"
    )

    assert "the machine box has devices of the type 'rdma'; name the amount" in refusal(here)
    assert "'fpga' is a type of devices on some nodes, and an extended" in refusal(there)
