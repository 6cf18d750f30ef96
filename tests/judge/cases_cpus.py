"""The edges of the rules about CPUs: owned ones, pools and containers."""

from judge.hand import ALL_CPUS, Edge, asks, init, node, pod, put, sidecar, world
from placer_models.pod import Container
from placer_models.policy import BindPolicy, QosClass

FULL, SPREAD = BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS
LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE

# An init container asks for more than what runs after it, so that the count of the
# pod's CPUs can be wrong while each container has what it asks for.
MORE_AT_FIRST = pod("a", 1, beside=[init("first", 2)])

OWNED_EDGES = {
    "cpu-count: a pod owns no CPU fewer than it asks for": Edge(
        world(MORE_AT_FIRST),
        good=put("a", "2-3", parts={"first": "2-3", "app": "3"}),
        bad=put("a", "3", parts={"first": "3", "app": "3"}),
    ),
    "cpu-count: a pod owns no CPU more than it asks for": Edge(
        world(pod("a", 1)), good=put("a", "3"), bad=put("a", "2-3", parts={"app": "3"})
    ),
    "cpu-allocatable: a reserved CPU is not owned": Edge(
        world(pod("a", 2), nodes=[node(reserved="4")]), good=put("a", "2-3"), bad=put("a", "3-4")
    ),
    "cpu-allocatable: an offline CPU is not owned": Edge(
        world(pod("a", 2)), good=put("a", "7-8"), bad=put("a", "8-9")
    ),
    "cpu-allocatable: a CPU that the machine has not is not owned": Edge(
        world(pod("a", 1)), good=put("a", "8"), bad=put("a", "10")
    ),
    "cpu-exclusive: two new pods own different CPUs": Edge(
        world(pod("a", 2), pod("b", 2)),
        good=[put("a", "0-1"), put("b", "2-3")],
        bad=[put("a", "0-1"), put("b", "1-2")],
    ),
    "cpu-exclusive: what a running pod owns stays its own": Edge(
        world(pod("a", 2), running=[(pod("r", 1, qos=LSE), put("r", "2"))]),
        good=put("a", "3-4"),
        bad=put("a", "2-3"),
    ),
    "cpu-exclusive: who is new is not blamed for CPUs that two running pods own": Edge(
        world(pod("a", 2), running=[(pod(name, 1, qos=LSE), put(name, "2")) for name in "rs"]),
        good=put("a", "3-4"),
        bad=put("a", "2-3"),
    ),
    "cpu-bind: FullPCPUs takes whole cores": Edge(
        world(pod("a", 4, bind=FULL, required=True)),
        good=put("a", "0-1,6-7"),
        bad=put("a", "0-1,5-6"),
    ),
    "cpu-bind: FullPCPUs takes no core that is partly reserved": Edge(
        world(pod("a", 1, bind=FULL, required=True), nodes=[node(reserved="2")]),
        good=put("a", "8"),
        bad=put("a", "3"),
    ),
    "cpu-bind: SpreadByPCPUs takes one thread of a core": Edge(
        world(pod("a", 3, bind=SPREAD, required=True)),
        good=put("a", "0,2,8"),
        bad=put("a", "0,2-3"),
    ),
}

