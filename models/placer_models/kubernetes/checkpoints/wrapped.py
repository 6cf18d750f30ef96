"""Checkpoints of Kubernetes 1.37 and later: JSON inside a text, with a checksum of its own.

The fields outside repeat those inside, for older kubelets.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from placer_models.kubernetes.checkpoints.checksum import check_checksum, check_data_checksum
from placer_models.kubernetes.checkpoints.go_types import (
    CHECKSUM,
    MEND,
    TEXT,
    GoTypeCodec,
    KubeletCheckpointError,
    parse_go_json,
)

_DATA, _DATA_CHECKSUM, _CHECKSUM = "data", "dataChecksum", "checksum"

_INSIDE_ALONE = ("podEntries", "baselines")
"""Fields that may stand inside alone, because older kubelets do not know them."""


def is_wrapped_checkpoint(tree: object) -> bool:
    """Return whether a document has such a text inside, or at least its checksum."""
    return isinstance(tree, dict) and (_DATA in tree or _DATA_CHECKSUM in tree)


def read_wrapped_checkpoint(
    tree: object,
    outside: GoTypeCodec,
    inside: GoTypeCodec,
    shown: Callable[[Mapping[str, Any]], Iterable[str]],
) -> Mapping[str, Any]:
    """Return the fields of the text inside.

    The checksum of the fields outside may be 0 or left out: the checksum of the text covers both.

    Args:
        tree: The document.
        outside: The struct of the fields outside.
        inside: The struct of the text.
        shown: Returns what spew may print for the fields outside.

    Raises:
        KubeletCheckpointError: A checksum is wrong, or the fields outside differ from those inside.

    """
    members = dict(tree) if isinstance(tree, dict) else {}
    for key in (_DATA, _DATA_CHECKSUM):
        if key not in members:
            raise KubeletCheckpointError(key, f"is missing; {MEND}")
    text = TEXT.read(members.pop(_DATA), _DATA)
    sum_of_text = CHECKSUM.read(members.pop(_DATA_CHECKSUM), _DATA_CHECKSUM)
    members.setdefault(_CHECKSUM, 0)
    repeated = outside.read(members, "")
    check_data_checksum(sum_of_text, text, _DATA_CHECKSUM)
    content = parse_go_json(text, _DATA)
    value: Mapping[str, Any] = inside.read(content, _DATA)
    told = content if isinstance(content, dict) else {}
    for key in sorted(members.keys() | told.keys()):
        left_out = key not in members and key in _INSIDE_ALONE
        if key != _CHECKSUM and not left_out and members.get(key) != told.get(key):
            raise KubeletCheckpointError(key, f"differs from {_DATA}.{key}; {MEND}")
    if repeated["Checksum"]:
        check_checksum(repeated["Checksum"], [*shown(repeated)], _CHECKSUM)
    return value
