"""Train a pipeline: the tokenizer, then the taggers and the lemmatizer, then a parser on jackknifed tags.

A tagger of entities has data of its own, or the treebank has entities in MISC; its sentences have predicted tags too.

A tagger is more accurate on its training data than on new text, and a parser trained on such tags, or on gold tags,
relies on them too much. So the parser is trained on tags of taggers that have not seen the sentence (Cherry and Bergsma
2012, section 4).
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from treetune.corpus.sentence import ABSENT, Example, Sentence
from treetune.corpus.spans import ENTITY_KEY
from treetune.corpus.tags import TAG_COLUMNS, Tagged, Tags, hide_columns, tagged, tags_of, with_tags
from treetune.errors import DataError
from treetune.learning.checkpoints import StageCheckpoints
from treetune.learning.conversion import Conversion, Train, convert_tags, convert_trees
from treetune.learning.jackknife import FoldProgress, TrainOptions, check_options, jackknife
from treetune.learning.objectives import Objective
from treetune.learning.other_treebanks import OtherTreebanks
from treetune.learning.progress import Progress
from treetune.learning.tokenizer_training import EPOCHS as TOKENIZER_EPOCHS
from treetune.learning.tokenizer_training import TokenizerProgress, train_tokenizer
from treetune.learning.trainer import train
from treetune.models.learning_options import CRF, DEFAULT_SEED, MIRA
from treetune.models.pipeline import Pipeline, finds_entities

# A first tagger has at most so many joint tags; XPOS with more is predicted beside FEATS.
MOST_TAGS = 150
# Epochs of the models that convert other treebanks; the other treebanks are large.
CONVERSION_EPOCHS = {"theirs": 2, "guided": 6}
# A morphology is rich if a tag has so many values of FEATS on average.
RICH = 8


@dataclass(frozen=True, slots=True)
class PipelineProgress:
    """Progress of one stage, with the report of its trainer.

    Stages are "tokenizer", "jackknife", "tagger", "entity_tagger", "lemmatizer" and "parser"; those of a second tagger
    "jackknife2" and "tagger2". With other treebanks, "plain" is a tagger of the treebank alone, "conversion" every
    model that converts.
    """

    stage: str
    tokenizer: TokenizerProgress | None = None
    fold: FoldProgress | None = None
    training: Progress | None = None


def tagger_columns(treebank: Sequence[Example]) -> list[tuple[str, ...]]:
    """Return the columns that a treebank has tags in, tagger by tagger: UPOS and XPOS, then FEATS.

    XPOS comes with FEATS if it has too many values for the first tagger.
    """
    found = [name for name in TAG_COLUMNS if _has(treebank, name)]
    first = [name for name in found if name != "feats"]
    if not first:
        raise DataError("expected tags to train on in UPOS or XPOS, found none in the treebank")
    if len(first) == 2 and _count_tags(treebank) > MOST_TAGS:
        first = first[:1]
    second = [name for name in found if name not in first]
    return [tuple(columns) for columns in (first, second) if columns]


def has_lemmas(treebank: Sequence[Example]) -> bool:
    """Return whether a treebank has lemmas to train a lemmatizer on."""
    return _has(treebank, "lemmas")


def entities_of(sentences: Iterable[Sentence]) -> list[Tagged]:
    """Return the sentences in which every word has an entity tag in MISC, ``ner=O`` if it is in no entity."""
    return [one for one in tagged(sentences, (ENTITY_KEY,)) if one.gold.is_complete]


def lemmatizer_inputs(columns: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the columns of taggers that lemmas depend on: XPOS of many values says no more than FEATS."""
    second = {name for more in columns[1:] for name in more}
    return tuple(name for more in columns for name in more if not (name == "xpos" and "feats" in second & {*more}))


