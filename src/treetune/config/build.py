"""Names to models: the tables [model] and [learner] to a model and its learner options; base parsers of stacking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treetune.config.schema import (
    DEFAULT_PARSER,
    FOLDS,
    LEARNER,
    MODEL,
    PARSER,
    PIPELINE,
    TASKS,
    TOKENIZER,
    Settings,
    TrainTable,
    checked,
    model_options,
    owners_of,
    settings_of,
)
from treetune.config.tables import Source
from treetune.corpus.tags import TAG_COLUMNS
from treetune.errors import ConfigError, unknown_name
from treetune.evaluation.scorers import TREES, Scorer
from treetune.model_names import SUFFIX
from treetune.models.learning_options import LearnerConfig
from treetune.models.pipeline import Pipeline
from treetune.models.registry import PARSERS, TAGGERS, make_model, preset
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.learning.progress import Progress
    from treetune.models.base import Model


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model to make, with its options and those of its learner.

    Attributes:
        source: Where it was written.
        task: One of `TASKS`.
        name: The name of a parser, or the task of a tagger; with `start_from`, the kind of that model.
        options: The options of the model that were given.
        learning: The options of the learner that were given.
        start_from: A model file to fine-tune; only options of its search can be given.
        loaded: What that file holds.
        prototype: A model with these options, to ask for its properties; None for a tokenizer.
    """

    source: Source
    task: str
    name: str
    options: Mapping[str, Any]
    learning: Mapping[str, Any]
    start_from: str | None = None
    loaded: Any = None
    prototype: Any = None

    @classmethod
    def checked(cls, model: Mapping[str, Any], learner: Mapping[str, Any], source: Source) -> ModelConfig:
        """Return what two tables ask for; whatever is wrong with them is a `ConfigError`."""
        learning = checked(learner, LEARNER, table="learner", source=source)
        own = checked({key: model[key] for key in model if key in MODEL}, MODEL, table="model", source=source)
        options = {key: value for key, value in model.items() if key not in own}
        with source.within("model"):
            task = _task(own)
        if task == TOKENIZER:
            for table, keys in (("model", {**own, **options}), ("learner", learning)):
                for key in keys:
                    if key != "task":
                        raise ConfigError(f"{source.key(table, key)} is not for tokenizers; leave it out")
            return cls(source, task, TOKENIZER, {}, {})
        config = cls._fine_tuned if "start_from" in own else cls._new
        made = config(own, options, learning, source, task)
        with source.within("learner"):
            made.prototype.check_learning(**learning)
        return made

    @classmethod
    def _new(
        cls, own: Mapping[str, Any], options: Mapping[str, Any], learning: Mapping[str, Any], source: Source, task: str
    ) -> ModelConfig:
        name = task if task in TAGGERS else own.get("parser", DEFAULT_PARSER)
        with source.within("model"):
            preset(name)
        options = _checked_options(options, model_options(name), name=name, source=source)
        made = cls(source, task, name, options, learning)
        with source.within("model"):
            return replace(made, prototype=made.make())

    @classmethod
    def _fine_tuned(
        cls, own: Mapping[str, Any], options: Mapping[str, Any], learning: Mapping[str, Any], source: Source, task: str
    ) -> ModelConfig:
        start, key = own["start_from"], source.key("model", "start_from")
        for name in ("parser", "task"):
            if name in own:
                raise ConfigError(
                    f"{key} fine-tunes the parser of {start}; leave {source.short_key('model', name)} out"
                )
        found = load(source.model_path(start))
        trained: Any = found.parser if isinstance(found, Pipeline) else found
        if not hasattr(trained, "learner"):
            without = " without one" if trained is None else ""
            raise ConfigError(f"{key}: expected a parser, or a tagger, found the {found.kind} {start}{without}")
        options = _checked_options(options, _declared(trained), name=trained.kind, source=source)
        with source.within("learner"):
            LearnerConfig(**learning).warm_start(getattr(_main(trained), "trained_by", {}))
        with source.within("model"):
            trained = trained.with_options(**options)
        return cls(source, task, trained.kind, options, learning, start, found, trained)

    @property
    def scorer(self) -> Scorer:
        """How outputs are scored."""
        found: Scorer = TREES if self.prototype is None else self.prototype.scorer
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a tagger predicts; empty for parsers."""
        columns: tuple[str, ...] = getattr(self.prototype, "columns", ())
        return columns

    @property
    def is_tagger(self) -> bool:
        """Whether the model is a tagger."""
        return bool(self.columns)

    @property
    def is_stacked(self) -> bool:
        """Whether the model can use base trees; a new parser can if it is given some."""
        return not self.columns if self.start_from is None else self.prototype.is_stacked

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tag columns that the model may use."""
        inputs: tuple[str, ...] = getattr(getattr(_main(self.prototype), "config", None), "inputs", TAG_COLUMNS)
        return inputs

    @property
    def pipeline(self) -> Pipeline | None:
        """The pipeline whose parser is fine-tuned; None if there is none."""
        return self.loaded if isinstance(self.loaded, Pipeline) else None

    def make(self) -> Model[Any]:
        """Return an untrained model, or the trained one to fine-tune."""
        if self.start_from is not None:
            trained: Model[Any] = self.prototype.with_options()
            return trained
        options = dict(self.options)
        if options.get("features", "").endswith(".txt"):
            options["features"] = self.source.path(options["features"])
        if options.get("clusters") is not None:
            options["clusters"] = self.source.path(options["clusters"])
        if options.get("filter", "").endswith(SUFFIX):
            options["filter"] = load(self.source.path(options["filter"]))
            if options["filter"].kind != "filter":
                key = self.source.key("model", "filter")
                raise ConfigError(
                    f"{key}: expected an arc filter, found the {options['filter'].kind} {self.options['filter']}"
                )
        return make_model(self.name, **options)

    def check_used(self, step: Progress) -> None:
        """Raise ConfigError for an option that the learner of this step has no use for."""
        for name in self.learning:
            learners = LEARNER[name].metadata.get("learners", ())
            if learners and name not in step.settings:
                key = self.source.key("learner", name)
                raise ConfigError(
                    f"{key} is an option of {' and '.join(learners)}; the learner is {step.settings['learner']}"
                )

    def table(self, model: Any) -> dict[str, Any]:
        """Return the table [model] with every option of the model that was made."""
        settings, fixed = _declared(model) or {}, () if self.start_from else preset(self.name).fixed
        # What is not there has no word in TOML. Of a fine-tuned model only options of the search can be given.
        found = {
            key: setting.default
            for key, setting in settings.items()
            if setting.default is not None and key not in fixed
            and (not self.start_from or setting.metadata.get("search"))
        }  # fmt: skip
        # Options as they were written go first: a path is relative to the file.
        found = {key: list(v) if isinstance(v, tuple) else v for key, v in {**found, **self.options}.items()}
        if self.start_from is not None:
            return {"start_from": self.start_from, **found}
        chosen = {} if self.task == PARSER else {"task": self.task}
        return {**chosen, **({} if self.is_tagger else {"parser": self.name}), **found}


