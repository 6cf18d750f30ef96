"""Nominal rates of links, per direction, in GB/s, for links whose rate nobody gives."""

import re
from collections.abc import Iterable, Mapping

from placer_models.instance.machine_links import SELF

UNLINKED = "N/A"
"""The kind of every link of a GPU that the tool could not reach at all."""

XGMI_GB_PER_S = 50.0
"""Rate of one xGMI link of an MI200; that of an MI300 is 64."""

_BONDED = re.compile(r"(NV|XGMI)([0-9]+)")


def bonded_link_count(kind: str) -> int:
    """Return how many NVLinks or xGMI links the kind bonds, or 0 if it is another path."""
    if kind == "XGMI":
        return 1
    match = _BONDED.fullmatch(kind)
    return int(match[2]) if match else 0


def assumed_gb_per_s(
    kinds: Iterable[str],
    gpus: int,
    gb_per_s_per_link: float | None,
    gb_per_s_by_kind: Mapping[str, float],
) -> tuple[dict[str, float], str]:
    """Return the GB/s of each kind, and a sentence that says what was assumed.

    Args:
        kinds: All kinds that occur.
        gpus: How many GPUs the machine has.
        gb_per_s_per_link: Rate of one NVLink or xGMI link. None: that of the generation.
        gb_per_s_by_kind: Rates of whole kinds, where the caller knows better.

    """
    found = sorted(set(kinds) - {SELF, UNLINKED})
    generation, link, pcie = _generation(found, gpus)
    if gb_per_s_per_link is not None:
        generation, link = "the given links", gb_per_s_per_link
    rates = {kind: link * bonded_link_count(kind) or pcie for kind in found}
    rates |= {kind: gb_per_s_by_kind[kind] for kind in found if kind in gb_per_s_by_kind}
    rates[UNLINKED] = 0.0
    named = ", ".join(f"{kind} {rates[kind]:g}" for kind in found)
    return (
        rates,
        f"Bandwidth is nominal, for {generation}, in GB/s per direction: {named or 'none'}.",
    )


def _generation(kinds: list[str], gpus: int) -> tuple[str, float, float]:
    """Return the likely generation: name, GB/s of one link, GB/s of a PCIe x16 slot."""
    links = max((bonded_link_count(k) for k in kinds if k.startswith("NV")), default=0)
    if any(kind.startswith("XGMI") for kind in kinds):
        return "xGMI of MI200 and PCIe 4", XGMI_GB_PER_S, 31.5
    if "SOC" in kinds:  # what drivers before the V100 called SYS
        return "NVLink 1 and PCIe 3", 20.0, 15.75
    if 0 < links <= 3 or (links == 6 and gpus > 4):
        return "NVLink 2 and PCIe 3", 25.0, 15.75
    if links > 12 or links == 6:
        return "NVLink 4 and PCIe 5", 25.0, 63.0
    if links > 0:
        return "NVLink 3 and PCIe 4", 25.0, 31.5
    return "PCIe 4", 0.0, 31.5
