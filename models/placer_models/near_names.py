"""Near names of pods and gangs, for messages about one that there is none of."""

from collections.abc import Iterable
from difflib import get_close_matches

from placer_models.placement import NamespacedName, title_of

_MOST_COMPARED = 80
"""So many characters of a name that somebody typed are compared; comparing takes their square."""


def near_title(key: NamespacedName, known: Iterable[NamespacedName]) -> str:
    """Return ``; did you mean 'shop/web-0'?`` for the nearest of the known names, or nothing.

    The same name in another namespace is nearest; then come like names of the same namespace, and
    of others. A namespace alone makes nothing alike.
    """
    namespace, name = key
    keys = sorted(set(known), key=lambda one: (one[0] != namespace, one))
    for one in keys:
        if one[1] == name:
            return f"; did you mean '{title_of(*one)}'?"
    for some in (
        [one for one in keys if one[0] == namespace],
        [one for one in keys if one[0] != namespace],
    ):
        titles = {one[1]: title_of(*one) for one in reversed(some)}
        if near := get_close_matches(name[:_MOST_COMPARED], titles, n=1):
            return f"; did you mean '{titles[near[0]]}'?"
    return ""
