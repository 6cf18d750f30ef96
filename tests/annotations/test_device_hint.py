"""device-allocate-hint: how a user wants devices to be chosen."""

import pytest

from annotations.documents import GOOD, text_of
from placer_models.annotations.device_hint import (
    AllocateHintStrategy,
    DeviceAllocateHint,
    DeviceExclusivePolicy,
    DeviceLabelOperator,
    DeviceLabelRequirement,
    DeviceTopologyScope,
    device_strategies_of,
    hint_selects_device,
    read_device_hints_annotation,
    with_device_hint_applied,
)
from placer_models.annotations.json_parts import AnnotationError
from placer_models.annotations.names import DEVICE_ALLOCATE_HINT
from placer_models.device_request import DeviceRequestError, devices_asked
from placer_models.device_share import DeviceShare
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.pod import DeviceRequest

NICS = [{"type": "slow"}, {"type": "fast"}, {"type": "fast", "port": "1"}]


def nics(count: int, percent: int) -> DeviceRequest:
    """Return the demand for so much of so many NICs."""
    return DeviceRequest("rdma", count, DeviceShare(percent=percent))


def test_every_field_has_its_word() -> None:
    """
    Selectors, strategy, exclusivity and scope, by device type.
    """
    assert read_device_hints_annotation(text_of(GOOD[DEVICE_ALLOCATE_HINT])) == {
        "gpu": DeviceAllocateHint(scope=DeviceTopologyScope.NUMA_NODE),
        "rdma": DeviceAllocateHint(
            selector=(DeviceLabelRequirement("type", DeviceLabelOperator.IN, ("fakeW",)),),
            vf_selector=(DeviceLabelRequirement("type", DeviceLabelOperator.IN, ("general",)),),
            strategy=AllocateHintStrategy.REQUESTS_AS_COUNT,
            exclusive=DeviceExclusivePolicy.DEVICE_LEVEL,
        ),
    }


@pytest.mark.parametrize(
    ("requirement", "matched"),
    [
        (DeviceLabelRequirement("port", DeviceLabelOperator.EXISTS), [2]),
        (DeviceLabelRequirement("port", DeviceLabelOperator.DOES_NOT_EXIST), [0, 1]),
        (DeviceLabelRequirement("type", DeviceLabelOperator.IN, ("fast", "faster")), [1, 2]),
        (DeviceLabelRequirement("port", DeviceLabelOperator.NOT_IN, ("1",)), [0, 1]),
    ],
)
def test_a_selector_matches_as_in_kubernetes(
    requirement: DeviceLabelRequirement, matched: list[int]
) -> None:
    """
    A label that is missing is in no set; an empty selector matches all.
    """
    assert [
        i for i, labels in enumerate(NICS) if hint_selects_device((requirement,), labels)
    ] == matched
    assert all(hint_selects_device((), labels) for labels in NICS)


@pytest.mark.parametrize(
    ("asked", "hint", "demand"),
    [
        (50, DeviceAllocateHint(), nics(1, 50)),
        (50, DeviceAllocateHint(strategy=AllocateHintStrategy.APPLY_FOR_ALL), nics(3, 50)),
        (
            1,
            DeviceAllocateHint(
                selector=(DeviceLabelRequirement("type", DeviceLabelOperator.IN, ("fast",)),),
                strategy=AllocateHintStrategy.APPLY_FOR_ALL,
            ),
            nics(2, 1),
        ),
        (4, DeviceAllocateHint(strategy=AllocateHintStrategy.REQUESTS_AS_COUNT), nics(4, 1)),
        (
            4,
            DeviceAllocateHint(
                strategy=AllocateHintStrategy.REQUESTS_AS_COUNT,
                exclusive=DeviceExclusivePolicy.DEVICE_LEVEL,
            ),
            nics(4, 100),
        ),
        (200, DeviceAllocateHint(strategy=AllocateHintStrategy.REQUESTS_AS_COUNT), nics(2, 100)),
    ],
)
def test_a_strategy_says_on_how_many_devices_a_request_falls(
    asked: int, hint: DeviceAllocateHint, demand: DeviceRequest
) -> None:
    """
    On all that match, or on as many as the number says; several whole ones stay whole.
    """
    (translated,) = devices_asked({"koordinator.sh/rdma": asked})

    assert with_device_hint_applied(translated, hint, NICS) == demand


