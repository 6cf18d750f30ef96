"""The kubelet's checkpoint of the CPUs that it gave out (C15)."""

import json
from collections.abc import Mapping
from typing import Any

CPU_MANAGER_STATE = "var/lib/kubelet/cpu_manager_state"
"""Where it is, below the root of a system."""


def cpu_manager_state_of(text: str) -> Mapping[str, Any]:
    """Return the fields of the checkpoint, ``policyName`` among them, whichever its version.

    Raises:
        ValueError: It is not what a kubelet writes.

    """
    try:
        tree = json.loads(text)
        if not tree.get("policyName"):
            # Newer kubelets write what was a field of the file as a text inside it.
            tree = json.loads(tree["data"])
        if not isinstance(tree["policyName"], str):
            raise TypeError
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise ValueError("expected JSON with policyName") from None
    return dict(tree)
