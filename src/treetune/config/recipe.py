"""Which model to make, or from which to go on, and how it learns: the tables [model] and [learner]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from treetune.config.keys import LEARNER_HINTS, checked, hints_of
from treetune.config.source import Source
from treetune.corpus.tags import TAG_COLUMNS
from treetune.errors import ConfigError, unknown_name
from treetune.evaluate.scorers import TREES, Scorer
from treetune.models.pipeline import Pipeline
from treetune.models.registry import TAGGERS, make_model, preset
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.learning.progress import Progress
    from treetune.models.base import Model

DEFAULT_PARSER = "transition"
TAGGER = "tagger"

# The kind of parser an option is for; what is not here is for all kinds.
OWNERS = {
    "beam": "transition",
    "update": "transition",
    "decoder": "graph",
    "labels": "graph",
    "max_memory": "graph",
    "cost_augmented": "graph",
}
# What another kind of model has too.
SHARED = {(TAGGER, "max_memory")}
# The learners an option is for.
LEARNER_OWNERS = {"k": "mira", "clip": "mira and factored-mira"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which parser or tagger to make, with the options given for it and for its learner.

    `parser` is the name of a parser, or the task of a tagger. With `start_from`, a model file, it is that model,
    trained as it is; only options of its search can be given. Of a pipeline the parser goes on. `parser` is then its
    kind, and `is_stacked` says whether it looks at base trees; a new parser does if it is given some. `scorer` says by what
    its outputs are scored.
    """

    source: Source
    parser: str
    options: Mapping[str, Any]
    learning: Mapping[str, Any]
    start_from: str | None = None
    is_stacked: bool = True
    scorer: Scorer = TREES
    columns: tuple[str, ...] = ()
    """What a tagger gives; a parser gives no columns."""
    inputs: tuple[str, ...] = TAG_COLUMNS
    """The columns of tags that the model may look at."""

    @property
    def is_tagger(self) -> bool:
        """Whether the model is a tagger."""
        return bool(self.columns)

    @classmethod
    def checked(cls, model: Mapping[str, Any], learner: Mapping[str, Any], source: Source) -> Recipe:
        """Return the recipe that two tables ask for; whatever is wrong with them is a `ConfigError`."""
        learning = checked(learner, LEARNER_HINTS, table="learner", source=source)
        own = {key: value for key, value in model.items() if key in _OWN}
        own = checked(own, _OWN, table="model", source=source)
        options = {key: value for key, value in model.items() if key not in own}
        if "start_from" in own:
            return cls._going_on(own, options, learning, source)
        parser, kind = _chosen(own, source)
        check_kind((("model", options), ("learner", learning)), kind, name=parser, source=source)
        hints = _option_hints(parser, options)
        options = checked(options, hints, table="model", source=source, known={**_OWN, **hints})
        recipe = cls(source, parser, options, learning)
        with source.within("model"):
            made = recipe.make()
        with source.within("learner"):
            made.check_learning(**recipe.learning)
        return replace(
            recipe, scorer=made.scorer, columns=_columns(made), inputs=_inputs(made), is_stacked=kind != TAGGER
        )

    @classmethod
    def _going_on(
        cls, own: Mapping[str, Any], options: Mapping[str, Any], learning: Mapping[str, Any], source: Source
    ) -> Recipe:
        for name in ("parser", "task"):
            if name in own:
                raise ConfigError(
                    f"{source.key('model', 'start_from')} goes on with the parser of that model; "
                    f"leave {f'--{name}' if source.flags else name} out"
                )
        start = own["start_from"]
        found = load(source.model(start))
        trained = _learning_part(found)
        if trained is None:
            key = source.key("model", "start_from")
            without = " without one" if isinstance(found, Pipeline) else ""
            raise ConfigError(f"{key}: expected a parser, or a tagger, found the {found.kind} {start}{without}")
        check_kind((("model", options), ("learner", learning)), trained.kind, name=trained.kind, source=source)
        hints = _search_hints(trained, options)
        options = checked(options, hints, table="model", source=source)
        recipe = cls(
            source, trained.kind, options, learning,
            start_from=start, is_stacked=trained.is_stacked, scorer=trained.scorer, columns=_columns(trained),
            inputs=_inputs(trained),
        )  # fmt: skip
        with source.within("model"):
            trained.with_options(**options)
        with source.within("learner"):
            trained.check_learning(**recipe.learning)
            _check_learner_to_go_on(trained, recipe.learning)
        return recipe

    def make(self) -> Model[Any]:
        """Return an untrained model, or the trained one to go on with."""
        if self.start_from is not None:
            trained = _learning_part(load(self.source.model(self.start_from)))
            assert trained is not None
            return trained.with_options(**self.options)
        options = dict(self.options)
        if options.get("features", "").endswith(".txt"):
            options["features"] = self.source.placed(options["features"])
        if "clusters" in options:
            options["clusters"] = self.source.placed(options["clusters"])
        return make_model(self.parser, **options)

    def pipeline(self) -> Pipeline | None:
        """Return the pipeline whose parser goes on, with the parts that stay as they are; None if there are none."""
        found = None if self.start_from is None else load(self.source.model(self.start_from))
        return found if isinstance(found, Pipeline) else None

    def check_used(self, step: Progress) -> None:
        """Raise ConfigError for an option that the learner of this step has no use for."""
        for name, owners in LEARNER_OWNERS.items():
            if name in self.learning and name not in step.settings:
                key = self.source.key("learner", name)
                raise ConfigError(f"{key} is an option of {owners}; the learner is {step.settings['learner']}")

    def resolved(self, parser: Model[Any]) -> dict[str, Any]:
        """Return the table [model] with every option of the model that was made."""
        from treetune.models.feature_model import FeatureModel
        from treetune.models.stacked import StackedParser

        main = parser.main if isinstance(parser, StackedParser) else parser
        found: dict[str, Any] = dict(self.options)
        if isinstance(main, FeatureModel):
            fixed = {} if self.start_from is not None else preset(self.parser).fixed
            kept = main.search_options if self.start_from is not None else asdict(main.config)
            # What is not there has no word in TOML.
            given = {key: value for key, value in asdict(main.config).items() if value is not None}
            # Options as they were written go first: a path is relative to the file.
            found = {key: value for key, value in given.items() if key in kept and key not in fixed}
            found |= self.options
        start = {"task" if self.parser in TAGGERS else "parser": self.parser}
        if self.start_from is not None:
            start = {"start_from": self.start_from}
        return {**start, **{key: list(v) if isinstance(v, tuple) else v for key, v in found.items()}}


