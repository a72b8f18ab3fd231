"""``treetune jackknife``: a treebank in, the trees that parsers which have not seen them give to its sentences out."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from treetune.cli import options
from treetune.cli.console import Interrupted, note
from treetune.cli.training_progress import follow_folds, scores_line
from treetune.config.files import read_data
from treetune.config.keys import EPOCHS, SEED
from treetune.config.stacking import FOLDS
from treetune.corpus.document import ParsedSentence
from treetune.corpus.files import STANDARD_STREAM, check_kept, open_output
from treetune.corpus.treebank import treebank_format, write_trees
from treetune.evaluation.scores import evaluate_trees as score


def jackknife(
    treebank: Annotated[
        str, typer.Argument(metavar="TRAIN", help="Trees to learn from and to parse, CoNLL-U or CoNLL-X.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    folds: Annotated[int, typer.Option(min=2, help="Parts of TRAIN, each parsed by what learned the others.")] = FOLDS,
    parser: options.Name = None,
    beam: options.Beam = None,
    decoder: options.Decoder = None,
    labels: options.Labels = None,
    max_memory: options.MaxMemory = None,
    features: options.Features = None,
    inputs: options.Inputs = None,
    epochs: options.Epochs = None,
    learner: options.LearnerName = None,
    update: options.Update = None,
    k: options.K = None,
    clip: options.Clip = None,
    cost_augmented: options.CostAugmented = False,
    seed: options.Seed = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    lenient: options.Lenient = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Parse TRAIN by parsers that have not seen it: each part by one that learned from all others."""
    recipe = options.recipe_of(
        parser=parser,
        beam=beam,
        decoder=decoder,
        labels=labels,
        max_memory=max_memory,
        features=features,
        inputs=options.columns(inputs),
        learner=learner,
        update=update,
        k=k,
        clip=clip,
        cost_augmented=cost_augmented or None,
    )
    check_kept(output, (treebank, features))
    epochs = EPOCHS if epochs is None else epochs
    seed = SEED if seed is None else seed
    examples = read_data(treebank, lenient=lenient, say=partial(note, quiet=quiet))
    file_format = treebank_format(treebank if output == STANDARD_STREAM else output).name
    train_options: Any = {"epochs": epochs, **recipe.learning}
    from treetune.learning.jackknife import jackknife as jackknife_steps

    # Opened first, so that hours of training are not in vain.
    with open_output(output) as out:
        reports = jackknife_steps(recipe.make, examples, folds=folds, seed=seed, threads=threads, **train_options)
        try:
            trees = follow_folds(
                reports, check=recipe.check_used, total=len(examples) * epochs * (folds - 1), quiet=quiet
            )
        except KeyboardInterrupt:
            raise Interrupted("nothing was written") from None
        parsed = (ParsedSentence(example.sentence, tree) for example, tree in zip(examples, trees, strict=True))
        write_trees(parsed, out, file_format=file_format)
    note(f"jackknifed  {scores_line(score(examples, trees))}", quiet=quiet)
