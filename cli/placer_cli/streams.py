"""The three standard streams, made fit for use before anything else happens."""

import os
import sys


def prepare_standard_streams() -> bool:
    """Make the streams ready; return False if standard output is closed.

    Python has None for a stream that the shell closed, as with ``>&-``. Each gets the
    null device, or the next file to be opened would take its number and its text.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    closed = sys.stdout is None
    if closed:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that lacks a character shows a question mark, not a traceback.
            stream.reconfigure(errors="replace")
    return not closed
