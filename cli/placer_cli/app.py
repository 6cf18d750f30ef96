"""The ``placer`` command: its sub-commands, and what becomes of errors."""

import gc
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import typer

from placer_cli.commands_on_demand import HELP, LazyCommand, LazyCommandGroup
from placer_cli.exits import ExitCode
from placer_cli.interrupt import InterruptedSolveError
from placer_cli.reading_bar import reading_bar
from placer_cli.streams import prepare_standard_streams
from placer_cli.usage import usage_error_message
from placer_models.files.errors import InputError
from placer_models.files.reading import reading_watched_by
from placer_models.message_text import printable


class _Placer(LazyCommandGroup):
    """The commands of Placer, in the order in which one meets them."""

    entries: ClassVar[Mapping[str, LazyCommand]] = {
        "solve": LazyCommand(
            "Place the pods that wait, and say how good that is.",
            "placer_cli.commands.solve:solve_command",
            "placer solve instances/hello.yaml --output placement.json",
        ),
        "explain": LazyCommand(
            "Say why pods have no place, and what would give them one.",
            "placer_cli.commands.explain:explain_command",
            "placer explain instances/infeasible.yaml",
        ),
        "verify": LazyCommand(
            "Check a placement against every rule, and measure it.",
            "placer_cli.commands.verify:verify_command",
            "placer verify instances/hello.yaml placement.json",
        ),
        "show": LazyCommand(
            "Draw a machine, or a cluster and its nodes.",
            "placer_cli.commands.show:show_command",
            "placer show dgx-a100",
        ),
        "validate": LazyCommand(
            "Say what files hold, or what is wrong with them.",
            "placer_cli.commands.validate:validate_command",
            "placer validate instances/hello.yaml",
        ),
        "schema": LazyCommand(
            "Print the JSON Schema of a kind of documents.",
            "placer_cli.commands.schema:schema_command",
            "placer schema NodePlacement > node.schema.json",
        ),
        "examples": LazyCommand(
            "List the examples that come with Placer, and copy them.",
            "placer_cli.commands.examples:examples_command",
            "placer examples hello demo",
        ),
        "machines": LazyCommand(
            "List the machines that an instance may name.",
            "placer_cli.commands.machines:machines_command",
            "placer machines",
        ),
        "discover": LazyCommand(
            "Write down what this machine has inside.",
            "placer_cli.commands.discover:discover_command",
            "placer discover --as instance --output node.yaml",
        ),
        "apply": LazyCommand(
            "Make the cgroups of this machine follow a placement.",
            "placer_cli.commands.apply:apply_command",
            "placer apply instances/nodes/small.yaml --dry-run",
        ),
        "agent": LazyCommand(
            "Keep this machine as its newest document says.",
            "placer_cli.commands.agent:agent_command",
            "placer agent --documents /etc/placer/node",
        ),
        "plan": LazyCommand(
            "Say what to buy, what fits, what a failure costs.", "placer_cli.plan.app:plan_app"
        ),
        "queue": LazyCommand(
            "Simulate the fair queue, and advise thread counts.", "placer_cli.queue.app:queue_app"
        ),
        "slots": LazyCommand(
            "Compile dataflow jobs into slots, and place them.", "placer_cli.slots.app:slots_app"
        ),
        "quota": LazyCommand(
            "Encode device quotas in one number, and decode it.",
            "placer_cli.commands.quota:quota_app",
        ),
        "bench": LazyCommand(
            "Replay public traces, and measure how well and how fast Placer packs.",
            "placer_cli.openb.bench:bench_app",
        ),
        "convert": LazyCommand(
            "Write files of others as files that Placer reads.",
            "placer_cli.openb.convert:convert_app",
        ),
    }


app = typer.Typer(
    name="placer",
    cls=_Placer,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Example: placer solve instances/hello.yaml",
    **HELP,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"placer {version('placer')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Say on standard error what is done, step by step."),
    ] = False,
) -> None:
    """Place pods and gangs on the CPUs, NUMA nodes and GPUs of real machines."""
    if verbose:
        from placer_cli.verbose import log_to_stderr

        context.call_on_close(log_to_stderr())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code. Errors end in one line on standard error."""
    if not prepare_standard_streams():
        return _fail(
            "standard output is closed; give it a place, if only /dev/null", ExitCode.BAD_INPUT
        )
    # A command ends soon, and what it reads stays in use: looking through all of it for
    # garbage again and again takes as long as reading a big file.
    gc.set_threshold(100_000, 50, 100)
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with reading_watched_by(reading_bar):
            code = typer.main.get_command(app).main(
                words,
                prog_name="placer",
                standalone_mode=False,
            )
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has all that it wants. Nothing is left to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.BROKEN_PIPE
    except InputError as error:
        for message in error.messages:
            _fail(message, ExitCode.BAD_INPUT)
        return ExitCode.BAD_INPUT
    except typer.TyperException as error:
        return _usage(error, words)
    except InterruptedSolveError:
        _fail("interrupted before there was an answer", ExitCode.NO_ANSWER)
        sys.stderr.flush()
        # A search may still be busy in a thread of its own, and nothing else ends it.
        os._exit(ExitCode.NO_ANSWER)
    except OSError as error:
        file = "output" if error.filename is None else error.filename
        return _fail(f"{file}: {error.strerror or error}", ExitCode.BAD_INPUT)
    except Exception as error:
        if os.environ.get("PLACER_DEBUG") == "1":
            traceback.print_exc()
        return _fail(
            f"{type(error).__name__}: {error}: this is a defect of placer, please report it; "
            "PLACER_DEBUG=1 shows where",
            ExitCode.DEFECT,
        )
    if code == ExitCode.INTERRUPTED:
        return _fail("interrupted", ExitCode.INTERRUPTED)
    return code if isinstance(code, int) else ExitCode.DONE


def _fail(message: str, code: ExitCode) -> ExitCode:
    sys.stderr.write(f"placer: {printable(message)}\n")
    return code


def _usage(error: typer.TyperException, words: Sequence[str]) -> ExitCode:
    """Say what is wrong with the usage; who gave no command at all gets the help."""
    message = usage_error_message(error)
    if message.startswith("Usage:"):
        sys.stderr.write(f"{message}\n")
        return ExitCode.BAD_INPUT
    context = getattr(error, "ctx", None)
    path = context.command_path if context else _command_path(words)
    return _fail(f"{message} (see {path} --help)", ExitCode.BAD_INPUT)


def _command_path(words: Sequence[str]) -> str:
    """Return the command that words on the command line name, as far as they name one."""
    command: Any = typer.main.get_command(app)
    path = ["placer"]
    for word in words:
        if word in getattr(command, "commands", ()):
            command = command.commands[word]
            path.append(word)
        elif not word.startswith("-"):
            break
    return " ".join(path)
