"""Reports: one page each, harmless whatever it is about, with the figures of the document."""

import json
import os
import re
import shutil
import subprocess
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest

from commands import Placer
from placer_cli.app import main
from placer_cli.draw.texts import names_as_host_lists
from placer_cli.report.charts import ChartBar, GrowthChartPoint, bar_chart, price_over_demand_chart
from placer_cli.report.html import Html, html_element
from placer_cli.report.page import SortableTableCell, html_page, html_section, sortable_table

INSTANCES = Path(__file__).parents[2] / "instances"
PLAN = """\
apiVersion: placer/v1
kind: Plan
metadata: {name: "<script>alert('name')</script>"}
currency: "<b>EUR</b>"
offers:
  - {name: little, machine: core-i7-1270p, price: 1234.50}
  - {name: other, machine: core-i7-1270p, price: 1300}
demand:
  pods:
    - {name: web, replicas: 5, requests: {cpu: 8, memory: 1Gi}}
scenarios:
  - {name: "<img src=x onerror=alert(1)>"}
"""


class Seen(HTMLParser):
    """
    What a page shows, and what it is made of.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.shown = ""
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(name)
        self._open.append(name)
        self.links += [value or "" for key, value in attributes if key in ("src", "href")]

    def handle_endtag(self, name: str) -> None:
        while self._open and self._open.pop() != name:
            pass

    def handle_data(self, text: str) -> None:
        if not {"script", "style"} & set(self._open):
            self.shown += f"{text}\n"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan whose names would be markup."""
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN)
    return file


def report_of(tmp_path: Path, *arguments: str) -> str:
    file = tmp_path / "report.html"
    assert main([*arguments, "--report", str(file)]) in (0, 1)
    return file.read_text("utf-8")


ZONE = "topology.kubernetes.io/zone"
OFFERED = ("--offers", str(INSTANCES / "plan/cluster.yaml"))
BUY = ("--work-limit", "2", "--workers", "1")


def test_text_is_escaped_and_elements_are_not() -> None:
    inside = html_element("b", "<&>", title='"<')

    assert inside == '<b title="&quot;&lt;">&lt;&amp;&gt;</b>'
    assert html_element("p", inside, "<i>") == f"<p>{inside}&lt;i&gt;</p>"
    assert (
        html_element("p", hidden=True, class_=None, data_value=0) == '<p hidden data-value="0"></p>'
    )


def test_no_name_of_a_file_becomes_markup(plan: Path, tmp_path: Path) -> None:
    """
    A plan's name, its currency and a scenario that are markup are shown as they are written.
    """
    for growth in ([], ["--growth", "1:2:1"]):
        text = report_of(tmp_path, "plan", "buy", str(plan), *BUY, *growth)
        seen = Seen(text)

        assert seen.tags.count("script") == 1
        assert "img" not in seen.tags
        assert "<b>EUR</b>" in seen.shown
        assert "<script>alert('name')</script>" in seen.shown


def test_the_page_asks_nothing_of_the_network(plan: Path, tmp_path: Path) -> None:
    text = report_of(tmp_path, "plan", "buy", str(plan), *BUY)
    seen = Seen(text)

    assert not {"link", "iframe", "object", "embed"} & set(seen.tags)
    assert seen.links == []
    assert "default-src 'none'" in text
    assert "url(" not in text


