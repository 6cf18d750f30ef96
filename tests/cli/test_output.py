"""Files that are either complete or not there."""

import os
import stat
from pathlib import Path

import pytest

from cli_samples import names_in
from placer_cli.output import (
    OutputFormat,
    json_or_yaml_text,
    open_replacement_file,
    output_format_of_file,
)


def test_a_file_appears_when_all_is_written(tmp_path: Path) -> None:
    """
    Until the end there is no file of that name, and then the whole one.
    """
    target = tmp_path / "a.json"

    with open_replacement_file(target) as file:
        file.write("half")
        file.flush()
        assert not target.exists()

    assert target.read_text() == "half"
    assert names_in(tmp_path) == ["a.json"]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    """
    What was there is still there, and nothing half-written lies beside it.
    """
    target = tmp_path / "a.json"
    target.write_text("old")

    def fail_halfway() -> None:
        with open_replacement_file(target) as file:
            file.write("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()

    assert target.read_text() == "old"
    assert names_in(tmp_path) == ["a.json"]


def test_permissions_are_kept_or_are_the_usual_ones(tmp_path: Path) -> None:
    """
    A new file obeys the umask; an old one keeps its mode.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        for target in (old, new):
            with open_replacement_file(target) as file:
                file.write("x")
    finally:
        os.umask(mask)

    assert [stat.S_IMODE(f.stat().st_mode) for f in (old, new)] == [0o640, 0o640]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """
    The file that a symbolic link names is replaced, not the link.
    """
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)

    with open_replacement_file(link) as file:
        file.write("x")

    assert link.is_symlink()
    assert real.read_text() == "x"


def test_what_is_no_regular_file_is_written_to_directly() -> None:
    """
    --output /dev/null does not put a file in the place of the device.
    """
    with open_replacement_file(Path(os.devnull)) as file:
        file.write("x")

    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    """
    Nobody is told of a temporary file.
    """
    target = tmp_path / "nowhere" / "a.json"

    with pytest.raises(OSError, match="no such folder") as caught, open_replacement_file(target):
        pass

    assert caught.value.filename == str(target)


def test_a_name_chooses_the_format() -> None:
    """
    YAML by its two suffixes, JSON for everything else; keys keep their order.
    """
    assert [output_format_of_file(Path(n)) for n in ("a.yaml", "a.yml", "a.json", "a")] == [
        OutputFormat.YAML,
        OutputFormat.YAML,
        OutputFormat.JSON,
        OutputFormat.JSON,
    ]
    assert json_or_yaml_text({"b": 1, "a": [2]}, OutputFormat.YAML) == "b: 1\na:\n- 2\n"
    assert json_or_yaml_text({"b": 1}, OutputFormat.JSON) == '{\n  "b": 1\n}\n'
