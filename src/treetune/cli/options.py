"""The options by which commands say what parser to train and how; a value of None is left to the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from treetune.config.recipe import Recipe
from treetune.config.source import FLAGS
from treetune.config.stacking import FOLDS

# The parts of a help page.
PARSER, TAGGER, LEARNER, STACKING = "The parser", "The tagger", "The learner", "Stacking"
OBJECTIVES, RUN = "What else to learn from", "Interruptions, logs and pictures"

Name = Annotated[
    str | None,
    typer.Option(
        "--parser",
        help="transition (the default), backward (from the last word), graph (first order) or graph2 (second order).",
        rich_help_panel=PARSER,
    ),
]
Beam = Annotated[
    int | None,
    typer.Option(
        "--beam", min=1, help="Width of the search of a transition parser, 8; 1 is greedy.", rich_help_panel=PARSER
    ),
]
Decoder = Annotated[
    str | None,
    typer.Option("--decoder", help="Search of a graph parser: projective or non-projective.", rich_help_panel=PARSER),
]
Labels = Annotated[
    str | None,
    typer.Option("--labels", help="Labels of a graph parser: joint or second-stage.", rich_help_panel=PARSER),
]
MaxMemory = Annotated[
    float | None,
    typer.Option(
        "--max-memory", metavar="GB", help="Memory a graph parser may take for one sentence, 2.", rich_help_panel=PARSER
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features", help="The set of feature templates, or a .txt file of your own.", rich_help_panel=PARSER
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="COLUMNS",
        help="Tag columns the parser may look at: upos,xpos,feats.",
        rich_help_panel=PARSER,
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="parser (the default); tag or ner: a tagger; tokenizer; pipeline: tokenizer, tagger and parser in one.",
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="COLUMNS",
        help="What a tagger gives: upos, xpos, feats, several with commas, or a key of MISC.",
        rich_help_panel=TAGGER,
    ),
]
Order = Annotated[
    int | None,
    typer.Option("--order", min=1, max=2, help="How many tags back a tagger looks, 1 or 2.", rich_help_panel=TAGGER),
]
ClusterFile = Annotated[
    str | None,
    typer.Option(
        "--clusters",
        metavar="FILE",
        help="Word clusters of 'treetune clusters'; for parsers with --features clusters or clusters-only.",
        rich_help_panel=PARSER,
    ),
]
TaggerFile = Annotated[
    str | None,
    typer.Option(
        "--tagger",
        metavar="MODEL",
        help="A tagger, or a pipeline with one, that tags all words before they are learned from.",
        rich_help_panel=PARSER,
    ),
]
Epochs = Annotated[int | None, typer.Option("--epochs", min=1, help="How often to go through TRAIN, 10.")]
LearnerName = Annotated[
    str | None,
    typer.Option(
        "--learner",
        help="perceptron or mira; factored-mira for graph parsers, crf for taggers.",
        rich_help_panel=LEARNER,
    ),
]
Update = Annotated[
    str | None,
    typer.Option(
        "--update",
        help="Of a transition parser: max-violation, early or dynamic; by default what suits.",
        rich_help_panel=LEARNER,
    ),
]
K = Annotated[
    int | None,
    typer.Option("--k", min=1, help="Candidates that mira holds against the gold tree, 5.", rich_help_panel=LEARNER),
]
Clip = Annotated[float | None, typer.Option("--clip", help="The largest step of mira.", rich_help_panel=LEARNER)]
CostAugmented = Annotated[
    bool,
    typer.Option(
        "--cost-augmented", help="A graph parser learns from a search that prefers wrong arcs.", rich_help_panel=LEARNER
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Decides the order of the sentences, 1.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")]

BaseName = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="FILE|PARSER",
        help="Trees to look at: a file with another parser's trees of TRAIN, or the name of a parser to train for it.",
        rich_help_panel=STACKING,
    ),
]
DevBase = Annotated[
    str | None,
    typer.Option(
        "--dev-base", metavar="FILE", help="The trees of DEV that belong to a --base file.", rich_help_panel=STACKING
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(
        "--folds",
        min=2,
        help=f"Parts of TRAIN, each parsed by what learned from the others, {FOLDS}.",
        rich_help_panel=STACKING,
    ),
]

# What is for the learner, not for the parser.
LEARNING = ("learner", "update", "k", "clip", "cost_augmented")


def tables_of(**options: Any) -> dict[str, dict[str, Any]]:
    """Return the tables [model] and [learner] that options of a command stand for."""
    found = given(options)
    return {
        "model": {name: value for name, value in found.items() if name not in LEARNING},
        "learner": {name: value for name, value in found.items() if name in LEARNING},
    }


def recipe_of(**options: Any) -> Recipe:
    """Return the parser that options of a command ask for; whatever is wrong with them is a `ConfigError`."""
    tables = tables_of(**options)
    return Recipe.checked(tables["model"], tables["learner"], FLAGS)


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def columns(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list with commas."""
    return None if text is None else tuple(name.strip().lower() for name in text.split(",") if name.strip())
