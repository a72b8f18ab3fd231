"""Pictures of expressions: well-formed, escaped, nothing overlaps, every word and connective is there."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree as ET

from treetune.corpus.tree_svg import text_width
from treetune.semantics import parse_expression
from treetune.semantics.drawing import expression_svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[ET.Element]:
    return list(ET.fromstring(svg).iter(f"{SVG}text"))


def test_every_word_construct_and_edge_is_drawn() -> None:
    expression = parse_expression('[sold/"<not>":[in, ^, _], Chirpy+Systems, and{a, "R&D"}.two] & |x, y@z|')
    svg = expression_svg(expression, title="a < b")
    shown = [text.text for text in texts(svg)]
    assert shown[0] == "a < b"
    for one in ("sold", "<not>", "in", "^", "_", "Chirpy+Systems", "and", '"R&D"', "two", "x", "y", "z"):
        assert one in shown
    assert {"[ ]", "{ }", "| |", "/", ":", ".", "&", "@", "0", "1", "2"} <= set(shown)
    root = ET.fromstring(svg)
    # As many edges as nodes, but for the root.
    assert len(list(root.iter(f"{SVG}path"))) == len(list(root.iter(f"{SVG}circle"))) == len(shown[1:]) // 2
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for text in texts(svg):
        assert 0 <= float(text.attrib["x"]) <= width
        assert 0 <= float(text.attrib["y"]) <= height


def test_words_of_one_line_do_not_overlap() -> None:
    expression = parse_expression("[a, incomprehensibilities:b.c, d:(e:antidisestablishmentarianism), [f, ^, g+h]]:i")
    lines: dict[str, list[tuple[float, float]]] = {}
    for text in texts(expression_svg(expression)):
        half = text_width(text.text or "", float(text.attrib["font-size"])) / 2
        x = float(text.attrib["x"])
        lines.setdefault(text.attrib["y"], []).append((x - half, x + half))
    for line in lines.values():
        assert all(one[1] <= other[0] for one, other in combinations(sorted(line), 2))
