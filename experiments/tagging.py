"""Steps with taggers (Hall et al. 2011, extrinsic): adapted by main verbs, and to the entities of a NER model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import treetune
from experiments.data import KEPT, UPOS, paths
from experiments.training import QUICK_EPOCHS
from treetune import Example, Objective, Tagger, Tree, losses
from treetune.corpus.iob import read_iob
from treetune.corpus.tags import Tagged, Tags, tagged
from treetune.corpus.treebank import read_words
from treetune.evaluation import Metric
from treetune.evaluation.entities import entity_counts
from treetune.features.brown import learn_clusters
from treetune.losses import Loss, make_loss
from treetune.models.registry import make_model

Counts = tuple[float, ...]
CLASSES, QUICK_CLASSES, QUICK_SENTENCES = 256, 20, 150
RAW_QUESTIONS = ("questions/unlabeled.txt", "questions/unlabeled-web.txt")

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


@dataclass(frozen=True)
class Setting:
    """What one run of a step is given: the data folder, the settings of its row, its seed, and how much to do."""

    data: Path
    config: Mapping[str, Any]
    seed: int
    is_quick: bool = False

    @property
    def step(self) -> Mapping[str, Any]:
        """The options of the step."""
        found: Mapping[str, Any] = self.config["step"]
        return found

    @property
    def tests(self) -> list[str]:
        """The names of the test sets."""
        return list(self.config["data"]["tests"])

    @property
    def epochs(self) -> int:
        """Passes over the training data."""
        return QUICK_EPOCHS if self.is_quick else int(self.config["train"]["epochs"])

    def most(self, examples: Sequence[Any]) -> list[Any]:
        """Return the examples, or the first few of them in a quick trial."""
        return list(examples[:QUICK_SENTENCES] if self.is_quick else examples)

    def paths(self) -> dict[str, Path]:
        """Return the files of the row, by name."""
        return paths(self.config, self.data)

    def trees(self, *names: str) -> list[Example]:
        """Return the examples of some files of the row, or of ``folder/file.conllu`` in the data folder."""
        known = paths(self.config, self.data)
        return [one for name in names for one in self.most(read_once(known.get(name, self.data / name)))]

    def clusters(self) -> str:
        """Return a file with Brown clusters of the raw words of the files of `model.clusters`, made once."""
        names = (*self.config["model"]["clusters"], *RAW_QUESTIONS)
        return _clusters(self.data, names, QUICK_CLASSES if self.is_quick else CLASSES)


@cache
def read_once(path: Path) -> list[Example]:
    """Read a treebank, once."""
    return list(treetune.read_trees(path))


@cache
def _clusters(data: Path, names: tuple[str, ...], classes: int) -> str:
    digest = hashlib.sha256(repr((classes, names)).encode())
    for name in names:
        digest.update((data / name).read_bytes())
    path = KEPT / f"clusters-{digest.hexdigest()[:16]}.txt"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        learn_clusters(raw_sentences(data, names), classes=classes).write(path)
    return str(path)


def raw_sentences(data: Path, names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the words of some files; the raw questions have their question mark at the last word."""
    for name in names:
        for words in read_words(data / name):
            if name in RAW_QUESTIONS and len(words[-1]) > 1 and words[-1].endswith("?"):
                yield [*words[:-1], words[-1][:-1], "?"]
            else:
                yield words


def train(model: Tagger, examples: Sequence[Tagged], setting: Setting, **options: Any) -> Tagger:
    """Train a tagger to the last epoch, and return it."""
    for _ in treetune.train(model, examples, **{"epochs": setting.epochs, "seed": setting.seed, **options}):
        pass
    return model


def train_tagger(examples: Sequence[Example], setting: Setting, **options: Any) -> Tagger:
    """Return a UPOS tagger with the clusters of the row."""
    return train(Tagger(columns=UPOS, clusters=setting.clusters()), tagged(examples, UPOS), setting, **options)


def run_tagger(setting: Setting) -> dict[str, list[Counts]]:
    """Train a tagger, with the objectives of the row, and return the counts of `TAG_METRICS`."""
    objectives = []
    for spec in setting.config.get("objective", ()):
        options = {key: value for key, value in spec.items() if key not in ("data", "known", "loss")}
        objectives.append(Objective(main_verbs(setting.trees(spec["data"])), make_loss(**spec["loss"]), **options))
    tagger = train_tagger(setting.trees(*setting.config["data"]["train"]), setting, objectives=objectives)
    return {test: tag_counts(tagger, setting.trees(test)) for test in setting.tests}


def tag_counts(tagger: Tagger, examples: Sequence[Example]) -> list[Counts]:
    """Return the counts of each sentence, for `TAG_METRICS`."""
    gold = tagged(examples, UPOS)
    found: list[Counts] = []
    for one, answer in zip(gold, tagger.predict_batch([one.sentence for one in gold]), strict=True):
        pairs = list(zip(one.gold.values[1:], answer.values[1:], strict=True))
        others = [(tag, guess) for tag, guess in pairs if tag != "PUNCT"]
        right, right_others = (sum(tag == guess for tag, guess in some) for some in (pairs, others))
        found.append((len(pairs), right, len(others), right_others))
    return found


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


