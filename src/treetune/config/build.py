"""Names to models: the tables [model] and [learner] to a model and its learner options; base parsers of stacking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
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
from treetune.models.learning_options import LearnerConfig
from treetune.models.pipeline import Pipeline
from treetune.models.registry import PARSERS, TAGGERS, make_model, preset
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.learning.progress import Progress
    from treetune.models.base import Model


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which parser or tagger to make, with its options and those of its learner.

    Attributes:
        task: One of `TASKS`.
        name: The name of a parser, or the task of a tagger; with `start_from`, the kind of that model.
        options: The options of the model that were given.
        learning: The options of the learner that were given.
        start_from: A model file to fine-tune; only options of its search can be given.
        is_stacked: Whether the model can use base trees; a new parser can if it is given some.
        scorer: How outputs are scored.
        columns: The columns that a tagger predicts; empty for parsers.
        inputs: The tag columns that the model may use.
    """

    source: Source
    task: str
    name: str
    options: Mapping[str, Any]
    learning: Mapping[str, Any]
    start_from: str | None = None
    is_stacked: bool = True
    scorer: Scorer = TREES
    columns: tuple[str, ...] = ()
    inputs: tuple[str, ...] = TAG_COLUMNS

    @property
    def is_tagger(self) -> bool:
        """Whether the model is a tagger."""
        return bool(self.columns)

    @classmethod
    def checked(cls, model: Mapping[str, Any], learner: Mapping[str, Any], source: Source) -> ModelConfig:
        """Return what two tables ask for; whatever is wrong with them is a `ConfigError`."""
        learning = checked(learner, LEARNER, table="learner", source=source)
        own = checked({key: model[key] for key in model if key in MODEL}, MODEL, table="model", source=source)
        options = {key: value for key, value in model.items() if key not in own}
        with source.within("model"):
            task = _task(own)
        if task == TOKENIZER:
            _refuse_all(own, options, learning, source)
            return cls(source, task, TOKENIZER, {}, {}, is_stacked=False)
        if "start_from" in own:
            return cls._fine_tuned(own, options, learning, source)
        name = task if task in TAGGERS else own.get("parser", DEFAULT_PARSER)
        with source.within("model"):
            preset(name)
        settings = model_options(name)
        options = _checked_options(options, settings, name=name, source=source)
        made = cls(source, task, name, options, learning)._make_new()
        return cls._of(made, made, source, task, name, options, learning)

    @classmethod
    def _fine_tuned(
        cls, own: Mapping[str, Any], options: Mapping[str, Any], learning: Mapping[str, Any], source: Source
    ) -> ModelConfig:
        start = own["start_from"]
        key = source.key("model", "start_from")
        for name in ("parser", "task"):
            if name in own:
                raise ConfigError(
                    f"{key} fine-tunes the parser of {start}; leave {source.short_key('model', name)} out"
                )
        found = load(source.model_path(start))
        trained = _trainable_part(found)
        if trained is None:
            without = " without one" if isinstance(found, Pipeline) else ""
            raise ConfigError(f"{key}: expected a parser, or a tagger, found the {found.kind} {start}{without}")
        main = _main(trained)
        options = _checked_options(options, declared_options(main), name=trained.kind, source=source)
        task = trained.kind if getattr(trained, "columns", ()) else PARSER
        with source.within("learner"):
            LearnerConfig(**learning).warm_start(getattr(main, "trained_by", {}))
        return cls._of(trained, main, source, task, trained.kind, options, learning, start_from=start)

    @classmethod
    def _of(
        cls, model: Model[Any], main: Any, source: Source, task: str, name: str,
        options: Mapping[str, Any], learning: Mapping[str, Any], *, start_from: str | None = None,
    ) -> ModelConfig:  # fmt: skip
        """Return the configuration of a model, whose options and learner options are checked by the model itself."""
        columns = getattr(model, "columns", ())
        inputs = getattr(getattr(main, "config", None), "inputs", TAG_COLUMNS)
        is_stacked = model.is_stacked if start_from is not None else not columns
        with source.within("model"):
            if start_from is not None:
                model.with_options(**options)
        with source.within("learner"):
            model.check_learning(**learning)
        return cls(source, task, name, options, learning, start_from, is_stacked, model.scorer, columns, inputs)

    def make(self) -> Model[Any]:
        """Return an untrained model, or the trained one to fine-tune."""
        if self.start_from is None:
            return self._make_new()
        trained = _trainable_part(load(self.source.model_path(self.start_from)))
        assert trained is not None
        return trained.with_options(**self.options)

    def _make_new(self) -> Model[Any]:
        options = dict(self.options)
        if options.get("features", "").endswith(".txt"):
            options["features"] = self.source.path(options["features"])
        if options.get("clusters") is not None:
            options["clusters"] = self.source.path(options["clusters"])
        with self.source.within("model"):
            return make_model(self.name, **options)

    def pipeline(self) -> Pipeline | None:
        """Return the pipeline whose parser is fine-tuned; None if it is no pipeline."""
        found = None if self.start_from is None else load(self.source.model_path(self.start_from))
        return found if isinstance(found, Pipeline) else None

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
        config = getattr(_main(model), "config", None)
        found: dict[str, Any] = {}
        if config is not None:
            settings, fixed = settings_of(config, "model"), () if self.start_from else preset(self.name).fixed
            found = {
                key: value
                for key, value in asdict(config).items()
                # What is not there has no word in TOML.
                if value is not None and key not in fixed and (not self.start_from or _is_search(settings[key]))
            }
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


