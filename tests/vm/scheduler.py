"""The scheduler beside the emulated machine: it solves what nodes ask over a serial port.

A question is a line of JSON: ``files``, those of an instance by their names, and ``node``. The
answer is one, too: the ``document`` of the node, or the ``error``. Both commands are run as a user
would run them, here, where there is a solver.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from types import TracebackType

PLACER = [sys.executable, "-c", "import sys; from placer_cli.app import main; sys.exit(main())"]
TRY_AGAIN_S = 0.1


class Scheduler:
    """Answers while it is entered."""

    def __init__(self, port: Path) -> None:
        self._port = port
        self._over = Event()
        self._thread = Thread(target=self._serve, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _serve(self) -> None:
        with socket.socket(socket.AF_UNIX) as line:
            while True:
                if self._over.is_set():
                    return
                try:
                    line.connect(str(self._port))
                    break
                except OSError:  # the machine is not there yet
                    time.sleep(TRY_AGAIN_S)
            with line.makefile("rwb") as stream:
                for question in stream:  # ends with the machine
                    stream.write(json.dumps(answer(json.loads(question))).encode() + b"\n")
                    stream.flush()


def answer(question: dict[str, object]) -> dict[str, str]:
    """Return the document of a node, or what went wrong."""
    texts, node = question["files"], str(question["node"])
    assert isinstance(texts, dict)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text)
        limits = ["--workers", "1", "--seed", "1", "--time-limit", "60"]
        for arguments in (
            ["solve", *texts, *limits, "--output", "placement.json"],
            ["apply", *texts, "placement.json", "--node", node, "--document", "node.json"],
        ):
            done = subprocess.run(
                [*PLACER, *arguments], cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                return {"error": f"{arguments[0]}: {done.returncode}: {done.stdout}{done.stderr}"}
        return {"document": Path(folder, "node.json").read_text()}
