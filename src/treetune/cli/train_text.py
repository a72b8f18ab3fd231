"""``treetune train --task tokenizer`` and ``--task pipeline``, and parsers with a tagger of their own (--jackknife)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treetune.cli.console import Interrupted, note, write_json
from treetune.cli.training_progress import follow_epochs, follow_folds
from treetune.config.files import described, read_data
from treetune.config.keys import EPOCHS
from treetune.config.recipe import Recipe
from treetune.config.stacking import FOLDS
from treetune.config.task import numbers
from treetune.corpus.files import check_kept
from treetune.corpus.rawtext import raw_text
from treetune.corpus.sentence import Example
from treetune.errors import ConfigError, unknown_name
from treetune.evaluate.alignment import TextScores, evaluate_text
from treetune.evaluate.metrics import percent
from treetune.models.pipeline import Pipeline
from treetune.models.quantize import quantize
from treetune.models.registry import TAGGERS
from treetune.storage import check_target, save

if TYPE_CHECKING:
    from treetune.learning.pipeline_training import PipelineProgress
    from treetune.learning.progress import Progress
    from treetune.learning.tokenizer_training import SegmentProgress

TOKENIZER, PIPELINE, PARSER = "tokenizer", "pipeline", "parser"
TEXT_TASKS = (TOKENIZER, PIPELINE)
TAGGER_EPOCHS = 8
TAGGER_OPTIONS: Any = {"epochs": TAGGER_EPOCHS, "learner": "mira"}


@dataclass(frozen=True, kw_only=True)
class TextPlan:
    """What to train from a treebank, and how; `recipe` is the parser's."""

    task: str
    treebank: str
    dev: str | None
    model: str
    recipe: Recipe
    folds: int
    epochs: int | None
    seed: int
    threads: int
    licence: str | None
    lenient: bool
    compact: bool


def check_task(task: str | None) -> None:
    """Raise ConfigError unless a task is known."""
    known = (PARSER, *TAGGERS, *TEXT_TASKS)
    if task is not None and task not in known:
        raise unknown_name("task", task, known)


def folds_of(task: str, jackknife: int | None) -> int:
    """Return the number of folds that are asked for; 0 lets the parser learn from gold tags."""
    if task not in (PARSER, PIPELINE) and jackknife is not None:
        raise ConfigError("--jackknife is for the tags that a parser learns from; leave it out")
    folds = FOLDS if jackknife is None else jackknife
    if folds == 1 or (folds == 0 and task == PARSER):
        raise ConfigError(f"--jackknife must be at least 2, found {folds}")
    return folds


def train_text(plan: TextPlan, *, quiet: bool, json: bool) -> None:
    """Train what the plan says, write the model, and report."""
    check_target(plan.model)
    check_kept(plan.model, (plan.treebank, plan.dev), flag="--model")
    say = partial(note, quiet=quiet)
    # A tokenizer learns from text alone.
    read = partial(read_data, partial=plan.task == TOKENIZER, lenient=plan.lenient, say=say)
    treebank = read(plan.treebank)
    dev = [] if plan.dev is None else read(plan.dev)
    notes: dict[str, Any] = {
        "task": plan.task,
        "seed": plan.seed,
        "train": described(plan.treebank, [example.sentence for example in treebank]),
    }
    if plan.dev is not None:
        notes["dev"] = described(plan.dev, [example.sentence for example in dev])
    try:
        if plan.task == TOKENIZER:
            pipeline, scores = _train_tokenizer(plan, treebank, dev, notes, quiet=quiet)
        else:
            pipeline, scores = _train_pipeline(plan, treebank, dev, notes, quiet=quiet)
    except KeyboardInterrupt:
        raise Interrupted(f"{plan.model} was not written") from None
    if plan.compact:
        pipeline = quantize(pipeline)
        notes["compact"] = True
    info: dict[str, Any] = {"training": notes}
    if dev and pipeline.tokenizer is not None:
        text_scores = _text_scores(pipeline, dev, plan.threads)
        note(f"dev, from raw text  {_line(text_scores, pipeline)}", quiet=quiet)
        scores["text"] = {name: text_scores[name] for name in _told(pipeline)}
        scores["text_signature"] = text_scores.signature("*")
    if scores:
        info["scores"] = scores
    if plan.licence is not None:
        info["licence"] = plan.licence
    save(pipeline.simplest, plan.model, info)
    note(f"wrote {plan.model}, {Path(plan.model).stat().st_size / 1e6:.1f} MB", quiet=quiet)
    if json:
        write_json({"model": plan.model, "info": info})


