"""Demand: the pods that are expected, which strategy `expected` keeps room for.

It is a word of the instance: given, or learned from the pods that have arrived (`forecast`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from placer_models.node_affinity import NodeAffinity
from placer_models.records import CachedHash
from placer_models.selectors import Labels
from placer_models.taints import Toleration
from placer_models.typed import check_field_types

WHOLE_MILLI = 1000
"""All of one GPU."""

STREAMS = 32
"""How many streams are drawn, if nothing else is said."""

STREAM_LENGTH = 80
"""How many pods a stream has, if nothing else is said."""

DEMAND_SEED = 7
"""The seed of the draws, if nothing else is said."""

MOST_STREAMS, MOST_LENGTH = 1_024, 1_024
"""The most streams, and the most pods in one."""


@dataclass(frozen=True, slots=True)
class ExpectedShape(CachedHash):
    """What some of the expected pods ask for, as far as the strategy looks at it.

    Attributes:
        cpu_milli: Thousandths of a CPU of LSE, LSR and LS pods.
        gpus: From how many GPUs each has something; 0 for a pod that only takes CPU.
        gpu_milli: What it has of each of them, in thousandths; 0 without GPUs.
        node_selector: Labels, each of which the node must have; ascending by key.
        node_affinity: What else it requires of its node.
        tolerations: Taints of nodes that it tolerates.
        memory_bytes: Memory of the node; 0 where it is not looked at.

    Raises:
        ValueError: A number is out of its range.

    """

    cpu_milli: int
    gpus: int
    gpu_milli: int = WHOLE_MILLI
    node_selector: Labels = ()
    node_affinity: NodeAffinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    memory_bytes: int = 0

    __hash__ = CachedHash.__hash__

    def __post_init__(self) -> None:
        check_field_types(self)
        if self.cpu_milli < 0:
            raise ValueError(f"got {self.cpu_milli} milli CPUs; expected 0 or more")
        if self.memory_bytes < 0:
            raise ValueError(f"got {self.memory_bytes} bytes of memory; expected 0 or more")
        if self.gpus < 0:
            raise ValueError(f"got {self.gpus} GPUs; expected 0 or more")
        if not self.gpus:
            if self.gpu_milli:
                raise ValueError(f"got {self.gpu_milli} milli of each of no GPUs; expected 0")
            if not self.cpu_milli:
                raise ValueError("got neither CPUs nor GPUs; expected one of them")
        elif not 1 <= self.gpu_milli <= WHOLE_MILLI:
            raise ValueError(f"got {self.gpu_milli} milli of each GPU; expected 1 to {WHOLE_MILLI}")

    @property
    def size_milli(self) -> int:
        """What the pod has of all its GPUs together, in thousandths."""
        return self.gpus * self.gpu_milli

    @property
    def without_memory(self) -> "ExpectedShape":
        """The shape of the same pods where memory is not looked at."""
        return replace(self, memory_bytes=0) if self.memory_bytes else self

    @property
    def order(self) -> tuple[int, int, int, int, str, str, str]:
        """A key that orders shapes the same way everywhere."""
        return (
            self.cpu_milli,
            self.gpu_milli,
            self.gpus,
            self.memory_bytes,
            ",".join(f"{key}={value}" for key, value in self.node_selector),
            "" if self.node_affinity is None else str(self.node_affinity),
            ",".join(map(str, self.tolerations)),
        )


@dataclass(frozen=True, slots=True)
class ExpectedDemand(CachedHash):
    """The pods that are expected.

    Attributes:
        shapes: What they ask for, ascending by `ExpectedShape.order`, each once.
        counts: How many pods of each shape are expected, at least 1; only their ratio counts.
        prices: What it is worth that one more pod of each shape has a place, in millionths of a
            GPU. None: as the nodes are before anything new is placed.
        streams: How many streams of pods are drawn.
        length: How many pods each of them has.
        seed: Of the draws.

    Raises:
        ValueError: The parts contradict each other, or a number is out of its range.

    """

    shapes: tuple[ExpectedShape, ...]
    counts: tuple[int, ...]
    prices: tuple[int, ...] | None = None
    streams: int = STREAMS
    length: int = STREAM_LENGTH
    seed: int = DEMAND_SEED

    __hash__ = CachedHash.__hash__

    def __post_init__(self) -> None:
        check_field_types(self)
        for name, numbers in (("counts", self.counts), ("prices", self.prices)):
            if numbers is not None and len(numbers) != len(self.shapes):
                raise ValueError(
                    f"got {len(numbers)} {name} for {len(self.shapes)} shapes; expected as many"
                )
        if any(count < 1 for count in self.counts):
            raise ValueError(f"got the count {min(self.counts)}; expected 1 or more")
        if self.prices is not None and any(price < 0 for price in self.prices):
            raise ValueError(f"got the price {min(self.prices)}; expected 0 or more")
        orders = [shape.order for shape in self.shapes]
        if orders != sorted(set(orders)):
            raise ValueError("shapes are not ascending, each once; make the demand by demand_of")
        for name, value, most in (
            ("streams", self.streams, MOST_STREAMS),
            ("length", self.length, MOST_LENGTH),
        ):
            if not 1 <= value <= most:
                raise ValueError(f"{name} is {value}; expected 1 to {most}")
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"seed is {self.seed}; expected 0 to 2**64 - 1")

    @property
    def looks_at_memory(self) -> bool:
        """Whether some shape asks for memory; else it does not matter how much nodes have left."""
        return any(shape.memory_bytes for shape in self.shapes)

    def priced(self, prices: tuple[int, ...] | None) -> "ExpectedDemand":
        """Return the same demand with these prices."""
        return self if prices == self.prices else _priced(self, prices)


@lru_cache(maxsize=64)
def _priced(demand: ExpectedDemand, prices: tuple[int, ...] | None) -> ExpectedDemand:
    """Return the demand with these prices; each call of a Scheduler asks for the one without."""
    return replace(demand, prices=prices)


def expected_demand_from_counts(counts: Mapping[ExpectedShape, int]) -> ExpectedDemand:
    """Return the demand of so many pods of each shape."""
    shapes = sorted(counts, key=lambda shape: shape.order)
    return ExpectedDemand(tuple(shapes), tuple(counts[shape] for shape in shapes))
