"""Words that are known but not obeyed yet: refused by name, never passed over."""

import re

_RESOURCE = re.compile(
    r"""(?P<npu>huawei\.com/npu-(?:core|cpu|dvpp))
    |(?P<overcommitted>(?:kubernetes\.io/)?(?:batch|mid)-(?:cpu|memory))
    |(?P<storage>ephemeral-storage)""",
    re.VERBOSE,
)
_RESOURCE_REASONS = {
    "npu": "ask for GPUs by percent or memory, or for whole devices of a type",
    "overcommitted": "ask for cpu and memory",
    "storage": "leave it out",
}


def unsupported_resource(name: str) -> str | None:
    """Return why a known resource is refused, or None if the name is not that of one."""
    match = _RESOURCE.fullmatch(name)
    if match is None or match.lastgroup is None:
        return None
    return f"'{name}' is not supported yet: {_RESOURCE_REASONS[match.lastgroup]}"
