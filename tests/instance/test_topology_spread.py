"""Topology spread in files: what it says, and what is refused."""

from collections.abc import Callable

import pytest

from instance_texts import reread
from placer_models.cluster import Instance
from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.topology_spread import SpreadConstraint

HEAD = "apiVersion: placer/v1\nkind: Instance\nnodes: [{name: n, machine: dgx-a100}]\n"


def pod(words: str) -> str:
    return f"{HEAD}pods: [{{name: p, topologySpread: {words}}}]\n"


@pytest.mark.parametrize(
    ("words", "constraints"),
    [
        (
            "{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}",
            [SpreadConstraint("zone", labels=(("app", "web"),))],
        ),
        (
            "[{topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, maxSkew: 3, "
            "labelSelector: {matchExpressions: [{key: app, operator: Exists}]}, "
            "nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor}, "
            "{topologyKey: rack, minDomains: 4, labelSelector: {matchLabels: {}}}]",
            [
                SpreadConstraint(
                    "node",
                    3,
                    RequiredOrPreferred.PREFERRED,
                    expressions=(LabelExpression("app", SelectorOperator.EXISTS),),
                    by_selector=False,
                    by_taints=True,
                ),
                SpreadConstraint("rack", min_domains=4),
            ],
        ),
    ],
)
def test_a_pod_spreads(
    words: str,
    constraints: list[SpreadConstraint],
    read: Callable[..., Instance],
) -> None:
    """
    One constraint or a list, and what is written is read back.
    """
    found = read(pod(words))

    assert list(found.gangs[0].pods[0].spec.spread) == constraints
    assert reread(found) == found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("{topologyKey: zone}", "topologySpread.labelSelector: is missing; add it"),
        ("{labelSelector: {matchLabels: {}}}", "topologySpread.topologyKey: is missing; add it"),
        (
            "{topologyKey: zone, labelSelector: {matchLabels: {}}, maxSkew: 0}",
            "topologySpread.maxSkew: ",
        ),
        (
            "{topologyKey: zone, labelSelector: {matchLabels: {}}, minDomains: 2, "
            "whenUnsatisfiable: ScheduleAnyway}",
            "got minDomains with ScheduleAnyway; it goes with DoNotSchedule only",
        ),
        (
            "{topologyKey: zone, labelSelector: {matchLabels: {}}, whenUnsatisfiable: Never}",
            "got 'Never'; expected 'DoNotSchedule' or 'ScheduleAnyway'",
        ),
    ],
)
def test_what_no_constraint_says_is_refused(
    words: str, message: str, refusal: Callable[..., str]
) -> None:
    """
    The field is named, and what was expected.
    """
    assert message in refusal(pod(words))
