"""``treetune combine``: two trained parsers in, one model out, in which the second judges the trees of the first."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treetune.cli.console import note
from treetune.cli.steps import scores_line
from treetune.corpus.files import check_kept
from treetune.errors import ConfigError
from treetune.experiment.files import read_data
from treetune.models.pipeline import Pipeline
from treetune.storage import check_target, load, save

if TYPE_CHECKING:
    from treetune.models.base import Parser


def combine(
    main: Annotated[
        str, typer.Argument(metavar="MAIN", help="The model whose trees are judged, a parser or a pipeline.")
    ],
    judge: Annotated[str, typer.Argument(metavar="JUDGE", help="A model that differs: --parser backward, or graph2.")],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="Where to write the model of both.")],
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Development trees to choose the judge's weight by.")
    ] = None,
    weight: Annotated[
        float | None, typer.Option(help="The judge's weight, if not chosen by --dev; 1 by default.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=2, help="How many trees of MAIN are judged, 16.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Make one parser of two: MAIN finds the best trees, and the scores of both models choose among them.

    If MAIN is a pipeline, OUT is one too, with its tokenizer and tagger; of JUDGE only the parser is taken.
    """
    if dev is not None and weight is not None:
        raise ConfigError("--dev chooses the weight of the judge; leave --weight out")
    check_target(model)
    check_kept(model, (main, judge, dev), flag="--model")
    pipeline, main_parser = _load(main)
    parts = main_parser, _load(judge)[1]
    from treetune.learning.judging import choose_weight
    from treetune.models.judged import JUDGED, JudgedParser

    judged = JUDGED if k is None else k
    if dev is None:
        parser = JudgedParser(*parts, weight=1.0 if weight is None else weight, k=judged)
    else:
        examples = read_data(dev, lenient=False, say=partial(note, quiet=quiet))
        # As the parser will see them when the pipeline is used.
        sentences = pipeline.tag([example.sentence for example in examples], threads=threads)
        examples = [replace(example, sentence=new) for example, new in zip(examples, sentences, strict=True)]
        parser, tried = choose_weight(*parts, examples, k=judged, threads=threads)
        for one, scores in tried.items():
            note(f"weight {one:<4g}  {scores_line(scores)}{'  best' if one == parser.weight else ''}", quiet=quiet)
    stored = pipeline.with_parser(parser).simplest
    save(stored, model, {"combined": {"main": main, "judge": judge, "weight": parser.weight, "k": parser.k}})
    note(f"wrote {model}, {Path(model).stat().st_size / 1e6:.1f} MB", quiet=quiet)


def _load(path: str) -> tuple[Pipeline, Parser]:
    """Return the pipeline that a model is, or of which it is the only part, and its parser."""
    found = load(path)
    pipeline = Pipeline.of(found)
    if pipeline.parser is None:
        without = " without one" if found is pipeline else ""
        raise ConfigError(f"{path}: expected a model with a parser, found a {found.kind}{without}")
    return pipeline, pipeline.parser
