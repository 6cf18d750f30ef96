"""resource-spec: what a user asks of the CPUs of a pod (C14)."""

import pytest

from annotations.documents import text_of
from placer_models.annotations.json_parts import AnnotationError
from placer_models.annotations.resource_spec import (
    CpuBindPolicy,
    CpuExclusivePolicy,
    ResourceSpecAnnotation,
    read_resource_spec_annotation,
)
from placer_models.policy import RequiredOrPreferred


def test_each_policy_has_its_word() -> None:
    """
    Bind and exclusive policies, preferred and required.
    """
    text = text_of(
        {
            "requiredCPUBindPolicy": "FullPCPUs",
            "preferredCPUBindPolicy": "SpreadByPCPUs",
            "requiredCPUExclusivePolicy": "NUMANodeLevel",
            "preferredCPUExclusivePolicy": "PCPULevel",
        }
    )

    assert read_resource_spec_annotation(text) == ResourceSpecAnnotation(
        required_bind=CpuBindPolicy.FULL_PCPUS,
        preferred_bind=CpuBindPolicy.SPREAD_BY_PCPUS,
        required_exclusive=CpuExclusivePolicy.NUMA_NODE_LEVEL,
        preferred_exclusive=CpuExclusivePolicy.PCPU_LEVEL,
    )


@pytest.mark.parametrize(
    ("document", "bind"),
    [
        ({}, (CpuBindPolicy.DEFAULT, RequiredOrPreferred.PREFERRED)),
        ({"preferredCPUBindPolicy": ""}, (CpuBindPolicy.DEFAULT, RequiredOrPreferred.PREFERRED)),
        (
            {"preferredCPUBindPolicy": "Default"},
            (CpuBindPolicy.DEFAULT, RequiredOrPreferred.PREFERRED),
        ),
        (
            {"preferredCPUBindPolicy": "SpreadByPCPUs", "requiredCPUBindPolicy": ""},
            (CpuBindPolicy.SPREAD_BY_PCPUS, RequiredOrPreferred.PREFERRED),
        ),
        (
            {"preferredCPUBindPolicy": "SpreadByPCPUs", "requiredCPUBindPolicy": "FullPCPUs"},
            (CpuBindPolicy.FULL_PCPUS, RequiredOrPreferred.REQUIRED),
        ),
    ],
)
def test_a_required_bind_policy_goes_before_a_preferred_one(
    document: dict[str, str], bind: tuple[CpuBindPolicy, RequiredOrPreferred]
) -> None:
    """
    And where neither says anything, Default is preferred.
    """
    assert read_resource_spec_annotation(text_of(document)).bind == bind


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{"preferredCPUBindPolicy":"FullPCPU"}',
            "$.preferredCPUBindPolicy: got 'FullPCPU'; expected Default, FullPCPUs, "
            "SpreadByPCPUs, ConstrainedBurst",
        ),
        (
            '{"preferedCPUBindPolicy":"FullPCPUs"}',
            "$.preferedCPUBindPolicy: no such field; did you mean preferredCPUBindPolicy?",
        ),
        ('{"zzz":1}', "$.zzz: no such field; expected one of requiredCPUBindPolicy, "),
        ('{"requiredCPUBindPolicy":3}', "$.requiredCPUBindPolicy: got 3; expected a text"),
        (
            '{"preferredCPUExclusivePolicy":"Socket"}',
            "got 'Socket'; expected Default, None, PCPULevel, NUMANodeLevel",
        ),
    ],
)
def test_a_wish_that_is_not_understood_is_refused(text: str, words: str) -> None:
    """
    A misspelt policy or field is never passed over.
    """
    with pytest.raises(AnnotationError) as caught:
        read_resource_spec_annotation(text)

    assert words in str(caught.value)
