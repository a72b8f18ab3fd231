"""``treetune nlf train``: sentences with expressions, or treebanks to convert, in; a parser of encoded trees out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from treetune.cli import options
from treetune.cli.console import Advance, note, progress_bar
from treetune.cli.options import given
from treetune.cli.runfiles import RunFiles
from treetune.cli.train import make_config, run_training
from treetune.config.tables import Tables
from treetune.corpus.conllu import format_conllu
from treetune.corpus.files import STANDARD_STREAM, open_output
from treetune.corpus.sentence import Example
from treetune.errors import ConfigError, DataError
from treetune.semantics.meanings import read_meanings, realigned, with_frequent_labels

FEATURES, GRAPH_FEATURES, WITHOUT_CLUSTERS = "nlf-large", "clusters-only", "default"


def train(
    treebanks: Annotated[
        list[str],
        typer.Argument(
            metavar="TRAIN...",
            help="Sentences with expressions (.jsonl, or encoded CoNLL-U), UD treebanks, or Penn trees (.mrg).",
        ),
    ],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="File to write the model to.")],
    dev: Annotated[
        str | None, typer.Option("--dev", metavar="DEV", help="Development data, to choose the best epoch on.")
    ] = None,
    clusters: Annotated[
        str | None, typer.Option("--clusters", metavar="FILE", help="Word clusters, in place of tags.")
    ] = None,
    parser: options.Name = None,
    beam: Annotated[int, typer.Option("--beam", min=1, help="Beam width; 1 is greedy search.")] = 1,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="SET",
            help=f"Feature set, {FEATURES} with clusters; nlf is that of Alshawi et al. 2011.",
        ),
    ] = None,
    epochs: options.Epochs = None,
    covered: Annotated[bool, typer.Option("--covered", help="Leave out sentences of TRAIN in which % stands.")] = False,
    auto_align: Annotated[
        bool, typer.Option("--align", help="Align the words of TRAIN automatically, as if positions were not known.")
    ] = False,
    labels: Annotated[
        int | None,
        typer.Option(
            "--labels", min=1, metavar="K", help="Leave out sentences with labels beyond the K most frequent."
        ),
    ] = None,
    seed: options.Seed = None,
    changes: options.Changes = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a training that was interrupted.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write a JSON report to stdout.")] = False,
) -> None:
    """Train a parser that maps sentences to natural logical forms, from words and clusters, without tags."""
    if STANDARD_STREAM in (*treebanks, dev):
        raise ConfigError("TRAIN and DEV are read as files, by their suffix; - is not one")
    is_graph = parser is not None and parser.startswith("graph")
    if features is None:
        features = WITHOUT_CLUSTERS if clusters is None else GRAPH_FEATURES if is_graph else FEATURES
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{name}.conllu") for name in ("train", "dev")]
        tables: Tables = {
            "model": given(parser=parser, beam=None if is_graph else beam, features=features, clusters=clusters),
            "learner": given(learner=None if is_graph else "mira"),
            "train": given(dev=None if dev is None else paths[1], epochs=epochs, seed=seed),
            "run": {"model": model},
        }
        config = make_config(paths[0], tables, changes or [])
        # Whatever the training would refuse to replace is found before the conversion.
        with RunFiles.of(config, resume=resume).held():
            pass
        with progress_bar("reading", total=None, quiet=quiet) as advance:
            examples = training_examples(
                treebanks, covered=covered, auto_align=auto_align, labels=labels, advance=advance
            )
            _write(examples, paths[0])
            if dev is not None:
                _write(training_examples([dev], advance=advance), paths[1])
        note(f"{len(examples):,} sentences, {len(_labels(examples)):,} labels", quiet=quiet)
        run_training(config, resume=resume, quiet=quiet, json=json)


def training_examples(
    paths: list[str],
    *,
    covered: bool = False,
    auto_align: bool = False,
    labels: int | None = None,
    advance: Advance = lambda sentences, words: None,
) -> list[Example]:
    """Return the encoded trees of files, without tags.

    Args:
        paths: Files of `read_meanings`.
        covered: Whether to leave out sentences in which ``%`` stands.
        auto_align: Whether to forget the positions of words, and to align them automatically.
        labels: Leave out sentences with labels that are not among so many of the most frequent.
        advance: Is told of every sentence that was read.
    """
    examples = []
    for meaning in (one for path in paths for one in read_meanings(path)):
        if meaning.expression.is_covered or not covered:
            examples.append((realigned(meaning) if auto_align else meaning).example())
        advance(1, len(meaning.sentence))
    found = examples if labels is None else with_frequent_labels(examples, labels)
    if not found:
        raise DataError(f"expected at least one sentence to train on in {', '.join(paths)}, found none")
    return found


def _labels(examples: list[Example]) -> set[str]:
    return {label for one in examples for label in one.gold.labels[1:]}


def _write(examples: list[Example], path: str) -> None:
    with open_output(path) as out:
        out.writelines(format_conllu(one.sentence, one.gold) for one in examples)
