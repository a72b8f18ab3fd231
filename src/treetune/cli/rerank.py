"""``treetune rerank``: two trained parsers in; out, a reranker of the k-best trees of the first by the second."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treetune.cli.console import note
from treetune.cli.input import as_pipeline
from treetune.cli.training_progress import scores_line
from treetune.config.reading import fingerprint, read_data
from treetune.corpus.files import check_kept
from treetune.errors import ConfigError
from treetune.model_names import find_model
from treetune.models.pipeline import Pipeline
from treetune.storage import check_target, load, save

if TYPE_CHECKING:
    from treetune.models.base import Parser


def rerank(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="The model whose k-best trees are reranked, a parser or a pipeline.")
    ],
    second: Annotated[
        str,
        typer.Argument(metavar="SECOND", help="The model that reranks, of another --parser: backward or graph2."),
    ],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="File to write the reranker to.")],
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Development trees to tune the reranker weight on.")
    ] = None,
    weight: Annotated[
        float | None, typer.Option(help="The reranker weight, if not tuned on --dev; 1 by default.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=2, help="Length of the k-best lists, 16.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Rerank the k-best trees of BASE by the scores of BASE and SECOND, as one model.

    If BASE is a pipeline, OUT is one too, with its tokenizer and tagger; of SECOND only the parser is taken.
    """
    if dev is not None and weight is not None:
        raise ConfigError("--dev tunes the reranker weight; leave --weight out")
    check_target(model)
    check_kept(model, (base, second, dev), flag="--model")
    pipeline, base_parser = _load(base)
    parts = base_parser, _load(second)[1]
    from treetune.learning.reranking import tune_weight
    from treetune.models.reranker import RERANK_K, Reranker

    k = RERANK_K if k is None else k
    if dev is None:
        parser = Reranker(*parts, weight=1.0 if weight is None else weight, k=k)
    else:
        examples = read_data(dev, lenient=False, say=partial(note, quiet=quiet))
        # As the parser will see them when the pipeline is used.
        sentences = pipeline.tag([example.sentence for example in examples], threads=threads)
        examples = [replace(example, sentence=new) for example, new in zip(examples, sentences, strict=True)]
        parser, tried = tune_weight(*parts, examples, k=k, threads=threads)
        for one, scores in tried.items():
            note(f"weight {one:<4g}  {scores_line(scores)}{'  best' if one == parser.weight else ''}", quiet=quiet)
    stored = pipeline.with_parser(parser).simplest
    files = {"base": fingerprint(str(find_model(base))), "second": fingerprint(str(find_model(second)))}
    save(stored, model, {"reranker": {**files, "weight": parser.weight, "k": parser.k}})
    note(f"wrote {model}, {Path(model).stat().st_size / 1e6:.1f} MB", quiet=quiet)


def _load(path: str) -> tuple[Pipeline, Parser]:
    """Return the pipeline that a model is, or of which it is the only part, and its parser."""
    found = load(path)
    pipeline = as_pipeline(found, path)
    if pipeline.parser is None:
        without = " without one" if found is pipeline else ""
        raise ConfigError(f"{path}: expected a model with a parser, found a {found.kind}{without}")
    return pipeline, pipeline.parser
