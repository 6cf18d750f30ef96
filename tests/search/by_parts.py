"""What searches part by part answer, for the tests that hold them against others."""

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import GaveUp, Infeasible, Placement


def answer(instance: Instance, engine: Engine) -> Placement:
    """Return what is placed, nothing where the search says so."""
    found = solve(instance, SolveOptions(engine=engine, workers=1, seed=1, work_limit=20))
    return Placement() if isinstance(found, Infeasible | GaveUp) else found.placement
