"""``treetune evaluate``: scores of one system, or of two and whether they differ; trees, tags and entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from treetune.cli.console import write, write_json
from treetune.corpus.files import STANDARD_STREAM, display_name
from treetune.corpus.sentence import ABSENT, Example, Tree
from treetune.corpus.spans import ENTITY_KEY
from treetune.corpus.tags import TAG_COLUMNS, Tagged, Tags, tagged, with_tags
from treetune.corpus.treebank import only_entities, read_tagged, read_trees, read_words
from treetune.errors import ConfigError, DataError
from treetune.evaluation.alignment import TextScores, evaluate_text
from treetune.evaluation.base import ComparableScores
from treetune.evaluation.comparison import compare
from treetune.evaluation.entities import EntityScores, evaluate_entities
from treetune.evaluation.pairing import pair_sentences
from treetune.evaluation.reliability import Reliability, reliability_of_arcs
from treetune.evaluation.report import (
    format_comparison,
    format_labels,
    format_lengths,
    format_scores,
    format_tags,
    format_text_scores,
    format_types,
)
from treetune.evaluation.scores import Scores, evaluate_trees
from treetune.evaluation.tag_tables import TagTable, tag_table
from treetune.evaluation.tagging import TagScores, evaluate_tags, metric_name


def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="The reference: CoNLL-U, CoNLL-X, or IOB by suffix.")],
    predicted: Annotated[str, typer.Argument(metavar="PRED", help="A system's output for the same sentences.")],
    other: Annotated[
        str | None, typer.Argument(metavar="[OTHER]", help="A second system, to compare with the first.")
    ] = None,
    punct: Annotated[bool, typer.Option("--punct/--no-punct", help="Count punctuation or not.")] = True,
    subtypes: Annotated[bool, typer.Option("--subtypes/--no-subtypes", help="Tell nmod:poss from nmod or not.")] = True,
    by_label: Annotated[bool, typer.Option("--by-label", help="Add a table of labels, of types for entities.")] = False,
    by_length: Annotated[bool, typer.Option("--by-length", help="Add a table of arc lengths.")] = False,
    by_tag: Annotated[
        bool, typer.Option("--by-tag", help="Add tables of tags, and of what they are taken for.")
    ] = False,
    entities: Annotated[
        bool, typer.Option("--entities", help="Score entities, in MISC (ner=B-PER) where there is no IOB file.")
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Add a table of confidence in MISC, and its calibration error.")
    ] = False,
    known: Annotated[
        str | None,
        typer.Option(metavar="TRAIN", help="What a tagger was trained on, to tell known words from unknown ones."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Score trees, tags and entities against gold ones; with OTHER, test whether two systems differ.

    The accuracy of UPOS, XPOS and FEATS stands beside the scores of trees where a system has other tags than GOLD. A
    system that found tokens of its own in the same text is scored by F1, as the official UD scorer does.
    """
    paths = [path for path in (predicted, other) if path is not None]
    if [gold, *paths].count(STANDARD_STREAM) > 1:
        raise ConfigError("only one of GOLD, PRED and OTHER can be read from stdin")
    sides: list[Side]
    if entities or only_entities(gold):
        others = {
            "--by-length": by_length,
            "--by-tag": by_tag,
            "--confidence": confidence,
            "--known": known is not None,
        }
        for flag, given in others.items():
            if given:
                raise ConfigError(f"{flag} is not for entities; leave it out")
        expected, answers = _read_entities(gold, paths)
        if texts := _entity_text_scores(expected, answers, paths):
            _write_text_scores(texts, {"--by-label": by_label}, json=json)
            return
        sides = [_entities(expected, answers, by_label=by_label)]
    else:
        examples = _read_gold(gold)
        forms = None if known is None else frozenset(form for words in read_words(known) for form in words)
        has_trees = any(head >= 0 for example in examples for head in example.gold.heads[1:])
        read = [list(read_trees(path, trees=has_trees)) for path in paths]
        options = {"punct": punct, "subtypes": subtypes}
        if texts := _text_scores(examples, read, paths, options):
            tables = {
                "--by-label": by_label,
                "--by-length": by_length,
                "--by-tag": by_tag,
                "--confidence": confidence,
                "--known": known is not None,
            }
            _write_text_scores(texts, tables, json=json)
            return
        sides = []
        if has_trees:
            tables = {"labels": by_label, "lengths": by_length, "confidence": confidence}
            sides.append(_trees(examples, read, paths, options, tables))
        if tags := _tags(examples, read, forms, by_tag=by_tag, always=by_tag or known is not None or not has_trees):
            sides.append(tags)
        if not sides:
            raise DataError("expected trees or tags to score, found neither", path=display_name(gold))
    if json:
        content: dict[str, Any] = {}
        for side in sides:
            _merge(content, side.content())
        write_json(content)
    else:
        write("\n\n".join(part for side in sides for part in side.parts()))


