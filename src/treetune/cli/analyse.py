"""``treetune analyse``: what one system or two get wrong, where, and what to fix next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from treetune.cli.console import note, write, write_json
from treetune.corpus.files import STANDARD_STREAM, check_kept, open_output
from treetune.errors import ConfigError
from treetune.evaluation.analysis import analyse as analyse_errors
from treetune.evaluation.analysis_report import report_sections
from treetune.evaluation.sections import Section, as_html, as_markdown, as_text

TITLE = "Error analysis"


def analyse(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="The reference: a treebank.")],
    predicted: Annotated[str, typer.Argument(metavar="PRED", help="A parser's output for the same words.")],
    other: Annotated[
        str | None, typer.Argument(metavar="[PRED2]", help="A second system, to compare with the first.")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Training data: adds unknown words and the shift of tags and labels."),
    ] = None,
    tags: Annotated[str, typer.Option(metavar="COLUMN", help="The tags to look at: upos or xpos.")] = "upos",
    punct: Annotated[bool, typer.Option("--punct/--no-punct", help="Count punctuation or not.")] = True,
    subtypes: Annotated[bool, typer.Option("--subtypes/--no-subtypes", help="Tell nmod:poss from nmod or not.")] = True,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Rows of a table.")] = 10,
    examples: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Sentences to draw: 3 on stdout, 10 in a file.")
    ] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report as one HTML page.")] = None,
    markdown: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report in Markdown.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Analyse the errors of a parser: by label, tag, place and pattern, and what to fix next.

    With PRED2, numbers of both systems stand side by side and are tested. The report goes to stdout, or to a file as a
    page with drawn trees.
    """
    sources = [path for path in (gold, predicted, other, train) if path is not None]
    if sources.count(STANDARD_STREAM) > 1:
        raise ConfigError("only one of GOLD, PRED, PRED2 and --train can be read from stdin")
    forms = ((html, "--html", as_html), (markdown, "--markdown", as_markdown))
    files = [(path, flag, form) for path, flag, form in forms if path is not None]
    for path, flag, _ in files:
        check_kept(path, sources, flag=flag)
    if html is not None and markdown is not None and Path(html).resolve() == Path(markdown).resolve():
        raise ConfigError(f"--html and --markdown name the same file, {html}; give another name")
    found = analyse_errors(gold, predicted, other, train, punct=punct, subtypes=subtypes, column=tags)

    def sections(usual: int) -> Iterator[Section]:
        names = [predicted] if other is None else [predicted, other]
        return report_sections(found, limit=limit, examples=usual if examples is None else examples, names=names)

    for path, _, form in files:
        with open_output(path) as out:
            out.write(form(TITLE, sections(10)))
        note(f"wrote {path}")
    if json:
        write_json(found.to_dict())
    elif not files:
        write(as_text(TITLE, sections(3)))