_OWN = {"parser": str, "start_from": str, "task": str}
# What has no learner that goes on.
_NOT_GOING_ON = "tokenizer"


def _learning_part(found: Any) -> Model[Any] | None:
    """Return the part of a stored model that goes on learning: all of it, or the parser of a pipeline."""
    part: Model[Any] | None = found.parser if isinstance(found, Pipeline) else found
    return None if part is None or part.kind == _NOT_GOING_ON else part


def _chosen(own: Mapping[str, Any], source: Source) -> tuple[str, str]:
    """Return the name of a parser, or of a task for taggers, and the kind of its models."""
    task = own.get("task")
    with source.within("model"):
        if task is None:
            parser = own.get("parser", DEFAULT_PARSER)
            return parser, preset(parser).kind
        if task not in TAGGERS:
            raise unknown_name("task", task, TAGGERS)
        if "parser" in own:
            raise ConfigError(f"the task {task} is for a tagger and has no parser; leave one of them")
    return task, TAGGER


def _columns(model: Model[Any]) -> tuple[str, ...]:
    columns: tuple[str, ...] = getattr(model, "columns", ())
    return columns


def _inputs(model: Model[Any]) -> tuple[str, ...]:
    inputs: tuple[str, ...] = getattr(getattr(model, "config", None), "inputs", TAG_COLUMNS)
    return inputs


def _option_hints(name: str, options: Iterable[str]) -> dict[str, Any]:
    """Return the types of the options of the models called `name`, but for those that the name stands for."""
    from treetune.models.feature_model import FeatureModel

    model = make_model(name)
    if not isinstance(model, FeatureModel):
        return dict.fromkeys(options, Any)
    return {key: hint for key, hint in hints_of(type(model.config)).items() if key not in preset(name).fixed}


def _search_hints(trained: Model[Any], options: Iterable[str]) -> dict[str, Any]:
    """Return the types of the options by which a trained model can search otherwise."""
    from treetune.models.feature_model import FeatureModel
    from treetune.models.stacked import StackedParser

    main = trained.main if isinstance(trained, StackedParser) else trained
    if not isinstance(main, FeatureModel):
        return dict.fromkeys(options, Any)
    # The others are refused by the parser itself, which has a better word for them.
    return {**dict.fromkeys(options, Any), **{key: hints_of(type(main.config))[key] for key in main.search_options}}


def _check_learner_to_go_on(trained: Model[Any], learning: Mapping[str, Any]) -> None:
    """Raise ConfigError for a learner that cannot go on from the weights; the trainer would, but only later."""
    from treetune.models.feature_model import FeatureModel
    from treetune.models.learning_options import LearnerConfig

    if isinstance(trained, FeatureModel):
        LearnerConfig(**learning).warm_start(trained.trained_by)


def check_kind(tables: Iterable[tuple[str, Iterable[str]]], kind: str, *, name: str, source: Source) -> None:
    """Raise ConfigError for an option of another kind of parser; `name` is what the user calls the parser."""
    if kind not in (*OWNERS.values(), TAGGER):
        return
    for table, options in tables:
        for option in options:
            if OWNERS.get(option, kind) != kind and (kind, option) not in SHARED:
                raise ConfigError(
                    f"{source.key(table, option)} is an option of {OWNERS[option]} parsers; "
                    f"the {'task' if kind == TAGGER else 'parser'} is {name}"
                )
