"""Documents with a slip: each is refused in one line, or is one that holds."""

import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import yaml

from node.fake_cgroupfs import FakeV1, FakeV2
from node.node_documents import document_of_tree
from placer.node.apply import apply
from placer.node.cgroups import CgroupReader
from placer.node.errors import HostCannotApplyError, InapplicableDocumentError
from placer.node.host import HostFactsForApply
from placer.node.state import AppliedStateFolder
from placer_models.files.errors import InputError
from placer_models.instance.node_file import (
    node_placement_document_to_dict,
)

FILE = Path(__file__).parents[2] / "instances" / "nodes" / "small.yaml"
GOOD = yaml.safe_load(FILE.read_text())
WORDS = (
    "",
    "x",
    "0-3",
    "7",
    "0-9999",
    "a\nb",
    "99Gi",
    "LSE",
    "BE",
    None,
    0,
    -1,
    2**70,
    1.5,
    [],
    {},
)
HOST = HostFactsForApply("small-0", frozenset(range(8)))


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of a document."""
    if path:
        yield path
    if isinstance(tree, dict | list):
        for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(part, (*path, key))


def mutated(rng: Random) -> Any:
    """Return the document with one part left out, given twice, or another."""
    tree = copy.deepcopy(GOOD)
    *above, last = rng.choice(list(places(tree)))
    part = tree
    for step in above:
        part = part[step]
    match rng.randrange(4):
        case 0:
            del part[last]
        case 1 if isinstance(part, list):
            part.append(part[last])
        case _:
            part[last] = rng.choice(WORDS)
    return tree


def test_a_slip_is_refused_in_one_line_or_is_none(tmp_path: Path) -> None:
    """
    What is read is written and read again as the same; what is applied needs nothing more.
    """
    met: Counter[str] = Counter()
    told: list[str] = []
    for seed in range(60):
        rng = Random(seed)
        try:
            document = document_of_tree(mutated(rng))
            assert node_placement_document_to_dict(
                document_of_tree(node_placement_document_to_dict(document))
            ) == (node_placement_document_to_dict(document))
            cgroups = CgroupReader(rng.choice([FakeV1, FakeV2])())
            state = AppliedStateFolder(tmp_path / str(seed))
            state.folder.mkdir()
            apply(document, cgroups, HOST, state)
            assert apply(document, cgroups, HOST, state).plan.operations == ()
        except (InputError, InapplicableDocumentError, HostCannotApplyError) as error:
            told.append(str(error))
            met[type(error).__name__] += 1
        else:
            met["applied"] += 1

    assert [text for text in told if "\n" in text] == []
    assert {"InputError", "applied"} <= met.keys()
