"""The Python examples of pages run, one after the other, and print what the page shows."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "examples"),
    [
        ("library.md", 14),
        ("quota.md", 5),
        ("discover.md", 1),
        ("kubernetes.md", 1),
        ("slots.md", 2),
        ("openb.md", 1),
    ],
)
def test_the_examples_of_the_page_print_what_it_shows(page: str, examples: int) -> None:
    """
    Each block of Python goes on where the one before it ended; the text below is its output.
    """
    names: dict[str, object] = {}
    blocks = EXAMPLE.findall((DOCS / page).read_text("utf-8"))
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.chdir(DOCS.parent):
            exec(compile(code, page, "exec"), names)

        assert _trimmed(printed.getvalue()) == _trimmed(shown), code
    assert len(blocks) == examples


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]
