"""The ``placer`` command: its sub-commands, and what becomes of errors."""

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from placer_cli.commands.agent import agent
from placer_cli.commands.apply import apply
from placer_cli.commands.discover import discover
from placer_cli.commands.machines import machines
from placer_cli.commands.quota import quota_app
from placer_cli.commands.schema import schema
from placer_cli.commands.show import show
from placer_cli.commands.solve import solve
from placer_cli.commands.validate import validate
from placer_cli.commands.verify import verify
from placer_cli.exits import Exit
from placer_cli.interrupt import NoAnswerError
from placer_cli.plan.app import plan_app
from placer_cli.queue.app import queue_app
from placer_cli.slots.app import slots_app
from placer_cli.streams import prepare_streams
from placer_cli.usage import words_of
from placer_models.files.errors import InputError, one_line

app = typer.Typer(
    name="placer",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: placer solve instances/hello.yaml",
)

app.command(epilog="Example: placer solve instances/hello.yaml --output placement.json")(solve)
app.command(epilog="Example: placer verify instances/hello.yaml placement.json")(verify)
app.command(epilog="Example: placer apply instances/nodes/small.yaml --dry-run")(apply)
app.command(epilog="Example: placer show dgx-a100")(show)
app.command(epilog="Example: placer validate instances/hello.yaml")(validate)
app.command(epilog="Example: placer schema NodePlacement > node.schema.json")(schema)
app.command(epilog="Example: placer machines")(machines)
app.command(epilog="Example: placer discover --as instance --output node.yaml")(discover)
app.command(epilog="Example: placer agent --documents /etc/placer/node")(agent)
app.add_typer(plan_app, name="plan")
app.add_typer(queue_app, name="queue")
app.add_typer(slots_app, name="slots")
app.add_typer(quota_app, name="quota")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"placer {version('placer')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Place pods and gangs on the CPUs, NUMA nodes and GPUs of real machines."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code. Errors end in one line on standard error."""
    if not prepare_streams():
        return _fail(
            "standard output is closed; give it a place, if only /dev/null", Exit.BAD_INPUT
        )
    # A command ends soon, and what it reads stays in use: looking through all of it for
    # garbage again and again takes as long as reading a big file.
    gc.set_threshold(100_000, 50, 100)
    try:
        code = typer.main.get_command(app).main(
            None if arguments is None else list(arguments),
            prog_name="placer",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has all that it wants. Nothing is left to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE
    except InputError as error:
        for message in error.messages:
            _fail(message, Exit.BAD_INPUT)
        return Exit.BAD_INPUT
    except typer.TyperException as error:
        return _usage(error)
    except NoAnswerError:
        _fail("interrupted before there was an answer", Exit.NO_ANSWER)
        sys.stderr.flush()
        # A search may still be busy in a thread of its own, and nothing else ends it.
        os._exit(Exit.NO_ANSWER)
    except OSError as error:
        file = "output" if error.filename is None else error.filename
        return _fail(f"{file}: {error.strerror or error}", Exit.BAD_INPUT)
    except Exception as error:
        if os.environ.get("PLACER_DEBUG") == "1":
            traceback.print_exc()
        return _fail(
            f"{type(error).__name__}: {error}: this is a defect of placer, please report it; "
            "PLACER_DEBUG=1 shows where",
            Exit.DEFECT,
        )
    if code == Exit.INTERRUPTED:
        return _fail("interrupted", Exit.INTERRUPTED)
    return code if isinstance(code, int) else Exit.DONE


def _fail(message: str, code: Exit) -> Exit:
    sys.stderr.write(f"placer: {one_line(message)}\n")
    return code


def _usage(error: typer.TyperException) -> Exit:
    """Say what is wrong with the usage; who gave no command at all gets the help."""
    message = words_of(error)
    if message.startswith("Usage:"):
        sys.stderr.write(f"{message}\n")
        return Exit.BAD_INPUT
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "placer"
    return _fail(f"{message} (see {path} --help)", Exit.BAD_INPUT)
