"""Errors of the node's side."""


class InapplicableDocumentError(Exception):
    """The document asks for something impossible, here or anywhere; ``str()`` says what."""


class HostCannotApplyError(Exception):
    """The node refuses, and nothing is changed; ``str()`` says why and what helps."""


class CgroupVanishedError(HostCannotApplyError):
    """A cgroup went while it was planned for or written; the same may be possible at once."""


class ObserveOnlyError(HostCannotApplyError):
    """Placer must not write here until somebody has looked; ``str()`` says why, and at what."""
