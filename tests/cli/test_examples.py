"""The examples that come with Placer, listed and copied by the command."""

import json
from pathlib import Path

import pytest

from commands import Placer
from placer_cli.examples import every_bundled_example

INSTANCES = Path(__file__).parents[2] / "instances"


def test_every_instance_is_an_example() -> None:
    """
    Whatever is installed has them all, word for word.
    """
    files = [file for file in INSTANCES.rglob("*") if file.suffix in (".yaml", ".xml")]
    expected = {file.relative_to(INSTANCES).as_posix(): file.read_text("utf-8") for file in files}

    assert {one.path: one.text for one in every_bundled_example()} == expected


def test_each_example_says_what_it_shows() -> None:
    assert [
        one.name for one in every_bundled_example() if not one.shows and one.path.endswith("l")
    ] == ["dumps/gpu-host.xml"]


def test_a_copy_can_be_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, placer: Placer
) -> None:
    """
    The command of the pages runs in an empty folder once the example was copied there.
    """
    monkeypatch.chdir(tmp_path)

    assert placer("examples", "hello").err == "wrote instances/hello.yaml\n"
    placer("solve", "instances/hello.yaml", "--engine", "greedy")


def test_all_are_copied_at_once(tmp_path: Path, placer: Placer) -> None:
    printed = placer("examples", "--all", "--to", str(tmp_path))

    copied = [file for file in (tmp_path / "instances").rglob("*") if file.is_file()]
    assert len(copied) == len(every_bundled_example())
    assert f"wrote {len(copied)} files below" in printed.err


def test_what_somebody_changed_is_not_written_over(tmp_path: Path, placer: Placer) -> None:
    """
    Nothing is written then, not even the examples that are not there yet; --force does it.
    """
    mine = tmp_path / "instances" / "hello.yaml"
    mine.parent.mkdir()
    mine.write_text("mine")

    printed = placer("examples", "demo", "hello", "--to", str(tmp_path), code=2)
    assert "hello.yaml is there and says something else" in printed.err
    assert [file.name for file in mine.parent.iterdir()] == ["hello.yaml"]
    assert mine.read_text() == "mine"

    placer("examples", "demo", "hello", "--to", str(tmp_path), "--force")
    assert mine.read_text("utf-8") == (INSTANCES / "hello.yaml").read_text("utf-8")


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path, placer: Placer) -> None:
    printed = placer("examples", "helo", "--to", str(tmp_path), code=2)

    assert "there is no example 'helo'; did you mean 'hello'?" in printed.err
    assert list(tmp_path.iterdir()) == []


def test_names_and_all_contradict(placer: Placer) -> None:
    assert "--all copies every example" in placer("examples", "hello", "--all", code=2).err


def test_the_list_can_be_read_by_programs(placer: Placer) -> None:
    listed = json.loads(placer("examples", "--format", "json").out)

    assert {"name": "rules/taints", "file": "rules/taints.yaml"}.items() <= {
        key: value for one in listed if one["name"] == "rules/taints" for key, value in one.items()
    }.items()
