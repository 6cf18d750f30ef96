"""NUMA hints as the peers merge them (C12).

A provider (of CPUs, of memory, of devices) says on which sets of NUMA nodes it could
have what a pod asks for, and which of them it prefers. A merge settles on one set.

* ``model``: hints, the two peers with their options, what comes of a merge.
* ``merging``: the one door.
* ``kubelet``, ``koordinator``: each peer's order of sets, and its verdicts.
"""

from alignment.hints.merging import KUBELET, merge
from alignment.hints.model import Hint, Koordinator, Kubelet, Merged, ProviderHints

__all__ = ["KUBELET", "Hint", "Koordinator", "Kubelet", "Merged", "ProviderHints", "merge"]
