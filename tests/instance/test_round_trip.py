"""What is written is read back as it was."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from features.defaults import with_defaults
from features.functions import function_instance
from features.network import network_instance
from features.numa import paged_instance, with_aligned_containers
from instance_texts import instance_of_text, reread
from placer.load import is_catalogue_machine, load_instance
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.files.documents import documents_in_text
from placer_models.instance.build import machine_from_document
from placer_models.instance.machine_writer import machine_to_dict
from placer_models.instance.writer import instance_to_dict
from placer_models.machines.catalogue import catalogue_machine_names, load_machine
from placer_models.network import NODE_LEVEL, GangNetworkLevelRuleKind
from placer_models.pod import Gang, Pod
from placer_models.policy import BindPolicy, GatherLevel, RequiredOrPreferred
from placer_models.topology import Topology
from worlds import tiny_instance, tiny_instances

EXAMPLES = sorted((Path(__file__).parents[2] / "instances").glob("*.yaml"))


def numbered(keys: Iterable[int | None]) -> dict[int | None, int | None]:
    """Number keys in the order in which they come, as the reader does."""
    order = [key for key in dict.fromkeys(keys) if key is not None]
    return {key: order.index(key) if key is not None else None for key in [*order, None]}


def canonical_machine(machine: Machine) -> Machine:
    """Return the machine with the keys of cores and caches that the reader gives.

    Random machines call all links alike and say no package of a device, which the
    file format derives from its NUMA node.
    """
    topology = machine.topology
    cores = numbered(cpu.core for cpu in topology.cpus)
    caches = numbered(cpu.llc for cpu in topology.cpus)
    cpus = tuple(
        replace(cpu, core=cores[cpu.core] or 0, llc=caches[cpu.llc]) for cpu in topology.cpus
    )
    links = machine.gpu_links
    return replace(
        machine,
        gpu_links=links and replace(links, kinds=tuple(("",) * len(r) for r in links.kinds)),
        devices=tuple(replace(device, package=None) for device in machine.devices),
        topology=Topology(
            topology.architecture, cpus, topology.numa_nodes, topology.numa_distances
        ),
    )


def canonical_pod(pod: Pod) -> Pod:
    """Return the pod without a bind policy that decides nothing: a file cannot say it."""
    if pod.spec.qos.owns_cpus:
        return pod
    spec = replace(
        pod.spec, bind=BindPolicy.DEFAULT, bind_strength=RequiredOrPreferred.PREFERRED, locality=()
    )
    return replace(pod, spec=spec)


def canonical_gang(gang: Gang) -> Gang:
    """Return the gang with such pods."""
    return replace(gang, pods=tuple(map(canonical_pod, gang.pods)))


def canonical(instance: Instance) -> Instance:
    """Return the instance in the order of the reader, without what it fills in."""
    return replace(
        instance,
        nodes=tuple(
            replace(node, machine=canonical_machine(node.machine)) for node in instance.nodes
        ),
        gangs=tuple(map(canonical_gang, sorted(instance.gangs, key=lambda gang: not gang.lone))),
        running=tuple(
            RunningPod(
                canonical_pod(runner.pod),
                replace(runner.placement, containers=(), devices=grants),
            )
            for runner in instance.running
            for grants in [tuple(replace(grant, id="") for grant in runner.placement.devices)]
        ),
    )


@given(tiny_instances())
def test_a_random_instance_is_read_back_as_it_was(world: Instance) -> None:
    """
    Uneven machines, every policy, gangs, groups and running pods: nothing is lost.
    """
    once = reread(world)

    assert canonical(once) == canonical(world)
    assert reread(once) == once


@example(with_aligned_containers(Random(2383), paged_instance(2383)))  # CPUs of no NUMA node
@given(
    st.integers(0, 2**32 - 1).map(
        lambda seed: with_aligned_containers(Random(seed), paged_instance(seed))
    )
)
def test_a_random_instance_with_words_of_numa_is_read_back_as_it_was(world: Instance) -> None:
    """
    Hugepages of machines, nodes, pods and running pods are not lost either, nor scopes.
    """
    once = reread(world)

    assert canonical(once) == canonical(world)


@given(st.integers(0, 2**32 - 1).map(lambda seed: with_defaults(Random(seed), tiny_instance(seed))))
def test_a_random_instance_under_defaults_is_read_back_as_it_was(world: Instance) -> None:
    """
    The defaults are once at the top; no pod and no node has a word that it had not.
    """
    idle = replace(world, running=())
    once = reread(idle)

    assert once.common_defaults == world.common_defaults
    assert canonical(replace(once, defaults=None)) == canonical(replace(idle, defaults=None))


def test_levels_of_the_network_are_read_back_as_they_were() -> None:
    """
    Domains of nodes, and all that gangs ask of levels, on 30 worlds whose levels all have nodes.
    """
    drawn = (canonical(_in_order(network_instance(seed))) for seed in count())
    for world in islice(filter(_has_its_levels, drawn), 30):
        once = reread(world)

        assert canonical(once) == world


def _has_its_levels(world: Instance) -> bool:
    """Return whether some node belongs to each level that is asked for; else it is refused."""
    known = {NODE_LEVEL, *(level for node in world.nodes for level, _ in node.domains)}
    return {rule.level for gang in world.gangs for rule in gang.levels} <= known


def _in_order(instance: Instance) -> Instance:
    """Return the instance with what gangs ask in the order of files."""
    order = [
        (grouping, strength)
        for grouping in GangNetworkLevelRuleKind
        for strength in (RequiredOrPreferred.REQUIRED, RequiredOrPreferred.PREFERRED)
    ]
    gangs = []
    for gang in instance.gangs:
        on_node = [r for r in gang.levels if (r.level, r.grouping) == (NODE_LEVEL, "gather")]
        one_node = gang.gather is not None or any(r.required for r in on_node)
        gathers = GatherLevel.NODE if one_node else None
        kept = [r for r in gang.levels if not (one_node and r in on_node)]
        rules = sorted(kept, key=lambda r: order.index((r.grouping, r.strength)))
        gangs.append(replace(gang, gather=gathers, levels=tuple(rules)))
    return replace(instance, gangs=tuple(gangs))


@given(st.integers(0, 2**32 - 1).map(function_instance))
def test_a_random_instance_with_virtual_functions_is_read_back_as_it_was(world: Instance) -> None:
    """
    Devices side by side, virtual functions, their labels and their holders are not lost either.
    """
    once = reread(world)

    assert canonical(once) == canonical(world)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_read_back_as_it_was_as_yaml_and_as_json(path: Path) -> None:
    """
    Both spellings of the written file are the instance that was read.
    """
    instance = load_instance([path])

    assert reread(instance) == instance
    text = json.dumps(instance_to_dict(instance, is_catalogue_machine))
    assert instance_of_text(text, "a.json") == instance


@pytest.mark.parametrize("name", catalogue_machine_names())
def test_a_machine_of_the_catalogue_survives_being_written_out(name: str) -> None:
    """
    Every core, cache, distance, device and link of it.
    """
    machine = load_machine(name)
    head = {"apiVersion": "placer/v1", "kind": "Machine"}
    text = yaml.safe_dump({**head, **machine_to_dict(machine, name)}, sort_keys=False)

    assert machine_from_document(documents_in_text(text, Path("a.yaml"))[0]) == machine


def test_machines_of_the_catalogue_are_written_by_name(read: Callable[..., Instance]) -> None:
    """
    Other machines are written out, once each however many nodes have them, and two of
    one name are told apart.
    """
    dgx = load_machine("dgx-2")
    other = replace(dgx, title="another")
    nodes = tuple(
        Node(f"n{i}", machine) for i, machine in enumerate([dgx, dgx, other, replace(other)])
    )
    written = instance_to_dict(Instance(nodes, ()), is_catalogue_machine)

    assert [node["machine"] for node in written["nodes"]] == [
        "dgx-2",
        "dgx-2",
        "dgx-2-2",
        "dgx-2-2",
    ]
    assert [machine["name"] for machine in written["machines"]] == ["dgx-2-2"]
