"""Least changes of plans that do not exist: each would do, and no smaller one, by brute force."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest

from placer.plan.answer import NoPlanExists, PurchasePlan, SufficientQuestionChange
from placer.plan.plan import buy
from placer.plan.question import FailureTolerance, PlanQuestion
from placer_models.pod import Gang, Pod, PodSpec
from plan_worlds import cheapest, lone, spec, surviving, tiny_question, tiny_survival

BATCHES = 3
EACH = 50
MIB, STEP_MILLI = 2**20, 100


def _limited(seed: int) -> PlanQuestion:
    """Draw a tiny question without a scenario of its own, whose offers end early."""
    rng = Random(f"mends-{seed}")
    question = tiny_survival(seed) if rng.random() < 0.6 else tiny_question(seed)
    gangs = list(question.instance.gangs)
    if rng.random() < 0.25:
        big = spec(rng.choice((3000, 9000)), rng.choice((2, 9)), rng.choice((0, 0, 3)))
        gangs += [lone(f"big-{i}", big) for i in range(rng.randint(1, 2))]
    headroom: tuple[Gang, ...] = ()
    if rng.random() < 0.5:
        spare = spec(rng.choice((1000, 2000)), 1)
        headroom = tuple(lone(f"spare-headroom-{i}", spare) for i in range(rng.randint(1, 3)))
    return replace(
        question,
        instance=replace(question.instance, gangs=tuple(gangs)),
        offers=tuple(
            replace(offer, most=rng.choice((offer.pack, 2 * offer.pack, 2 * offer.pack)))
            for offer in question.offers
        ),
        scenarios=question.scenarios[:1],
        headroom=headroom,
    )


def _best(question: PlanQuestion) -> Decimal | None:
    """Return the price that brute force pays, headroom and losses included."""
    if question.survive is not None:
        return surviving(question)
    gangs = (*question.instance.gangs, *question.headroom)
    return cheapest(replace(question, instance=replace(question.instance, gangs=gangs)))


def _changed(question: PlanQuestion, changes: tuple[str, ...], *, less: int = 0) -> PlanQuestion:
    """Return the question with the changes of a mend, read anew; or with a little less of them."""
    for change in changes:
        name, _, value = change.partition("=")
        field = name.split(".")
        if change.startswith("ask-less="):
            question = _asking_less(question, change, less)
        elif field[0] == "offers":
            offers = tuple(
                replace(offer, most=int(value) - less * offer.pack)
                if offer.name == field[1]
                else offer
                for offer in question.offers
            )
            question = replace(question, offers=offers)
        elif change.startswith("headroom."):
            question = replace(question, headroom=question.headroom[: int(value) + less])
        elif change.startswith("without headroom"):
            question = replace(question, headroom=question.headroom[:less])
        else:
            assert field[0] == "survive" or change == "without survive", change
            question = replace(question, survive=_surviving_less(question, value, less))
    return question


def _surviving_less(question: PlanQuestion, priority: str, less: int) -> FailureTolerance | None:
    """Return what survives with a priority, or nothing without one; or a little more."""
    survive = question.survive
    assert survive is not None
    own = sorted({gang.priority for gang in question.instance.gangs})
    first = own[0] if survive.priority is None else survive.priority
    ever_less = [survive.priority, *(one for one in own if one > first)]
    at = (ever_less.index(int(priority)) if priority else len(ever_less)) - less
    return None if at == len(ever_less) else replace(survive, priority=ever_less[at])


def _asking_less(question: PlanQuestion, change: str, less: int) -> PlanQuestion:
    """Return the question in which all pods like the named one ask for so much, and a step more."""
    key, _, asked = change.removeprefix("ask-less=").partition(":")
    resource, _, value = asked.partition("=")
    gangs = (*question.instance.gangs, *question.headroom)
    (old,) = {gang.pods[0].spec for gang in gangs if gang.pods[0].key == tuple(key.split("/"))}
    requests = old.requests
    if resource == "cpu":
        milli = int(value[:-1]) if value.endswith("m") else 1000 * int(value)
        requests = replace(requests, cpu_milli=milli + less * STEP_MILLI)
    elif resource == "memory":
        size = {"Gi": 2**30, "Mi": MIB}[value[-2:]]
        requests = replace(requests, memory_bytes=int(value[:-2]) * size + less * MIB)
    else:
        (device,) = requests.devices
        devices = (replace(device, count=int(value) + less),)
        requests = replace(requests, devices=devices)
    new = replace(old, containers=(replace(old.containers[0], requests=requests),))

    def with_new(some: tuple[Gang, ...]) -> tuple[Gang, ...]:
        return tuple(replace(gang, pods=tuple(_respecced(gang, {old: new}))) for gang in some)

    instance = replace(question.instance, gangs=with_new(question.instance.gangs))
    return replace(question, instance=instance, headroom=with_new(question.headroom))


def _respecced(gang: Gang, specs: Mapping[PodSpec, PodSpec]) -> Iterator[Pod]:
    for pod in gang.pods:
        yield replace(pod, spec=specs.get(pod.spec, pod.spec))


def _kind(mend: SufficientQuestionChange) -> str:
    words = [change.split("=")[0].split(".")[0].removeprefix("without ") for change in mend.changes]
    return " and ".join(dict.fromkeys(words))


def _smaller(question: PlanQuestion, mend: SufficientQuestionChange) -> Iterator[PlanQuestion]:
    """Yield the question with a little less of each of the changes, one at a time."""
    for change in mend.changes:
        others = tuple(one for one in mend.changes if one != change)
        yield _changed(_changed(question, others), (change,), less=1)


def _check(question: PlanQuestion, kinds: Counter[str], world: str) -> None:
    """Hold what would do for a question without a plan against brute force, and count it."""
    answer = buy(question, seconds=20.0, threads=1)
    if not isinstance(answer, NoPlanExists):
        return
    assert _best(question) is None, world
    for mend in answer.mends:
        if mend.price is None:
            continue
        at = f"{world}, {mend.changes}"
        kinds[_kind(mend)] += 1
        assert _best(_changed(question, mend.changes)) == mend.price, at
        if mend.smallest:
            assert all(_best(one) is None for one in _smaller(question, mend)), at


@pytest.mark.parametrize("batch", range(BATCHES))
def test_least_changes_do_and_no_smaller_ones(batch: int) -> None:
    """
    150 worlds, most of them without a plan: with each change that is named, brute force pays the
    price that is told, and with a little less of it there is no plan.
    """
    kinds: Counter[str] = Counter()
    for seed in range(batch * EACH, (batch + 1) * EACH):
        _check(_limited(seed), kinds, f"world {seed}")
    assert kinds["offers"], kinds
    assert kinds["ask-less"], kinds
    assert kinds["headroom"], kinds
    assert kinds["survive"], kinds


def test_less_headroom_and_less_survival_together_are_as_small_as_can_be() -> None:
    """
    40 worlds in which as much can be bought as the demand needs, with headroom and a loss beside
    it: what is named of both would do, and no more of either.
    """
    kinds: Counter[str] = Counter()
    for seed in range(40):
        question = tiny_survival(seed)
        enough = buy(replace(question, survive=None, headroom=()), seconds=20.0, threads=1)
        if not isinstance(enough, PurchasePlan):
            continue
        count = {one.offer: one.count for one in enough.mix}
        offers = (replace(o, most=count[o.name]) for o in question.offers if o.name in count)
        spare = tuple(lone(f"spare-headroom-{i}", spec(1000, 1)) for i in range(seed % 3 + 1))
        if count:
            tight = replace(question, offers=tuple(offers), headroom=spare)
            _check(tight, kinds, f"tight world {seed}")
    assert kinds["headroom and survive"] > 5, kinds
