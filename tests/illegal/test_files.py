"""Illegal pods of files: refused as ever, or left out where that is asked for."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
import yaml

from illegal.illegal_pods import with_some_illegal
from mixed_worlds import mixed_instance
from placer.judge.misfits import misfits_of_instance
from placer.load import is_catalogue_machine, load_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.cpuset import format_cpu_list
from placer_models.files.errors import InputError
from placer_models.files.faults import MAX_FAULTS
from placer_models.illegal_running import running_pod_counted_as_legal
from placer_models.instance.writer import instance_to_dict
from placer_models.placement import Answer, Placed
from placer_models.reasons import Illegal, IllegalMembers

GREEDY = SolveOptions(Engine.GREEDY, workers=1, seed=1)
BATCHES = 10
HEAD = """\
apiVersion: placer/v1
kind: Instance
nodes: [{name: n, machine: dgx-a100}]
pods:
  - {name: fine, requests: {cpu: 1}}
"""

ILLEGAL: dict[str, tuple[str, str, str]] = {
    "half a CPU of its own": (
        "{name: bad, qos: LSR, requests: {cpu: 1.5}}",
        "requests.cpu",
        "got 1.5 CPUs; LSR pods ask for a whole number of CPUs (rule cpu-count)",
    ),
    "one and a half GPUs": (
        "{name: bad, requests: {koordinator.sh/gpu: 150}}",
        "requests",
        "device-whole: koordinator.sh/gpu: 150 percent is more than one device, but not whole",
    ),
    "a limit below the request": (
        "{name: bad, requests: {cpu: 2}, limits: {cpu: 1}}",
        "limits.cpu",
        "got '1'; expected a limit at least the request (2)",
    ),
    "a limit above its own CPUs": (
        "{name: bad, qos: LSE, requests: {cpu: 2}, limits: {cpu: 3}}",
        "limits.cpu",
        "got 3 CPUs; the CPU limit of LSE pods equals the request, 2 (rule cpu-count)",
    ),
    "a share of a GPU without memory": (
        "{name: bad, shares: [{type: gpu, percent: 50}]}",
        "shares[0]",
        "a share of a GPU names its memory; add 'memory' or 'memoryPercent'",
    ),
    "a quantity that no device shares": (
        "{name: bad, shares: [{type: rdma, capacity: {space: 5}}]}",
        "shares[0].capacity.space",
        "devices of type 'rdma' have no space to share",
    ),
    "a bind policy without CPUs of its own": (
        "{name: bad, qos: LS, cpuBindPolicy: FullPCPUs, requests: {cpu: 1}}",
        "cpuBindPolicy",
        "the qos of this pod is LS; cpuBindPolicy needs CPUs of its own",
    ),
    "a burst without a limit": (
        "{name: bad, cpuBindPolicy: ConstrainedBurst, requests: {cpu: 1}}",
        "limits",
        "",
    ),
    "a scope for what it does not ask for": (
        "{name: bad, requests: {cpu: 1}, requiredTopologyScope: {gpu: PCIe}}",
        "requiredTopologyScope.gpu",
        "this pod asks for no 'gpu'; a scope is for what it asks for",
    ),
    "two containers of one name": (
        "{name: bad, containers: [{name: a, requests: {cpu: 1}}, {name: a, requests: {cpu: 1}}]}",
        "containers[1].name",
        "a container 'a' is already given at containers[0]",
    ),
    "swap without memory": (
        "{name: bad, requests: {cpu: 1}, limits: {swap: 1Gi}}",
        "limits.swap",
        "is beside the memory; give limits.memory, too",
    ),
}
"""What is wrong -> the pod as a file has it, the field, and how what is said of it begins."""

UNREADABLE: dict[str, tuple[str, str]] = {
    "no amount": ("{name: bad, requests: {cpu: many}}", "pods[1].requests.cpu"),
    "an amount below 0": ("{name: bad, requests: {memory: -1Gi}}", "pods[1].requests.memory"),
    "a field that there is not": ("{name: bad, request: {cpu: 1}}", "pods[1].request"),
    "a resource that there is not": ("{name: bad, requests: {memroy: 1Gi}}", "memroy"),
    "a word that there is not": ("{name: bad, qos: XL}", "pods[1].qos"),
    "a name that is given": ("{name: fine, requests: {cpu: 1}}", "pods[1].name"),
    "both ways of saying": (
        "{name: bad, requests: {cpu: 1}, containers: [{name: a, requests: {cpu: 1}}]}",
        "pods[1].requests",
    ),
}
"""What cannot be read, or contradicts other parts of the file -> the pod, and the field."""


def written(folder: Path, *pods: str, head: str = HEAD, rest: str = "") -> Path:
    file = folder / "a.yaml"
    file.write_text(head + "".join(f"  - {pod}\n" for pod in pods) + rest)
    return file


def left_out(instance: Instance) -> Mapping[str, object]:
    return {one.name: one.why[0] for one in instance.left_out}


def placed(answer: Answer) -> list[str]:
    return [place.name for place in getattr(answer, "placement", ()).pods]


@pytest.mark.parametrize(("bad", "field", "message"), ILLEGAL.values(), ids=ILLEGAL)
def test_an_illegal_pod_is_refused_or_left_out(
    bad: str, field: str, message: str, tmp_path: Path
) -> None:
    """
    With the same words: file, line, field, and what is wrong.
    """
    file = written(tmp_path, bad)
    with pytest.raises(InputError) as refused:
        load_instance([file])

    instance = load_instance([file], skip_illegal=True)

    (why,) = left_out(instance).values()
    assert isinstance(why, Illegal)
    assert why.text == str(refused.value)
    assert refused.value.illegal
    assert refused.value.more == 0
    assert (why.where, why.field) == (f"{file}:6", f"pods[1].{field}")
    assert why.message.startswith(message)
    assert placed(solve(instance, GREEDY)) == ["fine"]


@pytest.mark.parametrize(("bad", "field"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_refused_either_way(bad: str, field: str, tmp_path: Path) -> None:
    """
    Nobody knows what it asks for.
    """
    file = written(tmp_path, bad)
    said = []
    for skip in (False, True):
        with pytest.raises(InputError) as refused:
            load_instance([file], skip_illegal=skip)
        said.append(str(refused.value))
        assert not refused.value.illegal

    assert field in said[0]
    assert said[0] == said[1]


def test_a_pod_that_cannot_be_read_is_not_skipped_for_being_illegal_too(tmp_path: Path) -> None:
    """
    What cannot be read of it is said, and not the rest.
    """
    file = written(tmp_path, "{name: bad, qos: LSR, requests: {cpu: 1.5, memory: much}}")

    for skip in (False, True):
        with pytest.raises(InputError, match=r"a.yaml:6: pods\[1\].requests.memory: ") as refused:
            load_instance([file], skip_illegal=skip)
        assert refused.value.more == 0


def test_a_pod_is_skipped_however_much_is_illegal_about_it(tmp_path: Path) -> None:
    """
    More than the faults at which work on a file ends.
    """
    container = "{{name: c{}, limits: {{swap: 1Gi}}}}"
    containers = ", ".join(container.format(i) for i in range(2 * MAX_FAULTS))
    file = written(tmp_path, f"{{name: bad, containers: [{containers}]}}")
    with pytest.raises(InputError) as refused:
        load_instance([file])
    assert refused.value.more == MAX_FAULTS - 1

    instance = load_instance([file], skip_illegal=True)

    (why,) = left_out(instance).values()
    assert isinstance(why, Illegal)
    assert f"(and {2 * MAX_FAULTS - 1} more)" in why.message


def test_nothing_is_left_out_of_a_file_without_illegal_pods() -> None:
    """
    All of ours: they are read as ever.
    """
    for file in sorted(Path("instances").glob("*.yaml")):
        assert load_instance([file], skip_illegal=True) == load_instance([file])


def test_replicas_of_an_illegal_pod_are_all_left_out(tmp_path: Path) -> None:
    """
    Each by its own name.
    """
    file = written(tmp_path, "{name: bad, replicas: 3, qos: LSR, requests: {cpu: 1.5}}")

    instance = load_instance([file], skip_illegal=True)

    assert list(left_out(instance)) == ["bad-0", "bad-1", "bad-2"]


def test_a_gang_without_its_illegal_members(tmp_path: Path) -> None:
    """
    It goes on while its minimum is left, and is left out whole otherwise.
    """
    gangs = """\