def has_rich_morphology(treebank: Sequence[Example], columns: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a tag of the first tagger goes with many values of the second, on average."""
    if "feats" not in {name for more in columns[1:] for name in more}:
        return False
    every = {pair for one in treebank for pair in _pairs(one.sentence, columns)}
    return len(every) >= RICH * len({first for first, _ in every})


def _pairs(sentence: Sentence, columns: Sequence[tuple[str, ...]]) -> Iterable[tuple[str, str]]:
    first, second = (tags_of(sentence, more).values[1:] for more in columns)
    return zip(first, second, strict=True)


def _count_tags(treebank: Sequence[Example]) -> int:
    return len({pair for one in treebank for pair in zip(one.sentence.upos[1:], one.sentence.xpos[1:], strict=True)})


def _has(treebank: Sequence[Example], name: str) -> bool:
    return any(set(getattr(example.sentence, name)[1:]) - {ABSENT} for example in treebank)


def train_pipeline(
    pipeline: Pipeline,
    treebank: Sequence[Example],
    *,
    dev: Sequence[Example] = (),
    others: Sequence[Objective] = (),
    convert: bool = False,
    entities: Sequence[Tagged] = (),
    entities_dev: Sequence[Tagged] = (),
    folds: int = 10,
    seed: int = DEFAULT_SEED,
    threads: int = 1,
    tokenizer_epochs: int = TOKENIZER_EPOCHS,
    tagger_options: TrainOptions | None = None,
    lemmatizer_options: TrainOptions | None = None,
    parser_options: TrainOptions | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Iterator[PipelineProgress]:
    """Train all parts of a pipeline and yield progress; taggers and parser are those of their best epoch on `dev`.

    Args:
        pipeline: Untrained parts: any of a tokenizer, taggers, a lemmatizer and a parser.
        treebank: Sentences in the order of their text, with complete tags and trees.
        dev: Others, to choose epochs by; its tags are predicted before later parts see it.
        others: Other treebanks, as parsed text: objectives without a loss. The first tagger learns from those of their
            sentences that have all of its tags, the parser from all.
        convert: Whether to convert their tags and trees to the conventions of the treebank first; see `conversion`.
        entities: What a tagger of entities learns; by default, the sentences of the treebank with entities in MISC.
        entities_dev: Others, to choose its epoch by; by default, the sentences of `dev` with entities in MISC.
        folds: The number of folds of the jackknife; 0 to train the parser on gold tags.
        seed: Shuffles the sentences and assigns them to folds.
        threads: For prediction only; the result does not depend on it.
        tokenizer_epochs: Passes of the tokenizer over the treebank.
        tagger_options: The options of `train` for taggers; MIRA in place of a CRF for those that share weights.
        lemmatizer_options: The options of `train` for the lemmatizer.
        parser_options: The options of `train` for the parser.
        checkpoint: A folder for the checkpoints of all stages.
        resume: Whether to resume from `checkpoint`, if it exists; the pipeline is the same as without the interruption.
    """
    options = {"tagger": tagger_options or {}, "lemmatizer": lemmatizer_options or {}, "parser": parser_options or {}}
    # Before hours of jackknifing.
    for name, part in pipeline.parts.items():
        if (kind := name.rstrip("0123456789")) in options:
            check_options(getattr(part, "tagger", cast(Any, part)), _fitting(part, options[kind]))
    other_treebanks = OtherTreebanks(list(others))
    for kind in ("tagger", "parser"):
        other_treebanks.check_starts(options[kind].get("epochs", sys.maxsize))
    stages = StageCheckpoints(checkpoint, resume=resume)
    known = list(entities), list(entities_dev)
    training = _PipelineTraining(
        pipeline, list(treebank), list(dev), known, stages, seed, threads, options, other_treebanks, convert
    )  # fmt: skip
    return stages.held(training.run(folds if pipeline.parser is not None else 0, tokenizer_epochs))


def _fitting(model: Any, options: TrainOptions) -> TrainOptions:
    """Return the options without a CRF for a tagger that shares weights, which cannot be one."""
    is_shared = getattr(getattr(model, "config", None), "shared", False)
    return {**options, "learner": MIRA} if is_shared and options.get("learner") == CRF else options


@dataclass
class _PipelineTraining:
    """One run of `train_pipeline`; the sentences of `jackknifed` and `dev` get predicted tags on the way."""

    pipeline: Pipeline
    treebank: list[Example]
    dev: list[Example]
    entities: tuple[list[Tagged], list[Tagged]]
    stages: StageCheckpoints
    seed: int
    threads: int
    options: dict[str, TrainOptions]
    others: OtherTreebanks
    convert: bool
    jackknifed: list[Sentence] = field(init=False)

    def run(self, folds: int, tokenizer_epochs: int) -> Iterator[PipelineProgress]:
        self.jackknifed = [example.sentence for example in self.treebank]
        if self.pipeline.tokenizer is not None:
            yield from self._tokenizer(self.pipeline.tokenizer, tokenizer_epochs)
        for number, tagger in enumerate(self.pipeline.taggers, start=1):
            if finds_entities(tagger):
                yield from self._entity_tagger(tagger, folds)
            else:
                yield from self._tagger(tagger, "" if number == 1 else str(number), folds)
        if self.pipeline.lemmatizer is not None:
            yield from self._lemmatizer(self.pipeline.lemmatizer)
        if self.pipeline.parser is not None:
            yield from self._parser(self.pipeline.parser)

    def _tokenizer(self, tokenizer: Any, epochs: int) -> Iterator[PipelineProgress]:
        for report in train_tokenizer(
            tokenizer, self.treebank, dev=self.dev or None, epochs=epochs, seed=self.seed,
            **self.stages.options("tokenizer"),
        ):  # fmt: skip
            yield PipelineProgress("tokenizer", tokenizer=report)

    def _tagger(self, tagger: Any, number: str, folds: int) -> Iterator[PipelineProgress]:
        """Train a tagger on gold tags; each of its folds is predicted from the tags of the taggers before."""
        known = tagged(self.treebank, tagger.columns)
        if folds:
            yield from self._jackknife(tagger, known, folds, number)
        held_out, others = tagged(self.dev, tagger.columns), list[Objective]()
        if self.others.objectives:
            yield from self._other_tags(tagger, known, number)
            others = [] if number else self.others.for_tagger(tagger.columns)
        for report in self._train(tagger, known, held_out, f"tagger-{number or 1}", "tagger", others):
            yield PipelineProgress(f"tagger{number}", training=report)
        predicted = tagger.annotate([example.sentence for example in self.dev], threads=self.threads)
        self.dev = [replace(example, sentence=found) for example, found in zip(self.dev, predicted, strict=True)]

    def _other_tags(self, tagger: Any, known: Sequence[Any], number: str) -> Iterator[PipelineProgress]:
        """Tag the sentences of other treebanks for the parser, by a tagger that has not seen them.

        Their own tags, which the first tagger learns from, are converted.
        """
        plain = copy.copy(tagger)
        for report in self._train(plain, known, (), f"plain-{number or 1}", "tagger"):
            yield PipelineProgress(f"plain{number}", training=report)
        self.others.annotate(plain, self.threads)
        if self.convert and not number:
            examples = self.others.examples(tagger.columns)
            if not examples:
                return
            yield from self._convert(convert_tags(tagger, self.treebank, examples, self._trainer("tags", "tagger")))

    def _convert(self, steps: Iterator[Progress | Conversion]) -> Iterator[PipelineProgress]:
        for found in steps:
            if isinstance(found, Progress):
                yield PipelineProgress("conversion", training=found)
            else:
                self.others.replace(found.examples, found.columns)

    def _trainer(self, name: str, kind: str) -> Train:
        """Return what trains the models of a conversion."""

        def steps(model: Any, examples: Sequence[Any], stage: str) -> Iterator[Progress]:
            options = {**self.options[kind], "epochs": CONVERSION_EPOCHS[stage]}
            return self._train(model, examples, (), f"convert-{name}-{stage}", kind, options=cast(Any, options))

        return steps

    def _jackknife(self, tagger: Any, known: Sequence[Any], folds: int, number: str) -> Iterator[PipelineProgress]:
        tags: tuple[Tags, ...] = ()
        for fold in jackknife(
            partial(copy.copy, tagger), known, folds=folds, seed=self.seed, threads=self.threads,
            sentences=self.jackknifed, **self.stages.options(f"jackknife{number}"),
            **_fitting(tagger, self.options["tagger"]),
        ):  # fmt: skip
            yield PipelineProgress(f"jackknife{number}", fold=fold)
            tags = fold.outputs or tags
        pairs = zip(self.jackknifed, tags, strict=True)
        self.jackknifed = [with_tags(sentence, found, tagger.columns) for sentence, found in pairs]

    def _entity_tagger(self, tagger: Any, folds: int) -> Iterator[PipelineProgress]:
        """Train the tagger of entities on predicted tags: jackknifed ones of sentences that are in the treebank."""
        jackknifed = {sentence.forms: sentence for sentence in self.jackknifed} if folds else {}
        known = self._tagged(self.entities[0], tagger, jackknifed) or entities_of(self.jackknifed)
        if not known:
            raise DataError(f"expected entities to train on, {ENTITY_KEY}=B-PER in MISC, found none in the treebank")
        held_out = self._tagged(self.entities[1], tagger, {}) or entities_of(example.sentence for example in self.dev)
        for report in self._train(tagger, known, held_out, "entity_tagger", "tagger"):
            yield PipelineProgress("entity_tagger", training=report)

    def _tagged(
        self, data: Sequence[Tagged], tagger: Any, jackknifed: Mapping[tuple[str, ...], Sentence]
    ) -> list[Tagged]:
        """Return data with the tags of the taggers before this one, or with jackknifed ones."""
        predicted: Sequence[Sentence] = [one.sentence for one in data]
        for before in self.pipeline.taggers[: self.pipeline.taggers.index(tagger)]:
            predicted = before.annotate(predicted, threads=self.threads)
        pairs = zip(data, predicted, strict=True)
        return [
            Tagged(hide_columns(jackknifed.get(one.sentence.forms, found), tagger.columns), one.gold)
            for one, found in pairs
        ]

    def _lemmatizer(self, lemmatizer: Any) -> Iterator[PipelineProgress]:
        """Train the lemmatizer on gold tags and on jackknifed ones."""
        lemmatizer.learn_lemmas(self.treebank)
        known = lemmatizer.examples([example.sentence for example in self.treebank] + self.jackknifed)
        held_out = lemmatizer.examples([example.sentence for example in self.dev], repeated=True) if self.dev else []
        for report in self._train(lemmatizer.tagger, known, held_out, "lemmatizer", "lemmatizer"):
            yield PipelineProgress("lemmatizer", training=report)

    def _parser(self, parser: Any) -> Iterator[PipelineProgress]:
        """Train the parser on the columns that it will have: those of the taggers, if there are any."""
        given = {name for tagger in self.pipeline.taggers for name in tagger.columns}
        missing = [name for name in TAG_COLUMNS if given and name not in given]
        held_out = [replace(example, sentence=example.sentence.without(*missing)) for example in self.dev]
        known = [
            replace(example, sentence=sentence.without(*missing))
            for example, sentence in zip(self.treebank, self.jackknifed, strict=True)
        ]
        self.others.show_predicted(missing)
        if self.convert:
            examples = self.others.examples()
            yield from self._convert(convert_trees(parser, known, examples, self._trainer("trees", "parser")))
        for report in self._train(parser, known, held_out, "parser", "parser", self.others.objectives):
            yield PipelineProgress("parser", training=report)

    def _train(
        self,
        model: Any,
        treebank: Sequence[Any],
        dev: Sequence[Any],
        stage: str,
        kind: str,
        others: Sequence[Objective] = (),
        options: TrainOptions | None = None,
    ) -> Iterator[Progress]:
        chosen: Any = {**self.stages.options(stage), **_fitting(model, options or self.options[kind])}
        if others:
            chosen["objectives"] = others
        return train(model, treebank, dev=dev, seed=self.seed, threads=self.threads, **chosen)