@dataclass(frozen=True, slots=True)
class Side:
    """One kind of scores of one system or two; `more` are further tables of a system, as text and as JSON."""

    systems: Sequence[ComparableScores]
    more: Callable[[int], list[str]]
    as_json: Callable[[int], dict[str, Any]]
    key: str | None = None
    """Under what JSON has them; the scores of trees stand by themselves."""

    def parts(self) -> list[str]:
        """Return tables, one after the other."""
        parts = []
        for number, scores in enumerate(self.systems):
            title = [f"== {('PREDICTED', 'OTHER')[number]}"] if len(self.systems) > 1 else []
            parts.append("\n".join([*title, format_scores(scores)]))
            parts += self.more(number)
        if len(self.systems) > 1:
            parts.append("== a = PREDICTED, b = OTHER\n" + format_comparison(*self.systems))
        return parts

    def content(self) -> dict[str, Any]:
        """Return everything for JSON."""
        found: dict[str, Any] = {}
        for number in range(len(self.systems)):
            found[("predicted", "other")[number]] = self._keyed(self.as_json(number))
        if len(self.systems) > 1:
            tested = compare(self.systems[0], self.systems[1])
            found["comparison"] = self._keyed({metric: result.to_dict() for metric, result in tested.items()})
        return found

    def _keyed(self, content: dict[str, Any]) -> dict[str, Any]:
        return content if self.key is None else {self.key: content}


