"""Gold and predicted analyses to counts, scores and significance tests; no model is needed.

`documents` has `treetune.evaluate`. `counts` are the counts of one sentence, `metrics` ratios of their sums, `scores`
the attachment scores of a corpus, `tagging` the accuracy of tags, `entities` the F1 of spans, `ordering` the scores of
word orders, `alignment` the F1 of systems that tokenize the text themselves. `scorers` says how each kind of output is
scored, `breakdown` has precision and recall by label and length, `significance` and `comparison` test whether two
systems differ, `report` makes plain-text tables. `analysis` says what systems get wrong and what to fix next,
`analysis_report` and `sections` make a report of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treetune.evaluation.alignment import TextScores, evaluate_text
    from treetune.evaluation.analysis import Analysis, analyse
    from treetune.evaluation.analysis_report import report_sections
    from treetune.evaluation.base import ComparableScores, CorpusScores
    from treetune.evaluation.breakdown import LENGTHS, Tally
    from treetune.evaluation.comparison import Comparison, compare
    from treetune.evaluation.counts import Counts, attachment_counts, is_punctuation, punctuation, strip_subtype
    from treetune.evaluation.documents import evaluate
    from treetune.evaluation.entities import (
        ENTITY_METRICS,
        EntityCounts,
        EntityScores,
        entity_counts,
        evaluate_entities,
    )
    from treetune.evaluation.metrics import METRICS, Metric
    from treetune.evaluation.report import (
        format_comparison,
        format_labels,
        format_lengths,
        format_scores,
        format_tags,
        format_text_scores,
        format_types,
    )
    from treetune.evaluation.scorers import TREES, Scorer
    from treetune.evaluation.scores import Scores, evaluate_trees
    from treetune.evaluation.significance import (
        Interval,
        McNemar,
        PairedBootstrap,
        bootstrap_interval,
        mcnemar,
        paired_bootstrap,
        paired_bootstraps,
    )
    from treetune.evaluation.tag_tables import TagTable, tag_table
    from treetune.evaluation.tagging import TagCounts, TagScores, evaluate_tags, tag_scorer

# Names are imported when first used: a parser needs one of these modules.
_HOMES = {
    "Analysis": "analysis",
    "ComparableScores": "base",
    "Comparison": "comparison",
    "CorpusScores": "base",
    "Counts": "counts",
    "ENTITY_METRICS": "entities",
    "EntityCounts": "entities",
    "EntityScores": "entities",
    "Interval": "significance",
    "LENGTHS": "breakdown",
    "METRICS": "metrics",
    "McNemar": "significance",
    "Metric": "metrics",
    "PairedBootstrap": "significance",
    "Scorer": "scorers",
    "Scores": "scores",
    "TREES": "scorers",
    "TagCounts": "tagging",
    "TagScores": "tagging",
    "TagTable": "tag_tables",
    "Tally": "breakdown",
    "TextScores": "alignment",
    "analyse": "analysis",
    "attachment_counts": "counts",
    "bootstrap_interval": "significance",
    "compare": "comparison",
    "entity_counts": "entities",
    "evaluate": "documents",
    "evaluate_entities": "entities",
    "evaluate_tags": "tagging",
    "evaluate_text": "alignment",
    "evaluate_trees": "scores",
    "format_comparison": "report",
    "format_labels": "report",
    "format_lengths": "report",
    "format_scores": "report",
    "format_tags": "report",
    "format_text_scores": "report",
    "format_types": "report",
    "is_punctuation": "counts",
    "mcnemar": "significance",
    "paired_bootstrap": "significance",
    "paired_bootstraps": "significance",
    "punctuation": "counts",
    "report_sections": "analysis_report",
    "strip_subtype": "counts",
    "tag_scorer": "tagging",
    "tag_table": "tag_tables",
}

__all__ = [
    "ENTITY_METRICS",
    "LENGTHS",
    "METRICS",
    "TREES",
    "Analysis",
    "ComparableScores",
    "Comparison",
    "CorpusScores",
    "Counts",
    "EntityCounts",
    "EntityScores",
    "Interval",
    "McNemar",
    "Metric",
    "PairedBootstrap",
    "Scorer",
    "Scores",
    "TagCounts",
    "TagScores",
    "TagTable",
    "Tally",
    "TextScores",
    "analyse",
    "attachment_counts",
    "bootstrap_interval",
    "compare",
    "entity_counts",
    "evaluate",
    "evaluate_entities",
    "evaluate_tags",
    "evaluate_text",
    "evaluate_trees",
    "format_comparison",
    "format_labels",
    "format_lengths",
    "format_scores",
    "format_tags",
    "format_text_scores",
    "format_types",
    "is_punctuation",
    "mcnemar",
    "paired_bootstrap",
    "paired_bootstraps",
    "punctuation",
    "report_sections",
    "strip_subtype",
    "tag_scorer",
    "tag_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'treetune.evaluation' has no attribute {name!r}")
    value = getattr(import_module(f"treetune.evaluation.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
