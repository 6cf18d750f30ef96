"""Files that are nothing of what a command reads: one clear line each, and nothing is written."""

from pathlib import Path

import pytest

from cli_samples import names_in
from commands import Placer
from placer_cli.exits import ExitCode

HEAD = "apiVersion: placer/v1\nkind: "
ODD_FILES = {
    "binary.yaml": b"\x00\xff\xfe",
    "empty.yaml": b"",
    "nothing.yaml": b"---\n---\n",
    "cut.json": b'{"a":',
    "open.yaml": b"a: [1\n",
    "list.json": b"[]",
    "text.txt": b"just text",
    "kind.yaml": f"{HEAD}Nope\n".encode(),
    "short.txt": b"\tGPU0\tGPU1\nGPU0\tX\n",
    "strange.yaml": f"{HEAD}Instance\nnodes: [{{name: n, machine: ./strange.yaml}}]\n".encode(),
}
COMMANDS = (
    ["solve", "ODD", "--output", "OUT"],
    ["verify", "ODD", "ODD"],
    ["show", "ODD", "--svg", "OUT"],
    ["validate", "ODD"],
    ["queue", "simulate", "ODD", "--svg", "OUT"],
    ["queue", "advise", "ODD"],
    ["slots", "compile", "ODD", "--svg", "OUT"],
    ["slots", "place", "ODD", "ODD"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
@pytest.mark.parametrize("name", [*ODD_FILES, "folder", "loop.yaml", "nowhere.yaml"])
def test_an_odd_file_is_one_message(
    command: list[str], name: str, tmp_path: Path, placer: Placer
) -> None:
    """
    The file is named, the exit code is that of bad input, and no file is begun.
    """
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    for file, content in ODD_FILES.items():
        (tmp_path / file).write_bytes(content)
    before = names_in(tmp_path)
    paths = {"ODD": str(tmp_path / name), "OUT": str(tmp_path / "out")}

    captured = placer(*(paths.get(word, word) for word in command), code=ExitCode.BAD_INPUT)

    assert captured.err.startswith("placer: ")
    assert name in captured.err
    assert (captured.err.count("\n"), captured.out) == (1, "")
    assert names_in(tmp_path) == before
