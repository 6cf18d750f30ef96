"""Tests of domains of nodes: counts in them are a mapping of nodes like any other."""

import pickle
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from placer_models.domains import NO_DOMAIN, CountInDomainByNode, DomainByNode

NAMES = st.lists(st.sampled_from(("a", "b", "c", None)), min_size=1, max_size=12)


@given(NAMES, st.data())
def test_counts_in_domains_are_those_of_all_nodes_of_the_domain(
    names: list[str | None], data: st.DataObject
) -> None:
    domains = DomainByNode.named(names)
    some = st.integers(0, len(names) - 1)
    on_nodes = data.draw(st.dictionaries(some, st.integers(1, 5)))
    total: Counter[str | None] = Counter()
    for node, count in on_nodes.items():
        total[names[node]] += count
    expected = {
        node: total[name]
        for node, name in enumerate(names)
        if domains[node] != NO_DOMAIN and total[name]
    }

    found = CountInDomainByNode(domains, on_nodes)

    assert found == expected
    assert list(found) == list(expected)
    assert len(found) == len(expected)
    assert [node in found for node in range(len(names))] == [
        node in expected for node in range(len(names))
    ]
    assert pickle.loads(pickle.dumps(found)) == found
