"""Gold and predicted trees to counts, scores and significance; never a model.

`counts` makes integers of one sentence, `metrics` ratios of their sums, `scores` the whole of a corpus,
`tagging` the same for tags, `judges` how each kind of output is scored, `breakdown` precision and recall by
label and length, `significance` and `comparison` two systems side by side, `report` plain-text tables.
"""

from treetune.evaluate.breakdown import LENGTHS, Tally
from treetune.evaluate.comparison import Comparison, compare
from treetune.evaluate.counts import Counts, attachment_counts, is_punctuation, punctuation, strip_subtype
from treetune.evaluate.judges import TREES, Judge, Measured
from treetune.evaluate.metrics import METRICS, Metric
from treetune.evaluate.report import format_comparison, format_labels, format_lengths, format_scores
from treetune.evaluate.scores import Scores, evaluate
from treetune.evaluate.significance import (
    Interval,
    McNemar,
    PairedBootstrap,
    bootstrap_interval,
    mcnemar,
    paired_bootstrap,
    paired_bootstraps,
)
from treetune.evaluate.tagging import TagCounts, TagScores, evaluate_tags, tag_judge

__all__ = [
    "LENGTHS",
    "METRICS",
    "TREES",
    "Comparison",
    "Counts",
    "Interval",
    "Judge",
    "McNemar",
    "Measured",
    "Metric",
    "PairedBootstrap",
    "Scores",
    "TagCounts",
    "TagScores",
    "Tally",
    "attachment_counts",
    "bootstrap_interval",
    "compare",
    "evaluate",
    "evaluate_tags",
    "format_comparison",
    "format_labels",
    "format_lengths",
    "format_scores",
    "is_punctuation",
    "mcnemar",
    "paired_bootstrap",
    "paired_bootstraps",
    "punctuation",
    "strip_subtype",
    "tag_judge",
]
