"""Whatever becomes of a good file: one message, or an instance that is sound."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random

import pytest
import yaml

from placer.judge.breaches import breaches
from placer.load import load_any, load_instance
from placer_models.files.errors import InputError
from placer_models.placement import Placement

ROOT = Path(__file__).parents[2]
FILES = [
    Path(__file__).parent / "sample.yaml",
    *(path for path in sorted((ROOT / "instances").glob("*.yaml")) if path.stem != "large"),
]
ODD = [
    None, True, False, 0, -1, 1, 3, 10**30, 0.5, -0.0, "", " ", "x", "no", "0", "-1", "1e3", "0-3",
    "3-0", "0-65535", "1Gi", "500m", "1.5", "9E", "0x1f", "a-[0-9]", "[", "a,a", "../x.yaml", "/",
    "box", "dgx-2", "None", "LSR", "Restricted", "node", "\n", "\x85", "é", "😀", "a" * 300,
    [], {}, [[]], [None], {"": None}, {"a": {"b": {}}}, [1, "2", None],
    {"preferred": "FullPCPUs"}, {"gpu": [0]}, {"0": "1Gi"}, {"cpu": 2},
]  # fmt: skip


def parts(value: object) -> Iterator[tuple[object, object]]:
    """Yield each (container, key) of the value, at any depth."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from parts(value[key])


def change(rng: Random, document: object) -> None:
    """Drop, double, rename, replace or swap one part of the document."""
    found = list(parts(document))
    if not found:
        return
    holder, key = rng.choice(found)
    other, other_key = rng.choice(found)
    match rng.choice(("drop", "double", "rename", "odd", "odd", "copy", "swap", "retype")):
        case "drop":
            del holder[key]
        case "double" if isinstance(holder, list):
            holder.insert(key, holder[key])
        case "rename" if isinstance(holder, dict):
            word = rng.choice([f"{key}s", str(key)[:-1], "x", "name", str(other_key)])
            holder[word] = holder.pop(key)
        case "copy":
            holder[key] = json.loads(json.dumps(other[other_key]))
        case "swap":
            value = json.loads(json.dumps(holder[key]))
            holder[key] = json.loads(json.dumps(other[other_key]))
            other[other_key] = value
        case "retype":
            value = holder[key]
            holder[key] = rng.choice([str(value), [value], {str(key): value}])
        case _:
            holder[key] = deepcopy(rng.choice(ODD))  # or it would change, too


def spoil(rng: Random, data: bytes) -> bytes:
    """Flip, cut, double or insert bytes."""
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice((1, 2, 8, 40)))
    match rng.choice(("flip", "cut", "truncate", "double", "insert", "move")):
        case "flip" if at < len(data):
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case "cut":
            return data[:at] + data[end:]
        case "truncate":
            return data[:at]
        case "double":
            return data[:end] + data[at:]
        case "move":
            to = rng.randrange(len(data) + 1)
            return data[:to] + data[at:end] + data[to:]
        case _:
            return data[:at] + rng.choice([b"\t", b"\0", b"\xff", b"*a", b"&a ", b"[", b"}", b": ",
                                           b"- ", b"#", b"|", b"'", b'"', b"\n", b"---\n", b"!!x ",
                                           b"\xe2\x80\xa8", b"9" * 400]) + data[at:]  # fmt: skip


def mutant(rng: Random, path: Path) -> tuple[str, bytes]:
    """Return the name and the content of a file that was a good one."""
    data = path.read_bytes()
    if rng.random() < 0.3:
        for _ in range(rng.choice((1, 1, 2, 5))):
            data = spoil(rng, data)
        return "a.yaml", data
    document = yaml.safe_load(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        change(rng, document)
    if rng.random() < 0.5:
        return "a.json", json.dumps(document, indent=rng.choice([None, 1])).encode()
    return "a.yaml", yaml.safe_dump(document, sort_keys=False, allow_unicode=True).encode()


def hold(seed: int, folder: Path) -> bool:
    """Hold one mutant to the promise; return whether it is still an instance."""
    rng = Random(seed)
    name, content = mutant(rng, FILES[seed % len(FILES)])
    path = folder / name
    path.write_bytes(content)
    message = None
    try:
        instance = load_instance([path])
    except InputError as error:
        message = str(error)
    if message is None:
        assert breaches(instance, Placement()) == ()
        return True
    assert message.isprintable()
    assert message.startswith(str(path))
    assert len(message) < 3_000
    return False


def test_a_changed_file_is_one_message_or_a_sound_instance(tmp_path: Path) -> None:
    """
    Six hundred changes to the examples: no other exception, and what runs keeps the rules.
    """
    sound = sum(hold(seed, tmp_path) for seed in range(600))

    assert 50 < sound < 550


def test_a_changed_placement_or_machine_is_one_message_or_what_it_was(tmp_path: Path) -> None:
    """
    Three hundred changes to a placement and to machine files.
    """
    machines = ROOT / "models/placer_models/machines/catalogue"
    files = [Path(__file__).parent / "placement.json", machines / "summit.yaml"]
    for seed in range(300):
        name, content = mutant(Random(seed), files[seed % 2])
        (tmp_path / name).write_bytes(content)
        try:
            found = load_any(tmp_path / name)
        except InputError as error:
            message = str(error)
        else:
            message = type(found).__name__
        assert message.isprintable()
        assert message in ("Placement", "Machine") or message.startswith(str(tmp_path))


@pytest.mark.slow
def test_many_changed_files_are_one_message_or_a_sound_instance(tmp_path: Path) -> None:
    """
    The same for twenty thousand changes.
    """
    for seed in range(1_000, 21_000):
        hold(seed, tmp_path)
