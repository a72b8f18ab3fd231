"""``treetune jackknife``: a treebank in; out, its sentences with trees of parsers that were not trained on them."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from treetune.cli import options
from treetune.cli.console import Interrupted, note
from treetune.cli.options import given
from treetune.cli.training_progress import fold_display, scores_line
from treetune.config import Config
from treetune.config.reading import read_data
from treetune.config.schema import FOLDS
from treetune.config.tables import FLAGS
from treetune.corpus.document import ParsedSentence
from treetune.corpus.files import STANDARD_STREAM, check_kept, open_output
from treetune.corpus.treebank import treebank_format, write_trees
from treetune.errors import ConfigError
from treetune.evaluation.scores import evaluate_trees as score


def jackknife(
    treebank: Annotated[
        str, typer.Argument(metavar="TRAIN", help="Trees to train on and to parse, CoNLL-U or CoNLL-X; - is stdin.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="File to write; - is stdout.")
    ] = STANDARD_STREAM,
    folds: Annotated[int, typer.Option(min=2, help="Folds, each parsed by a parser trained on the others.")] = FOLDS,
    parser: options.Name = None,
    beam: options.Beam = None,
    features: options.Features = None,
    epochs: options.Epochs = None,
    seed: options.Seed = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    changes: options.Changes = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Parse TRAIN by parsers that were not trained on it: each fold by one trained on all others."""
    tables = {
        "model": given(parser=parser, beam=beam, features=features),
        # What is read is not noted anywhere, so that it may be stdin.
        "train": {"treebank": "TRAIN", **given(epochs=epochs, seed=seed)},
    }
    config = Config.of(tables, changes=changes or [], source=FLAGS)
    model = config.model
    if model.task != "parser" or model.start_from or config.train.base or config.objectives:
        raise ConfigError("jackknifing trains parsers on a treebank alone; leave other settings out")
    check_kept(output, (treebank, features))
    examples = read_data(treebank, lenient=config.train.lenient, say=partial(note, quiet=quiet))
    file_format = treebank_format(treebank if output == STANDARD_STREAM else output).name
    train_options: Any = {"epochs": config.epochs, **model.learning}
    from treetune.learning.jackknife import jackknife as jackknife_steps

    # Opened first, so that hours of training are not in vain.
    with open_output(output) as out:
        reports = jackknife_steps(
            model.make, examples, folds=folds, seed=config.train.seed, threads=threads, **train_options
        )  # fmt: skip
        trees: Any = ()
        try:
            with fold_display(len(examples) * config.epochs * (folds - 1), quiet=quiet) as show:
                for report in reports:
                    if report.training is not None:
                        model.check_used(report.training)
                    show(report)
                    trees = report.outputs or trees
        except KeyboardInterrupt:
            raise Interrupted("nothing was written") from None
        parsed = (ParsedSentence(example.sentence, tree) for example, tree in zip(examples, trees, strict=True))
        write_trees(parsed, out, file_format=file_format)
    note(f"jackknifed  {scores_line(score(examples, trees))}", quiet=quiet)
