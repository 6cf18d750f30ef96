"""The frame of questions about a cluster that runs: it is read, asked about, and told of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Annotated

from placer_cli.console import error_console, print_dump_summary
from placer_cli.illegal import read_instance
from placer_cli.options import format_option
from placer_cli.output import OutputFormat
from placer_cli.plan.sweeping import sweep_worker_errors_as_usage_errors
from placer_cli.report.option import refuse_bad_report_path
from placer_models.cluster import Instance
from placer_models.kubernetes.who_waits import WaitingPodFilter

AnswerFormat = Annotated[OutputFormat, format_option("How it is printed.")]


@dataclass(frozen=True, slots=True)
class PlanClusterQuestionOptions:
    """The options that such questions have in common.

    Attributes:
        paths: The files of the instance.
        form: How the answer is printed.
        report: The file to which a page for a browser is written, if any.
        who: Which pods of a dump wait.
        skip_illegal: Whether pods that ask for what no pod may ask for are left out.

    """

    paths: list[Path]
    form: OutputFormat
    report: Path | None
    who: WaitingPodFilter
    skip_illegal: bool
    _started_s: float = field(default_factory=monotonic)

    def read(self) -> Instance:
        """Read the instance.

        Raises:
            InputError: Something is wrong with a file.

        """
        refuse_bad_report_path(self.report, self.paths)
        return read_instance(
            self.paths,
            print_dump_summary,
            skip_illegal=self.skip_illegal,
            who=self.who,
            bears_faults=True,
        )

    @contextmanager
    def asking(self, what: str) -> Iterator[tuple[Callable[[str], None], Callable[[], bool]]]:
        """Show what is done; yield who is told of it, and whom to ask whether to end."""
        from placer_cli.interrupt import halt_on_ctrl_c
        from placer_cli.progress import solving_spinner

        with (
            sweep_worker_errors_as_usage_errors(),
            halt_on_ctrl_c() as halt,
            solving_spinner(error_console()) as tell,
        ):
            tell(what)
            yield tell, lambda: halt.called_s is not None

    def print_time(self, did: str) -> None:
        """Say how long it took to do what was done: reading, asking and telling."""
        error_console().print(f"{did} in {monotonic() - self._started_s:.2f} s", style="dim")
