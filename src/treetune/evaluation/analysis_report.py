"""An error analysis as a report of sections: what to fix next first, then the numbers behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from treetune.corpus.rawtext import sentence_text
from treetune.corpus.sentence import Sentence, name_sentence
from treetune.evaluation.analysis import Analysis, ErrorExample, Pattern
from treetune.evaluation.breakdown import Tally
from treetune.evaluation.counts import paired_arcs
from treetune.evaluation.findings import Finding
from treetune.evaluation.metrics import percent
from treetune.evaluation.report import COMPARISON_HEADER, comparison_row
from treetune.evaluation.sections import BARS, Drawing, Panel, Section, Table
from treetune.evaluation.shift import Share, Shift
from treetune.evaluation.significance import bootstrap_interval
from treetune.evaluation.tagging import KNOWN, UNKNOWN, metric_name
from treetune.evaluation.word_errors import Group, tags_of

_SHOWN = ("LAS", "UAS", "LA", "CLAS", "root", "LCM")


def report_sections(
    analysis: Analysis, *, limit: int = 10, examples: int = 10, names: Sequence[str] = ()
) -> Iterator[Section]:
    """Yield the sections of a report with at most `limit` rows a table and `examples` drawn sentences.

    `names` are what the systems are called in the first section, such as the names of their files.
    """
    yield _summary(analysis, names)
    yield _scores(analysis)
    yield _labels(analysis, limit)
    yield _tags(analysis, limit)
    if analysis.shift is not None:
        yield _training_data(analysis, analysis.shift, limit)
    yield Section("Where the errors are", tables=[_group_table(analysis, *item) for item in analysis.groups.items()])
    yield _patterns(analysis, limit, examples)


def _summary(analysis: Analysis, names: Sequence[str]) -> Section:
    total, errors = analysis.total, analysis.total.errors[-1]
    text = f"{errors:,} of {total.words:,} words have a wrong head or label, {total.wrong_heads[-1]:,} a wrong head."
    if len(names) > 1:
        text = f"System a is {names[0]}, system b is {names[1]}. Of b, {text}"
    if analysis.findings:
        text += " Causes by the number of errors they explain, beyond the error rate of all other words; they overlap:"
    return Section("What to fix next", text, [_finding(finding, errors) for finding in analysis.findings])


def _finding(finding: Finding, errors: int) -> tuple[str, str]:
    wrong = f"{finding.errors:,} of {finding.words:,} such words are wrong ({_rate(finding.errors, finding.words)})"
    share = _rate(finding.explained, errors)
    return f"{finding.explained:,} errors ({share}):", f"{finding.cause}. {wrong}. What may help: {finding.advice}."


def _rate(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _scores(analysis: Analysis) -> Section:
    text = f"Signature: {analysis.scores[0].signature('*')}"
    if analysis.comparison:
        rows = [comparison_row(name, comparison) for name, comparison in analysis.comparison.items()]
        return Section("Scores", text, tables=[Table("", COMPARISON_HEADER, rows)])
    rows = []
    for scores, shown in ((analysis.scores, _SHOWN), (analysis.tag_scores, (metric_name(analysis.column),))):
        for one, name in ((one, name) for one in scores for name in shown if not math.isnan(one[name])):
            found = bootstrap_interval(one.per_sentence, one.metric(name))
            rows.append((name, percent(found.score), f"[{percent(found.low)}, {percent(found.high)}]"))
    return Section("Scores", text, tables=[Table("", ("metric", "score", "95 % interval"), rows)])


def _by_system(analysis: Analysis, *titles: str) -> list[str]:
    """Return the titles of columns that each system has."""
    return list(titles) if len(analysis.scores) == 1 else [f"{title} {name}" for title in titles for name in "ab"]


def _labels(analysis: Analysis, limit: int) -> Section:
    change = ["b - a"] if len(analysis.scores) > 1 else []
    more = _by_system(analysis, "precision", "recall", "missed")
    header = ["label", "gold", *_by_system(analysis, "F1"), *change, *more]
    rows = [(name, *_label_cells(tallies)) for name, tallies in list(analysis.labels.items())[:limit]]
    text = "The most frequent labels; an arc is right if head and label are."
    return Section("Labels", text, tables=[Table("", header, rows)])


def _label_cells(tallies: Sequence[Tally]) -> Iterator[str]:
    yield str(tallies[0].gold)
    yield from (percent(tally.f1) for tally in tallies)
    if len(tallies) > 1:
        change = 100 * (tallies[1].f1 - tallies[0].f1)
        yield "n/a" if math.isnan(change) else f"{change:+.2f}"
    yield from (percent(tally.precision) for tally in tallies)
    yield from (percent(tally.recall) for tally in tallies)
    yield from (str(tally.gold - tally.right) for tally in tallies)


def _tags(analysis: Analysis, limit: int) -> Section:
    title = f"Tags ({metric_name(analysis.column)})"
    if not analysis.tag_scores:
        text = "No tag of a system differs from gold: no error is due to a wrong tag."
        if analysis.untagged:
            systems = ("the system",) if len(analysis.scores) == 1 else ("system a", "system b")
            names = dict(zip(("gold", "a", "b"), ("gold", *systems), strict=False))
            without = " and ".join(names[one] for one in analysis.untagged)
            text = f"There are no such tags in {without}: which errors are due to wrong tags is not known."
        return Section(title, text)
    parts = []
    for system, group in enumerate(analysis.near_tag_errors):
        name = f" of {'ab'[system]}" if len(analysis.scores) > 1 else ""
        heads, total = group.wrong_heads[system], analysis.total.wrong_heads[system]
        text = f"{heads:,} of {total:,} wrong heads{name} are at words whose own tag or whose gold head's tag is wrong"
        rates = _rate(heads, group.words), _rate(total - heads, analysis.total.words - group.words)
        parts.append(f"{text}; {rates[0]} of these words have a wrong head, {rates[1]} of all others.")
    header = ["gold", "taken for", *_by_system(analysis, "words", "wrong heads", "errors")]
    rows = [
        (one.gold, one.predicted, *map(str, (*one.times, *one.wrong_heads, *one.errors)))
        for one in analysis.confusions[:limit]
    ]
    return Section(title, " ".join(parts), tables=[Table("", header, rows, left=(0, 1))])


def _training_data(analysis: Analysis, shift: Shift, limit: int) -> Section:
    unknown = shift.unknown
    words = analysis.total.words
    text = (
        f"{unknown.words:,} of {words:,} words ({_rate(unknown.words, words)}) are not in the training data "
        f"({shift.train_words:,} words); {_rate(unknown.errors[-1], unknown.words)} of them are wrong. "
        f"Total variation: {100 * shift.tag_distance:.1f} % in tags, {100 * shift.label_distance:.1f} % in labels."
    )
    for tags in analysis.tag_scores[-1:]:
        text += f" Right tags: {percent(tags[KNOWN])} % of known words, {percent(tags[UNKNOWN])} % of unknown words."
    header = ["% of training", "% here", *_by_system(analysis, "errors")]
    labels = [_share(share) for share in shift.labels[:limit]]
    rows = [[*_share(share), _forms(share.train_forms), _forms(share.forms)] for share in shift.tags[:limit]]
    left = (0, len(header) + 1, len(header) + 2)
    tables = [
        Table("Labels whose share changes most", ["label", *header], labels),
        Table("Tags whose share changes most", ["tag", *header, "words there", "words here"], rows, left=left),
    ]
    return Section("Against the training data", text, tables=tables)


def _share(share: Share) -> list[str]:
    return [share.name, percent(share.train), percent(share.here), *map(str, share.group.errors)]


def _forms(forms: dict[str, float]) -> str:
    return ", ".join(f"{form} {100 * share:.0f} %" for form, share in forms.items())


def _group_table(analysis: Analysis, kind: str, groups: Sequence[Group]) -> Table:
    rows = [(one.name, str(one.words), *map(str, one.errors), *map(percent, one.error_rates)) for one in groups]
    return Table("", [kind, "words", *_by_system(analysis, "errors", BARS)], rows)


def _patterns(analysis: Analysis, limit: int, examples: int) -> Section:
    shown = [pattern for pattern in analysis.patterns if pattern.times[-1]][:limit]
    tables = {"Most frequent": shown}
    if len(analysis.scores) > 1:
        changed = sorted(analysis.patterns, key=lambda one: one.times[1] - one.times[0])
        tables["Fewer in b"] = [one for one in changed[:limit] if one.times[1] < one.times[0]]
        tables["More in b"] = [one for one in changed[: -limit - 1 : -1] if one.times[1] > one.times[0]]
    header = ["gold", "predicted", *_by_system(analysis, "times")]
    return Section(
        "Error patterns",
        "An arc is written as its words stand in the text, by their tags.",
        tables=[Table(title, header, list(map(_pattern_row, rows)), left=(0, 1)) for title, rows in tables.items()],
        drawings=_drawings(analysis, shown or analysis.patterns[:limit], examples),
    )


def _drawings(analysis: Analysis, patterns: Sequence[Pattern], limit: int) -> list[Drawing]:
    """Draw examples of the patterns in turn, no sentence twice."""
    in_turn = zip_longest(*(pattern.examples for pattern in patterns))
    found: dict[int, Drawing] = {}
    for pattern, example in ((p, e) for row in in_turn for p, e in zip(patterns, row, strict=True) if e is not None):
        if len(found) < limit and example.sentence not in found:
            found[example.sentence] = _drawing(analysis, pattern, example)
    return list(found.values())


def _pattern_row(pattern: Pattern) -> tuple[str, ...]:
    return (str(pattern.gold), pattern.predicted.beside(pattern.gold), *map(str, pattern.times))


def _drawing(analysis: Analysis, pattern: Pattern, example: ErrorExample) -> Drawing:
    gold = example.gold
    tags = tags_of(gold.sentence, analysis.column)
    panels = []
    for title, parsed in zip(_by_system(analysis, "predicted"), example.predicted, strict=True):
        pairs = paired_arcs(gold.gold, parsed.tree, subtypes=analysis.scores[0].subtypes)
        wrong = frozenset(pair.word for pair in pairs if pair.is_wrong)
        found = tags_of(parsed.sentence, analysis.column)
        wrong_tags = frozenset(word for word, (a, b) in enumerate(zip(tags, found, strict=True)) if a and b and a != b)
        panels.append(Panel(title, _with_column(parsed.sentence, analysis.column), parsed.tree, wrong, wrong_tags))
    panels.insert(
        0, Panel("gold", _with_column(gold.sentence, analysis.column), gold.gold, panels[-1].marked or panels[0].marked)
    )
    place = name_sentence(example.sentence + 1, gold.sentence)
    row = _pattern_row(pattern)
    caption = f"{row[0]} taken for {row[1]} at {gold.sentence.forms[example.word]!r}, word {example.word} of {place}: "
    return Drawing(caption + sentence_text(gold.sentence), panels)


def _with_column(sentence: Sentence, column: str) -> Sentence:
    return replace(sentence, upos=getattr(sentence, column))
