"""The witness: kube-scheduler's own filters, asked through the program `kube_filter`."""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from e2e.binaries import path_of
from kubernetes_worlds import Json


@dataclass(frozen=True)
class Verdict:
    """Where a pod could be.

    Attributes:
        fits: Nodes that would take it.
        refused: The other nodes that were asked -> why.

    """

    fits: frozenset[str]
    refused: Mapping[str, str]


class Witness(AbstractContextManager["Witness"]):
    """kube-scheduler's default profile, without a cluster or over a live one.

    Raises:
        MissingError: The program is missing.

    """

    def __init__(self, kubeconfig: Path | None = None) -> None:
        more = [] if kubeconfig is None else ["-kubeconfig", str(kubeconfig)]
        self._process = subprocess.Popen(
            [path_of("kube-filter"), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __exit__(self, *_: object) -> None:
        """End the program, which ends by itself when nobody asks any more."""
        self._process.communicate()

    def of_dump(self, objects: Iterable[Json], pod: str) -> Verdict:
        """Return where a pod ("namespace/name") could be in a cluster of these objects."""
        return self._ask({"objects": list(objects), "ask": [{"pod": pod}]})[pod]

    def of_cluster(self, pods: Iterable[str], nodes: Sequence[str] = ()) -> dict[str, Verdict]:
        """Return where pods of the live cluster could be, each as if it were not there yet.

        Args:
            pods: Their keys.
            nodes: Those that are asked; without them the own node of a bound pod, and all nodes
                for one that waits.

        """
        return self._ask({"ask": [{"pod": pod, "nodes": list(nodes)} for pod in pods]})

    def _ask(self, question: Json) -> dict[str, Verdict]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline())
        if "error" in reply:
            raise AssertionError(f"the filters could not be asked: {reply['error']}")
        return {
            one["pod"]: Verdict(frozenset(one["fits"]), one["refused"]) for one in reply["answers"]
        }
