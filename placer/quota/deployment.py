"""Deployment: pods bound to the nodes that scheduling has chosen (B15 to B17).

The third part of seed 003. It asks resource management (`ledger`) for concrete devices and
hands them on. Which part chose the nodes, and how, does not matter to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placer.quota.filter import ClassRequest
from placer.quota.ledger import NotEnoughQuotaError, QuotaGrant, QuotaLedger
from placer_models.policy import DeviceChoicePolicy
from placer_models.quota import IllegalQuotaError


@dataclass(frozen=True, slots=True)
class NodeQuotaRequest:
    """A pod, and the node that it is to run on.

    Attributes:
        wants: Class -> what is asked of it.
        choice: Which of the devices that fit, where there are more than asked for.

    """

    pod: str
    node: str
    wants: Mapping[str, ClassRequest]
    choice: DeviceChoicePolicy = DeviceChoicePolicy.MOST_USED


class BindingRefusedError(Exception):
    """Pods that cannot be bound together now; nothing was given to any of them (B16).

    Attributes:
        refused: Pod -> what its node has too little of, beside the pods named before it.

    """

    def __init__(self, refused: Mapping[str, NotEnoughQuotaError]) -> None:
        """Make an error that names each pod that is short of something."""
        self.refused = dict(refused)
        super().__init__("; ".join(f"pod {pod}: {short}" for pod, short in self.refused.items()))


def bind_all_or_none(
    ledger: QuotaLedger, bindings: Sequence[NodeQuotaRequest]
) -> dict[str, QuotaGrant]:
    """Ask the ledger for the devices of pods, in turn: all of them are bound, or none.

    Raises:
        BindingRefusedError: Something is not there any more; the error says what, for each pod.
        IllegalQuotaError: A pod is named twice, a node is not there, or quantities of the same
            devices are asked for in different counts.

    """
    grants: dict[str, QuotaGrant] = {}
    refused: dict[str, NotEnoughQuotaError] = {}
    try:
        for one in bindings:
            if one.pod in grants or one.pod in refused:
                raise IllegalQuotaError(f"pod {one.pod!r} is to be bound twice; a pod has one node")
            try:
                grants[one.pod] = ledger.give_out(one.node, one.wants, one.choice)
            except NotEnoughQuotaError as short:
                refused[one.pod] = short
        if refused:
            raise BindingRefusedError(refused)
    except BaseException:
        for grant in grants.values():
            ledger.take_back(grant)
        raise
    return grants