gangs:
  - name: goes-on
    minimum: 2
    pods:
      - {name: a, replicas: 2, requests: {cpu: 1}}
      - {name: b, qos: LSR, requests: {cpu: 1.5}}
  - name: stops
    pods:
      - {name: c, replicas: 2, requests: {cpu: 1}}
      - {name: d, qos: LSR, requests: {cpu: 1.5}}
"""
    instance = load_instance([written(tmp_path, rest=gangs)], skip_illegal=True)

    why = left_out(instance)
    assert list(why) == ["b", "c-0", "c-1", "d"]
    assert why["c-0"] == why["c-1"] == IllegalMembers("stops", ("d",), 3, 3)
    assert isinstance(why["b"], Illegal)
    assert why["b"].field == "gangs[0].pods[1].requests.cpu"
    assert placed(solve(instance, GREEDY)) == ["fine", "a-0", "a-1"]


RUNNING: dict[str, tuple[str, str, str]] = {
    "half a CPU of its own": (
        "{name: bad, qos: LSR, requests: {cpu: 1.5}, cpuset: '0-1'}",
        "running[0].requests.cpu: got 1.5 CPUs; LSR pods ask for a whole number of CPUs",
        "{name: p, qos: LSR, requests: {cpu: 255}}",
    ),
    "one and a half GPUs": (
        "{name: bad, requests: {koordinator.sh/gpu: 150}, devices: {gpu: [0]}}",
        "running[0].requests: device-whole: koordinator.sh/gpu: 150 percent",
        "{name: p, requests: {gpu: 8}}",
    ),
    "a part of a GPU without memory": (
        "{name: bad, shares: [{type: gpu, percent: 50}], devices: {gpu: [3]}}",
        "running[0].shares[0]: a share of a GPU names its memory",
        "{name: p, requests: {gpu: 8}}",
    ),
    "no CPU of its own": (
        "{name: bad, qos: LSE, requests: {memory: 1Gi}}",
        "running[0].qos: LSE pods own CPUs; ask for one or more",
        "{name: p, requests: {memory: 2Ti}}",
    ),
}
"""What is wrong -> the pod that runs, what is said of it, and what no longer fits beside it."""


@pytest.mark.parametrize(("bad", "said", "more"), RUNNING.values(), ids=RUNNING)
def test_an_illegal_pod_that_runs_is_refused_or_a_misfit(
    bad: str, said: str, more: str, tmp_path: Path
) -> None:
    """
    It holds what its file says, and nobody else gets that.
    """
    rest = f"running:\n  - {bad[:-1]}, node: n}}\n"
    file = written(tmp_path, more, rest=rest)
    with pytest.raises(InputError) as refused:
        load_instance([file])
    assert said in str(refused.value)
    assert refused.value.more == 0
    assert refused.value.illegal

    instance = load_instance([file], skip_illegal=True)

    (misfit,) = [one for one in misfits_of_instance(instance) if one.rule == "legal"]
    assert misfit.message == f"pod 'bad' is illegal: {refused.value}"
    assert instance.left_out == ()
    assert placed(solve(instance, GREEDY)) == ["fine"]


def test_what_a_file_gets_wrong_about_its_place_is_refused_even_so(tmp_path: Path) -> None:
    """
    CPUs that the node has not, CPUs of another pod, a node that there is not.
    """
    first = "{name: first, qos: LSR, requests: {cpu: 2}, cpuset: '0-1', node: n}"
    for place, field in (
        ("cpuset: '998-999', node: n", "running[1].cpuset"),
        ("cpuset: '1-2', node: n", "running[1].cpuset"),
        ("node: n", "running[1].cpuset"),
        ("cpuset: '4-5', node: m", "running[1].node"),
    ):
        bad = f"{{name: bad, qos: LSR, requests: {{cpu: 1.5}}, {place}}}"
        file = written(tmp_path, rest=f"running:\n  - {first}\n  - {bad}\n")

        with pytest.raises(InputError) as refused:
            load_instance([file], skip_illegal=True)

        assert refused.value.field == field


def test_it_owns_the_cpus_that_its_file_names(tmp_path: Path) -> None:
    """
    However many it asks for.
    """
    bad = "{name: bad, qos: LSR, requests: {cpu: 1.5}, cpuset: '0,128', node: n}"
    instance = load_instance([written(tmp_path, rest=f"running: [{bad}]\n")], skip_illegal=True)

    (runner,) = instance.running
    assert format_cpu_list(running_pod_counted_as_legal(runner).placement.cpuset) == "0,128"
    assert runner.pod.spec.requests.cpu_milli == 1500
    assert not running_pod_counted_as_legal(runner).movable


@pytest.mark.parametrize("batch", range(BATCHES))
def test_files_with_illegal_pods_are_solved_as_without_them(batch: int, tmp_path: Path) -> None:
    """
    Worlds of all families, written with illegal pods that a file can say.
    """
    skipped = 0
    for seed in range(batch, 12 * BATCHES, BATCHES):
        rng = Random(f"file-{seed}")
        world = mixed_instance(seed)
        files = []
        for instance in (world, *with_some_illegal(rng, world, only=IN_FILES)):
            files.append(tmp_path / f"{len(files)}.yaml")
            files[-1].write_text(yaml.safe_dump(instance_to_dict(instance, is_catalogue_machine)))
        try:
            load_instance(files[:1])
        except InputError:
            continue  # a world that no file can say

        found, plain = load_instance(files[1:2], skip_illegal=True), load_instance(files[2:])

        same = ("nodes", "gangs", "groups", "running", "running_gangs", "strategy", "move_budget")
        for name in same:
            assert getattr(found, name) == getattr(plain, name), (seed, name)
        answer, other = solve(found, GREEDY), solve(plain, GREEDY)
        if isinstance(other, Placed) and other.placement.pods:
            assert placed(answer) == placed(other)
        skipped += len(found.left_out)
        if found.left_out:
            with pytest.raises(InputError):
                load_instance(files[1:2])
    assert skipped > 0


IN_FILES = (
    "half a CPU of its own",
    "no CPU of its own",
    "a share of a GPU without memory",
    "two containers of one name",
)
"""Kinds of illegal pods that files can say."""
