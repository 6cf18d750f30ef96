"""Blocks read by lines, and Lists cut apart at their dashes, are what libyaml reads as a whole."""

import io
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from kubernetes_worlds import Json, node, pod
from placer_models.files.errors import InputError
from placer_models.kubernetes.chunks import DumpUtf8Reader, ParsedListItemOrDocument
from placer_models.kubernetes.plain_yaml import PlainYamlReader
from placer_models.kubernetes.yaml_events import LineKeepingStream, iterate_yaml_objects
from placer_models.kubernetes.yaml_objects import iterate_chunked_yaml_objects

DUMPS = [
    *sorted(Path(__file__).parents[2].joinpath("instances/dumps").glob("*.yaml")),
    *sorted(Path(__file__).parent.joinpath("data").rglob("*.yaml")),
]
SCALARS: list[Any] = [
    None, True, 0, -1, 3.5, "", "x", "no", "~", "null", "12", "1e3", "a b", "a: b", "a #b", "a:b",
    "#", "- a", "-a", "-", "'", '"', "it's", 'say "so"', "\\", "\n", "a\nb\n", " a ", "é", "\t",
    "---", "...", "--- a", "%", "&a", "*a", "!x", "|", ">", "[", "{a}", "{}", "[]", "?", ": ", "@",
    "`", "=", "<<", "long " * 30, "\x85", "\u2028", "$(A)", "/", "k:", "2026-01-01T00:00:00Z",
]  # fmt: skip
KEYS = ["a", "b", "items", "kind", "f:a", ".", "k:{x}", "a b", "1", "no", "", "x/y.z", "é", "'"]
EDITS = [
    "", " ", "  ", "\n", "- ", "-", ":", ": ", "#", " #", "'", '"', "|", ">", "&a", "*a", "[", "]",
    "{}", "---\n", "...\n", "%\n", "\t", "\r", "\u2028", "~", "a: b\n", "items:\n", "\n\n", "? ",
    "!x ", "\\", ",", "- - ", "<<: ",
]  # fmt: skip


def heard(parts: Iterator[ParsedListItemOrDocument]) -> list[object]:
    """Return all parts as they are when they come, without empty documents, and the error."""
    found: list[object] = []
    try:
        for part in parts:
            if part.root is not None or part.is_list or part.value is not None:
                # Blanks before the next dash belong to neither item.
                text, root = part.text.rstrip(" "), part.root
                root = None if root is None else dict(root)
                found.append(part._replace(text=text, root=root))
    except InputError as error:
        found.append(str(error))
    except ValueError as error:
        found.append(repr(error))
    return found


def by_parts(text: str) -> list[object]:
    """Return what is read of a text."""
    return heard(iterate_chunked_yaml_objects(DumpUtf8Reader(io.BytesIO(text.encode()), "f"), "f"))


def as_a_whole(text: str) -> list[object]:
    """Return what libyaml reads of a text."""
    chunks = DumpUtf8Reader(io.BytesIO(text.encode()), "f")
    return heard(iterate_yaml_objects(LineKeepingStream(chunks.read), "f"))


def drawn(rng: Random, depth: int = 0) -> Any:
    """Draw a value."""
    pick = rng.random()
    if depth > 3 or pick < 0.4:
        return rng.choice(SCALARS)
    inner = [drawn(rng, depth + 1) for _ in range(rng.randrange(4))]
    if pick < 0.6:
        return inner
    return dict(zip(rng.sample(KEYS, len(inner)), inner, strict=True))


def written(rng: Random) -> str:
    """Draw the text of a dump: Lists and single objects, in any style of PyYAML's."""
    documents = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        objects = [{"kind": "X", **(d if isinstance(d := drawn(rng), dict) else {"v": d})}]
        objects += [{"a": drawn(rng)} for _ in range(rng.randrange(4))]
        shared = rng.random() < 0.2
        if shared:
            objects.append({"s": objects[0]})
        document = {"apiVersion": "v1", "items": objects, "kind": "List", "z": drawn(rng, 2)}
        text = yaml.safe_dump(
            document if rng.random() < 0.7 else objects[0],
            default_flow_style=rng.choice([False, False, False, None]),
            default_style=rng.choice([None, None, None, '"', "|"]),
            indent=rng.choice([None, None, 4]),
            width=rng.choice([20, 80, 10**6]),
            sort_keys=rng.random() < 0.8,
            allow_unicode=rng.random() < 0.5,
        )
        if rng.random() < 0.3:
            text = text.replace("\n- ", "\n  - ").replace("\n  ", "\n    ")
        documents.append(text)
    start = rng.choice(["", "", "---\n", "# a remark\n", "# one\n---\n"])
    return start + rng.choice(["---\n", "---\n", "...\n---\n", "--- \n"]).join(documents)


