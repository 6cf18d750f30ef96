"""The README keeps its promises; its commands are run by the tests of the house."""

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def test_the_library_call_of_the_readme_runs() -> None:
    """
    Who copies the ten lines gets a line for each placed pod.
    """
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

    run = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 17


def test_what_the_readme_points_to_exists() -> None:
    """
    No link of the README leads nowhere.
    """
    targets = re.findall(r"\]\(([^)#]+)\)", README)

    assert [target for target in targets if not (CHECKOUT / target).exists()] == []


def test_every_page_can_be_found_from_the_readme() -> None:
    """
    Who reads on finds all the pages there are; those of the rules from the rules' own page.
    """
    rules = (CHECKOUT / "docs" / "rules.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#]+)\)", README)
    linked += [f"docs/{target}" for target in re.findall(r"\]\((rules/[^)#]+)\)", rules)]
    pages = [str(page.relative_to(CHECKOUT)) for page in CHECKOUT.glob("docs/**/*.md")]

    assert sorted(page for page in pages if page not in linked) == []
