"""The options by which commands say what parser to train and how; a value of None is left to the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetune.build import make_parser, parser_kind
from treetune.errors import ConfigError

if TYPE_CHECKING:
    from treetune.learning.progress import Progress
    from treetune.models.base import Parser

Name = Annotated[str, typer.Option("--parser", help="transition, graph (first order) or graph2 (second order).")]
Beam = Annotated[
    int | None, typer.Option("--beam", min=1, help="Width of the search of a transition parser, 8; 1 is greedy.")
]
Decoder = Annotated[
    str | None, typer.Option("--decoder", help="Search of a graph parser: projective or non-projective.")
]
Labels = Annotated[str | None, typer.Option("--labels", help="Labels of a graph parser: joint or second-stage.")]
MaxMemory = Annotated[
    float | None,
    typer.Option("--max-memory", metavar="GB", help="Memory a graph parser may take for one sentence, 2."),
]
Features = Annotated[
    str | None, typer.Option("--features", help="The set of feature templates, or a .txt file of your own.")
]
Inputs = Annotated[
    str | None,
    typer.Option("--inputs", metavar="COLUMNS", help="Tag columns the parser may look at: upos,xpos,feats."),
]
Epochs = Annotated[int, typer.Option("--epochs", min=1, help="How often to go through TRAIN.")]
LearnerName = Annotated[str | None, typer.Option("--learner", help="perceptron, mira or factored-mira.")]
Update = Annotated[
    str | None,
    typer.Option("--update", help="Of a transition parser: max-violation, early or dynamic; by default what suits."),
]
K = Annotated[int | None, typer.Option("--k", min=1, help="Candidates that mira holds against the gold tree, 5.")]
Clip = Annotated[float | None, typer.Option("--clip", help="The largest step of mira.")]
CostAugmented = Annotated[
    bool, typer.Option("--cost-augmented", help="A graph parser learns from a search that prefers wrong arcs.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides the order of the sentences.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")]

# The kind of parser an option is for; what is not here is for all kinds.
OWNERS = {
    "beam": "transition",
    "update": "transition",
    "decoder": "graph",
    "labels": "graph",
    "max_memory": "graph",
    "cost_augmented": "graph",
}
# What is for the learner, not for the parser.
LEARNING = ("learner", "update", "k", "clip", "cost_augmented")
# The learners an option is for.
LEARNER_OWNERS = {"k": "mira", "clip": "mira and factored-mira"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which parser to make, with the options given for it and for its learner."""

    parser: str
    options: Mapping[str, Any]
    learning: Mapping[str, Any]

    @classmethod
    def checked(cls, parser: str, **options: Any) -> Recipe:
        """Return the recipe of a parser and its options; whatever is wrong with them is a `ConfigError`."""
        found = given(options)
        recipe = cls(
            parser,
            options={name: value for name, value in found.items() if name not in LEARNING},
            learning={name: value for name, value in found.items() if name in LEARNING},
        )
        check_kind(found, parser_kind(recipe.parser), name=recipe.parser)
        recipe.make().check_learning(**recipe.learning)
        return recipe

    def make(self) -> Parser:
        """Return an untrained parser."""
        return make_parser(self.parser, **self.options)

    def check_used(self, step: Progress) -> None:
        """Raise ConfigError for an option that the learner of this step has no use for."""
        for name, owners in LEARNER_OWNERS.items():
            if name in self.learning and name not in step.settings:
                raise ConfigError(f"--{name} is an option of {owners}; the learner is {step.settings['learner']}")


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def check_kind(options: Iterable[str], kind: str, *, name: str) -> None:
    """Raise ConfigError for an option of another kind of parser; `name` is what the user calls the parser."""
    if kind not in OWNERS.values():
        return
    for option in options:
        if OWNERS.get(option, kind) != kind:
            flag = "--" + option.replace("_", "-")
            raise ConfigError(f"{flag} is an option of {OWNERS[option]} parsers; the parser is {name}")


def columns(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list with commas."""
    return None if text is None else tuple(name.strip().lower() for name in text.split(",") if name.strip())
