"""Words for the place of a simple pod: its pool, memory, GPUs and environment, by their ids."""

from collections.abc import Sequence

from placer.counting.account import Account
from placer.search.by_columns.simple_asks import SimpleAsk
from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.environment import Env
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Gang
from placer_models.visible_devices import UNNAMED_GPUS, gpu_environment


class SimplePlaceBuilder:
    """The words for places on some nodes; those that are alike on many of them are made once."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        """Begin with none.

        Args:
            nodes: The nodes, which are simple.

        """
        self._nodes = nodes
        # The nodes keep their machines alive, so that ids tell them apart.
        self._envs: dict[tuple[int, bool, tuple[int, ...]], Env] = {}
        self._grants: dict[tuple[str, int, DeviceShare | None], DeviceGrant] = {}

    def place(
        self, gang: Gang, ask: SimpleAsk, at: int, account: Account, gpus: Sequence[int]
    ) -> PodPlacement:
        """Return the place of a pod.

        Args:
            gang: The gang that it is alone in.
            ask: What it asks for.
            at: The index of its node.
            account: What was left there before this pod came, and others like it.
            gpus: The positions of its GPUs among the healthy ones, ascending.

        """
        node, (pod,) = self._nodes[at], gang.pods
        healthy = account.devices.healthy
        grants = tuple([self._grant(healthy[position], ask.share) for position in gpus])
        env = self._env(node, tuple([grant.minor for grant in grants]))
        pool = account.pools.shared.cpus
        (numa,) = account.memory.bytes_in
        return PodPlacement(
            name=pod.name,
            namespace=pod.namespace,
            gang=None if gang.lone else gang.name,
            node=node.name,
            cpuset=pool,
            containers=(ContainerPlacement(ask.container, pool, devices=grants, env=env),),
            memory_bytes=((numa, ask.memory_bytes),) if ask.memory_bytes else (),
            devices=grants,
            env=env,
        )

    def _grant(self, device: Device, share: DeviceShare | None) -> DeviceGrant:
        key = device.id, device.minor, share
        found = self._grants.get(key)
        if found is None:
            found = self._grants[key] = DeviceGrant(GPU, device.minor, device.id, share)
        return found

    def _env(self, node: Node, minors: tuple[int, ...]) -> Env:
        unnamed = UNNAMED_GPUS in node.labels
        key = id(node.machine), unnamed, minors
        found = self._envs.get(key)
        if found is None:
            gpus = [device for device in node.machine.devices if device.type == GPU]
            found = ()
            if gpus:
                found = gpu_environment(set(minors), gpus, has_instances=False, unnamed=unnamed)
            self._envs[key] = found
        return found
