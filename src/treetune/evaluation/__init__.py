"""Gold and predicted trees to counts, scores and significance; never a model.

`counts` makes integers of one sentence, `metrics` ratios of their sums, `scores` the whole of a corpus,
`tagging` the same for tags, `scorers` how each kind of output is scored, `breakdown` precision and recall by label and
length, `entities` the scores of spans, `alignment` systems with tokens of their own, `significance` and `comparison`
two systems side by side, `report` plain-text tables.
"""

from treetune.evaluation.alignment import TextScores, evaluate_text
from treetune.evaluation.breakdown import LENGTHS, Tally
from treetune.evaluation.comparison import Comparison, compare
from treetune.evaluation.counts import Counts, attachment_counts, is_punctuation, punctuation, strip_subtype
from treetune.evaluation.entities import ENTITY_METRICS, EntityCounts, EntityScores, entity_counts, evaluate_entities
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
from treetune.evaluation.scorers import TREES, Measured, Scorer
from treetune.evaluation.scores import Scores, evaluate
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

__all__ = [
    "ENTITY_METRICS",
    "LENGTHS",
    "METRICS",
    "TREES",
    "Comparison",
    "Counts",
    "EntityCounts",
    "EntityScores",
    "Interval",
    "McNemar",
    "Measured",
    "Metric",
    "PairedBootstrap",
    "Scorer",
    "Scores",
    "TagCounts",
    "TagScores",
    "TagTable",
    "Tally",
    "TextScores",
    "attachment_counts",
    "bootstrap_interval",
    "compare",
    "entity_counts",
    "evaluate",
    "evaluate_entities",
    "evaluate_tags",
    "evaluate_text",
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
    "strip_subtype",
    "tag_scorer",
    "tag_table",
]
