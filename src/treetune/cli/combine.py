"""``treetune combine``: two trained parsers in, one model out, in which the second judges the trees of the first."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treetune.cli.console import note
from treetune.cli.steps import scores_line
from treetune.corpus.files import check_kept
from treetune.errors import ConfigError
from treetune.experiment.files import read_data
from treetune.storage import check_target, load, save

if TYPE_CHECKING:
    from treetune.models.base import Parser

# The kinds of models whose trees cannot be judged, and which cannot judge any.
_NO_PARSERS = ("pipeline", "tagger", "tokenizer")


def combine(
    main: Annotated[str, typer.Argument(metavar="MAIN", help="The model whose trees are judged.")],
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
    """Make one parser of two: MAIN finds the best trees, and the scores of both models choose among them."""
    if dev is not None and weight is not None:
        raise ConfigError("--dev chooses the weight of the judge; leave --weight out")
    check_target(model)
    check_kept(model, (main, judge, dev), flag="--model")
    parts = _load(main), _load(judge)
    from treetune.learning.judging import choose_weight
    from treetune.models.judged import JUDGED, JudgedParser

    judged = JUDGED if k is None else k
    if dev is None:
        parser = JudgedParser(*parts, weight=1.0 if weight is None else weight, k=judged)
    else:
        examples = read_data(dev, lenient=False, say=partial(note, quiet=quiet))
        parser, tried = choose_weight(*parts, examples, k=judged, threads=threads)
        for one, scores in tried.items():
            note(f"weight {one:<4g}  {scores_line(scores)}{'  best' if one == parser.weight else ''}", quiet=quiet)
    save(parser, model, {"combined": {"main": main, "judge": judge, "weight": parser.weight, "k": parser.k}})
    note(f"wrote {model}, {Path(model).stat().st_size / 1e6:.1f} MB", quiet=quiet)


def _load(path: str) -> Parser:
    found = load(path)
    if found.kind in _NO_PARSERS:
        raise ConfigError(
            f"{path} is a {found.kind} model, expected a parser; "
            "of a pipeline save the parser alone, in Python: treetune.save(treetune.load(MODEL).parser, OUT)"
        )
    parser: Parser = found
    return parser