def _refuse_all(*tables: Any) -> None:
    own, options, learning, source = tables
    for table, keys in (("model", (set(own) - {"task"}) | set(options)), ("learner", learning)):
        for key in sorted(keys):
            raise ConfigError(f"{source.key(table, key)} is not for tokenizers; leave it out")


def _checked_options(
    options: Mapping[str, Any], settings: Mapping[str, Any] | None, *, name: str, source: Source
) -> dict[str, Any]:
    """Return the options with their types checked; a model that declares none checks them itself."""
    if settings is None:
        return dict(options)
    check_owners(options, settings, name=name, key=lambda option: source.key("model", option))
    return checked(options, settings, table="model", source=source, known={**MODEL, **settings})


def check_owners(options: Iterable[str], known: Iterable[str], *, name: str, key: Callable[[str], str]) -> None:
    """Raise ConfigError for an option that only models of another kind have; `key` is what the user calls it."""
    for option in options:
        if option not in known and (owners := owners_of(option)):
            what = "task" if name in TASKS else "parser"
            raise ConfigError(f"{key(option)} is an option of {' and '.join(owners)}; the {what} is {name}")


def declared_options(model: Any) -> dict[str, Any] | None:
    """Return the options that a model declares; None if it declares none."""
    config = getattr(_main(model), "config", None)
    return None if config is None else settings_of(config, "model")


def _is_search(setting: Any) -> bool:
    return bool(setting.metadata.get("search"))


def _main(model: Any) -> Any:
    """Return the part of a model whose options and learner are meant: of a stacked parser, the main parser."""
    return getattr(model, "main", model)


def _trainable_part(found: Any) -> Model[Any] | None:
    """Return the part of a stored model that can be fine-tuned: all of it, or the parser of a pipeline."""
    part: Model[Any] | None = found.parser if isinstance(found, Pipeline) else found
    return part if hasattr(part, "learner") else None


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
        if train.folds is not None and base not in PARSERS:
            raise ConfigError(f"{key('folds')} is for a base parser that is trained; name one as {short('base')}")
        if train.dev_base is not None and (base is None or base in PARSERS):
            raise ConfigError(f"{key('dev_base')} belongs to a file of base trees as {short('base')}; leave it out")
        if base is None:
            return cls()
        if model.is_tagger or model.task in (PIPELINE, TOKENIZER):
            raise ConfigError(f"{key('base')} is for parsers; the task is {model.task}")
        if base in PARSERS:
            inputs = {"inputs": model.options["inputs"]} if "inputs" in model.options else {}
            parser = ModelConfig.checked({"parser": base, **inputs}, {}, source)
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