POOL_EDGES = {
    "shared-pool: LS pods ask for no more than is left": Edge(
        world(pod("a", 4), pod("b", 2.5, qos=LS), pod("c", 2.5, qos=LS)),
        good=[put("a", "0-3"), put("b", "4-8"), put("c", "4-8")],
        bad_world=world(pod("a", 4), pod("b", 2.5, qos=LS), pod("c", 2.501, qos=LS)),
    ),
    "shared-pool: reserved CPUs are in the pool, but nothing is counted against them": Edge(
        world(pod("b", 7, qos=LS), nodes=[node(reserved="0-1")]),
        good=put("b", ALL_CPUS),
        bad_world=world(pod("b", 7.001, qos=LS), nodes=[node(reserved="0-1")]),
    ),
    "shared-pool: a running LS pod keeps what it asks for": Edge(
        world(pod("a", 5), running=[(pod("r", 4, qos=LS), put("r", ALL_CPUS))]),
        good=put("a", "0-4"),
        bad=put("a", "0-5"),
        bad_world=world(pod("a", 6), running=[(pod("r", 4, qos=LS), put("r", ALL_CPUS))]),
    ),
    "shared-pool: an LS pod that asks for nothing needs a CPU all the same": Edge(
        world(pod("a", 8), pod("b", qos=LS)),
        good=[put("a", "0-7"), put("b", "8")],
        bad=[put("a", ALL_CPUS), put("b", "")],
        bad_world=world(pod("a", 9), pod("b", qos=LS)),
    ),
    "shared-pool: nobody owns the last CPU of a running LS pod": Edge(
        world(pod("a", 8), running=[(pod("r", qos=LS), put("r", ALL_CPUS))]),
        good=put("a", "0-7"),
        bad=put("a", ALL_CPUS),
        bad_world=world(pod("a", 9), running=[(pod("r", qos=LS), put("r", ALL_CPUS))]),
    ),
    (
        "shared-pool: who is new is not blamed for a running LS pod to which "
        "running pods leave no CPU"
    ): Edge(
        world(
            pod("a", qos=BE),
            pod("b", qos=LS),
            running=[(pod("r", 9), put("r", ALL_CPUS)), (pod("s", qos=LS), put("s", ""))],
        ),
        good=put("a", ALL_CPUS),
        bad=[put("a", ALL_CPUS), put("b", "")],
    ),
    "shared-pool: an LS pod's CPUs are the pool": Edge(
        world(pod("a", 1), pod("b", 1, qos=LS)),
        good=[put("a", "0"), put("b", "1-8")],
        bad=[put("a", "0"), put("b", "0-8", parts={"app": "1-8"})],
    ),
    "be-pool: BE pods ask for no more than LSE pods leave": Edge(
        world(pod("a", 4, qos=LSE), pod("b", 5, qos=BE), pod("c", 5, qos=LS)),
        good=[put("a", "0-3"), put("b", "4-8"), put("c", "4-8")],
        bad_world=world(pod("a", 4, qos=LSE), pod("b", 5.001, qos=BE), pod("c", 5, qos=LS)),
    ),
    "be-pool: BE pods run on the CPUs of LSR pods, not of LSE pods": Edge(
        world(pod("a", 4), pod("b", 9, qos=BE)),
        good=[put("a", "0-3"), put("b", ALL_CPUS)],
        bad=[put("a", "0-3"), put("b", "4-8")],
        bad_world=world(pod("a", 4, qos=LSE), pod("b", 9, qos=BE)),
    ),
    "be-pool: a BE pod that asks for nothing needs a CPU all the same": Edge(
        world(pod("a", 8, qos=LSE), pod("b", qos=BE)),
        good=[put("a", "0-7"), put("b", "8")],
        bad=[put("a", ALL_CPUS), put("b", "")],
        bad_world=world(pod("a", 9, qos=LSE), pod("b", qos=BE)),
    ),
    (
        "be-pool: running LSE and BE pods may overfill the pool; only an LSE pod takes more of it"
    ): Edge(
        world(
            pod("a", 2),
            running=[
                (pod("r", 4, qos=LSE), put("r", "0-3")),
                (pod("s", 6, qos=BE), put("s", "4-8")),
            ],
        ),
        good=put("a", "4-5"),
        bad_world=world(
            pod("a", 2, qos=LSE),
            running=[
                (pod("r", 4, qos=LSE), put("r", "0-3")),
                (pod("s", 6, qos=BE), put("s", "4-8")),
            ],
        ),
    ),
    "be-pool: a BE pod's CPUs are the pool": Edge(
        world(pod("a", 1, qos=LSE), pod("b", 1, qos=BE)),
        good=[put("a", "0"), put("b", "1-8")],
        bad=[put("a", "0"), put("b", "0-8", parts={"app": "1-8"})],
    ),
}

TWO_APPS = pod("a", 1, beside=[Container("web", asks(2))])

CONTAINER_EDGES = {
    "containers: each container has CPUs": Edge(
        world(TWO_APPS),
        good=put("a", "0-2", parts={"web": "0-1", "app": "2"}),
        bad=put("a", "0-2", parts={"web": "0-1"}),
    ),
    "containers: a part is as large as the container's request": Edge(
        world(TWO_APPS),
        good=put("a", "0-2", parts={"web": "0-1", "app": "2"}),
        bad=put("a", "0-2", parts={"web": "0", "app": "2"}),
    ),
    "containers: a sidecar and an app container share no CPU": Edge(
        world(pod("a", 1, beside=[sidecar("log", 1)])),
        good=put("a", "0-1", parts={"log": "0", "app": "1"}),
        bad=put("a", "0-1", parts={"log": "1", "app": "1"}),
    ),
    "containers: an init container runs where an app container will, inside the pod's CPUs": Edge(
        world(pod("a", 1, beside=[init("first", 1)])),
        good=put("a", "0", parts={"first": "0", "app": "0"}),
        bad=put("a", "0", parts={"first": "0-1", "app": "0"}),
    ),
    "containers: a container that asks for no CPU runs on the pod's, not on none": Edge(
        world(pod("a", 2, beside=[Container("idle", asks())])),
        good=put("a", "0-1", parts={"idle": "0-1", "app": "0-1"}),
        bad=put("a", "0-1", parts={"idle": "", "app": "0-1"}),
    ),
    "containers: a pod that owns no CPUs has containers without any": Edge(
        world(pod("a", memory=1)),
        good=put("a", memory={0: 1}),
        bad=put("a", memory={0: 1}, parts={"app": "0"}),
    ),
    "containers: an LS pod's containers run in the shared pool": Edge(
        world(pod("a", 1), pod("b", 1, qos=LS)),
        good=[put("a", "0"), put("b", "1-8")],
        bad=[put("a", "0"), put("b", "1-8", parts={"app": "1"})],
    ),
    "containers: a BE pod's containers run in the BE pool": Edge(
        world(pod("a", 1), pod("b", 1, qos=BE)),
        good=[put("a", "0"), put("b", ALL_CPUS)],
        bad=[put("a", "0"), put("b", ALL_CPUS, parts={"app": "1-8"})],
    ),
}