def run_entities(setting: Setting) -> dict[str, list[Counts]]:
    """Train a NER model on the tags of a tagger, and return the counts of `ENTITY_METRICS`.

    `step.tags` is "none", "plain", "gold", or the loss by which the tagger is adapted to the entities of the NER
    model's training data: "hamming" or "hamming+f1". These data are tagged by taggers that were adapted by
    the other half of it, unless `step.same_sentences`.
    """
    kind, names = setting.step["tags"], [*setting.config["data"]["train"], *setting.tests]
    files = paths(setting.config, setting.data)
    parts = {name: setting.most(list(read_iob(files[name]))) for name in names}
    if kind in ("plain", "gold"):
        parts = {name: with_tags(plain_tagger(setting), examples) for name, examples in parts.items()}
    elif kind != "none":
        adaptation = Adaptation(kind, parts[names[0]], setting)
        tagger = adaptation.on_everything()
        halved = {} if setting.step.get("same_sentences") else {names[0]: adaptation.tag_unseen()}
        parts = {**{name: with_tags(tagger, examples) for name, examples in parts.items()}, **halved}
    if kind == "gold":
        same = setting.step["same_text"]
        parts = {name: with_gold_tags(one, read_once(setting.data / same[name])) for name, one in parts.items()}
    model = recogniser(parts[names[0]], setting)
    return {test: span_counts(model, parts[test]) for test in setting.tests}


def recogniser(examples: Sequence[Tagged], setting: Setting) -> Tagger:
    """Return a NER model that is trained on sentences with tags."""
    made = make_model("ner", clusters=setting.clusters())
    assert isinstance(made, Tagger)
    return train(made, examples, setting)


def span_counts(model: Tagger, examples: Sequence[Tagged]) -> list[Counts]:
    """Return the counts of each sentence, for `ENTITY_METRICS`."""
    answers = model.predict_batch([one.sentence for one in examples])
    counts = [entity_counts(one.gold, answer) for one, answer in zip(examples, answers, strict=True)]
    return [(one.gold, one.predicted, one.right) for one in counts]


def with_tags(tagger: Tagger, examples: Sequence[Tagged]) -> list[Tagged]:
    """Return the sentences with the tags of a tagger."""
    sentences = tagger.annotate([one.sentence for one in examples])
    return [replace(one, sentence=sentence) for one, sentence in zip(examples, sentences, strict=True)]


def with_gold_tags(examples: Sequence[Tagged], treebank: Sequence[Example]) -> list[Tagged]:
    """Return the sentences with the tags of a treebank; the few that were changed since keep those they have."""
    known = {example.sentence.forms[1:]: example.sentence.upos for example in treebank}
    return [
        replace(one, sentence=replace(one.sentence, upos=known.get(one.sentence.forms[1:], one.sentence.upos)))
        for one in examples
    ]


_PLAIN: dict[tuple[object, ...], Tagger] = {}


def plain_tagger(setting: Setting) -> Tagger:
    """Return the tagger that is trained on its treebank alone; made once for all rows of a seed."""
    key = (setting.data, setting.seed, setting.is_quick, setting.epochs, setting.clusters())
    if key not in _PLAIN:
        _PLAIN[key] = train_tagger(setting.trees(setting.step["treebank"]), setting)
    return _PLAIN[key]


def halves(examples: Sequence[Tagged]) -> tuple[list[Tagged], list[Tagged]]:
    """Return every second sentence, and the others."""
    return list(examples[0::2]), list(examples[1::2])


class Adaptation:
    """Taggers that are trained on the entities of some sentences, besides their treebank, by one of the losses."""

    def __init__(self, kind: str, examples: Sequence[Tagged], setting: Setting) -> None:
        self._examples, self._setting = examples, setting
        # The F1 of a half is that of a NER model trained on the other: it makes hardly a mistake on its training data.
        self._models: list[Tagger | None] = [None, None]
        if kind == "hamming+f1":
            plain = plain_tagger(setting)
            trained = [recogniser(with_tags(plain, half), setting) for half in halves(examples)]
            self._models = [trained[1], trained[0]]

    def on_everything(self) -> Tagger:
        """Return the tagger that is adapted by all sentences."""
        return self._tagger((0, 1))

    def tag_unseen(self) -> list[Tagged]:
        """Return all sentences, each with the tags of a tagger that was not adapted by its entities."""
        first, second = halves(self._examples)
        joined: list[Tagged] = [*self._examples]
        joined[0::2], joined[1::2] = with_tags(self._tagger((1,)), first), with_tags(self._tagger((0,)), second)
        return joined

    def _tagger(self, numbers: Sequence[int]) -> Tagger:
        rate = self._setting.step["rate"] / len(numbers)
        treebank = self._setting.trees(self._setting.step["treebank"])
        return train_tagger(treebank, self._setting, objectives=[self._objective(number, rate) for number in numbers])

    def _objective(self, number: int, rate: float) -> Objective:
        loss: Loss[Tags, Tags] = losses.EntityHamming()
        if (model := self._models[number]) is not None:
            loss = losses.Weighted([(1.0, loss), (1.0, losses.EntityF1(model=model, columns=UPOS))])
        start = min(self._setting.step["start"], self._setting.epochs)
        half = halves(self._examples)[number]
        name = f"entities, half {number + 1}"
        return Objective(half, loss, name=name, k=self._setting.step["k"], rate=rate, start=start)
