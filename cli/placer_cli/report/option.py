"""Option ``--report``, and the file that it writes: the whole page, or none."""

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from placer_cli.console import print_note
from placer_cli.options import output_option
from placer_cli.output import refuse_overwriting_inputs, refuse_unwritable, replace_file_with_text

ReportFile = Annotated[
    Path | None,
    output_option(
        "Also write the answer to FILE as one HTML page, which needs nothing else.",
        "--report",
        metavar="FILE.html",
    ),
]


def refuse_bad_report_path(file: Path | None, inputs: Iterable[Path]) -> None:
    """Refuse before the work begins to write a report over what was read, or where nobody can.

    Raises:
        BadParameter: It is one of the inputs.
        OSError: It cannot be written.

    """
    refuse_overwriting_inputs("--report", file, inputs)
    refuse_unwritable(file)


def report_footer(what: str) -> str:
    """Return the last line of a report."""
    return f"{what}; made by Placer {version('placer')}."


def write_report(file: Path, text: str) -> None:
    """Write a report, and say so."""
    replace_file_with_text(file, text)
    print_note(f"wrote {file}: a report for a browser")
