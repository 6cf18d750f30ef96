"""CPUs and shared pools, as several annotations say them."""

import re
from dataclasses import dataclass

from placer_models.annotations.json_parts import LocatedJsonValue
from placer_models.cpuset import MAX_CPU_ID, CpuSet, format_cpu_list, parse_cpu_list
from placer_models.message_text import escaped_value_text

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class AnnotatedSharedPool:
    """The shared pool of one NUMA node: all of it, or named for a pod that is to stay in it.

    Attributes:
        cpuset: Empty where it is left to the node agent.

    """

    package: int
    node: int
    cpuset: CpuSet = frozenset()


def shared_pool_to_dict(pool: AnnotatedSharedPool) -> dict[str, object]:
    """Return a pool as the annotations hold it."""
    cpuset = {"cpuset": format_cpu_list(pool.cpuset)} if pool.cpuset else {}
    return {"socket": pool.package, "node": pool.node, **cpuset}


def read_shared_pool(part: LocatedJsonValue) -> AnnotatedSharedPool:
    """Return the pool that the part describes."""
    # Koordinator's writers left out what is 0.
    fields = part.fields(("socket", "node", "cpuset"))
    return AnnotatedSharedPool(
        package=fields["socket"].integer() if "socket" in fields else 0,
        node=fields["node"].integer() if "node" in fields else 0,
        cpuset=read_cpu_list(fields.get("cpuset")),
    )


def read_cpu_list(part: LocatedJsonValue | None) -> CpuSet:
    """Return the CPUs of a list, which is checked first because expanding it may take long."""
    text = part.text() if part else ""
    if part is None or not text:
        return frozenset()
    count = 0
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= MAX_CPU_ID:
            part.refuse(
                f"got {escaped_value_text(piece)}; expected CPUs up to {MAX_CPU_ID} such as 0-3,8"
            )
        count += last - first + 1
    if count > MAX_CPU_ID + 1:
        part.refuse("the list names CPUs over and over; name each once")
    return parse_cpu_list(text)
