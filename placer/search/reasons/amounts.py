"""Reasons about plain amounts: resources of nodes as wholes, memory and hugepages."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from placer.counting.account import Account
from placer.counting.node_resources import (
    NODE_RESOURCES,
    NodeResourceAmountRule,
    resource_amount_on_node,
    resources_of_pod,
)
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.rule import (
    BYTES,
    AskedAndLeft,
    PerNumaNode,
    ReasonRule,
    Said,
    always_settled_by_counting,
    nothing_per_numa_node,
    rule_demand_key,
)
from placer_models.kubernetes.names import REQUESTED_CPU
from placer_models.pod import PodSpec, Resources
from placer_models.quantity import format_bytes
from placer_models.reasons import RuleDemand


def with_changed_requests(asked: PodOnNode, change: Callable[[Resources], Resources]) -> PodOnNode:
    """Return the question with other requests of each container."""
    containers = tuple(
        replace(container, requests=change(container.requests))
        for container in asked.spec.containers
    )
    return replace(asked, spec=replace(asked.spec, containers=containers))


def _of_resource(resource: NodeResourceAmountRule) -> ReasonRule:
    """Return what the reasons know of a resource of nodes as wholes."""
    rule = resource.rule

    def asked(question: PodOnNode) -> Iterator[RuleDemand]:
        yield from (RuleDemand(rule, name) for name in resource.demands(question.spec))

    def without(question: PodOnNode, demand: RuleDemand) -> PodOnNode:
        spec, node = resource.dropped(question.spec, question.node, demand.subject)
        return replace(question, spec=spec, node=node)

    def brief(demand: RuleDemand, spec: PodSpec) -> str:
        return resource.told(demand.subject, resources_of_pod(spec)[rule, demand.subject])

    def lacks(demand: RuleDemand, question: PodOnNode, account: Account) -> bool:
        return any(
            want > resource_amount_on_node((rule, name), account.resources)
            for name, want in resource.demands(question.spec)[demand.subject]
        )

    def amounts(demand: RuleDemand, question: PodOnNode, account: Account) -> AskedAndLeft | None:
        if resource.whole > 1:
            return None  # of a port there is only one
        key = rule, demand.subject
        left = resource_amount_on_node(key, account.resources)
        return AskedAndLeft(resources_of_pod(question.spec)[key], left, demand.subject)

    def said(demand: RuleDemand, _: Sequence[RuleDemand], spec: PodSpec) -> Said:
        if demand.subject == REQUESTED_CPU:
            return f"asks {brief(demand, spec)}", ()
        return f"{demand.subject}: asks {resources_of_pod(spec)[rule, demand.subject]:,}", ()

    return ReasonRule(
        name=rule,
        asked=asked,
        without=without,
        brief=brief,
        said=said if rule == "extended" else None,
        lacks=lacks,
        settles=always_settled_by_counting,
        amounts=amounts,
        column=lambda demand, spec: rule_demand_key(demand, spec) if resource.whole <= 1 else None,
        is_amount=True,
        per_numa_node=nothing_per_numa_node,
    )


def _memory(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.spec.requests.memory_bytes:
        yield RuleDemand("memory")


def _memory_left(account: Account) -> dict[int | None, int]:
    return {home: max(0, amount) for home, amount in account.memory.bytes_in.items()}


def _memory_amounts(_: RuleDemand, asked: PodOnNode, account: Account) -> AskedAndLeft:
    return AskedAndLeft(asked.spec.requests.memory_bytes, account.memory.free_bytes, BYTES)


def _hugepages(asked: PodOnNode) -> Iterator[RuleDemand]:
    for pages in asked.spec.requests.hugepages:
        yield RuleDemand("hugepages", str(pages.page_bytes))


def _without_pages(asked: PodOnNode, demand: RuleDemand) -> PodOnNode:
    size = int(demand.subject)

    def fewer(requests: Resources) -> Resources:
        pages = tuple(pages for pages in requests.hugepages if pages.page_bytes != size)
        return replace(requests, hugepages=pages)

    return with_changed_requests(asked, fewer)


def _pages(demand: RuleDemand, spec: PodSpec) -> str:
    size = int(demand.subject)
    return f"{spec.requests.pages_of(size)} of {format_bytes(size)}"


def _pages_per_numa_node(demand: RuleDemand, asked: PodOnNode, account: Account) -> PerNumaNode:
    size = int(demand.subject)
    left: Counter[int | None] = Counter()
    for (home, of_size), number in account.memory.pages.items():
        if of_size == size:
            left[home] += max(0, number)
    return asked.spec.requests.pages_of(size), left


def _page_amounts(demand: RuleDemand, asked: PodOnNode, account: Account) -> AskedAndLeft:
    want, left = _pages_per_numa_node(demand, asked, account)
    return AskedAndLeft(
        want, sum(left.values()), f"hugepages of {format_bytes(int(demand.subject))}"
    )


def _too_few_pages(demand: RuleDemand, asked: PodOnNode, account: Account) -> bool:
    want, left = _pages_per_numa_node(demand, asked, account)
    return want > sum(left.values())


OF_NODES = tuple(map(_of_resource, NODE_RESOURCES.values()))

MEMORY = (
    ReasonRule(
        name="memory",
        takes_memory=True,
        asked=_memory,
        without=lambda asked, _: with_changed_requests(
            asked, lambda requests: replace(requests, memory_bytes=0)
        ),
        brief=lambda _, spec: format_bytes(spec.requests.memory_bytes),
        lacks=lambda _, asked, account: (
            asked.spec.requests.memory_bytes > account.memory.free_bytes
        ),
        settles=always_settled_by_counting,
        amounts=_memory_amounts,
        column=rule_demand_key,
        is_amount=True,
        per_numa_node=lambda _, asked, account: (
            (asked.spec.requests.memory_bytes, _memory_left(account))
        ),
    ),
    ReasonRule(
        name="hugepages",
        takes_memory=True,
        asked=_hugepages,
        without=_without_pages,
        brief=_pages,
        lacks=_too_few_pages,
        settles=always_settled_by_counting,
        amounts=_page_amounts,
        is_amount=True,
        per_numa_node=_pages_per_numa_node,
    ),
)
