"""Rules about CPUs: who owns which cores, and what the pools keep (C4 to C6, C8)."""

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.policy import BindPolicy
from placer_models.problem import Problem


def a_pod_owns_the_cpus_it_asks_for(model: CpModel, problem: Problem, x: Variables) -> None:
    """Whole cores and single threads together are the request of the assignment's pods."""
    for assignment in x.assignments:
        if not assignment.cores:
            continue
        classes = problem.nodes[assignment.node].cores
        taken = [
            part.whole * c.threads + part.threads
            for part, c in zip(assignment.cores, classes, strict=True)
        ]
        model.add(LinearExpr.sum(taken) == assignment.shape.owned_cpus * assignment.count)


def counted_pods_share_whole_cores(model: CpModel, problem: Problem, x: Variables) -> None:
    """No pod of a counted assignment has more whole cores than fit its request.

    Then the assignment's whole cores can be dealt out to its pods, one by one.
    """
    for assignment in x.assignments:
        if assignment.most > 1 and assignment.cores:
            widths = {c.threads for c in problem.nodes[assignment.node].cores}
            whole = LinearExpr.sum([part.whole for part in assignment.cores])
            model.add(whole <= (assignment.shape.owned_cpus // max(widths)) * assignment.count)


def cores_fit(model: CpModel, problem: Problem, x: Variables) -> None:
    """Cores taken whole and cores taken thread by thread are different cores."""
    for node, assignments, broken in zip(problem.nodes, x.on_node, x.broken, strict=True):
        for index, c in enumerate(node.cores):
            whole = [
                assignment.cores[index].whole for assignment in assignments if assignment.cores
            ]
            if whole:
                model.add(LinearExpr.sum(whole) + broken[index] <= c.cores)


def threads_fit(model: CpModel, problem: Problem, x: Variables) -> None:
    """Single threads fit into the cores taken thread by thread."""
    for node, assignments, broken in zip(problem.nodes, x.on_node, x.broken, strict=True):
        for index, c in enumerate(node.cores):
            threads = [
                assignment.cores[index].threads for assignment in assignments if assignment.cores
            ]
            if threads:
                model.add(LinearExpr.sum(threads) <= c.free * broken[index])


def spread_threads_touch_different_cores(model: CpModel, problem: Problem, x: Variables) -> None:
    """The cores that a pod's threads touch are no more than its threads, and exist.

    Exact for cores of equal width: dealing all threads out in turn over the broken
    cores puts each pod on as many cores as it has threads, or on all of them.
    """
    for assignments, broken in zip(x.on_node, x.broken, strict=True):
        for assignment in assignments:
            if assignment.fit.bind is not BindPolicy.SPREAD_BY_PCPUS:
                continue
            for index, part in enumerate(assignment.cores):
                model.add(part.touched <= broken[index])
                if part.touched is not part.threads:
                    model.add(part.touched <= part.threads)


def the_shared_pool_fits(model: CpModel, problem: Problem, x: Variables) -> None:
    """LS requests fit the CPUs that nobody owns; where an LS pod runs there is one."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        owned = LinearExpr.sum(
            [assignment.shape.owned_cpus * assignment.count for assignment in assignments]
        )
        asked = LinearExpr.sum(
            [assignment.shape.shared_milli * assignment.count for assignment in assignments]
        )
        model.add(asked + 1000 * owned <= node.pool_milli)
        if node.has_shared and node.pool_cpus:  # an empty pool has no CPU to give away
            model.add(owned <= node.pool_cpus - 1)
        for assignment in assignments:
            if assignment.shape.shared and not node.has_shared:
                some = _some(
                    model,
                    assignment.count,
                    assignment.most,
                    f"shared[{assignment.unit},{node.name}]",
                )
                model.add(owned + some <= node.pool_cpus)


def the_best_effort_pool_fits(model: CpModel, problem: Problem, x: Variables) -> None:
    """BE requests fit the CPUs that no LSE pod owns; where a BE pod runs there is one."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        owned = LinearExpr.sum(
            [
                assignment.shape.owned_cpus * assignment.count
                for assignment in assignments
                if assignment.shape.exclusive
            ]
        )
        asked = LinearExpr.sum(
            [assignment.shape.best_effort_milli * assignment.count for assignment in assignments]
        )
        model.add(asked + 1000 * owned <= node.best_effort_milli)
        if node.has_best_effort and node.best_effort_cpus:
            model.add(owned <= node.best_effort_cpus - 1)
        for assignment in assignments:
            if assignment.shape.best_effort and not node.has_best_effort:
                some = _some(
                    model,
                    assignment.count,
                    assignment.most,
                    f"best_effort[{assignment.unit},{node.name}]",
                )
                model.add(owned + some <= node.best_effort_cpus)


def _some(model: CpModel, count: IntVar, most: int, name: str) -> IntVar:
    """Return a literal that is true where the count is not 0."""
    if most == 1:
        return count
    literal = model.new_bool_var(name)
    model.add(count <= most * literal)
    return literal
