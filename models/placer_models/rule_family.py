"""Names of the families of rules."""

from enum import StrEnum


class RuleFamilyName(StrEnum):
    """All families of rules. The value is the name of the family's file in `cpsat`."""

    GANGS = "gangs"
    """Pods and gangs as wholes: places, minimums, groups."""

    NETWORK = "network"
    """Levels of the network that gangs ask for."""

    NODE_PREFERENCE = "node_preference"
    """What pods would like of the node itself."""

    AFFINITY = "affinity"
    """Pods that want to be together or apart."""

    DOMAIN_LIMITS = "domain_limits"
    """How many pods domains of nodes may have: pods spread evenly over them."""

    IN_NODE_AFFINITY = "in_node_affinity"
    """Pods that want to be together or apart on cores and NUMA nodes."""

    AMOUNTS = "amounts"
    """What nodes have in plain amounts: memory, hugepages, pools, extended resources."""

    CPUS = "cpus"
    """Owned CPUs, their bind policies, and pools that may not become empty."""

    NUMA = "numa"
    """NUMA nodes, with the amounts that pods have there."""

    CONTAINERS = "containers"
    """Containers that are each aligned by themselves."""

    BOUND = "bound"
    """LS and BE pods that are bound to the pool of NUMA nodes."""

    LOCALITIES = "localities"
    """Packages, caches and NUMA nodes, of which pods would like to be on few."""

    NUMA_STRATEGY = "numa_strategy"
    """NUMA allocate strategies of nodes."""

    EXCLUSIVITY = "exclusivity"
    """Cores and NUMA nodes that pods keep to themselves."""

    CORE_PAIRS = "core_pairs"
    """Cores of two threads that pods with an exclusive policy share."""

    DEVICES = "devices"
    """Whole devices, and the sets of GPUs."""

    LINKS = "links"
    """What GPU sets are worth."""

    SWITCHES = "switches"
    """PCIe switches that are left whole."""

    MIG = "mig"
    """MIG instances."""

    SHARES = "shares"
    """Shares of devices."""

    FUNCTIONS = "functions"
    """Virtual functions."""

    JOINT = "joint"
    """Devices of several types side by side."""

    DEVICE_STRATEGY = "device_strategy"
    """Devices whose number a strategy sets."""

    DEVICE_CHOICE = "device_choice"
    """Which devices give shares."""

    OPENED = "opened"
    """Offered nodes."""

    MOVES = "moves"
    """Running pods that may move."""

    NODE_STRATEGY = "node_strategy"
    """What the last tier counts of nodes."""
