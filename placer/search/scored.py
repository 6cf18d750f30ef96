"""The greedy answer to a Problem, with the scorer that the options name."""

from placer.greedy.place import place_greedily
from placer.greedy.scorer import NodeScorer
from placer.search.baseline import Baseline
from placer.search.options import SolveOptions
from placer_models.cluster import Instance
from placer_models.problem.problem import Choices, Problem


def scorer_of(instance: Instance, options: SolveOptions, baseline: Baseline) -> NodeScorer | None:
    """Return what chooses among nodes in the greedy path; None: the instance's strategy does."""
    if options.scoring is None:
        return None
    return baseline.cache.scorers.of(options.scoring, instance.nodes)


def greedy_choices(
    instance: Instance, baseline: Baseline, problem: Problem, options: SolveOptions
) -> Choices:
    """Return the greedy choices for a problem that was built ``scored`` if the options say so."""
    scorer = scorer_of(instance, options, baseline)
    return place_greedily(problem, tables=baseline.cache.tables, scorer=scorer)
