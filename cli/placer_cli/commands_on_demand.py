"""The group of sub-commands, each imported when it is called.

What a command is made of (Pydantic, OR-Tools, the agent's server) takes several times as long to
import as Typer and Rich, and `placer --help` needs none of it. So the group knows of each
command its name, a line of help, an example and where it is, and loads it when it is asked for.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command that is not loaded yet.

    Attributes:
        summary: What `placer --help` says of it, in one line.
        home: The module and the name in it: a function, or a `typer.Typer` of sub-commands.
        example: A call, the last line of its own help; none for a group of commands.

    """

    summary: str
    home: str
    example: str | None = None

    def load(self, name: str) -> Any:
        """Import the command and return it as Typer's own object."""
        module, _, attribute = self.home.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            return get_group(found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, **HELP)
        alone.command(name, epilog=self.example and f"Example: {self.example}")(found)
        return get_command(alone)


HELP: Mapping[str, Any] = {
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
"""How help is asked for and printed, in each command alike."""


def command_group(summary: str, example: str) -> typer.Typer:
    """Return a group of sub-commands; it is one, too, where it has a single command."""
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help=summary, epilog=f"Example: {example}"
    )
    group.callback()(lambda: None)
    return group


class _Commands(MutableMapping[str, Any]):
    """The commands by name; looking one up imports it, and listing their names imports none."""

    def __init__(self, entries: Mapping[str, LazyCommand]) -> None:
        self._entries = entries
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._entries[name].load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class LazyCommandGroup(TyperGroup):
    """A group whose help and whose completion of names import no command.

    A subclass says which commands there are, in `entries`.
    """

    entries: ClassVar[Mapping[str, LazyCommand]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands(self.entries)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names and summaries of all commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands that begin so, and this group's own options."""
        from typer._click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=entry.summary)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return [*named, *super(TyperGroup, self).shell_complete(ctx, incomplete)]
