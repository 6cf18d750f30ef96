"""All families of rules, in the order in which their variables are created."""

from placer_models.cpsat import in_node_affinity
from placer_models.cpsat.family import Family

FAMILIES: tuple[Family, ...] = (in_node_affinity.FAMILY,)
"""A new family takes its place here, after those whose parts its variables look at."""