def _merge(content: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        content.setdefault(key, {}).update(value)


def _read_gold(path: str) -> list[Example]:
    examples = list(read_trees(path, partial=True))
    if not examples:
        raise DataError("expected at least one sentence, found none", path=display_name(path))
    return examples


def _text_scores(
    gold: list[Example], systems: Sequence[list[Example]], paths: Sequence[str], options: dict[str, bool]
) -> list[TextScores]:
    """Return the F1 of all systems if one of them has tokens of its own in the same text; else nothing."""
    for system, path in zip(systems, paths, strict=True):
        try:
            for _ in pair_sentences(gold, system):
                pass
        except DataError as error:
            try:
                return [evaluate_text(gold, one, **options) for one in systems]
            except DataError:
                # Not the same text either: what was found first says more.
                raise DataError(error.problem, path=display_name(path)) from error
    return []


def _write_text_scores(texts: Sequence[TextScores], tables: Mapping[str, bool], *, json: bool) -> None:
    for flag, wanted in tables.items():
        if wanted:
            raise ConfigError(f"{flag} needs the tokens of GOLD, and a system has others; leave it out")
    systems = dict(zip(("predicted", "other"), texts, strict=False))
    if json:
        write_json({name: scores.to_dict() for name, scores in systems.items()})
    else:
        write(format_text_scores(systems))


def _trees(
    gold: list[Example],
    systems: Sequence[list[Example]],
    paths: Sequence[str],
    options: dict[str, bool],
    tables: dict[str, bool],
) -> Side:
    scored: list[Scores] = []
    confidences: list[Reliability] = []
    for system, path in zip(systems, paths, strict=True):
        try:
            scored.append(evaluate_trees(gold, system, **options))
            if tables["confidence"]:
                confidences.append(reliability_of_arcs(gold, system))
        except DataError as error:
            raise DataError(error.problem, path=display_name(path)) from error

    def more(number: int) -> list[str]:
        parts = [format_labels(scored[number])] if tables["labels"] else []
        parts += [format_lengths(scored[number])] if tables["lengths"] else []
        return [*parts, confidences[number].format()] if confidences else parts

    def as_json(number: int) -> dict[str, Any]:
        entry = scored[number].to_dict()
        for table in ("labels", "lengths"):
            if not tables[table]:
                entry.pop(table)
        return {**entry, "confidence": confidences[number].to_dict()} if confidences else entry

    return Side(scored, more, as_json)


def _tags(
    gold: list[Example],
    systems: Sequence[list[Example]],
    known: frozenset[str] | None,
    *,
    by_tag: bool,
    always: bool,
) -> Side | None:
    """Score the columns that gold and all systems have; None if there are none, or if no system differs from gold."""
    columns = [name for name in TAG_COLUMNS if all(_has(side, name) for side in (gold, *systems))]
    if not columns or not (always or any(_differ(gold, system, columns) for system in systems)):
        return None
    expected = tagged(gold, columns)
    answers: list[list[Tags]] = [[one.gold for one in tagged(system, columns)] for system in systems]
    is_known = None if known is None else known.__contains__
    scored: list[TagScores] = [evaluate_tags(expected, one, columns, is_known=is_known) for one in answers]

    def tables(number: int) -> dict[str, TagTable]:
        return {name: tag_table(expected, answers[number], part=place) for place, name in enumerate(columns)}

    def more(number: int) -> list[str]:
        return [format_tags(metric_name(name), table) for name, table in tables(number).items()] if by_tag else []

    def as_json(number: int) -> dict[str, Any]:
        entry = scored[number].to_dict()
        if by_tag:
            entry["tags"] = {
                name: {tag: tally.to_dict() for tag, tally in table.by_tag.items()}
                for name, table in tables(number).items()
            }
        return entry

    return Side(scored, more, as_json, key="tags")


def _has(examples: list[Example], column: str) -> bool:
    return any(value != ABSENT for example in examples for value in getattr(example.sentence, column)[1:])


def _differ(gold: list[Example], system: list[Example], columns: Sequence[str]) -> bool:
    pairs = zip(gold, system, strict=True)
    return any(getattr(a.sentence, name) != getattr(b.sentence, name) for a, b in pairs for name in columns)


def _read_entities(gold: str, paths: Sequence[str]) -> tuple[list[Tagged], list[list[Tagged]]]:
    expected, *answers = (list(read_tagged(path, (ENTITY_KEY,))) for path in (gold, *paths))
    if not expected:
        raise DataError("expected at least one sentence, found none", path=display_name(gold))
    if not any(any(example.gold.values[1:]) for example in expected):
        raise DataError(f"expected entities, {ENTITY_KEY}=B-PER in MISC, found none", path=display_name(gold))
    return expected, answers


def _entity_text_scores(gold: list[Tagged], systems: list[list[Tagged]], paths: Sequence[str]) -> list[TextScores]:
    """Return the F1 of words and entities if a system has tokens of its own in the same text; else nothing."""
    expected, *answers = ([_with_entities(one) for one in side] for side in (gold, *systems))
    wanted = ("Sentences", "Words", "Entities")
    found = _text_scores(expected, answers, paths, {})
    return [replace(scores, tallies={name: scores.tallies[name] for name in wanted}) for scores in found]


def _with_entities(one: Tagged) -> Example:
    return Example(with_tags(one.sentence, one.gold, (ENTITY_KEY,)), Tree.unknown(len(one.sentence)))


def _entities(gold: list[Tagged], systems: list[list[Tagged]], *, by_label: bool) -> Side:
    scored: list[EntityScores] = [evaluate_entities(gold, system) for system in systems]

    def as_json(number: int) -> dict[str, Any]:
        entry = scored[number].to_dict()
        if not by_label:
            entry.pop("types")
        return entry

    return Side(scored, lambda number: [format_types(scored[number])] if by_label else [], as_json)
