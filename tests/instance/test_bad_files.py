"""Files that are no instance at all: one clear message each, at a bounded price."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from placer.load import load_instance
from placer_models.files.errors import InputError
from placer_models.files.tree import MAX_DEPTH, MAX_VALUES

HEAD = "apiVersion: placer/v1\nkind: Instance\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.yaml: is empty"),
        (b"\n# nothing but a remark\n---\n", "a.yaml: is empty"),
        (b"\xef\xbb\xbf", "a.yaml: is empty"),
        ("kind: Instance".encode("utf-16"), "a.yaml: is UTF-16 or UTF-32"),
        ("kind: Instance".encode("utf-16-be"), "a.yaml: is UTF-16 or UTF-32"),
        ("kind: Instance".encode("utf-32"), "a.yaml: is UTF-16 or UTF-32"),
        ("kind: Instance".encode("utf-32-be"), "a.yaml: is UTF-16 or UTF-32"),
        (bytes(range(256)), "a.yaml: is binary: byte 1 is NUL; expected YAML or JSON"),
        (b"kind: Inst\0nce", "a.yaml: is binary: byte 11 is NUL"),
        (b"\x7fELF\x02\x01\x01\x00", "a.yaml: is binary: byte 8 is NUL"),
        (b"kind: x\nname: \xff\xfe", "a.yaml:2: is not UTF-8 text: byte 15 is 0xff"),
        (b"kind: \x07", "a.yaml:1: the character U+0007 may not stand in YAML"),
        (b"nodes:\n\t- name: a\n", "a.yaml:2: indented with a tab"),
        (b"kind: 'Instance\n", "is not YAML at column"),
        (b"kind: Instance: b\n", "a.yaml:1: is not YAML at column 15: mapping values"),
        (b"nodes: [a, b\n", "a.yaml:2: is not YAML at column 1"),
        (b"- kind: Instance\n", "a.yaml:1: got a list of 1; expected fields such as"),
        (b"hello\n", "a.yaml:1: got 'hello'; expected fields such as"),
        (b"{{ .Values.nodes }}\n", "a.yaml:1: a key is a single name"),
        (
            b"kind: Instance\nkind: Instance\n",
            "a.yaml:2: the key 'kind' is already given on line 1",
        ),
        (b"kind: Instance\nname: *k\n", "a.yaml:2: the alias '*k' names nothing"),
        (b"nodes: &n [*n]\n", "a.yaml:1: the alias '*n' stands within what it names"),
        (b"a: &a {b: c}\nd: {<<: *a}\n", "a.yaml:2: merge keys ('<<') are not read"),
        (b"a: &a b\n*a : c\n", "a.yaml:2: a key is a single name; got an alias as key"),
        (b"kind: !!python/object:os.system x\n", "a.yaml:1: the tag "),
    ],
)
def test_a_file_that_is_no_yaml_is_refused_in_one_line(
    content: bytes, message: str, refusal: Callable[..., str]
) -> None:
    """
    Empty, UTF-16, binary, tabs, broken syntax: the message says which, and where.
    """
    assert message in refusal(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.json: is empty"),
        ("[]", "a.json:1: got a list of 0; expected fields"),
        ('{"kind": "Instance",}', "a.json:1: is not JSON at column 21: expected a key in quotes"),
        ('{"kind": "Instance"\n', "a.json:2: is not JSON at column 1: expected ',' or the closing"),
        ('{"kind": NaN}', "a.json:1: is not JSON at column 10: expected a value, got 'NaN}'"),
        ('{"kind": 01}', "is not JSON at column 10"),
        ('{"kind": 1}\n{}', "a.json:2: is not JSON at column 1: expected the end of the file"),
        ('{"kind" 1}', "expected ':'"),
        ('{"kind": "\\ud800"}', "holds half a surrogate pair"),
        ('{"kind": "\\q"}', "holds an unknown escape"),
        ('{\n"kind": 1,\n"kind": 2}', "a.json:3: the key 'kind' is already given on line 2"),
    ],
)
def test_a_file_that_is_no_json_is_refused_in_one_line(
    content: str, message: str, refusal: Callable[..., str]
) -> None:
    """
    A file named .json is read as JSON and nothing else; the message has line and column.
    """
    assert message in refusal(content, "a.json")


def test_a_mark_of_utf_8_at_the_start_is_passed_over(read: Callable[..., object]) -> None:
    """
    Editors that begin a UTF-8 file with a byte order mark do no harm.
    """
    text = f"\ufeff{HEAD}nodes: [{{name: a, machine: dgx-2}}]\n"

    assert read(text) == read(text.removeprefix("\ufeff"))


def test_what_cannot_be_read_is_said_plainly(tmp_path: Path) -> None:
    """
    A missing file and a folder are messages about the file, not accidents.
    """
    for path, message in ((tmp_path / "no.yaml", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(InputError, match=message) as caught:
            load_instance([path])
        assert caught.value.line is None


def test_a_file_that_is_not_there_tells_its_nearest_name(tmp_path: Path) -> None:
    """
    One that is like it and beside it; none where nothing is like it, or there is no folder.
    """
    (tmp_path / "cluster.yaml").write_text("")
    for name, said in (
        ("clustr.yaml", f"does not exist; did you mean '{tmp_path / 'cluster.yaml'}'?"),
        ("pods.json", "does not exist"),
        ("no/cluster.yaml", "does not exist"),
    ):
        with pytest.raises(InputError) as caught:
            load_instance([tmp_path / name])
        assert str(caught.value) == f"{tmp_path / name}: {said}"


def test_nesting_ends_at_the_limit(refusal: Callable[..., str]) -> None:
    """
    One level more than allowed is refused, as YAML and as JSON.
    """
    deep = MAX_DEPTH + 1

    assert "nested deeper than 64 levels" in refusal("[" * deep + "]" * deep)
    assert "nested deeper than 64 levels" in refusal("[" * deep + "]" * deep, "a.json")
    assert "got a list" in refusal("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert "got a list" in refusal("[" * MAX_DEPTH + "]" * MAX_DEPTH, "a.json")


def _chunks(first: bytes, again: bytes, size: int) -> Iterator[bytes]:
    yield first
    yield again * (size // len(again))


ALIASES = b"- &a [x,x,x,x,x,x,x,x,x]\n", b"- [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
HUGE = {
    "aliases-100-mb.yaml": (*ALIASES, 100 * 2**20, "is larger than 32 MiB"),
    "aliases-30-mb.yaml": (*ALIASES, 30 * 2**20, "aliases of aliases grow"),
    "brackets.yaml": (b"", b"[", 200_000, "nested deeper than 64 levels"),
    "brackets.json": (b"", b"[", 200_000, "nested deeper than 64 levels"),
    "braces.json": (b"", b'{"a":', 200_000, "nested deeper than 64 levels"),
    "braces.yaml": (b"", b"{", 200_000, "a key is a single name"),
    "dashes.yaml": (b"", b"- ", 200_000, "nested deeper than 64 levels"),
    "zeros.yaml": (b"", b"\0", 40 * 2**20, "is larger than 32 MiB"),
    "values.yaml": (b"nodes: [", b"1,", 2 * MAX_VALUES + 2, f"more than {MAX_VALUES:,} values"),
    "documents.yaml": (b"", b"---\n", 4 * MAX_VALUES + 4, f"more than {MAX_VALUES:,} values"),
    "escapes.json": (b'{"a": "', b"\\n", 20 * 2**20, "is not JSON"),
    "hosts.yaml": (
        f"{HEAD}nodes: [{{machine: dgx-2, name: '".encode(),
        b"[0-99999]",
        900_000,
        "stands for more than 100,000 names",
    ),
}
LIMITED = """
import resource, sys
from pathlib import Path
from placer.load import load_instance
from placer_models.files.errors import InputError
used = int(next(l for l in open("/proc/self/status") if l.startswith("VmSize")).split()[1]) << 10
limit = used + 512 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for name in sys.argv[1:]:
    try:
        load_instance([Path(name)])
    except InputError as error:
        print(str(error))
"""


@pytest.mark.check
@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_huge_files_are_refused_within_512_mib(tmp_path: Path) -> None:
    """
    100 MB of aliases, 200,000 nested brackets and their kin are refused, in a process
    that cannot have more than 512 MiB for it.
    """
    for name, (first, again, size, _) in HUGE.items():
        with (tmp_path / name).open("wb") as stream:
            if name == "hosts.yaml":
                stream.writelines([*_chunks(first, again, size), b"'}]\n"])
            else:
                stream.writelines(_chunks(first, again, size))
    names = [str(tmp_path / name) for name in HUGE]

    answer = subprocess.run(
        [sys.executable, "-c", LIMITED, *names], capture_output=True, text=True, check=False
    )

    assert answer.stderr == ""
    for line, (name, (_, _, _, message)) in zip(
        answer.stdout.splitlines(), HUGE.items(), strict=True
    ):
        assert line.startswith(str(tmp_path / name))
        assert message in line
