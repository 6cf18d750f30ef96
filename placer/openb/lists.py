"""Lists of the trace: nodes and pods, a row each, read from CSV files with all faults named."""

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from placer_models.files.errors import InputError, SeveralInputError
from placer_models.message_text import in_quotes, near_or_first_names_text

if TYPE_CHECKING:
    from _csv import Reader

WHOLE_MILLI = 1000
"""All of one GPU, in the unit of lists."""

MILLI_STEP = 10
"""Placer counts shares of GPUs in percent."""

MOST_FAULTS = 100
"""After so many faults the rest of a file is not looked at."""

_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_MORE_POD_COLUMNS = (
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A node of the trace.

    Attributes:
        cpu_milli: CPUs in 1/1000, whole ones.
        gpus: How many GPUs.
        model: Their model; empty if there are none.

    """

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str


@dataclass(frozen=True, slots=True)
class TracePod:
    """A pod of the trace.

    Attributes:
        gpus: How many GPUs it asks for, whole or in part.
        gpu_milli: How much of each of them, in 1/1000; 0 if it asks for none.
        models: The models of GPUs that it may have, ascending; empty: any.

    """

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    models: tuple[str, ...]


def read_trace_nodes(file: Path) -> tuple[TraceNode, ...]:
    """Return the nodes of a list, in its order.

    Raises:
        InputError: The file is no such list; all faults are named, by row and column.

    """
    rows = _Rows(file)
    found = []
    for row in rows.of(_NODE_COLUMNS, ()):
        gpus = row.whole("gpu", least=0)
        model = row.text("model")
        cpu_milli = row.whole("cpu_milli", least=1000)
        if cpu_milli % 1000:
            row.fault("cpu_milli", f"{cpu_milli} is no whole number of CPUs of 1000 each")
        if gpus and not model:
            row.fault("model", f"there are {gpus} GPUs of no model; name their model")
        memory_mib = row.whole("memory_mib", least=1)
        found.append(TraceNode(row.name("sn"), cpu_milli, memory_mib, gpus, model if gpus else ""))
    rows.refuse_faults()
    return tuple(found)


def read_trace_pods(file: Path, models: Collection[str]) -> tuple[TracePod, ...]:
    """Return the pods of a list, in its order.

    Lists have eleven columns or the first five, of pods that may have GPUs of any model.

    Args:
        file: The list.
        models: The models of GPUs that nodes have.

    Raises:
        InputError: The file is no such list; all faults are named, by row and column.

    """
    rows = _Rows(file)
    found = []
    for row in rows.of(_POD_COLUMNS, _MORE_POD_COLUMNS):
        name = row.name("name")
        cpu_milli, memory_mib = row.whole("cpu_milli", least=0), row.whole("memory_mib", least=0)
        gpus = row.whole("num_gpu", least=0, empty=0)
        milli = 0
        wanted: tuple[str, ...] = ()
        if gpus:
            milli = _gpu_milli(row)
            wanted = _models(row, models)
        found.append(TracePod(name, cpu_milli, memory_mib, gpus, milli, wanted))
    rows.refuse_faults()
    return tuple(found)


def _gpu_milli(row: "_Row") -> int:
    milli = row.whole("gpu_milli", least=1)
    if milli > WHOLE_MILLI:
        row.fault(
            "gpu_milli", f"{milli} is over {WHOLE_MILLI}, all of one GPU; ask for more in num_gpu"
        )
    elif milli % MILLI_STEP:
        row.fault(
            "gpu_milli",
            f"{milli} is no multiple of {MILLI_STEP}; Placer counts GPUs in percent",
        )
    return milli


def _models(row: "_Row", known: Collection[str]) -> tuple[str, ...]:
    text = row.text("gpu_spec")
    if not text or text == "nan":
        return ()
    wanted = sorted(set(text.split("|")))
    for model in wanted:
        if model not in known:
            names = near_or_first_names_text(model, sorted(known))
            row.fault("gpu_spec", f"no node has GPUs of model {in_quotes(model)}{names}")
    return tuple(wanted)


class _Rows:
    """The rows of one file, and the faults found in them."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)
        self._path = file
        self.faults: list[InputError] = []
        self.names: dict[str, int] = {}

    def of(self, columns: Sequence[str], more: Sequence[str]) -> Iterator["_Row"]:
        """Yield the rows below the head, which has the columns, and may have more.

        Raises:
            InputError: The file cannot be read as CSV with these columns.

        """
        try:
            with self._path.open(encoding="utf-8", newline="") as stream:
                yield from self._read(csv.reader(stream, strict=True), columns, more)
        except UnicodeDecodeError as error:
            raise InputError(self.file, None, "", f"is no text in UTF-8: {error.reason}") from None

    def _read(
        self, reader: "Reader", columns: Sequence[str], more: Sequence[str]
    ) -> Iterator["_Row"]:
        expected = f"expected CSV with the columns {', '.join(columns)}"
        try:
            head = next(reader, None)
            if head is None:
                raise InputError(self.file, 1, "", f"the file is empty; {expected}")
            self._check_head(head, columns, more, expected)
            for cells in reader:
                if not cells:
                    continue  # an empty line
                line = reader.line_num
                if len(cells) != len(head):
                    self.fault(line, "", f"the row has {len(cells)} columns of {len(head)}")
                    continue
                yield _Row(self, line, dict(zip(head, cells, strict=True)))
        except csv.Error as error:
            self.fault(reader.line_num, "", f"is no CSV: {error}; {expected}")
            self.refuse_faults()

    def _check_head(
        self, head: list[str], columns: Sequence[str], more: Sequence[str], expected: str
    ) -> None:
        known = (*columns, *more)
        wrong = [f"there is no column {column}" for column in columns if column not in head]
        wrong += [
            f"column {in_quotes(name)} is not known{near_or_first_names_text(name, known)}"
            for name in head
            if name not in known
        ]
        wrong += [f"column {name} is there twice" for name in set(head) if head.count(name) > 1]
        if wrong:
            raise InputError(self.file, 1, "", f"{wrong[0]}; {expected}", more=len(wrong) - 1)

    def fault(self, line: int, column: str, message: str) -> None:
        """Note what is wrong in a row.

        Raises:
            InputError: There are too many faults by now.

        """
        self.faults.append(InputError(self.file, line, column, message))
        if len(self.faults) >= MOST_FAULTS:
            self.refuse_faults()

    def refuse_faults(self) -> None:
        """Raise the faults, if there are any."""
        if self.faults:
            raise SeveralInputError(self.faults)


class _Row:
    """One row of a list."""

    def __init__(self, rows: _Rows, line: int, cells: Mapping[str, str]) -> None:
        self._rows, self._line, self._cells = rows, line, cells

    def fault(self, column: str, message: str) -> None:
        """Note what is wrong in a column."""
        self._rows.fault(self._line, column, message)

    def text(self, column: str) -> str:
        """Return what is written; nothing where the list has no such column."""
        return self._cells.get(column, "").strip()

    def name(self, column: str) -> str:
        """Return a name that no other row has."""
        name = self.text(column)
        if not name:
            self.fault(column, "there is no name")
        elif name in self._rows.names:
            self.fault(column, f"{in_quotes(name)} is in row {self._rows.names[name]} already")
        else:
            self._rows.names[name] = self._line
        return name

    def whole(self, column: str, *, least: int, empty: int | None = None) -> int:
        """Return a whole number, or ``least`` if a fault is noted.

        Args:
            column: The column.
            least: The least that is allowed.
            empty: What nothing stands for; None: something has to be written.

        """
        text = self.text(column)
        if not text and empty is not None:
            return empty
        # Some lists write whole numbers as 1000.0.
        digits = text.removesuffix(".0")
        if not digits.removeprefix("-").isdecimal() or not digits.isascii():
            self.fault(column, f"{in_quotes(text)} is no whole number")
            return least
        number = int(digits[:19])
        if number < least:
            self.fault(column, f"{number} is less than {least}")
            return least
        if number > MOST:
            self.fault(column, f"{number} is more than {MOST}")
            return least
        return number


MOST = 10**12
"""The largest number that a list may have: more than any machine has of anything."""
