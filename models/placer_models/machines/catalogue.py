"""The machine catalogue: real machines by name, kept as files beside this module."""

import json
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

import yaml

from placer_models.cluster import Machine
from placer_models.instance.machine_schema import MachineFile, machine_of_file
from placer_models.typed import check_argument_types

_FILES = files("placer_models.machines") / "catalogue"


class UnknownMachineError(ValueError):
    """The catalogue has no machine of that name; the message names the nearest."""

    def __init__(self, name: str) -> None:
        near = get_close_matches(name, catalogue_machine_names(), n=3, cutoff=0.4)
        hint = (
            f"did you mean {' or '.join(near)}?"
            if near
            else f"known: {', '.join(catalogue_machine_names())}"
        )
        super().__init__(f"the catalogue has no machine {name[:80]!r}; {hint}")
        self.name = name


@cache
def catalogue_machine_names() -> tuple[str, ...]:
    """Return the names of all machines of the catalogue, in order."""
    names = (file.name for file in _FILES.iterdir())
    return tuple(sorted(n.removesuffix(".yaml") for n in names if n.endswith(".yaml")))


@check_argument_types
@cache
def load_machine(name: str) -> Machine:
    """Return the machine of that name.

    Raises:
        UnknownMachineError: There is none.

    """
    if name not in catalogue_machine_names():
        raise UnknownMachineError(name)
    text = (_FILES / f"{name}.yaml").read_text(encoding="utf-8")
    tree = yaml.load(text, Loader=yaml.CSafeLoader)
    # Through JSON, as every file of ours: there, lists may stand for tuples.
    machine = machine_of_file(MachineFile.model_validate_json(json.dumps(tree)))
    if machine.name != name:
        raise ValueError(f"{name}.yaml calls its machine {machine.name!r}; it is {name!r}")
    return machine
