"""What the judge shares with the solver, and where it is told a second time (G6).

Judge and solver read the same words. What words do by themselves could be wrong for both at
once, and then no test that asks the judge sees it. So each function of the words that the judge
calls, and each method of theirs, is told again by a test that stands on nothing but the pages.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
WORDS = CHECKOUT / "models/placer_models"
JUDGE = CHECKOUT / "placer/judge"

TOLD_TWICE = {
    "second_tellings/test_bound.py": ("alignment.effective_alignment_scope",),
    "words/test_alignment_arithmetic.py": (
        "alignment.fewest_cell_count_for_all_resources",
        "alignment.restricted_cell_count",
    ),
    "second_tellings/test_labels.py": (
        "affinity.AffinityTerm.looks_into",
        "affinity.AffinityTerm.means",
        "affinity.AffinityTerm.required",
        "network.GangNetworkLevelRule.required",
        "node_affinity.NodeTerm.met_by",
        "taints.Taint.keeps_off",
        "taints.Toleration.tolerates",
        "topology_spread.SpreadConstraint.means",
        "topology_spread.SpreadConstraint.required",
    ),
    "switches/test_told_twice.py": ("device.is_mig_instance",),
    "second_tellings/test_nodes.py": (
        "cluster.Node.devices",
        "cluster.Node.domain",
        "cluster.Node.honors_table",
        "cluster.Node.is_healthy",
        "cluster.Node.memory_bytes_in",
        "cluster.Node.out_of_pools",
        "cluster.Node.pages_in",
        "cluster.Node.table",
        "cluster.Node.topology_domain",
        "cpuset.is_same_cpu_set",
        "cpuset.cpus_without",
        "mig.MigProfile.type",
        "topology.Topology.memory_bytes",
    ),
    "second_tellings/test_variants.py": ("variants.pod_with_spec_on",),
    "second_tellings/test_pods.py": (
        "device_share.DeviceShare.amounts",
        "device_share.DeviceShare.shared",
        "device_share.DeviceShare.whole",
        "pod.PodSpec.bind_required",
        "pod.PodSpec.burst_cpus",
        "pod.PodSpec.exclusive_required",
        "pod.PodSpec.requests",
        "pod.PodSpec.scope_of",
        "pod.PodSpec.wants_locality",
        "pod.Resources.count_of",
        "pod.Resources.pages_of",
    ),
    "second_tellings/test_shares.py": (
        "device_share.with_memory_in_both_units",
        "device_share.share_fits",
        "device_share.whole_device_amounts",
        "device_share.amounts_of_share",
        "device_share.device_capacity_of",
        "device_share.device_usage_millionths",
    ),
    "second_tellings/test_node_strategies.py": (
        "node_strategy.StrategyNodeLoad.newcomers",
        "node_strategy.StrategyNodeLoad.with_pod",
        "resource_classes.resource_class_request_of_pod",
        "resource_classes.scored_resource_classes_asked_by_any",
        "resource_classes.node_load_before_new_pods",
        "resource_classes.resource_class_totals_of_node",
    ),
    "second_tellings/test_expected.py": (
        "demand.ExpectedDemand.looks_at_memory",
        "demand.ExpectedDemand.priced",
        "expected.ExpectedNodeWorthCache.worth",
        "expected.admitted_shape_mask",
        "expected.expected_shape_prices",
        "expected.group_equal_left_nodes",
        "forecast.given_or_learned_demand",
    ),
    "second_tellings/test_tiers.py": (
        "goals.Tier.better",
        "goals.placed_tier",
        "goals.all_tiers_most_important_first",
        "optional_tiers.tiers_asked_by_instance",
    ),
    "second_tellings/test_moves.py": (
        "moves.with_unplaced_at_home",
        "moves.movable_pods",
        "moves.rules_mended",
        "moves.with_movable_pods_as_waiting",
        "reach.without_asks_beyond_node",
    ),
    "links/test_brute_force.py": (
        "links.best_pair_sum",
        "links.counts_by_class",
        "links.pair_minimum",
        "links.pair_sum",
        "links.total_devices_in_usable_sets",
    ),
    "links/test_allowed.py": (
        "links.best_permitted_pair_minimum",
        "links.best_permitted_pair_sum",
        "links.linked_classes_of_devices",
    ),
    "illegal/test_running.py": (
        "illegal_running.running_pod_counted_as_legal",
        "illegal_running.illegality_text",
    ),
    "words/test_incremental.py": (
        "incremental.IncrementalAggregate.of",
        "incremental.PersistentMap.changed",
        "incremental.PersistentMap.of",
        "incremental.PersistentMap.parts",
        "incremental.PersistentMap.values",
        "incremental.PersistentTuple.changed",
        "incremental.PersistentTuple.of",
        "incremental.changed_indices",
        "incremental.differing_indices",
    ),
    "second_tellings/test_vendors.py": (
        "visible_devices.gpu_has_runtime_readable_id",
        "visible_devices.gpu_vendor_of",
    ),
}
"""Test -> what it tells of the words that the judge uses."""

PLAIN = {
    "affinity.InNodeAffinityLevel.place",
    "affinity.AffinityTerm.inside",
    "affinity.AffinityTerm.keys",
    "affinity.AffinityTerm.said",
    "affinity.AffinityTerm.wide",
    "capacity.DeviceQuantity.text",
    "cluster.NodesWithCachedFacts.of",
    "cpuset.format_cpu_list",
    "moves.BrokenRule.rule",
    "moves.BrokenRule.subject",
    "node_affinity.NodeAffinity.label_keys",
    "node_affinity.NodeAffinity.terms",
    "node_affinity.NodeTerm.label_keys",
    "placement.PodPlacement.minors",
    "placement.PlaceRejectedByJudge.text",
    "placement.pod_or_gang_title",
    "pod.NamedInNamespace.key",
    "pod.NamedInNamespace.title",
    "quantity.format_bytes",
    "quantity.cpu_count_with_noun",
    "topology_spread.SpreadConstraint.keys",
    "typed.check_argument_types",
}
"""What is but text for people, the name of a field or a look at one: no rule is in it."""


def test_what_the_judge_calls_is_known() -> None:
    """
    A function or a method of the words that the judge begins to use gets a second telling first.
    """
    told = {name for names in TOLD_TWICE.values() for name in names}

    assert told.isdisjoint(PLAIN)
    assert {*_functions_called(), *_methods_called()} == told | PLAIN


def test_what_is_told_twice_is_told_where_it_is_said() -> None:
    """
    Each second telling names what it tells.
    """
    missing = [
        f"{test} does not name {name}"
        for test, names in TOLD_TWICE.items()
        for name in names
        if not re.search(rf"\b{name.rpartition('.')[2]}\b", _source(CHECKOUT / "tests" / test))
    ]
    assert missing == []


def _functions_called() -> Iterator[str]:
    """Yield the functions of words that the judge imports."""
    for module, name in _imported():
        file = WORDS / f"{module}.py"
        source = _source(file if file.exists() else WORDS / module / "__init__.py")
        defined = {n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)}
        # What a package passes on is defined in a module of it; functions are in small letters.
        if name in defined or (not file.exists() and name.islower()):
            yield f"{module}.{name}"


def _methods_called() -> Iterator[str]:
    """Yield the methods of words that have the name of an attribute that the judge looks at.

    Only modules count that the judge imports, or that those import.
    """
    looked_at = {
        node.attr
        for file in JUDGE.glob("*.py")
        for node in ast.walk(ast.parse(_source(file)))
        if isinstance(node, ast.Attribute)
    }
    for module in {module for module, _ in _imported()} | {"capacity", "reach"}:
        file = WORDS / f"{module}.py"
        for word in ast.parse(_source(file)).body if file.exists() else ():
            if isinstance(word, ast.ClassDef):
                names = [n.name for n in word.body if isinstance(n, ast.FunctionDef)]
                yield from (f"{module}.{word.name}.{n}" for n in names if n in looked_at)


@cache
def _imported() -> frozenset[tuple[str, str]]:
    """Return (module of words, name) for all that the judge imports of them."""
    return frozenset(
        (node.module.removeprefix("placer_models."), alias.name)
        for file in JUDGE.glob("*.py")
        for node in _imports(ast.walk(ast.parse(_source(file))))
        if node.module is not None and node.module.startswith("placer_models.")
        for alias in node.names
    )


def _imports(nodes: Iterable[ast.AST]) -> Iterator[ast.ImportFrom]:
    return (node for node in nodes if isinstance(node, ast.ImportFrom))


@cache
def _source(file: Path) -> str:
    return file.read_text("utf-8")
