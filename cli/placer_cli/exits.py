"""The exit codes of the command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the shell learns; 2 is the shell's own word for wrong usage."""

    DONE = 0
    """All is placed; nothing is broken."""

    NOT_ALL = 1
    """Something has no place, or a placement breaks a rule."""

    BAD_INPUT = 2
    """A file, a value or the usage is wrong; nothing was written."""

    NO_ANSWER = 3
    """The time ran out, or Ctrl-C came, before there was an answer."""

    REFUSED = 4
    """A node refused, or is only observed."""

    DEFECT = 70
    """A defect of placer itself (``EX_SOFTWARE`` of sysexits.h)."""

    INTERRUPTED = 130
    """Ended by Ctrl-C, as a shell reports it: 128 + SIGINT."""

    BROKEN_PIPE = 141
    """The reader went away, as a shell reports it: 128 + SIGPIPE."""
