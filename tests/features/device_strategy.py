"""Tiny instances whose pods have devices by a strategy: all of a node, or one for each group."""

from dataclasses import replace
from random import Random

from features.feature import Feature, gangs_with_specs
from features.functions import with_functions
from features.joint import with_joint
from features.shares import shares_only
from placer_models.cluster import Instance
from placer_models.device import GPU
from placer_models.device_share import DeviceShare
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, PodSpec
from placer_models.policy import JointDevicesScope, RequiredOrPreferred
from tiny_machines import RDMA
from worlds import tiny_instance

NIC_SHARES = (None, DeviceShare(percent=1), DeviceShare(percent=60))


def strategy_instance(seed: int) -> Instance:
    """Draw a tiny instance of pods with strategies, some beside shares and virtual functions."""
    rng = Random(f"strategies-{seed}")
    instance = with_joint(rng, tiny_instance(seed))
    if seed % 3 == 0:
        instance = with_functions(rng, instance)
    if seed % 10 == 5:
        instance = shares_only(rng, instance)
    return with_device_strategies(rng, instance)


def with_device_strategies(rng: Random, instance: Instance) -> Instance:
    """Let pods have their NICs by a strategy; equal members of a gang stay equal."""
    gangs = gangs_with_specs(instance.gangs, lambda spec: _by_strategy(rng, spec))
    return replace(instance, gangs=gangs)


def _by_strategy(rng: Random, spec: PodSpec) -> PodSpec:
    """Ask for one NIC, or a share of one, and let a strategy say of how many that is."""
    main, *others = spec.containers
    if rng.random() < 0.2 or any(c.requests.count_of(RDMA) for c in others):
        return spec
    share = rng.choice(NIC_SHARES)
    functions = tuple(item for item in spec.functions if item[0] != RDMA or share)
    requests = replace(
        main.requests,
        devices=(
            *(d for d in main.requests.devices if d.type != RDMA),
            DeviceRequest(RDMA, 1, share),
        ),
    )
    first = GPU in {d.type for c in spec.containers for d in c.requests.devices if d.count}
    strategy = DeviceCountStrategy.APPLY_FOR_ALL
    joint = spec.joint
    if first and (requests.count_of(GPU) or others) and rng.random() < 0.75:
        strategy = DeviceCountStrategy.APPLY_FOR_EACH_GROUP
        joint = JointDevicesRequest(
            (GPU, RDMA),
            rng.choice(
                (
                    JointDevicesScope.SAME_PCIE,
                    JointDevicesScope.SAME_PCIE,
                    JointDevicesScope.SAME_NUMA_NODE,
                )
            ),
            rng.choice((RequiredOrPreferred.REQUIRED, RequiredOrPreferred.PREFERRED)),
        )
    return replace(
        spec,
        containers=(Container(main.name, requests, main.role, main.cpu_limit_milli), *others),
        functions=functions,
        joint=joint,
        scopes=tuple(item for item in spec.scopes if item[0] != RDMA),
        strategies=((RDMA, strategy),),
    )


FEATURE = Feature("device_strategy", with_device_strategies)
