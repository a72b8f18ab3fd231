"""``treetune train``: a treebank in, a model file out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from treetune.build import make_parser, resolve_update
from treetune.cli.console import Interrupted, note, progress_bar, write_json
from treetune.cli.steps import epoch_ends, epoch_line
from treetune.corpus.faults import SkipReport
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError
from treetune.evaluate.metrics import METRICS
from treetune.storage import check_target, save

if TYPE_CHECKING:
    from treetune.evaluate.scores import Scores
    from treetune.learning.progress import Progress
    from treetune.models.transition.parser import TransitionParser


def train(
    treebank: Annotated[str, typer.Argument(metavar="TRAIN", help="Trees to learn from, CoNLL-U or CoNLL-X.")],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="Where to write the model.")],
    dev: Annotated[
        str | None, typer.Option("--dev", metavar="DEV", help="Trees by which the best epoch is chosen.")
    ] = None,
    parser: Annotated[str, typer.Option(help="The kind of parser.")] = "transition",
    beam: Annotated[int, typer.Option(min=1, help="Width of the search; 1 is greedy.")] = 8,
    epochs: Annotated[int, typer.Option(min=1, help="How often to go through TRAIN.")] = 10,
    features: Annotated[str, typer.Option(help="The set of feature templates.")] = "default",
    inputs: Annotated[
        str, typer.Option(metavar="COLUMNS", help="Tag columns the parser may look at, where TRAIN has them.")
    ] = "upos,xpos,feats",
    update: Annotated[
        str | None,
        typer.Option(help="max-violation, early or dynamic; default: dynamic at beam 1, else max-violation."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides the order of the sentences.")] = 1,
    projectivize: Annotated[
        bool, typer.Option(help="Learn crossing arcs by lifting them, or leave such sentences out.")
    ] = True,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse DEV with.")] = 1,
    licence: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Licence of the data, to be noted in the model.")
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write a JSON report to stdout.")] = False,
) -> None:
    """Train a parser; OUT appears, or is replaced, only when training is complete."""
    # Whatever can be wrong about the options is found before any data is read.
    columns = tuple(name.strip().lower() for name in inputs.split(",") if name.strip())
    learner = make_parser(parser, beam=beam, features=features, inputs=columns)
    rule = resolve_update(update, beam=beam)
    check_target(model)
    examples = _read(treebank, lenient=lenient, quiet=quiet)
    held_out = _read(dev, lenient=lenient, quiet=quiet) if dev is not None else []
    learned = examples if projectivize else _projective(examples, path=treebank, quiet=quiet)
    from treetune.learning.trainer import train as train_steps

    # So far the trainer knows one kind of parser.
    known = cast("TransitionParser", learner)
    steps = train_steps(known, learned, dev=held_out, epochs=epochs, update=rule, seed=seed, threads=threads)
    try:
        ends = _follow(steps, total=len(learned) * epochs, quiet=quiet)
    except KeyboardInterrupt:
        raise Interrupted(f"{model} was not written") from None
    best = _best(ends)
    training = {"epochs": epochs, "best_epoch": best.epoch, "update": rule, "seed": seed}
    files = {"train": _described(treebank, examples)}
    if dev is not None:
        files["dev"] = _described(dev, held_out)
    info: dict[str, Any] = {"training": {**training, "projectivize": projectivize, **files}}
    if best.dev is not None:
        info["scores"] = {"dev": _numbers(best.dev), "signature": best.dev.signature("*")}
    if licence is not None:
        info["licence"] = licence
    save(learner, model, info)
    note(f"wrote {model}, {Path(model).stat().st_size / 1e6:.1f} MB", quiet=quiet)
    if json:
        write_json({"model": model, "epochs": [_content(end) for end in ends], "info": info})


def _read(path: str, *, lenient: bool, quiet: bool) -> list[Example]:
    report = SkipReport()
    examples = list(read_trees(path, strict=not lenient, report=report))
    if report.skipped:
        note(f"{path}: {report.summary()}", quiet=quiet)
    if not examples:
        raise DataError("expected at least one sentence, found none", path=path)
    return examples


def _projective(examples: list[Example], *, path: str, quiet: bool) -> list[Example]:
    kept = [example for example in examples if is_projective(example.gold.heads)]
    if not kept:
        raise DataError("every sentence has crossing arcs; train without --no-projectivize", path=path)
    if len(kept) < len(examples):
        left_out = len(examples) - len(kept)
        note(f"{path}: left out {left_out:,} of {len(examples):,} sentences for crossing arcs", quiet=quiet)
    return kept


def _follow(steps: Iterable[Progress], *, total: int, quiet: bool) -> list[Progress]:
    """Train, show how it goes on, and return the record at the end of each epoch."""
    ends = []
    with progress_bar("training", total=total, quiet=quiet) as advance:
        for end in epoch_ends(steps, advance):
            ends.append(end)
            note(epoch_line(end), quiet=quiet)
    return ends


def _best(ends: list[Progress]) -> Progress:
    """Return the epoch whose weights were kept: the last one that was the best so far."""
    return [end for end in ends if end.best or end.dev is None][-1]


def _described(path: str, examples: list[Example]) -> dict[str, Any]:
    """Return what a model notes about a file; without its folder, so that moving it changes nothing."""
    with Path(path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    words = sum(len(example.sentence) for example in examples)
    return {"name": Path(path).name, "sha256": digest, "sentences": len(examples), "words": words}


def _content(end: Progress) -> dict[str, Any]:
    return {
        "epoch": end.epoch,
        "updated": end.updated,
        "sentences": end.total,
        "cpu_seconds": end.cpu_seconds,
        "best": end.best,
        "dev": None if end.dev is None else _numbers(end.dev),
    }


def _numbers(scores: Scores) -> dict[str, float]:
    # A score with nothing to count is not a number, which JSON has no word for.
    return {name: scores[name] for name in METRICS if scores[name] == scores[name]}
