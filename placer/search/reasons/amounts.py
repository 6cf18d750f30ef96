"""Reasons about plain amounts: resources of nodes as wholes, memory and hugepages."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from placer.counting.account import Account
from placer.counting.node_resources import NODE_RESOURCES, NodeResource, amount_of, wanted_by
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.rule import (
    BYTES,
    AskedAndLeft,
    PerNumaNode,
    ReasonRule,
    Said,
    always_settled,
    asks_nothing_of_numa_nodes,
    by_subject,
)
from placer_models.kubernetes.names import REQUESTED_CPU
from placer_models.pod import PodSpec, Resources
from placer_models.quantity import format_bytes
from placer_models.reasons import Demand


def with_amounts(asked: PodOnNode, change: Callable[[Resources], Resources]) -> PodOnNode:
    """Return the question with other requests of each container."""
    containers = tuple(
        replace(container, requests=change(container.requests))
        for container in asked.spec.containers
    )
    return replace(asked, spec=replace(asked.spec, containers=containers))


def _of_resource(resource: NodeResource) -> ReasonRule:
    """Return what the reasons know of a resource of nodes as wholes."""
    rule = resource.rule

    def asked(question: PodOnNode) -> Iterator[Demand]:
        yield from (Demand(rule, name) for name in resource.demands(question.spec))

    def without(question: PodOnNode, demand: Demand) -> PodOnNode:
        spec, node = resource.dropped(question.spec, question.node, demand.subject)
        return replace(question, spec=spec, node=node)

    def brief(demand: Demand, spec: PodSpec) -> str:
        return resource.told(demand.subject, wanted_by(spec)[rule, demand.subject])

    def lacks(demand: Demand, question: PodOnNode, account: Account) -> bool:
        return any(
            want > amount_of((rule, name), account.resources)
            for name, want in resource.demands(question.spec)[demand.subject]
        )

    def amounts(demand: Demand, question: PodOnNode, account: Account) -> AskedAndLeft | None:
        if resource.whole > 1:
            return None  # of a port there is only one
        key = rule, demand.subject
        left = amount_of(key, account.resources)
        return AskedAndLeft(wanted_by(question.spec)[key], left, demand.subject)

    def said(demand: Demand, _: Sequence[Demand], spec: PodSpec) -> Said:
        if demand.subject == REQUESTED_CPU:
            return f"asks {brief(demand, spec)}", ()
        return f"{demand.subject}: asks {wanted_by(spec)[rule, demand.subject]:,}", ()

    return ReasonRule(
        name=rule,
        asked=asked,
        without=without,
        brief=brief,
        said=said if rule == "extended" else None,
        lacks=lacks,
        settles=always_settled,
        amounts=amounts,
        column=lambda demand, spec: by_subject(demand, spec) if resource.whole <= 1 else None,
        is_amount=True,
        per_numa_node=asks_nothing_of_numa_nodes,
    )


def _memory(asked: PodOnNode) -> Iterator[Demand]:
    if asked.spec.requests.memory_bytes:
        yield Demand("memory")


def _without_memory(asked: PodOnNode, _: Demand) -> PodOnNode:
    return with_amounts(asked, lambda requests: replace(requests, memory_bytes=0))


def _memory_left(account: Account) -> dict[int | None, int]:
    return {home: max(0, amount) for home, amount in account.memory.bytes_in.items()}


def _too_little_memory(_: Demand, asked: PodOnNode, account: Account) -> bool:
    return asked.spec.requests.memory_bytes > sum(_memory_left(account).values())


def _memory_amounts(_: Demand, asked: PodOnNode, account: Account) -> AskedAndLeft:
    return AskedAndLeft(
        asked.spec.requests.memory_bytes, sum(_memory_left(account).values()), BYTES
    )


def _memory_per_numa_node(_: Demand, asked: PodOnNode, account: Account) -> PerNumaNode:
    return asked.spec.requests.memory_bytes, _memory_left(account)


def _hugepages(asked: PodOnNode) -> Iterator[Demand]:
    for pages in asked.spec.requests.hugepages:
        yield Demand("hugepages", str(pages.page_bytes))


def _without_pages(asked: PodOnNode, demand: Demand) -> PodOnNode:
    size = int(demand.subject)

    def fewer(requests: Resources) -> Resources:
        pages = tuple(pages for pages in requests.hugepages if pages.page_bytes != size)
        return replace(requests, hugepages=pages)

    return with_amounts(asked, fewer)


def _pages(demand: Demand, spec: PodSpec) -> str:
    size = int(demand.subject)
    return f"{spec.requests.pages_of(size)} of {format_bytes(size)}"


def _pages_per_numa_node(demand: Demand, asked: PodOnNode, account: Account) -> PerNumaNode:
    size = int(demand.subject)
    left: Counter[int | None] = Counter()
    for (home, of_size), number in account.memory.pages.items():
        if of_size == size:
            left[home] += max(0, number)
    return asked.spec.requests.pages_of(size), left


def _page_amounts(demand: Demand, asked: PodOnNode, account: Account) -> AskedAndLeft:
    want, left = _pages_per_numa_node(demand, asked, account)
    return AskedAndLeft(
        want, sum(left.values()), f"hugepages of {format_bytes(int(demand.subject))}"
    )


def _too_few_pages(demand: Demand, asked: PodOnNode, account: Account) -> bool:
    want, left = _pages_per_numa_node(demand, asked, account)
    return want > sum(left.values())


OF_NODES = tuple(map(_of_resource, NODE_RESOURCES.values()))

MEMORY = (
    ReasonRule(
        name="memory",
        takes_memory=True,
        asked=_memory,
        without=_without_memory,
        brief=lambda _, spec: format_bytes(spec.requests.memory_bytes),
        lacks=_too_little_memory,
        settles=always_settled,
        amounts=_memory_amounts,
        column=by_subject,
        is_amount=True,
        per_numa_node=_memory_per_numa_node,
    ),
    ReasonRule(
        name="hugepages",
        takes_memory=True,
        asked=_hugepages,
        without=_without_pages,
        brief=_pages,
        lacks=_too_few_pages,
        settles=always_settled,
        amounts=_page_amounts,
        is_amount=True,
        per_numa_node=_pages_per_numa_node,
    ),
)