@pytest.mark.parametrize("asked", ["nvidia.com/gpu", "example.com/ve"])
def test_a_strategy_is_for_devices_in_percent(asked: str) -> None:
    """
    GPUs and devices that are counted stay as they are asked for.
    """
    (demand,) = devices_asked({asked: 1})
    hint = DeviceAllocateHint(strategy=AllocateHintStrategy.REQUESTS_AS_COUNT)

    assert with_device_hint_applied(demand, hint, NICS) == demand


def test_a_hint_is_a_strategy_of_the_pod() -> None:
    """
    All of a node, or beside GPUs one for each switch; a count, or several whole ones, is none.
    """
    fast = (DeviceLabelRequirement("type", DeviceLabelOperator.IN, ("fast",)),)
    every = DeviceAllocateHint(strategy=AllocateHintStrategy.APPLY_FOR_ALL)
    as_count = DeviceAllocateHint(strategy=AllocateHintStrategy.REQUESTS_AS_COUNT)
    gpus = DeviceRequest("gpu", 2, DeviceShare(percent=100))
    beside = (DeviceCountStrategy.APPLY_FOR_EACH_GROUP, ["gpu", "rdma"])

    assert device_strategies_of({"rdma": every}, [nics(1, 5)]) == (
        ("rdma", DeviceCountStrategy.APPLY_FOR_ALL),
    )
    assert device_strategies_of({"rdma": every}, [nics(2, 100)]) == ()
    assert device_strategies_of({}, [gpus, nics(1, 5)], beside[1]) == (("rdma", beside[0]),)
    assert device_strategies_of({}, [nics(1, 5)], beside[1]) == ()
    assert device_strategies_of({"rdma": as_count}, [gpus, nics(1, 5)], beside[1]) == ()
    with pytest.raises(DeviceRequestError, match="leave the selector out"):
        device_strategies_of({"rdma": DeviceAllocateHint(fast, None, every.strategy)}, [nics(1, 5)])


def test_all_of_none_is_refused() -> None:
    """
    Where no device matches, all devices cannot be had.
    """
    hint = DeviceAllocateHint(
        (DeviceLabelRequirement("gone", DeviceLabelOperator.EXISTS),),
        None,
        AllocateHintStrategy.APPLY_FOR_ALL,
    )

    with pytest.raises(DeviceRequestError, match="none of the node's 3 devices of type rdma"):
        with_device_hint_applied(nics(1, 50), hint, NICS)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        ({"strategy": "ApplyForAll"}, "$.rdma.strategy: no such field; did you mean allocateStrat"),
        ({"allocateStrategy": "All"}, "got 'All'; expected ApplyForAll, RequestsAsCount"),
        ({"selector": {"matchLabels": {"a": 1}}}, "$.rdma.selector.matchLabels.a: got 1"),
        ({"selector": {"matchExpressions": [{"operator": "In"}]}}, "the field key is missing"),
        ({"selector": {"matchExpressions": [{"key": "a"}]}}, "the field operator is missing"),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "$.rdma.selector.matchExpressions[0]: In has 0 values",
        ),
        (
            {
                "selector": {
                    "matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]
                }
            },
            "Exists has 1 values; In and NotIn need some, Exists and DoesNotExist none",
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}},
            "got 'Gt'; expected In, NotIn, Exists, DoesNotExist",
        ),
    ],
)
def test_a_hint_that_is_not_understood_is_refused(hint: object, words: str) -> None:
    """
    A misspelt word or field is never passed over.
    """
    with pytest.raises(AnnotationError) as caught:
        read_device_hints_annotation(text_of({"rdma": hint}))

    assert words in str(caught.value)
