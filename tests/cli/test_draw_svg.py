"""Pictures as SVG: shapes and single words at places of their own, which any viewer draws alike."""

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from cli_samples import SMALL, busy, written
from commands import Placer
from placer_cli.app import main
from placer_cli.draw.cluster import draw_cluster
from placer_cli.draw.node import draw_node
from placer_cli.draw.residents import drawn_pods_by_node
from placer_cli.draw.svg import drawing_to_svg
from placer_cli.exits import ExitCode

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    """Return the root of a picture."""
    return ElementTree.fromstring(text)


def said(root: ElementTree.Element) -> list[str]:
    """Return the words of a picture."""
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_a_machine_is_boxes_in_boxes(tmp_path: Path, placer: Placer) -> None:
    """
    A cell for each thread, a chip for each device, a box around each NUMA node and package.
    """
    file = tmp_path / "machine.svg"
    printed = placer("show", "dgx-1-v100", "--svg", str(file))

    assert printed.err == f"wrote {file}: an SVG picture of dgx-1-v100\n"
    root = parsed(file.read_text())
    sizes = Counter((rect.get("width"), rect.get("height")) for rect in root.iter(f"{SVG}rect"))
    assert sizes["12.5", "12.5"] == 80
    words = said(root)
    for name in ("package 0", "package 1", "NUMA 0", "NUMA 1", "GPU 7"):
        assert name in words
    assert sum(element.get("transform") is not None for element in root.iter(f"{SVG}g")) == 4


def test_nothing_hangs_on_fonts_or_blanks() -> None:
    """
    No line is drawn with letters, each word has its place and width, and no blanks.
    """
    instance, placement = busy()
    residents = drawn_pods_by_node(instance, placement)
    node = instance.nodes[0]
    for text in (
        drawing_to_svg(lambda canvas: draw_cluster(instance, residents, canvas), "busy"),
        drawing_to_svg(lambda canvas: draw_node(node, residents[node.name], canvas), node.name),
    ):
        root = parsed(text)
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        for element in root.iter(f"{SVG}text"):
            word = element.text or ""
            assert word == word.strip() != ""
            assert not set(word) & set("─│╭╮╰╯█▓░■□▪")
            assert float(element.get("textLength", 0)) > 0
        for rect in root.iter(f"{SVG}rect"):
            assert 0 <= float(rect.get("width", 0)) <= width
            assert 0 <= float(rect.get("height", 0)) <= height


def test_a_thread_has_its_owners_colour_and_letter(tmp_path: Path) -> None:
    """
    Of a pod with four CPUs, four cells are of its colour.
    """
    file, answer, target = written(tmp_path, SMALL), tmp_path / "p.json", tmp_path / "n.svg"
    assert main(["solve", file, "--engine", "greedy", "--output", str(answer)]) == ExitCode.DONE
    drawn = ["show", file, "--placement", str(answer), "--node", "gpu-0", "--svg", str(target)]
    assert main(drawn) == ExitCode.DONE

    root = parsed(target.read_text())
    cells = [rect for rect in root.iter(f"{SVG}rect") if rect.get("width") == "12.5"]
    fills = Counter(cell.get("fill") for cell in cells)
    assert fills["#0087ff"] == 4


def test_names_with_marks_of_xml_are_words(tmp_path: Path) -> None:
    """
    Whatever a title says, the picture is well-formed and says it.
    """
    root = parsed(drawing_to_svg(lambda canvas: "a <b> & c", "t & <u>"))
    assert said(root) == ["a", "<b>", "&", "c"]
    assert root.findtext(f"{SVG}title") == "t & <u>"
