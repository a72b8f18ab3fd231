"""What experiments with taggers share: taggers that are trained, clusters of raw text, counts of their outputs."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import treetune
from tasks import Counts, Setting
from treetune import Example, Objective, Tagger, Tree
from treetune.corpus.tags import Tagged, tagged
from treetune.corpus.treebank import read_words
from treetune.evaluation import Metric
from treetune.evaluation.entities import entity_counts
from treetune.features.brown import learn_clusters

COLUMNS = ("upos",)
CLASSES = 256
QUESTIONS = ("questions/unlabeled.txt", "questions/unlabeled-web.txt")

# Of every sentence: words, right ones; words that are not punctuation in gold, right ones of those.
TAG_METRICS = (
    Metric("UPOS", "words with the right tag", lambda c: c[1], lambda c: c[0]),
    Metric("UPOS without punctuation", "the same without punctuation", lambda c: c[3], lambda c: c[2]),
)
# Of every sentence: entities in gold, predicted, right.
ENTITY_METRICS = (
    Metric("F1", "entity F1", lambda c: 2 * c[2], lambda c: c[0] + c[1]),
    Metric("precision", "right of those predicted", lambda c: c[2], lambda c: c[1]),
    Metric("recall", "right of those in gold", lambda c: c[2], lambda c: c[0]),
)


@cache
def read(path: Path) -> list[Example]:
    """Read a treebank, once."""
    return list(treetune.read_trees(path))


def train(tagger: Tagger, examples: Sequence[Tagged], setting: Setting, **options: Any) -> Tagger:
    """Train a tagger to the last epoch, and return it."""
    for _ in treetune.train(tagger, examples, epochs=setting.epochs, seed=setting.seed, **options):
        pass
    return tagger


def train_tagger(
    examples: Sequence[Example], clusters: str, setting: Setting, objectives: Sequence[Objective] = ()
) -> Tagger:
    """Return a UPOS tagger."""
    return train(Tagger(columns=COLUMNS, clusters=clusters), tagged(examples, COLUMNS), setting, objectives=objectives)


def tag_counts(tagger: Tagger, examples: Sequence[Example]) -> list[Counts]:
    """Return the counts of each sentence, for `TAG_METRICS`."""
    gold = tagged(examples, COLUMNS)
    found: list[Counts] = []
    for one, answer in zip(gold, tagger.predict_batch([one.sentence for one in gold]), strict=True):
        pairs = list(zip(one.gold.values[1:], answer.values[1:], strict=True))
        others = [(tag, guess) for tag, guess in pairs if tag != "PUNCT"]
        right, right_others = (sum(tag == guess for tag, guess in some) for some in (pairs, others))
        found.append((len(pairs), right, len(others), right_others))
    return found


def span_counts(recogniser: Tagger, examples: Sequence[Tagged]) -> list[Counts]:
    """Return the counts of each sentence, for `ENTITY_METRICS`."""
    answers = recogniser.predict_batch([one.sentence for one in examples])
    counts = [entity_counts(one.gold, answer) for one, answer in zip(examples, answers, strict=True)]
    return [(one.gold, one.predicted, one.right) for one in counts]


def main_verb(example: Example) -> int | None:
    """Return the word an annotator would call the main verb: the root, or the copula or auxiliary of another root."""
    root = example.gold.roots[0]
    upos = example.sentence.upos
    if upos[root] in ("VERB", "AUX"):
        return root
    helpers = [
        word
        for head, word, label in example.gold.arcs()
        if head == root and label.partition(":")[0] in ("cop", "aux") and upos[word] in ("AUX", "VERB")
    ]
    return helpers[-1] if helpers else None


def main_verbs(examples: Sequence[Example]) -> list[tuple[treetune.Sentence, Tree]]:
    """Return sentences without tags, and of each which word is the main verb; those without one are left out."""
    found = []
    for example in examples:
        verb = main_verb(example)
        if verb is not None:
            heads = [0 if word == verb else -1 for word in range(1, len(example.sentence) + 1)]
            found.append((example.sentence.without("lemmas", "upos", "xpos", "feats"), Tree.of(heads)))
    return found


def clusters_of(setting: Setting, *treebanks: str) -> str:
    """Return a file with the Brown clusters of the words of some treebanks and of the raw questions, made once."""
    names = (*treebanks, *QUESTIONS)
    return _clusters(setting.data, names, 20 if setting.quick else CLASSES)


@cache
def _clusters(data: Path, names: tuple[str, ...], classes: int) -> str:
    digest = hashlib.sha256(repr((classes, names)).encode())
    for name in names:
        digest.update((data / name).read_bytes())
    path = Path(tempfile.gettempdir()) / "treetune-experiments" / f"clusters-{digest.hexdigest()[:16]}.txt"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        learn_clusters(_sentences(data, names), classes=classes).write(path)
    return str(path)


def raw_questions(setting: Setting) -> list[list[str]]:
    """Return the words of the raw questions."""
    return [list(words) for words in _sentences(setting.data, QUESTIONS)]


def _sentences(data: Path, names: Sequence[str]) -> Iterator[Sequence[str]]:
    for name in names:
        for words in read_words(data / name):
            # The raw questions have their question mark at the last word.
            if name in QUESTIONS and len(words[-1]) > 1 and words[-1].endswith("?"):
                yield [*words[:-1], words[-1][:-1], "?"]
            else:
                yield words
