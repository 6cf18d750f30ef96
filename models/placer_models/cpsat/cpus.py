"""CPUs: which pods own which cores, and what the pools keep (C4 to C6, C8)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    Value,
    always,
    never,
    solver_hints_for_plain_variables,
)
from placer_models.goals import BIND, USABLE, WHOLE_CORE_POINTS
from placer_models.policy import BindPolicy
from placer_models.problem.node_state import CoreClass, NodeState
from placer_models.problem.problem import Choice, CoreTake, Fit, Problem
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class CoreTakeVariables:
    """What the pods of an assignment take of one core class.

    Attributes:
        whole: Whole cores.
        threads: Single threads beside those.
        touched: Cores over which the threads are spread; 0 unless the bind policy spreads them.

    """

    whole: Expression
    threads: Expression
    touched: Expression

    def cpus(self, c: CoreClass) -> Expression:
        """Return how many CPUs this is on cores of the class."""
        return self.whole * c.threads + self.threads


@dataclass(frozen=True, slots=True)
class OwnedCoreVariables:
    """What the pods of an assignment own: one entry per core class of the node."""

    classes: tuple[CoreTakeVariables, ...]


@dataclass(frozen=True, slots=True)
class NodeSplitCoreVariables:
    """For each node, how many cores of each class are taken thread by thread."""

    of_node: tuple[tuple[Expression, ...], ...]


def existing_core_take_vars(assignment: Assignment) -> tuple[CoreTakeVariables, ...]:
    """Return what the pods own of each core class, or nothing if they own no CPU."""
    owned = assignment.part(OwnedCoreVariables)
    return owned.classes if owned else ()


def most_pods_by_cpus(problem: Problem, shape_index: int, node: NodeState, most: int) -> int:
    """Return how many pods a node's cores and pools could host, up to `most`."""
    shape, fit = problem.shape_on(shape_index, node), problem.fits[shape_index][node.kind]
    assert fit is not None
    if (shape.shared and not node.pool_cpus) or (shape.best_effort and not node.best_effort_cpus):
        return 0
    while shape.owned_cpus and most > 0:
        takeable = sum(c.cores * _takeable(fit, c, most) for c in node.cores)
        if takeable >= most * shape.owned_cpus:
            break
        most = min(most - 1, takeable // shape.owned_cpus)
    return most


def _takeable(fit: Fit, c: CoreClass, pods: int) -> int:
    """Return how many threads of a core of the class so many pods of that fit can own."""
    if not fit.bind_required:
        return c.free
    if fit.bind is BindPolicy.FULL_PCPUS:
        return c.threads if c.whole else 0
    return min(pods, c.free)


def owned_core_vars(
    model: CpModel, problem: Problem, assignment: Assignment
) -> OwnedCoreVariables | None:
    """Create the counts of an assignment, or return None if its pods own no CPU."""
    if not assignment.shape.owned_cpus:
        return None
    return OwnedCoreVariables(
        tuple(
            _counts(model, c, assignment, f"[{assignment.name},{i}]")
            for i, c in enumerate(problem.nodes[assignment.node].cores)
        )
    )


def _counts(model: CpModel, c: CoreClass, assignment: Assignment, name: str) -> CoreTakeVariables:
    fit, most, want = assignment.fit, assignment.most, assignment.shape.owned_cpus
    full = fit.bind is BindPolicy.FULL_PCPUS
    whole: Expression = 0
    threads: Expression = 0
    touched: Expression = 0
    if full and c.whole and want >= c.threads:
        whole = model.new_int_var(0, min(c.cores, most * (want // c.threads)), f"whole{name}")
    if not (full and fit.bind_required):
        reach = c.cores if not full and fit.bind_required else c.cores * c.free
        threads = model.new_int_var(0, min(reach, most * want), f"threads{name}")
    if not full:
        touched = (
            threads
            if fit.bind_required
            else model.new_int_var(0, min(c.cores, want), f"touched{name}")
        )
    return CoreTakeVariables(whole, threads, touched)


def split_core_vars(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> NodeSplitCoreVariables:
    """Create a count for each core class of each node where a pod could own CPUs."""
    return NodeSplitCoreVariables(
        tuple(
            tuple(
                model.new_int_var(0, c.cores, f"broken[{node.name},{i}]") if taken else 0
                for i, c in enumerate(node.cores)
            )
            for node, taken in (
                (node, any(map(existing_core_take_vars, here)))
                for node, here in zip(problem.nodes, x.on_node, strict=True)
            )
        )
    )


def a_pod_owns_the_cpus_it_asks_for(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Whole cores and single threads add up to the request of the assignment's pods."""
    for assignment in x.assignments:
        cores = existing_core_take_vars(assignment)
        if not cores:
            continue
        classes = problem.nodes[assignment.node].cores
        taken = [part.cpus(c) for part, c in zip(cores, classes, strict=True)]
        model.add(LinearExpr.sum(taken) == assignment.shape.owned_cpus * assignment.count)


def whole_cores_can_be_dealt_to_pods(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Pods counted together take on average no more whole cores than fit one pod's request.

    So the assignment's whole cores can be dealt out to its pods, one by one.
    """
    for assignment in x.assignments:
        if assignment.most > 1 and existing_core_take_vars(assignment):
            widths = {c.threads for c in problem.nodes[assignment.node].cores}
            whole = LinearExpr.sum([part.whole for part in existing_core_take_vars(assignment)])
            model.add(whole <= (assignment.shape.owned_cpus // max(widths)) * assignment.count)


def whole_cores_are_not_split(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Cores taken whole and cores taken thread by thread are different cores."""
    for c, takes, broken in _core_classes(problem, x):
        if takes:
            model.add(LinearExpr.sum([take.whole for take in takes]) + broken <= c.cores)


def single_threads_are_on_taken_cores(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Single threads fit into the cores taken thread by thread."""
    for c, takes, broken in _core_classes(problem, x):
        if takes:
            model.add(LinearExpr.sum([take.threads for take in takes]) <= c.free * broken)


def _core_classes(
    problem: Problem, x: PlacementVariables
) -> Iterator[tuple[CoreClass, list[CoreTakeVariables], Expression]]:
    """Yield each core class of each node, what pods own of it, and how much of it is split."""
    for node, assignments, broken in zip(
        problem.nodes, x.on_node, x.part(NodeSplitCoreVariables).of_node, strict=True
    ):
        owners = [cores for cores in map(existing_core_take_vars, assignments) if cores]
        for index, c in enumerate(node.cores):
            yield c, [cores[index] for cores in owners], broken[index]


def spread_threads_touch_different_cores(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """A pod's threads touch no more cores than the pod has threads, or than are broken.

    This is exact for cores of equal width: dealing all threads out in turn over the broken
    cores puts each pod on as many cores as it has threads, or on all of them.
    """
    for assignments, broken in zip(x.on_node, x.part(NodeSplitCoreVariables).of_node, strict=True):
        for assignment in assignments:
            if assignment.fit.bind is not BindPolicy.SPREAD_BY_PCPUS:
                continue
            for index, part in enumerate(existing_core_take_vars(assignment)):
                model.add(part.touched <= broken[index])
                if part.touched is not part.threads:
                    model.add(part.touched <= part.threads)


def a_used_shared_pool_has_a_cpu(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Where an LS pod runs, there is a CPU that no pod owns."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        using = [] if node.has_shared else [one for one in assignments if one.shape.shared]
        owned = LinearExpr.sum([one.shape.owned_cpus * one.count for one in assignments])
        if node.has_shared and node.pool_cpus:  # an empty pool has no CPU to give away
            model.add(owned <= node.pool_cpus - 1)
        for one in using:
            some = _some(model, one.count, one.most, f"shared[{one.unit},{node.name}]")
            model.add(owned + some <= node.pool_cpus)


def a_used_best_effort_pool_has_a_cpu(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Where a BE pod runs, there is a CPU that no LSE pod owns."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        using = (
            [] if node.has_best_effort else [one for one in assignments if one.shape.best_effort]
        )
        owned = LinearExpr.sum(
            [one.shape.owned_cpus * one.count for one in assignments if one.shape.exclusive]
        )
        if node.has_best_effort and node.best_effort_cpus:
            model.add(owned <= node.best_effort_cpus - 1)
        for one in using:
            some = _some(model, one.count, one.most, f"best_effort[{one.unit},{node.name}]")
            model.add(owned + some <= node.best_effort_cpus)


def _some(model: CpModel, count: IntVar, most: int, name: str) -> IntVar:
    """Return a literal that is true where the count is not 0."""
    if most == 1:
        return count
    literal = model.new_bool_var(name)
    model.add(count <= most * literal)
    return literal


def cpu_count_against_preferred_bind_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count CPUs on cores taken against a preferred bind policy."""
    terms: list[Expression] = []
    for assignment in x.assignments:
        cores, fit = existing_core_take_vars(assignment), assignment.fit
        if not cores or (fit.bind_required and not fit.spread_wished):
            continue
        if fit.spread_wished:
            whole = LinearExpr.sum([part.whole for part in cores])
            against = assignment.shape.owned_cpus * assignment.count - whole
        elif fit.bind is BindPolicy.SPREAD_BY_PCPUS:
            touched = LinearExpr.sum([part.touched for part in cores])
            against = assignment.shape.owned_cpus * assignment.count - touched
        else:
            against = LinearExpr.sum(
                [
                    part.threads
                    for part, c in zip(cores, problem.nodes[assignment.node].cores, strict=True)
                    if fit.bind_asked or not c.efficient
                ]
            )
        beyond = against - fit.bind_remainder * assignment.count
        if fit.bind_waived:
            owned = assignment.shape.owned_cpus
            priced = model.new_int_var(0, owned * assignment.most, f"bind[{assignment.name}]")
            model.add(priced >= beyond - fit.bind_waived * assignment.count)
            beyond = priced
        terms.append(beyond)
    return LinearExpr.sum(terms)


def whole_core_points_left_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the whole cores that are left for later pods (tier ``usable``)."""
    terms: list[Expression] = []
    for c, takes, broken in _core_classes(problem, x):
        if c.whole:
            left = c.cores - LinearExpr.sum([take.whole for take in takes]) - broken
            terms.append(WHOLE_CORE_POINTS * left)
    return LinearExpr.sum(terms)


def core_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for the cores that are taken of each class."""
    for assignment, choices in known.at:
        for i, part in enumerate(existing_core_take_vars(assignment)):
            takes = [choice.cores[i] for choice in choices]
            yield from solver_hints_for_plain_variables(
                [part.whole, part.threads],
                [sum(take.whole for take in takes), sum(take.threads for take in takes)],
            )
            if part.touched is not part.threads:
                yield from solver_hints_for_plain_variables(
                    [part.touched], [sum(take.touched for take in takes)]
                )


def read_solved_cores(
    problem: Problem, assignment: Assignment, places: Sequence[Choice], value: Value
) -> Sequence[Choice]:
    """Deal the cores of an assignment out to its pods, whole ones first."""
    parts = existing_core_take_vars(assignment)
    classes = problem.nodes[assignment.node].cores
    whole = [value(part.whole) for part in parts]
    threads = [value(part.threads) for part in parts]
    dealt = []
    for left, place in zip(range(len(places), 0, -1), places, strict=True) if parts else ():
        cores = [CoreTake()] * len(parts)
        want = assignment.shape.owned_cpus
        # Each pod takes its share of the whole cores, rounded up.
        quota = -(-sum(whole) // left)
        for i, c in enumerate(classes):
            take = min(whole[i], quota, want // c.threads)
            whole[i] -= take
            quota -= take
            want -= take * c.threads
            cores[i] = CoreTake(whole=take)
        for i, part in enumerate(parts):
            take = min(threads[i], want)
            threads[i] -= take
            want -= take
            cores[i] = replace(
                cores[i], threads=take, touched=value(part.touched) if len(places) == 1 else 0
            )
        dealt.append(replace(place, cores=tuple(cores)))
    return dealt or places


def pods_of_unit_split_cpus_freely(problem: Problem, shape_index: int) -> bool:
    """Return whether pods of a shape own no CPU, or take cores of one size under FullPCPUs."""
    if not problem.shapes[shape_index].owned_cpus:
        return True
    return all(
        fit.bind is BindPolicy.FULL_PCPUS and known.core_sizes <= 1
        for kind, known in problem.of_kinds.items()
        if (fit := problem.fits[shape_index][kind]) is not None
    )


def owns_no_cpu(problem: Problem, shape_index: int) -> bool:
    """Return whether pods of a shape run in a pool."""
    return not problem.shapes[shape_index].owned_cpus


FAMILY = ModelFamily(
    name=RuleFamilyName.CPUS,
    room=most_pods_by_cpus,
    decide=owned_core_vars,
    decide_all=split_core_vars,
    rules=(
        a_pod_owns_the_cpus_it_asks_for,
        whole_cores_can_be_dealt_to_pods,
        whole_cores_are_not_split,
        single_threads_are_on_taken_cores,
        spread_threads_touch_different_cores,
        a_used_shared_pool_has_a_cpu,
        a_used_best_effort_pool_has_a_cpu,
    ),
    tiers={BIND: cpu_count_against_preferred_bind_expr, USABLE: whole_core_points_left_expr},
    hint=core_solver_hints,
    read=read_solved_cores,
    countable=pods_of_unit_split_cpus_freely,
    plain=owns_no_cpu,
    sees_links=never,
    exchangeable=always,
)
