"""A Problem without default locality, for all tiers but its own, or without device choices too.

Which NUMA nodes and packages a pod is on, where no policy asks, decides no rule and no tier
before its own two, which come almost last. So what comes before them is solved in a model in
which equal pods are counted together; what is found there is dealt out with few places each.
"""

from dataclasses import replace

from placer_models.problem import Fit, Problem


def without_locality(problem: Problem) -> Problem:
    """Return the Problem with pods that may be on any NUMA nodes and packages."""
    if not any(fit and fit.locality for of_shape in problem.fits for fit in of_shape):
        return problem
    anywhere: dict[int, Fit | None] = {}
    for of_shape in problem.fits:
        for fit in of_shape:
            if id(fit) not in anywhere:  # Most kinds of nodes share theirs.
                anywhere[id(fit)] = replace(fit, locality=None) if fit and fit.locality else fit
    fits = tuple(tuple(anywhere[id(fit)] for fit in of_shape) for of_shape in problem.fits)
    return replace(problem, fits=fits)


def without_choices(problem: Problem) -> Problem:
    """Return the Problem with shares of whichever devices fit."""
    if not any(need.choice for shape in problem.shapes for need in shape.shares):
        return problem
    shapes = tuple(
        replace(shape, shares=tuple(replace(need, choice=None) for need in shape.shares))
        for shape in problem.shapes
    )
    return replace(problem, shapes=shapes)