def test_the_figures_of_the_document_stand_on_the_page(
    plan: Path, tmp_path: Path, placer: Placer, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Price, bound, gap, mix, runners-up, scenarios, nodes: each figure, as people write it.
    """
    shown = Seen(report_of(tmp_path, "plan", "buy", str(plan), *BUY)).shown
    capsys.readouterr()
    tree = json.loads(placer("plan", "buy", str(plan), *BUY, "--format", "json").out)

    figures = {
        tree["price"],
        tree["bound"],
        *(one["price"] for one in (*tree["mix"], *tree["runnersUp"])),
        *(one["count"] for one in tree["mix"]),
        *(one["pods"] for one in tree["scenarios"]),
    }
    assert set(map(Decimal, figures)) - shown_numbers(shown) == set()
    assert "\nBuy 3 nodes for 3,703.50 <b>EUR</b>" in shown
    assert "little-0" in shown


def shown_numbers(shown: str) -> set[Decimal]:
    """Every number on a page."""
    found = re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", shown)
    return {Decimal(text.replace(",", "")) for text in found}


def test_growth_is_a_curve_and_a_row_for_each_size(plan: Path, tmp_path: Path) -> None:
    seen = Seen(report_of(tmp_path, "plan", "buy", str(plan), *BUY, "--growth", "1:3:1"))

    assert seen.tags.count("polyline") == 2
    figures = {"3703.5", "6172.5", "9876", "5", "10", "15"}
    assert set(map(Decimal, figures)) <= shown_numbers(seen.shown)
    assert "1x to 3x: CPUs on little" in seen.shown


def test_losses_stand_worst_first(
    tmp_path: Path, placer: Placer, capsys: pytest.CaptureFixture[str]
) -> None:
    running = str(INSTANCES / "plan/running.yaml")
    shown = Seen(report_of(tmp_path, "plan", "survive", running)).shown
    capsys.readouterr()
    tree = json.loads(placer("plan", "survive", running, "--format", "json", code=1).out)
    losses = tree["losses"]

    table = shown[shown.index("Losses, the worst first") :]
    places = [table.index(f"\n{one['name']}") for one in losses]
    assert places == sorted(places)
    for one in losses:
        by_why: dict[str, list[str]] = {}
        for pod in one["unplaced"]:
            by_why.setdefault("; ".join(pod["reasons"]), []).append(pod["name"])
        for why, names in by_why.items():
            assert names_as_host_lists(names) in shown
            assert why in shown


def test_losses_of_a_plan_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """
    What has to find places after a loss stands beside its loss, and not as one more scenario.
    """
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "apiVersion: placer/v1\nkind: Plan\n"
        "offers: [{name: little, machine: core-i7-1270p, price: 1}]\n"
        "demand: {pods: [{name: web, replicas: 2, requests: {cpu: 4}}]}\n"
        "survive: {nodes: 1}\n"
    )
    report = report_of(tmp_path, "plan", "buy", str(plan), "--seconds", "2")
    shown = Seen(report).shown
    capsys.readouterr()

    assert "Scenarios and losses" in shown
    assert "one little" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", str(INSTANCES / "hello.yaml"), "--work-limit", "2", "--workers", "1"),
        ("plan", "fit", str(INSTANCES / "hello.yaml"), "--pod", "cpu=4", "--seconds", "2"),
    ],
    ids=["solve", "fit"],
)
def test_the_inside_of_a_node_is_drawn(arguments: tuple[str, ...], tmp_path: Path) -> None:
    seen = Seen(report_of(tmp_path, *arguments))

    assert "svg" in seen.tags
    assert "NUMA 0" in seen.shown


def test_a_report_does_not_replace_what_was_read(plan: Path, placer: Placer) -> None:
    printed = placer("plan", "buy", str(plan), "--report", str(plan), code=2)

    assert plan.read_text() == PLAN
    assert "would write over the input" in printed.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", str(INSTANCES / "hello.yaml")),
        ("plan", "fit", str(INSTANCES / "hello.yaml"), "--pod", "cpu=4"),
        ("plan", "survive", str(INSTANCES / "plan/running.yaml")),
        ("plan", "buy", str(INSTANCES / "plan/cluster.yaml")),
    ],
    ids=["solve", "fit", "survive", "buy"],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    arguments: tuple[str, ...], tmp_path: Path, placer: Placer
) -> None:
    """
    Neither where there is no folder nor in the place of one; no answer is printed.
    """
    for file in (tmp_path / "none" / "r.html", tmp_path):
        told = placer(*arguments, "--report", str(file), code=2)

        assert told.out == ""
        assert told.err.startswith(f"placer: {file}: ")
        assert told.err.count("\n") == 1


def test_a_curve_marks_where_nodes_are_bought_and_where_nothing_does() -> None:
    points = [
        GrowthChartPoint(1.0, 0.0, 0),
        GrowthChartPoint(2.0, 50.0, 3),
        GrowthChartPoint(3.0, None, 0),
    ]

    drawn = price_over_demand_chart(points, "EUR", 2.0)

    assert "at 2x, nodes have to be bought" in drawn
    assert drawn.count('class="price-dot"') == 2
    assert "3x: no plan" in drawn


def test_bars_are_as_long_as_their_amounts() -> None:
    drawn = bar_chart([ChartBar("a", 5, "5"), ChartBar("b", 10, "10"), ChartBar("none", 0, "0")])

    assert re.findall(r"width:([0-9.]+)%", drawn) == ["50.0", "100.0", "0.0"]
    assert "width:25.0%" in bar_chart([ChartBar("a", 25, "25 %")], 100.0)


# A real browser.


@pytest.fixture(scope="session")
def chromium() -> str:
    """The program of a Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    return found


def opened(chromium: str, file: Path, *options: str) -> tuple[str, list[str]]:
    """Return the document of a page once its scripts have run, and what its console says."""
    quiet = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={file.parent}/browser",
    )
    done = subprocess.run(
        [chromium, *quiet, "--enable-logging=stderr", "--dump-dom", *options, file.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.check
@pytest.mark.parametrize("width", [400, 1000])
def test_a_browser_finds_no_fault(chromium: str, plan: Path, tmp_path: Path, width: int) -> None:
    """
    Nothing on its console, no script of a name has run, and nothing is wider than the window.
    """
    report = tmp_path / "report.html"
    text = report_of(tmp_path, "plan", "buy", str(plan), *BUY)
    probe = "<script>document.title=document.documentElement.scrollWidth</script></body>"
    report.write_text(text.replace("</body>", probe))

    document, console = opened(chromium, report, f"--window-size={width},900")

    assert console == []
    assert "3,703.50 &lt;b&gt;EUR&lt;/b&gt;" in document
    found = re.search(r"<title>(\d+)</title>", document)
    assert found is not None
    assert int(found[1]) <= max(width, 500)  # a headless window is no narrower


@pytest.mark.check
@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "survive", str(INSTANCES / "plan/running.yaml"), "--domain", ZONE, *OFFERED),
        ("plan", "buy", str(INSTANCES / "plan/cluster.yaml"), *BUY, "--growth", "1:2:1"),
        ("solve", str(INSTANCES / "infeasible.yaml")),
    ],
    ids=["survive", "growth", "solve"],
)
def test_no_table_is_cut_on_a_phone(
    chromium: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """
    At 400 pixels all columns are seen without scrolling to the side.
    """
    text = report_of(tmp_path, *arguments)
    frame = html_element("iframe", srcdoc=text, style="width:400px;height:900px;border:0")
    measure = (
        "onload=()=>{const tables=[...frames[0].document.querySelectorAll('.wide')];"
        "document.title=tables.length+' '+tables.filter(t=>t.scrollWidth>t.clientWidth).length}"
    )
    outer = tmp_path / "outer.html"
    outer.write_text(f"<!doctype html><title></title>{frame}<script>{measure}</script>")

    document, _ = opened(chromium, outer)

    found = re.search(r"<title>(\d+) (\d+)</title>", document)
    assert found is not None
    assert int(found[1]) > 0
    assert int(found[2]) == 0


def test_a_plan_that_does_not_exist_tells_figures_once(tmp_path: Path) -> None:
    """
    Who has no place is counted with those like it, and a column that says nothing is left out.
    """
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "apiVersion: placer/v1\nkind: Plan\n"
        "offers: [{name: little, machine: hgx-h100, price: 1, max: 1}]\n"
        "demand: {pods: [{name: web, replicas: 11, requests: {gpu: 1}}]}\n"
    )
    shown = Seen(report_of(tmp_path, "plan", "buy", str(plan), "--seconds", "5")).shown

    assert "\nweb-0 and 2 like it\ntoo few nodes can be bought\n" in shown
    assert "What would do\nchange\nprice in all\nhow small\noffers.little.max=2\n" in shown


