"""Limits of containers: read, kept beside the pod, written again."""

import re
from pathlib import Path

import pytest

from instance_texts import instance_of_text, reread
from placer.load import load_instance
from placer_models.files.errors import InputError
from placer_models.limits import ContainerLimits
from placer_models.pod import pods_of_gangs

HEAD = "apiVersion: placer/v1\nkind: Instance\nnodes: [{name: n0, machine: dgx-a100}]\n"


def pods(text: str) -> dict[str, tuple[tuple[str, ContainerLimits], ...]]:
    """Return the limits of each pod of an instance that is read, written and read again."""
    first = instance_of_text(HEAD + text)
    again = reread(first)

    assert again.gangs == first.gangs
    assert again.running == first.running
    waiting = list(pods_of_gangs(first.gangs))
    return {pod.name: pod.limits for pod in [*waiting, *(r.pod for r in first.running)]}


def test_limits_are_kept_for_each_container() -> None:
    """
    CPU, memory, processes and swap; a container without any has none.
    """
    found = pods("""\
pods:
- {name: a, limits: {cpu: 1500m, memory: 2Gi, pids: 100, swap: 512Mi}}
- {name: b, requests: {cpu: 1}}
- name: c
  containers:
  - {name: x, requests: {cpu: 1}}
  - {name: y, limits: {pids: 7}}
running:
- {name: d, node: n0, requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}
""")

    assert found == {
        "a": (("main", ContainerLimits(1500, 2 << 30, 100, 1 << 29)),),
        "b": (),
        "c": (("y", ContainerLimits(None, None, 7)),),
        "d": (("main", ContainerLimits(2000, 1 << 30)),),
    }


def test_a_request_of_nothing_below_a_limit_is_written() -> None:
    """
    Left out, it would be read as the limit.
    """
    zeros = "requests: {cpu: 0, memory: 0}, limits: {cpu: 1, memory: 1Gi}"
    nested = f"containers: [{{name: x, {zeros}}}]"

    found = pods(f"pods:\n- {{name: a, {zeros}}}\n- {{name: b, {nested}}}\n")

    assert found == {
        "a": (("main", ContainerLimits(1000, 1 << 30)),),
        "b": (("x", ContainerLimits(1000, 1 << 30)),),
    }


def test_limits_do_not_tell_pods_apart(tmp_path: Path) -> None:
    """
    Where a pod can go does not depend on them: equal specs stay one shape for the solver.
    """
    file = tmp_path / "a.yaml"
    file.write_text(
        HEAD + "pods:\n- {name: a, requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}\n"
        "- {name: b, requests: {cpu: 1, memory: 1Gi}}\n"
    )

    first, second = pods_of_gangs(load_instance([file]).gangs)

    assert first.limits != second.limits
    assert first.spec == second.spec


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        ("{name: a, limits: {pids: 0}}", "limits.pids: got '0'; expected 1 to 4,194,304 processes"),
        ("{name: a, limits: {pids: 1.5}}", "got '1.5'; expected 1 to 4,194,304 processes"),
        ("{name: a, requests: {pids: 5}}", "requests.pids: there is no request of pids; move it"),
        ("{name: a, requests: {swap: 5}}", "requests.swap: there is no request of swap; move it"),
        ("{name: a, limits: {swap: 1Gi}}", "limits.swap: is beside the memory; give limits.memo"),
        ("{name: a, limits: {memory: 1Gi, swap: x}}", "limits.swap: "),
        ("{name: a, limits: {memory: 1Gi, swap: 2Pi}}", "limits.swap: got '2Pi'; expected 1Pi at"),
    ],
)
def test_limits_that_are_none(tmp_path: Path, pod: str, message: str) -> None:
    """
    One to as many as Linux has ids for. There is no request of them, and none of swap.
    """
    file = tmp_path / "a.yaml"
    file.write_text(f"{HEAD}pods:\n- {pod}\n")

    with pytest.raises(InputError, match=re.escape(message)):
        load_instance([file])
