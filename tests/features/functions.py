"""Tiny instances whose pods take virtual functions of NICs."""

from dataclasses import replace
from random import Random

from features.feature import Feature, gangs_with_specs
from features.joint import with_joint
from placer_models.cluster import Instance, Machine, RunningPod
from placer_models.device import FunctionSelector, VirtualFunction
from placer_models.device_share import DeviceShare
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec
from tiny_machines import RDMA
from worlds import tiny_instance

KINDS = ("x", "y", "z")
LABELS = ((), *((("kind", kind),) for kind in KINDS))
SELECTORS: tuple[FunctionSelector, ...] = (
    (),
    (("kind", ("x",)),),
    (("kind", ("x", "y")),),
    (("kind", ("y", "z")),),
)
ONE_PERCENT = DeviceShare(percent=1)


def function_instance(seed: int) -> Instance:
    """Draw a tiny instance in which pods want virtual functions, half of them beside GPUs."""
    rng = Random(f"functions-{seed}")
    instance = tiny_instance(seed)
    if seed % 2:
        instance = with_joint(rng, instance)
    return with_functions(rng, instance)


def with_functions(rng: Random, instance: Instance) -> Instance:
    """Give NICs virtual functions, and let pods take such in place of whole NICs."""
    machines = {}
    for node in instance.nodes:
        if node.machine.name not in machines:
            machines[node.machine.name] = _with_functions(rng, node.machine)
    nodes = tuple(replace(node, machine=machines[node.machine.name]) for node in instance.nodes)
    return replace(
        instance,
        nodes=nodes,
        gangs=gangs_with_specs(instance.gangs, lambda spec: _wanting(rng, spec)),
        running=tuple(
            _running(rng, runner, machines, {n.name: n.machine.name for n in nodes})
            for runner in instance.running
        ),
    )


def _with_functions(rng: Random, machine: Machine) -> Machine:
    return replace(
        machine,
        devices=tuple(
            replace(
                device,
                virtual_functions=tuple(
                    VirtualFunction(i, "", rng.choice(LABELS)) for i in range(rng.randint(0, 3))
                ),
            )
            if device.type == RDMA
            else device
            for device in machine.devices
        ),
    )


def _wanting(rng: Random, spec: PodSpec) -> PodSpec:
    """Take virtual functions in place of whole NICs, or one besides all else."""
    main, *others = spec.containers
    if rng.random() < 0.2 or any(d.share for d in spec.requests.devices):
        return spec
    if any(container.requests.count_of(RDMA) for container in others):
        return spec  # shares of a type are asked for at one container
    nics = main.requests.count_of(RDMA) or rng.choice((1, 1, 2))
    requests = replace(
        main.requests,
        devices=(
            *(d for d in main.requests.devices if d.type != RDMA),
            DeviceRequest(RDMA, nics, ONE_PERCENT),
        ),
    )
    return replace(
        spec,
        containers=(Container(main.name, requests, main.role), *others),
        functions=((RDMA, rng.choice(SELECTORS)),),
    )


def _running(
    rng: Random, runner: RunningPod, machines: dict[str, Machine], machine_of: dict[str, str]
) -> RunningPod:
    """Let a pod that runs hold a virtual function in place of its NIC, where it has some."""
    devices = {(d.type, d.minor): d for d in machines[machine_of[runner.placement.node]].devices}
    grants = runner.placement.devices
    nics = [g for g in grants if g.type == RDMA and not g.share]
    if not nics or not all(devices[g.type, g.minor].virtual_functions for g in nics):
        return runner
    held = tuple(
        replace(
            g,
            share=ONE_PERCENT,
            vfs=(rng.choice(devices[g.type, g.minor].virtual_functions).minor,),
        )
        if g in nics
        else g
        for g in grants
    )
    requests = runner.pod.spec.requests
    requests = replace(
        requests,
        devices=tuple(
            replace(d, share=ONE_PERCENT) if d.type == RDMA and not d.share else d
            for d in requests.devices
        ),
    )
    spec = replace(
        runner.pod.spec, containers=(Container("app", requests),), functions=((RDMA, ()),)
    )
    return RunningPod(
        Pod(runner.pod.name, runner.pod.namespace, spec),
        replace(runner.placement, devices=held),
    )


FEATURE = Feature("functions", with_functions)