@pytest.mark.check
def test_a_click_on_a_head_sorts_numbers_as_numbers(chromium: str, tmp_path: Path) -> None:
    """
    10 comes after 9; a second click turns the order round.
    """
    rows = [
        ["b", SortableTableCell("9 EUR", 9)],
        ["c", SortableTableCell("10 EUR", 10)],
        ["a", SortableTableCell("1,000 EUR", 1000)],
    ]
    text = html_page(
        "t", ["lead"], [html_section("s", sortable_table(("name", "#price"), rows))], "foot"
    )
    report = tmp_path / "sorted.html"

    def order(*heads: int) -> list[str]:
        clicks = "".join(f"document.querySelectorAll('th button')[{at}].click();" for at in heads)
        report.write_text(text.replace("</body>", f"<script>{clicks}</script></body>"))
        document, console = opened(chromium, report)
        assert console == []
        return re.findall(r"<tr><td>(\w)</td>", document)

    assert order(1) == ["b", "c", "a"]
    assert order(1, 1) == ["a", "c", "b"]
    assert order(1, 0) == ["a", "b", "c"]


@pytest.mark.check
def test_a_fault_of_a_page_would_be_seen(chromium: str, tmp_path: Path) -> None:
    report = tmp_path / "wrong.html"
    wrong = html_page("t", ["lead"], [Html("<script>nothing.there()</script>")], "foot")
    report.write_text(wrong)

    _, console = opened(chromium, report)

    assert len(console) == 1


def test_moved_pods_are_not_among_those_that_are_placed(tmp_path: Path) -> None:
    """
    One pod is placed, and two that run make room: the heading, the tiles and the tables agree.
    """
    shown = Seen(report_of(tmp_path, "solve", str(INSTANCES / "rules" / "moves.yaml"))).shown

    assert "1 of 1 pod placed, 2 running pods moved" in shown
    assert "1 of 1\npods placed\n" in shown
    assert "6\npods that run\n2\nof them moved\n" in shown
    moved, placed = shown.split("Running pods that move\n")[1].split("\nPlaces\n")
    assert moved.startswith("pod\nfrom\nto\n")
    assert placed.startswith("pod\nnode\ntrain\n")


def test_what_would_do_stands_in_the_report(tmp_path: Path) -> None:
    shown = Seen(report_of(tmp_path, "solve", str(INSTANCES / "rules" / "taints.yaml"))).shown

    assert "\nWhat would do (placer explain says more)\npod\nchange\nwhat to do\nlarge\n" in shown


def test_what_would_do_stands_in_the_report_of_a_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "apiVersion: placer/v1\nkind: Plan\ncurrency: EUR\n"
        "offers: [{name: small, machine: core-i7-1270p, price: 0.40, max: 1}]\n"
        "demand: {pods: [{name: web, replicas: 4, requests: {cpu: 8}}]}\n"
    )

    shown = Seen(report_of(tmp_path, "plan", "buy", str(plan), "--seconds", "5")).shown

    assert "\nWhat would do\n" in shown
    assert "\noffers.small.max=2\n0.80 EUR\nproven smallest\n" in shown
