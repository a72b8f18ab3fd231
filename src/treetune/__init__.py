"""treetune: dependency parsers and taggers, trained for the task that uses them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treetune import losses
    from treetune.corpus.document import Document, ParsedSentence
    from treetune.corpus.sentence import Example, Sentence, Tree
    from treetune.corpus.tags import Tagged, Tags, tagged
    from treetune.corpus.treebank import read_trees, write_trees
    from treetune.corpus.word import Entity, Token, Word
    from treetune.errors import TreetuneError
    from treetune.evaluation.documents import evaluate
    from treetune.evaluation.scores import Scores
    from treetune.filters.arc_filter import ArcFilter
    from treetune.learning.objectives import Objective
    from treetune.learning.trainer import train
    from treetune.models.base import Candidate
    from treetune.models.graph.parser import GraphParser
    from treetune.models.pipeline import Pipeline
    from treetune.models.reranker import Reranker
    from treetune.models.sequence.tagger import Tagger
    from treetune.models.stacked import StackedParser
    from treetune.models.tokenizer.tokenizer import Tokenizer
    from treetune.models.transition.parser import TransitionParser
    from treetune.storage import load, save

__version__ = "0.1.0"

# Names are imported when first used, so that `import treetune` costs nothing.
_HOMES = {
    "ArcFilter": "treetune.filters.arc_filter",
    "Candidate": "treetune.models.base",
    "Document": "treetune.corpus.document",
    "Entity": "treetune.corpus.word",
    "Example": "treetune.corpus.sentence",
    "GraphParser": "treetune.models.graph.parser",
    "Objective": "treetune.learning.objectives",
    "ParsedSentence": "treetune.corpus.document",
    "Pipeline": "treetune.models.pipeline",
    "Reranker": "treetune.models.reranker",
    "Scores": "treetune.evaluation.scores",
    "Sentence": "treetune.corpus.sentence",
    "StackedParser": "treetune.models.stacked",
    "Tagged": "treetune.corpus.tags",
    "Tagger": "treetune.models.sequence.tagger",
    "Tags": "treetune.corpus.tags",
    "Token": "treetune.corpus.word",
    "Tokenizer": "treetune.models.tokenizer.tokenizer",
    "TransitionParser": "treetune.models.transition.parser",
    "Tree": "treetune.corpus.sentence",
    "TreetuneError": "treetune.errors",
    "Word": "treetune.corpus.word",
    "evaluate": "treetune.evaluation.documents",
    "load": "treetune.storage",
    "losses": "treetune.losses",
    "read_trees": "treetune.corpus.treebank",
    "save": "treetune.storage",
    "tagged": "treetune.corpus.tags",
    "train": "treetune.learning.trainer",
    "write_trees": "treetune.corpus.treebank",
}

__all__ = [
    "ArcFilter",
    "Candidate",
    "Document",
    "Entity",
    "Example",
    "GraphParser",
    "Objective",
    "ParsedSentence",
    "Pipeline",
    "Reranker",
    "Scores",
    "Sentence",
    "StackedParser",
    "Tagged",
    "Tagger",
    "Tags",
    "Token",
    "Tokenizer",
    "TransitionParser",
    "Tree",
    "TreetuneError",
    "Word",
    "evaluate",
    "load",
    "losses",
    "read_trees",
    "save",
    "tagged",
    "train",
    "write_trees",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'treetune' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    value = home if home.__name__ == f"treetune.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
