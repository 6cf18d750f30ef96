"""The edges of the rule about MIG instances.

GPU 0 of the machine is in MIG mode: instance minors are 0 to 7, its starts.
"""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, pod, put, world
from placer_models.device_share import DeviceShare
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import QosClass

CUT = replace(node(), mig=((0, "A100-40GB"), (1, "A100-40GB")))


def asks_for(name: str, **profiles: int) -> Pod:
    """Return a pod that wants instances, ``_`` for the dot of a profile's name."""
    devices = tuple(
        DeviceRequest(f"mig-{profile[1:].replace('_', '.')}", count)
        for profile, count in sorted(profiles.items())
    )
    requests = Resources(devices=devices)
    return Pod(name, "default", PodSpec((Container("app", requests),), qos=QosClass.LS))


def has(name: str, *instances: tuple[str, int]) -> PodPlacement:
    grants = tuple(DeviceGrant(f"mig-{profile}", minor) for profile, minor in instances)
    return replace(put(name, ALL_CPUS), devices=grants)


HALF = DeviceShare(percent=50, memory_percent=50)
SHARING = Pod(
    "a",
    "default",
    PodSpec(
        (Container("app", Resources(devices=(DeviceRequest("gpu", 1, HALF),))),), qos=QosClass.LS
    ),
)

MIG_EDGES = {
    "mig: instances share no slice": Edge(
        world(asks_for("a", _3g_20gb=1), asks_for("b", _1g_5gb=1), nodes=[CUT]),
        good=[has("a", ("3g.20gb", 4)), has("b", ("1g.5gb", 3))],
        bad=[has("a", ("3g.20gb", 0)), has("b", ("1g.5gb", 3))],
    ),
    "mig: instances of one pod share no slice either": Edge(
        world(asks_for("a", _2g_10gb=1, _4g_20gb=1), nodes=[CUT]),
        good=has("a", ("2g.10gb", 4), ("4g.20gb", 0)),
        bad=has("a", ("2g.10gb", 2), ("4g.20gb", 0)),
    ),
    "mig: 3g takes four slices": Edge(
        world(asks_for("a", _3g_20gb=1), asks_for("b", _1g_5gb=1), nodes=[CUT]),
        good=[has("a", ("3g.20gb", 0)), has("b", ("1g.5gb", 4))],
        bad=[has("a", ("3g.20gb", 0)), has("b", ("1g.5gb", 0))],
    ),
    "mig: running instances keep their slices": Edge(
        world(
            asks_for("a", _4g_20gb=1),
            nodes=[CUT],
            running=[(asks_for("r", _1g_5gb=1), has("r", ("1g.5gb", 4)))],
        ),
        good=has("a", ("4g.20gb", 0)),
        bad_world=world(
            asks_for("a", _4g_20gb=1),
            nodes=[CUT],
            running=[(asks_for("r", _1g_5gb=1), has("r", ("1g.5gb", 3)))],
        ),
    ),
    "mig: one instance of a GPU has its media engine": Edge(
        world(asks_for("a", _1g_5gb_me=2), nodes=[CUT]),
        good=has("a", ("1g.5gb.me", 6), ("1g.5gb.me", 8)),
        bad=has("a", ("1g.5gb.me", 6), ("1g.5gb.me", 5)),
    ),
    "mig: a GPU in MIG mode is not given whole": Edge(
        world(
            Pod(
                "a",
                "default",
                PodSpec(
                    (Container("app", Resources(devices=(DeviceRequest("gpu", 1),))),),
                    qos=QosClass.LS,
                ),
            ),
            nodes=[CUT],
        ),
        good=put("a", ALL_CPUS, gpus=[2]),
        bad=put("a", ALL_CPUS, gpus=[1]),
    ),
    "mig: nor is a share of it given out": Edge(
        world(SHARING, nodes=[CUT]),
        good=replace(put("a", ALL_CPUS), devices=(DeviceGrant("gpu", 2, share=HALF),)),
        bad=replace(put("a", ALL_CPUS), devices=(DeviceGrant("gpu", 1, share=HALF),)),
    ),
    "mig: who is new is not blamed for running pods that overlap": Edge(
        world(
            asks_for("a", _1g_5gb=1),
            nodes=[CUT],
            running=[
                (asks_for("r", _4g_20gb=1), has("r", ("4g.20gb", 0))),
                (asks_for("s", _1g_5gb=1), has("s", ("1g.5gb", 3))),
            ],
        ),
        good=has("a", ("1g.5gb", 4)),
        bad=has("a", ("1g.5gb", 2)),
    ),
    "device-exclusive: one and the same instance twice is no overlap of two": Edge(
        world(asks_for("a", _1g_5gb=1), asks_for("b", _1g_5gb=1), nodes=[CUT]),
        good=[has("a", ("1g.5gb", 3)), has("b", ("1g.5gb", 4))],
        bad=[has("a", ("1g.5gb", 3)), has("b", ("1g.5gb", 3))],
    ),
    "mig: a running pod that holds such a GPU whole has all of its slices and is not blamed": Edge(
        world(
            asks_for("a", _1g_5gb_me=1),
            nodes=[CUT],
            running=[(pod("r", gpus=1, qos=QosClass.LS), put("r", ALL_CPUS, gpus=[0]))],
        ),
        good=has("a", ("1g.5gb.me", 8)),
        bad=has("a", ("1g.5gb.me", 6)),
    ),
}