def _task(own: Mapping[str, Any]) -> str:
    task = own.get("task", PARSER)
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if task in TAGGERS and "parser" in own:
        raise ConfigError(f"the task {task} is for a tagger and has no parser; leave one of them out")
    return str(task)


def _checked_options(
    options: Mapping[str, Any], settings: Settings | None, *, name: str, source: Source
) -> dict[str, Any]:  # fmt: skip
    """Return the options with their types checked; a model that declares none checks them itself."""
    if settings is None:
        return dict(options)
    for option in options:
        if option not in settings and (owners := owners_of(option)):
            what, key = "task" if name in TASKS else "parser", source.key("model", option)
            raise ConfigError(f"{key} is an option of {' and '.join(owners)}; the {what} is {name}")
    return checked(options, settings, table="model", source=source, known={**MODEL, **settings})


def _declared(model: Any) -> Settings | None:
    """Return the options that a model declares; None if it declares none."""
    config = getattr(_main(model), "config", None)
    return None if config is None else settings_of(config, "model")


def _main(model: Any) -> Any:
    """Return the part of a model whose options and learner are meant: of a stacked parser, the main parser."""
    return getattr(model, "main", model)


@dataclass(frozen=True, slots=True)
class Stacking:
    """Files with the base trees of treebank and dev, or a base parser to train; without either nothing is stacked."""

    train: str | None = None
    dev: str | None = None
    base: ModelConfig | None = None
    folds: int = FOLDS

    @classmethod
    def of(cls, model: ModelConfig, train: TrainTable, source: Source) -> Stacking:
        """Return the stacking that [train] asks for; a wrong combination is a `ConfigError`.

        The name of a parser goes before a file of the same name. A base parser that is trained has its own defaults,
        except that it uses the same `inputs` as the main parser.
        """
        base, key, short = train.base, partial(source.key, "train"), partial(source.short_key, "train")
        for name in ("folds", "base_beam"):
            if getattr(train, name) is not None and base not in PARSERS:
                raise ConfigError(f"{key(name)} is for a base parser that is trained; name one as {short('base')}")
        if train.dev_base is not None and (base is None or base in PARSERS):
            raise ConfigError(f"{key('dev_base')} belongs to a file of base trees as {short('base')}; leave it out")
        if base is None:
            return cls()
        if model.is_tagger or model.task in (PIPELINE, TOKENIZER):
            raise ConfigError(f"{key('base')} is for parsers; the task is {model.task}")
        if base in PARSERS:
            inputs = {"inputs": model.options["inputs"]} if "inputs" in model.options else {}
            beam = {} if train.base_beam is None else {"beam": train.base_beam}
            if beam and base.startswith("graph"):
                raise ConfigError(f"{key('base_beam')}: the parser {base} searches without a beam; leave it out")
            parser = ModelConfig.checked({"parser": base, **beam, **inputs}, {}, source)
            return cls(base=parser, folds=FOLDS if train.folds is None else train.folds)
        if not Path(source.path(base)).is_file():
            known = ", ".join(PARSERS)
            raise ConfigError(f"{key('base')}: expected a file or the name of a parser ({known}), found {base!r}")
        if not model.is_stacked:
            raise ConfigError(f"{key('base')}: {model.start_from} was trained without base trees; leave it out")
        if (train.dev is None) != (train.dev_base is None):
            raise ConfigError(f"{key('base')} is a file; then {short('dev')} and {short('dev_base')} go together")
        if train.lenient:
            raise ConfigError(
                f"{key('lenient')} skips sentences, and the base trees of {short('base')} would no longer fit; "
                "leave one of them out"
            )
        return cls(source.path(base), None if train.dev_base is None else source.path(train.dev_base))
