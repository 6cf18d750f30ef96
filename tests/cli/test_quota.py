"""`placer quota`: a person looks into an encoded number."""

import json

import pytest

from commands import Placer
from placer_cli.exits import ExitCode


def test_quotas_are_encoded_and_decoded(placer: Placer) -> None:
    """
    What encode prints, decode reads: the four cards of 20G of seed 003.
    """
    told = json.loads(placer("quota", "encode", "20", "20", "20", "20", "--format", "json").out)

    arguments = [told["number"], "--bits", str(told["bits"]), "--devices", "4"]
    printed = placer("quota", "decode", *arguments, "--format", "json")

    assert told["number"] == "676500"
    assert told["bits"] == 5
    assert json.loads(printed.out) == told


def test_the_table_shows_which_bits_are_whose(placer: Placer) -> None:
    """
    Device 1 has the lowest bits; a number of several words shows each of them.
    """
    lines = placer("quota", "encode", "80Gi", "40Gi").out.splitlines()

    assert lines[0].startswith("5902958103672955863040 = 2 devices x 37 bits, 2 words of 64 bits:")
    assert [line.split()[:2] for line in lines[-2:]] == [["1", "0-36"], ["2", "37-73"]]
    assert [line.split()[-1] for line in lines[-2:]] == [str(80 << 30), str(40 << 30)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            "encode 32 1 --bits 5",
            "device 1: quota 32 is outside 0 to 31, all that a 5-bit field can say",
        ),
        ("encode -- 20 -1", "device 2: '-1' is negative; an amount is 0 or more"),
        ("encode ten", "device 1: 'ten' is no amount; write a number"),
        ("encode", "QUOTA is missing"),
        ("decode 1Ki --bits 5 --devices 3", "'1Ki' is no encoded number; expected decimal digits"),
        ("decode 676500 --bits 5 --devices 3", "has 20 bits, but 3 devices of 5 bits have 15"),
        ("decode 5 --bits 0 --devices 3", "--bits is 0; it must be 1 or more"),
        (
            "decode 5 --bits 9999999999 --devices 3",
            "--bits is 9999999999; it must be 1,024 or less",
        ),
        (
            "decode 5 --bits 5 --devices 9999999999",
            "--devices is 9999999999; it must be 10,000 or less",
        ),
        ("encode 1 --bits 9999999999", "--bits is 9999999999; it must be 1,024 or less"),
        ("decode 5 --bits 5 --devices -1", "--devices is -1; it must be 0 or more"),
        ("decode 5 --bits 5", "--devices is missing: it has no default"),
    ],
)
def test_what_cannot_be_is_one_clear_error(arguments: str, words: str, placer: Placer) -> None:
    """
    The value, what is allowed, and exit code 2; nothing on standard output.
    """
    captured = placer("quota", *arguments.split(), code=ExitCode.BAD_INPUT)

    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert words in captured.err