def _train_tokenizer(
    plan: TextPlan, treebank: list[Example], dev: list[Example], notes: dict[str, Any], *, quiet: bool
) -> tuple[Pipeline, dict[str, Any]]:
    from treetune.learning.tokenizer_training import EPOCHS as TOKENIZER_EPOCHS
    from treetune.learning.tokenizer_training import train_tokenizer
    from treetune.models.tokenizer.tokenizer import Tokenizer

    tokenizer = Tokenizer()
    epochs = TOKENIZER_EPOCHS if plan.epochs is None else plan.epochs
    notes["epochs"] = epochs
    reports = train_tokenizer(tokenizer, treebank, dev=dev or None, epochs=epochs, seed=plan.seed)
    _follow_tokenizer(reports, quiet=quiet)
    return Pipeline(tokenizer), {}


def _train_pipeline(
    plan: TextPlan, treebank: list[Example], dev: list[Example], notes: dict[str, Any], *, quiet: bool
) -> tuple[Pipeline, dict[str, Any]]:
    from treetune.learning.pipeline_training import tag_columns, train_pipeline
    from treetune.models.sequence.tagger import Tagger
    from treetune.models.tokenizer.tokenizer import Tokenizer

    columns = tag_columns(treebank)
    make_tagger = partial(Tagger, columns=columns)
    tokenizer = Tokenizer() if plan.task == PIPELINE else None
    pipeline = Pipeline(tokenizer, [make_tagger()], plan.recipe.make())
    parser_epochs = EPOCHS if plan.epochs is None else plan.epochs
    parser_options: Any = {"epochs": parser_epochs, **plan.recipe.learning}
    reports = train_pipeline(
        pipeline,
        treebank,
        dev=dev,
        make_tagger=make_tagger,
        folds=plan.folds,
        seed=plan.seed,
        threads=plan.threads,
        tagger_options=TAGGER_OPTIONS,
        parser_options=parser_options,
    )
    notes |= {"columns": list(columns), "jackknife": plan.folds}
    scores: dict[str, Any] = {}
    for stage, group in groupby(reports, key=lambda report: report.stage):
        if stage == "tokenizer":
            note("the tokenizer:", quiet=quiet)
            _follow_tokenizer((r.tokenizer for r in group if r.tokenizer is not None), quiet=quiet)
        elif stage == "jackknife":
            note("the tagger, on parts of TRAIN:", quiet=quiet)
            total = len(treebank) * TAGGER_EPOCHS * (plan.folds - 1)
            folds = (r.fold for r in group if r.fold is not None)
            follow_folds(folds, check=lambda step: None, total=total, quiet=quiet, done="tagged")
        else:
            is_tagger = stage == "tagger"
            note(f"the {stage}, on all of TRAIN:", quiet=quiet)
            epochs = TAGGER_EPOCHS if is_tagger else parser_epochs
            check = (lambda step: None) if is_tagger else plan.recipe.check_used
            kept = follow_epochs(_trainings(group), check=check, total=len(treebank) * epochs, quiet=quiet)
            notes[stage] = {"epochs": epochs, "best_epoch": kept.epoch, **kept.settings}
            if kept.dev is not None:
                scores[stage] = numbers(kept.dev)
    return pipeline, scores


def _trainings(reports: Iterable[PipelineProgress]) -> Iterator[Progress]:
    return (report.training for report in reports if report.training is not None)


def _follow_tokenizer(reports: Iterable[SegmentProgress], *, quiet: bool) -> None:
    for report in reports:
        parts = [f"epoch {report.epoch:>{len(str(report.epochs))}}/{report.epochs}"]
        if report.dev is not None:
            parts += [f"{name} {percent(report.dev[name]):>6}" for name in ("Tokens", "Words", "Sentences")]
        note("  ".join(parts), quiet=quiet)


def _text_scores(pipeline: Pipeline, dev: list[Example], threads: int) -> TextScores:
    text = raw_text(example.sentence for example in dev)
    return evaluate_text(dev, pipeline.parse_text(text, threads=threads))


def _told(pipeline: Pipeline) -> list[str]:
    """Return the metrics that the parts of a pipeline have a say in."""
    tags = [name.upper() for tagger in pipeline.taggers for name in tagger.columns if name in ("upos", "xpos")]
    trees = ["UAS", "LAS", "CLAS"] if pipeline.parser is not None else []
    return ["Tokens", "Words", "Sentences", *tags, *trees]


def _line(scores: TextScores, pipeline: Pipeline) -> str:
    return "  ".join(f"{name} {percent(scores[name])}" for name in _told(pipeline))
