"""A report of sections, tables and drawn trees as plain text, Markdown, or one HTML page without external requests."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from treetune.corpus.drawing import draw_tree
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.tree_svg import tree_svg, xml_text
from treetune.evaluation.report import format_table

_WIDTH = 100
# A column under this title is drawn as bars on a page.
BARS = "error rate"
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 1px solid #d0d7de; }
ol { padding-left: 1.5rem; } li { margin: .35rem 0; } p { margin: .5rem 0; }
.row { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: flex-start; }
table { border-collapse: collapse; font-size: .87rem; } caption { text-align: left; font-weight: 600; }
th, td { padding: .15rem .6rem; text-align: right; white-space: nowrap; } .left { text-align: left; }
th { border-bottom: 1px solid #57606a; } tr:nth-child(even) td { background-color: #f6f8fa; }
figure { margin: .75rem 0; padding: .5rem .75rem; border: 1px solid #d0d7de; } figcaption { font-size: .9rem; }
.panel { overflow-x: auto; max-width: 100%; } .panel > b { font-size: .8rem; color: #57606a; }
svg { zoom: .72; display: block; }
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a header; columns in `left` are flush left."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)


@dataclass(frozen=True, slots=True)
class Panel:
    """A tree of a drawing; the arcs and the tags of some words are marked as wrong."""

    title: str
    sentence: Sentence
    tree: Tree
    marked: frozenset[int]
    marked_tags: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Drawing:
    """Trees of one sentence side by side."""

    caption: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: a paragraph, a ranked list (what stands out, and the rest), tables, drawings."""

    title: str
    text: str = ""
    ranked: Sequence[tuple[str, str]] = ()
    tables: Sequence[Table] = ()
    drawings: Sequence[Drawing] = ()

    @property
    def filled(self) -> list[Table]:
        """The tables that have rows."""
        return [table for table in self.tables if table.rows]


def as_text(title: str, sections: Iterable[Section]) -> str:
    """Return a report for a terminal."""
    parts = [title]
    for section in sections:
        parts.append(f"== {section.title}")
        if section.text:
            parts.append(textwrap.fill(section.text, _WIDTH))
        items = [f"{number}. {lead} {rest}" for number, (lead, rest) in enumerate(section.ranked, start=1)]
        parts += [textwrap.fill(item, _WIDTH, subsequent_indent="   ") for item in items]
        parts += [
            f"{one.title}\n{format_table(one.header, one.rows, left=one.left)}".lstrip() for one in section.filled
        ]
        parts += [f"{one.caption}\n\n{_side_by_side(one.panels)}" for one in section.drawings]
    return "\n\n".join(parts)


def as_markdown(title: str, sections: Iterable[Section]) -> str:
    """Return a report in Markdown."""
    parts = [f"# {_plain(title)}"]
    for section in sections:
        parts += [f"## {_plain(section.title)}", *([_plain(section.text)] if section.text else [])]
        if section.ranked:
            items = enumerate(section.ranked, start=1)
            parts.append("\n".join(f"{number}. **{_plain(lead)}** {_plain(rest)}" for number, (lead, rest) in items))
        for table in section.filled:
            ruler = ["---" if place in table.left else "--:" for place in range(len(table.header))]
            rows = [[_plain(cell) for cell in row] for row in (table.header, *table.rows)]
            lines = ["| " + " | ".join(row) + " |" for row in (rows[0], ruler, *rows[1:])]
            parts += [*([f"**{_plain(table.title)}**"] if table.title else []), "\n".join(lines)]
        for drawing in section.drawings:
            drawn = _side_by_side(drawing.panels)
            # A fence is longer than any run of backticks within it.
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", drawn)), default=0))
            parts += [_plain(drawing.caption), f"{fence}text\n{drawn}\n{fence}"]
    return "\n\n".join(parts) + "\n"


def as_html(title: str, sections: Iterable[Section]) -> str:
    """Return a report as one page: no scripts, nothing loaded, all text escaped, trees as pictures."""
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f"<title>{xml_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{xml_text(title)}</h1>",
    ]
    for section in sections:
        parts += [
            f"<h2>{xml_text(section.title)}</h2>",
            *([f"<p>{xml_text(section.text)}</p>"] if section.text else []),
        ]
        if section.ranked:
            items = [f"<li><b>{xml_text(lead)}</b> {xml_text(rest)}</li>" for lead, rest in section.ranked]
            parts += ["<ol>", *items, "</ol>"]
        if section.filled:
            parts += ['<div class="row">', *map(_html_table, section.filled), "</div>"]
        parts += map(_html_drawing, section.drawings)
    return "\n".join([*parts, "</body>\n</html>\n"])


def _side_by_side(panels: Sequence[Panel]) -> str:
    columns = [[one.title, *draw_tree(one.sentence, one.tree, marked=one.marked).split("\n")] for one in panels]
    widths = [max(map(len, column)) for column in columns]
    rows = zip_longest(*columns, fillvalue="")
    return "\n".join(
        "    ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _plain(text: str) -> str:
    """Return a text without a meaning in Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", " ".join(text.split()))


def _html_table(table: Table) -> str:
    def cells(row: Sequence[str], name: str) -> str:
        looks = [' class="left"' if place in table.left else "" for place in range(len(row))]
        bars = [_bar(*pair) for pair in zip(table.header, row, strict=True)]
        parts = zip(looks, bars, row, strict=True)
        return "".join(f"<{name}{look}{bar}>{xml_text(cell)}</{name}>" for look, bar, cell in parts)

    rows = "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in table.rows)
    caption = f"<caption>{xml_text(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}\n<thead><tr>{cells(table.header, 'th')}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _bar(title: str, cell: str) -> str:
    if not title.startswith(BARS) or not re.fullmatch(r"[\d.]+", cell):
        return ""
    return f' style="background: linear-gradient(to left, #ffd8b5 {cell}%, transparent {cell}%)"'


def _html_drawing(drawing: Drawing) -> str:
    panels = "\n".join(
        f'<div class="panel"><b>{xml_text(one.title)}</b>\n'
        f"{tree_svg(one.sentence, one.tree, marked=one.marked, marked_tags=one.marked_tags)}</div>"
        for one in drawing.panels
    )
    caption = xml_text(drawing.caption)
    return f'<figure><figcaption>{caption}</figcaption>\n<div class="row">\n{panels}\n</div></figure>'
