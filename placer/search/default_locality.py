"""A Problem without default locality, for all tiers but its own.

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
    return replace(
        problem, fits=tuple(tuple(map(_anywhere, of_shape)) for of_shape in problem.fits)
    )


def _anywhere(fit: Fit | None) -> Fit | None:
    return replace(fit, locality=None) if fit and fit.locality else fit
