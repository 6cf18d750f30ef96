"""The line to the scheduler beside this machine (vm.scheduler)."""

import json
import os
import tty
from collections.abc import Mapping

PORT = "/dev/ttyS2"
READ_BYTES = 1 << 12


def ask(files: Mapping[str, str], node: str) -> str:
    """Return the document of a node that the real solver makes of an instance."""
    port = os.open(PORT, os.O_RDWR | os.O_NOCTTY)
    try:
        tty.setraw(port)  # no echo, and no lines of 4,096 characters at most
        question = json.dumps({"files": dict(files), "node": node}).encode() + b"\n"
        while question:
            question = question[os.write(port, question) :]
        said = b""
        while not said.endswith(b"\n"):
            said += os.read(port, READ_BYTES)
    finally:
        os.close(port)
    answer = json.loads(said)
    assert "error" not in answer, answer["error"]
    return str(answer["document"])
