"""Summary of a dump: what was read, skipped, refused or taken for granted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

_SHOWN = 3


@dataclass(slots=True)
class DumpSummary:
    """The summary of what became of the objects of a dump.

    Attributes:
        read: Kind -> how many objects of it were read.
        skipped: Kind with its API version -> how many objects of it were skipped.
        refused: Titles of pods that are not placed -> what Placer cannot express of each.
        illegal: Titles of pods that are not placed -> what no pod may ask for, and they do.
        assumed: What was taken for granted -> names of the objects concerned.
        schedulers: Scheduler -> how many pods wait for it, if others than the default one are
            among them.
        faults: What cannot be read, and ends nothing: file, line, field and mend of each.

    """

    read: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[str, str]] = field(default_factory=list)
    illegal: list[tuple[str, str]] = field(default_factory=list)
    assumed: dict[str, list[str]] = field(default_factory=dict)
    schedulers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def assume(self, what: str, of: str) -> None:
        """Note that something was taken for granted about an object."""
        self.assumed.setdefault(what, []).append(of)

    def lines(self) -> tuple[str, ...]:
        """Return the summary for people."""
        lines = ["read " + (_counted(self.read) or "nothing")]
        if self.skipped:
            lines.append(f"skipped {_counted(self.skipped)}: of kinds that are not read")
        if self.schedulers:
            counts = ", ".join(f"{n:,} for {name}" for name, n in sorted(self.schedulers.items()))
            lines.append(f"pods wait for several schedulers (--scheduler-name picks): {counts}")
        for begin, pods in (("illegal, not placed", self.illegal), ("not placed", self.refused)):
            by_why: dict[str, list[str]] = {}
            for title, why in pods:
                by_why.setdefault(why, []).append(title)
            lines += [f"{begin}: {_named(titles)}: {why}" for why, titles in sorted(by_why.items())]
        lines += [f"cannot be read: {fault}" for fault in self.faults]
        lines += [f"{what}: {_named(of)}" for what, of in self.assumed.items()]
        return tuple(lines)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))


def _named(names: Sequence[str]) -> str:
    """Return the first few names as text, and how many more there are."""
    first = ", ".join(names[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{first} and {more:,} more" if more > 0 else first