def edited(rng: Random, text: str) -> str:
    """Change the text in some places."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(text) + 1)
        if rng.random() < 0.5:  # at the beginning of a line's content, where most is decided
            at = text.rfind("\n", 0, at) + 1
            at += len(text[at:]) - len(text[at:].lstrip(" "))
        text = text[:at] + rng.choice(EDITS) + text[at + rng.choice((0, 0, 1, 2, 10)) :]
    return text


def hold(seeds: range, text_of: Any) -> int:
    """Hold random texts to the promise; return how many were read without an error."""
    good = 0
    for seed in seeds:
        text = text_of(Random(seed))
        expected = as_a_whole(text)
        assert by_parts(text) == expected, f"seed {seed}:\n{text}"
        good += not any(isinstance(one, str) for one in expected)
    return good


def test_any_dump_is_read_as_libyaml_reads_it() -> None:
    """
    Values, lines, texts and fields of Lists are the same, whatever style they are written in.
    """
    assert hold(range(600), written) > 300


def test_any_spoilt_dump_is_refused_as_libyaml_refuses_it() -> None:
    """
    What comes before the fault, and its message with line and column.
    """
    good = hold(range(1_000, 2_000), lambda rng: edited(rng, written(rng)))

    assert 100 < good < 900


@pytest.mark.check
def test_many_dumps_spoilt_or_not_are_read_as_libyaml_reads_them() -> None:
    """
    The same for many more, and for the dumps that the tests have.
    """
    hold(range(10_000, 14_000), written)
    hold(range(20_000, 26_000), lambda rng: edited(rng, written(rng)))
    texts = [path.read_text() for path in DUMPS]
    assert len(texts) > 2
    for text in texts:
        assert by_parts(text) == as_a_whole(text)
        hold(range(100), lambda rng, text=text: edited(rng, text))


def a_list(*objects: Json) -> Json:
    """Return a List as kubectl writes it."""
    return {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {"a": ""}}


def events_of(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many events of libyaml it takes to read a text."""
    count = 0

    class Counting(yaml.CSafeLoader):
        def get_event(self) -> Any:
            nonlocal count
            count += 1
            return super().get_event()

    monkeypatch.setattr("placer_models.kubernetes.yaml_events.LOADER", Counting)
    assert not any(isinstance(one, str) for one in by_parts(text))
    return count


def test_plain_objects_need_no_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Of a List libyaml reads the last item alone, of plain documents none, and one odd object costs
    no other.
    """
    plainly = [pod(f"p-{i}") for i in range(50)]
    more = [pod(f"q-{i}") for i in range(50)]
    odd = [*plainly, pod("odd", annotations={"note": "two\nlines é"}), *more]
    few = events_of(yaml.safe_dump(a_list(*plainly[:2])), monkeypatch)

    assert events_of(yaml.safe_dump(a_list(*plainly)), monkeypatch) == few
    assert events_of(yaml.safe_dump(a_list(*odd)), monkeypatch) < 3 * few
    assert events_of(yaml.safe_dump_all(plainly), monkeypatch) == 0
    two = "---\n".join([yaml.safe_dump(a_list(*plainly))] * 2)
    assert events_of(two, monkeypatch) < 4 * few


def test_equal_lines_share_no_lists_or_mappings() -> None:
    """
    An empty mapping of one object may be filled without another's.
    """
    reader = PlainYamlReader()
    one, other = reader.mapping("a: {}\nb: []\n"), reader.mapping("a: {}\nb: []\n")
    assert one is not None
    assert other is not None

    assert one == other == {"a": {}, "b": []}
    assert one["a"] is not other["a"]
    assert one["b"] is not other["b"]


def test_lines_are_forgotten_before_they_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    With room for few of them all is read as before.
    """
    monkeypatch.setattr("placer_models.kubernetes.plain_yaml._MAX_LINES", 3)
    text = yaml.safe_dump(a_list(node(), *(pod(f"p-{i}") for i in range(5))))

    assert by_parts(text) == as_a_whole(text)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_chunks_may_end_anywhere(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """
    Within a line, a dash or the mark of a document.
    """
    monkeypatch.setattr("placer_models.kubernetes.yaml_objects.CHUNK", size)
    monkeypatch.setattr(DumpUtf8Reader.read, "__defaults__", (size,))
    for seed in range(40):
        text = written(Random(seed))
        assert by_parts(text) == as_a_whole(text)
