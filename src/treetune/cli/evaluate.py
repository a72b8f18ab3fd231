"""``treetune evaluate``: scores of one system, or of two and whether they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

import typer

from treetune.cli.console import write, write_json
from treetune.corpus.files import STANDARD_STREAM, display_name
from treetune.corpus.sentence import Example
from treetune.corpus.treebank import read_trees
from treetune.errors import ConfigError, DataError
from treetune.evaluate.alignment import TextScores, evaluate_text
from treetune.evaluate.comparison import compare
from treetune.evaluate.report import (
    format_comparison,
    format_labels,
    format_lengths,
    format_scores,
    format_text_scores,
)
from treetune.evaluate.scores import Scores
from treetune.evaluate.scores import evaluate as score


def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="The reference trees, CoNLL-U.")],
    predicted: Annotated[str, typer.Argument(metavar="PRED", help="A system's trees of the same sentences.")],
    other: Annotated[
        str | None, typer.Argument(metavar="[OTHER]", help="A second system, to compare with the first.")
    ] = None,
    punct: Annotated[bool, typer.Option("--punct/--no-punct", help="Count punctuation or not.")] = True,
    subtypes: Annotated[bool, typer.Option("--subtypes/--no-subtypes", help="Tell nmod:poss from nmod or not.")] = True,
    by_label: Annotated[bool, typer.Option("--by-label", help="Add a table of labels.")] = False,
    by_length: Annotated[bool, typer.Option("--by-length", help="Add a table of arc lengths.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Score predicted trees against gold ones; with OTHER, test whether two systems differ.

    A system that found tokens of its own in the same text is scored by F1, as the official UD scorer does.
    """
    paths = [path for path in (predicted, other) if path is not None]
    if [gold, *paths].count(STANDARD_STREAM) > 1:
        raise ConfigError("only one of GOLD, PRED and OTHER can be read from stdin")
    examples = _read_gold(gold)
    scored = [_score(examples, path, punct=punct, subtypes=subtypes) for path in paths]
    if any(isinstance(scores, TextScores) for scores in scored):
        _write_text_scores(examples, scored, paths, by_label=by_label, by_length=by_length, json=json)
        return
    systems = dict(zip(("predicted", "other"), cast(list[Scores], scored), strict=False))
    if json:
        write_json(_content(systems, by_label=by_label, by_length=by_length))
    else:
        write(_text(systems, by_label=by_label, by_length=by_length))


def _read_gold(path: str) -> list[Example]:
    examples = list(read_trees(path, partial=True))
    if not examples:
        raise DataError("expected at least one sentence, found none", path=display_name(path))
    return examples


def _score(gold: list[Example], path: str, *, punct: bool, subtypes: bool) -> Scores | TextScores:
    predicted = list(read_trees(path))
    try:
        return score(gold, predicted, punct=punct, subtypes=subtypes)
    except DataError as error:
        try:
            return evaluate_text(gold, predicted, punct=punct, subtypes=subtypes)
        except DataError:
            # Not the same text either: what was found first says more.
            raise DataError(error.problem, path=display_name(path)) from error


def _write_text_scores(
    gold: list[Example],
    scored: Sequence[Scores | TextScores],
    paths: list[str],
    *,
    by_label: bool,
    by_length: bool,
    json: bool,
) -> None:
    """Write the scores of systems of which one at least has tokens of its own: all as F1, side by side."""
    for flag, wanted in (("--by-label", by_label), ("--by-length", by_length)):
        if wanted:
            raise ConfigError(f"{flag} needs the tokens of GOLD, and a system has others; leave it out")
    texts = [
        scores
        if isinstance(scores, TextScores)
        else evaluate_text(gold, read_trees(path), punct=scores.punct, subtypes=scores.subtypes)
        for scores, path in zip(scored, paths, strict=True)
    ]
    names = ("predicted", "other")
    if json:
        write_json({name: scores.to_dict() for name, scores in zip(names, texts, strict=False)})
    else:
        write(format_text_scores(dict(zip(names, texts, strict=False))))


def _content(systems: dict[str, Scores], *, by_label: bool, by_length: bool) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, scores in systems.items():
        entry = scores.to_dict()
        for table, wanted in (("labels", by_label), ("lengths", by_length)):
            if not wanted:
                entry.pop(table)
        content[name] = entry
    if "other" in systems:
        tested = compare(systems["predicted"], systems["other"])
        content["comparison"] = {metric: result.to_dict() for metric, result in tested.items()}
    return content


def _text(systems: dict[str, Scores], *, by_label: bool, by_length: bool) -> str:
    parts = []
    for name, scores in systems.items():
        title = [f"== {name.upper()}"] if len(systems) > 1 else []
        parts.append("\n".join([*title, format_scores(scores)]))
        if by_label:
            parts.append(format_labels(scores))
        if by_length:
            parts.append(format_lengths(scores))
    if "other" in systems:
        parts.append("== a = PREDICTED, b = OTHER\n" + format_comparison(systems["predicted"], systems["other"]))
    return "\n\n".join(parts)
