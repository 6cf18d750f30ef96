"""The reasons of a pod in words, as answers print them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from placer.search.reasons.text import GUESSED, blocked_nodes_text
from placer_models.message_text import (
    count_with_noun,
    in_quotes,
    near_or_first_names_text,
    spelling_suggestion,
)
from placer_models.network import GangNetworkLevelRuleKind
from placer_models.pod import PodSpec
from placer_models.reasons import (
    Blocked,
    DevicesHeldByCheckpointReason,
    FewMembers,
    FirstStageWithoutPlace,
    GangGroupTooLarge,
    GangMinimumReason,
    GangNetworkLevelRuleReason,
    Illegal,
    IllegalGangInGroup,
    IllegalMembers,
    MovesAllowedReason,
    NotTried,
    Reason,
    ReasonNotFoundInTime,
    RejectedPlaceReason,
    RoomButNoPlaceFound,
    UnknownName,
    UnknownNameKind,
    WholeGangGroupReason,
)

NOT_NOW = "not now: running pods leave no room"
NO_COMPANY = "not now: no node has both room and the company that it requires"
TIME = "time: it ran out before the reason was looked into"
WORDS = {
    FirstStageWithoutPlace.EMPTY: "never fits",
    FirstStageWithoutPlace.RUNNING: "not now",
    FirstStageWithoutPlace.PLACED: "outvoted",
}
"""How a verdict begins."""


def reason_sentences(
    reasons: Sequence[Reason], spec: PodSpec, few: int | None = None
) -> Iterator[str]:
    """Yield each reason of a pod in words; the first as the verdict.

    Args:
        reasons: Its reasons.
        spec: Its spec.
        few: How many kinds of what blocks it on nodes are told apart, as in `counts`; None: all.

    """
    for i, reason in enumerate(reasons):
        text = _sentence(reason, spec, few)
        if i == 0 and isinstance(reason, FewMembers | GangGroupTooLarge):
            text = f"{WORDS[reason.when]}: {text}"
        yield text


def _sentence(reason: Reason, spec: PodSpec, few: int | None) -> str:
    match reason:
        case Blocked():
            on_nodes = blocked_nodes_text(Counter(dict(reason.nodes)), spec, few)
            return f"{_verdict(reason)} ({on_nodes})"
        case FewMembers():
            return f"{_members_that_fit(reason)}{_guess(guessed=reason.guessed)}"
        case GangGroupTooLarge():
            text = f"gang group {reason.group} does not fit whole {reason.when.value}"
            return f"{text}{_guess(guessed=reason.guessed)}"
        case ReasonNotFoundInTime():
            return TIME
        case RoomButNoPlaceFound():
            if reason.gang:
                return (
                    f"no place was found for gang {reason.gang}, "
                    "though there is room for its minimum"
                )
            return f"no place was found for it, though node {reason.node} has room"
        case UnknownName():
            return _unknown(reason)
        case DevicesHeldByCheckpointReason():
            return (
                f"on {reason.nodes} of {reason.all_nodes} nodes a kubelet's checkpoint keeps "
                f"{reason.devices} {reason.device_type} from it"
            )
        case MovesAllowedReason():
            return f"moves: of {reason.could} running pods that could move, {reason.may} may"
        case RejectedPlaceReason():
            return (
                f"the judge rejected its place on node {reason.node} ({reason.why}): "
                "this is a defect of placer, please report it"
            )
        case GangNetworkLevelRuleReason():
            return _level_rule_text(reason)
        case GangMinimumReason():
            if reason.running:
                return (
                    f"gang {reason.gang} runs with {reason.running} of {reason.members} members "
                    f"({_needed(reason.minimum)})"
                )
            return f"gang {reason.gang} runs with its minimum of {reason.minimum} or not at all"
        case WholeGangGroupReason():
            names = ", ".join(reason.gangs)
            return f"gang group {reason.group} runs whole or not at all: {names}"
        case Illegal():
            return f"illegal: {reason.text}"
        case IllegalMembers():
            left = reason.members - len(reason.illegal)
            return (
                f"illegal: gang {reason.gang} has {left} of {reason.members} members left "
                f"({_needed(reason.minimum)}), for these are illegal: {', '.join(reason.illegal)}"
            )
        case IllegalGangInGroup():
            return (
                f"illegal: gang group {reason.group} runs whole or not at all, and gang "
                f"{reason.gang} has too few members left that are legal"
            )
        case NotTried():
            return f"not asked: {reason.why}"
        case _:
            assert_never(reason)


def _members_that_fit(reason: FewMembers) -> str:
    end = f"{reason.when.value} ({_needed(reason.minimum)})"
    if not reason.most:
        return f"no member of gang {reason.gang} fits {end}"
    few = f"{'at most' if reason.is_bound else 'only'} {reason.most} of {reason.members} members"
    return f"{few} of gang {reason.gang} {'fits' if reason.most == 1 else 'fit'} {end}"


def _needed(minimum: int) -> str:
    return f"{minimum} {'is' if minimum == 1 else 'are'} needed"


def _guess(*, guessed: bool) -> str:
    return f", {GUESSED}" if guessed else ""


def _verdict(reason: Blocked) -> str:
    if reason.when is FirstStageWithoutPlace.RUNNING:
        return NO_COMPANY if reason.alone else NOT_NOW
    return WORDS[reason.when]


def _unknown(reason: UnknownName) -> str:
    """Say which name is unknown, and the nearest that there is."""
    name = reason.asked[0]
    near = (
        spelling_suggestion(name, _own_labels(name, reason.known))
        if reason.what is UnknownNameKind.LABEL
        else near_or_first_names_text(name, reason.known)
    )
    of_type = f"no virtual function of type {in_quotes(reason.device_type)} has"
    match reason.what:
        case UnknownNameKind.LABEL:
            return f"no node has the label {in_quotes(name)}{near}"
        case UnknownNameKind.LABEL_VALUE:
            return f"no node has {in_quotes(f'{reason.label}={name}')}{near}"
        case UnknownNameKind.PAGE_SIZE:
            return f"no node has hugepages of {name}{near}"
        case UnknownNameKind.DEVICE_TYPE:
            return f"no node has a device of type {in_quotes(name)}{near}"
        case UnknownNameKind.FUNCTION_LABEL:
            return f"{of_type} the label {in_quotes(name)}{near}"
        case UnknownNameKind.FUNCTION_VALUE:
            wish = " or ".join(f"{reason.label}={value}" for value in reason.asked)
            return f"{of_type} {in_quotes(wish)}{near}"


def _own_labels(asked: str, known: Iterable[str]) -> Iterator[str]:
    """Yield the labels that may be meant: those of Kubernetes for one of its own alone."""
    for label in known:
        if _is_of_kubernetes(asked) or not _is_of_kubernetes(label):
            yield label


def _is_of_kubernetes(label: str) -> bool:
    return label.partition("/")[0].endswith(("kubernetes.io", "k8s.io")) and "/" in label


def _level_rule_text(reason: GangNetworkLevelRuleReason) -> str:
    rule = reason.rule
    match rule.grouping:
        case GangNetworkLevelRuleKind.GATHER:
            return f"gather: all members that run are in one {rule.level}"
        case GangNetworkLevelRuleKind.SPREAD:
            return f"spread: at most {count_with_noun(rule.count, 'member')} in one {rule.level}"
        case GangNetworkLevelRuleKind.MULTIPLES:
            return f"multiples: the members in a {rule.level} are a multiple of {rule.count}"
