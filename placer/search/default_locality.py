"""A Problem without default locality, for all tiers but its own, or without device choices too.

Where no policy asks, the NUMA nodes and packages that a pod is on decide no rule, and no tier
before the two tiers of default locality, which come almost last. So the tiers before those are
solved in a model that counts equal pods together, and the result is dealt out with few places each.
"""

from dataclasses import replace

from placer_models.problem.problem import Fit, Problem


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


def without_device_choices(problem: Problem) -> Problem:
    """Return the Problem with shares that may come from any devices that fit."""
    if not any(need.choice for shape in problem.shapes for need in shape.shares):
        return problem
    shapes = tuple(
        replace(shape, shares=tuple(replace(need, choice=None) for need in shape.shares))
        for shape in problem.shapes
    )
    return replace(problem, shapes=shapes)
