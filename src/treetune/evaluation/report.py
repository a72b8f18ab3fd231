"""Scores as plain-text tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treetune.evaluation.alignment import ALL_METRICS, TextScores
from treetune.evaluation.base import ComparableScores
from treetune.evaluation.breakdown import Tally
from treetune.evaluation.comparison import Comparison, compare
from treetune.evaluation.entities import EntityScores
from treetune.evaluation.metrics import percent
from treetune.evaluation.scores import Scores
from treetune.evaluation.tag_tables import TagTable

COMPARISON_HEADER = ("metric", "a", "b", "b - a", "95 % interval", "p (bootstrap)", "p (McNemar)")


def format_scores(scores: ComparableScores) -> str:
    """Return a table of all metrics under a line with what their signatures have in common."""
    rows = [(name, percent(scores[name]), scores.metric(name).title) for name in scores.metrics]
    words = sum(counts.words for counts in scores.per_sentence)
    head = f"{scores.signature('*')}  ({words} words counted)"
    return "\n".join([head, format_table(("metric", "score", "what it is"), rows, left=(0, 2))])


def format_text_scores(systems: Mapping[str, TextScores]) -> str:
    """Return a table of the F1 of each metric, a column a system, under their common signature."""
    scores = next(iter(systems.values()))
    rows = [
        (name, *(percent(system[name]) for system in systems.values()), title)
        for name, title in ALL_METRICS.items()
        if name in scores.tallies
    ]
    columns = ["F1"] if len(systems) == 1 else [f"F1 of {name.upper()}" for name in systems]
    table = format_table(("metric", *columns, "what it is"), rows, left=(0, len(columns) + 1))
    return "\n".join([scores.signature("*"), table])


def format_labels(scores: Scores, *, limit: int | None = None) -> str:
    """Return precision, recall and F1 of each label, the most frequent in gold first."""
    return _format_tallies("label", scores.by_label, limit)


def format_lengths(scores: Scores) -> str:
    """Return precision, recall and F1 of arcs by their length, heads alone."""
    return _format_tallies("length", scores.by_length, None)


def format_types(scores: EntityScores) -> str:
    """Return precision, recall and F1 of each type of entities, the most frequent in gold first."""
    return _format_tallies("type", scores.by_type, None)


def format_tags(title: str, table: TagTable, *, confusions: int = 10) -> str:
    """Return precision, recall and F1 of each tag, then the tags that are most often taken for others."""
    tallies = _format_tallies(title, table.by_tag, None)
    if not table.confusions:
        return tallies
    most = sorted(table.confusions.items(), key=lambda item: (-item[1], item[0]))[:confusions]
    rows = [(tag, guess or "(none)", str(count)) for (tag, guess), count in most]
    return f"{tallies}\n\n{format_table((title, 'taken for', 'times'), rows, left=(0, 1))}"


def format_comparison(
    a: ComparableScores,
    b: ComparableScores,
    *,
    metrics: Sequence[str] | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> str:
    """Compare two systems and return the table; see `compare` for the arguments and errors."""
    tested = compare(a, b, metrics=metrics, samples=samples, seed=seed)
    rows = [comparison_row(name, comparison) for name, comparison in tested.items()]
    head = f"{a.signature('*')}  ({samples} samples, seed {seed})"
    return "\n".join([head, format_table(COMPARISON_HEADER, rows)])


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> str:
    """Return aligned columns under a ruled header; those in `left` are flush left, the others right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    ruled = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in ruled
    )


def _format_tallies(title: str, tallies: Mapping[str, Tally], limit: int | None) -> str:
    rows = [
        (
            name,
            str(tally.gold),
            str(tally.predicted),
            str(tally.right),
            percent(tally.precision),
            percent(tally.recall),
            percent(tally.f1),
        )
        for name, tally in list(tallies.items())[:limit]
    ]
    return format_table((title, "gold", "predicted", "right", "precision", "recall", "F1"), rows)


def comparison_row(name: str, comparison: Comparison) -> tuple[str, ...]:
    """Return the cells of one metric, under `COMPARISON_HEADER`."""
    result = comparison.bootstrap
    shift = result.difference
    return (
        name,
        percent(result.score_a),
        percent(result.score_b),
        f"{100 * shift.score:+.2f}",
        f"[{100 * shift.low:+.2f}, {100 * shift.high:+.2f}]",
        _p_value(result.p_value),
        "" if comparison.mcnemar is None else _p_value(comparison.mcnemar.p_value),
    )


def _p_value(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
