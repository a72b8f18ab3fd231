"""The settings of a training: the keys of each table with type, default and help text, and the check of their values.

The keys of [model], [learner] and [[objective]] are the fields of the dataclasses that models, learners and objectives
are made from; those of the other tables are declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from treetune.config.tables import FLAG_NAMES, Source, value_text
from treetune.errors import unknown_name
from treetune.models.learning_options import DEFAULT_SEED, LearnerConfig
from treetune.models.options import option
from treetune.models.quantize import PRUNE
from treetune.models.registry import PARSERS, TAGGERS, make_model, preset

PARSER, TOKENIZER, PIPELINE = "parser", "tokenizer", "pipeline"
TASKS = (PARSER, *TAGGERS, TOKENIZER, PIPELINE)
DEFAULT_PARSER = "transition"
EPOCHS, TOKENIZER_EPOCHS, TAGGER_EPOCHS, FOLDS = 10, 8, 8, 10


@dataclass(frozen=True, kw_only=True)
class ModelTable:
    """The keys of [model] that choose a model; the others are its options."""

    task: str | None = option(None, "What to train, parser by default.", choices=TASKS)
    parser: str | None = option(None, f"The parser, {DEFAULT_PARSER} by default.", choices=PARSERS)
    start_from: str | None = option(None, "Trained model to fine-tune; of a pipeline, its parser.", path=True)


@dataclass(frozen=True, kw_only=True)
class TrainTable:
    """The table [train]: data and schedule."""

    treebank: str | None = option(None, "Trees to train on; for a tagger, tags or entities.", path=True)
    dev: str | None = option(None, "Development data, to choose the best epoch on.", path=True)
    epochs: int | None = option(None, f"Epochs, {EPOCHS}; of a tokenizer, {TOKENIZER_EPOCHS}.", minimum=1)
    seed: int = option(DEFAULT_SEED, "Seed of the order of examples.", minimum=0)
    choose_by: str | None = option(
        None, "Metric on dev, or objective with dev data, to choose the best epoch by; LAS for parsers."
    )
    projectivize: bool = option(True, "Lift crossing arcs (pseudo-projective); false: leave such sentences out.")
    lenient: bool = option(False, "Skip malformed sentences and report them.")
    tagger: str | None = option(
        None, "Trained tagger, or pipeline with one, whose tags replace those of all data.", path=True
    )
    base: str | None = option(
        None, "Stacking: a file with base trees of the treebank, or a parser to train as base parser.", path=True
    )
    dev_base: str | None = option(None, "Stacking: a file with base trees of dev.", path=True)
    base_beam: int | None = option(None, "Stacking: beam of a base parser that is trained, if it has one.", minimum=1)
    folds: int | None = option(None, f"Stacking: folds to jackknife the base parser with, {FOLDS}.", minimum=2)
    shards: int | None = option(
        None, "Shards of the data: each epoch trains one learner a shard, and mixes their weights.", minimum=2
    )
    mixes: int | None = option(None, "With shards, how often their weights are mixed in each epoch, 1.", minimum=1)
    licence: str | None = option(None, "Licence of the data, stored in the model.")


@dataclass(frozen=True, kw_only=True)
class PipelineTable:
    """The table [pipeline]: the parts of a pipeline besides its parser."""

    tokenizer: bool = option(True, "Train a tokenizer; false: a pipeline of tagger and parser.")
    tokenizer_epochs: int = option(TOKENIZER_EPOCHS, "Epochs of the tokenizer.", minimum=1)
    tagger_epochs: int = option(TAGGER_EPOCHS, "Epochs of the taggers and the lemmatizer.", minimum=1)
    tagger_learner: str = option(
        "mira", "Learner of the taggers; for FEATS, mira in place of crf.", choices=("perceptron", "mira", "crf")
    )
    tagger_clusters: str | None = option(
        None, "File of word clusters for the taggers of parts of speech and entities; stored in the model.", path=True
    )
    feats: bool = option(True, "Train a second tagger for FEATS, if the treebank has them.")
    lemmas: bool = option(True, "Train a lemmatizer, if the treebank has lemmas.")
    convert: bool = option(
        False, "Convert tags and trees of other data to the conventions of the treebank, learned from both."
    )
    entities: str | bool = option(
        True, "File to train an entity tagger on; true: the treebank, if it has entities; false: none.", path=True
    )
    entities_dev: str | None = option(
        None, "Entities to choose the best epoch of the entity tagger on; by default those of dev.", path=True
    )
    jackknife: int = option(
        FOLDS, "Folds to jackknife the tags that the parser is trained on; 0: gold tags.", minimum=0
    )
    quantize: bool = option(False, "Prune and quantize the weights: a much smaller file, slightly less accurate.")
    prune: float = option(
        PRUNE, "With quantize, leave out weights of the parser below this share of the largest.", minimum=0
    )


@dataclass(frozen=True, kw_only=True)
class RunTable:
    """The table [run]: what does not change the model, and is not stored in it."""

    model: str | None = option(None, "File to write the model to.", path=True)
    threads: int = option(1, "Threads to parse with; the result is the same.", minimum=1)
    cluster: str | None = option(None, "Ray cluster to train shards on, local for this machine (extra 'ray').")
    checkpoint: str | bool = option(
        True, "File to resume from, MODEL.checkpoint, removed at the end; false: none.", path=True
    )
    log: str | None = option(None, "File to write a line of JSON to at the end of each epoch.", path=True)
    plot: str | None = option(None, "File to draw learning curves to: .svg, .png or .pdf (extra 'plots').", path=True)


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of a table; `models` are the parsers and tasks that have it, if not all."""

    table: str
    key: str
    hint: Any
    default: Any
    metadata: Mapping[str, Any]
    models: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """The type in one or two words."""
        if self.metadata.get("path"):
            return "file"
        return " or ".join(dict.fromkeys(kind.short for kind in _kinds_of(self.hint)))

    @property
    def help(self) -> str:
        """The help text, with the choices and the models that have the setting."""
        text: str = self.metadata["help"]
        text = (text[:1].upper() + text[1:] if text[1:2].isalpha() else text).rstrip(".")
        choices = self.metadata.get("choices", ())
        if not all(str(choice) in text for choice in choices):
            text += f": {', '.join(map(str, choices))}"
        return text + (f" ({', '.join(self.models)})." if self.models else ".")

    def as_dict(self) -> dict[str, Any]:
        """Return the setting as JSON can hold it."""
        found: dict[str, Any] = {"table": self.table, "key": self.key, "type": self.type, "default": self.default}
        found |= {name: self.metadata[name] for name in ("choices", "minimum") if name in self.metadata}
        flag = FLAG_NAMES.get(f"{self.table}.{self.key}")
        return {**found, "help": self.help, **({} if flag is None else {"flag": flag}), "models": list(self.models)}


Settings = Mapping[str, Setting]


def settings_of(config: Any, table: str) -> dict[str, Setting]:
    """Return the settings that a dataclass declares, by key; the defaults are its own, or the values of an instance."""
    is_class = isinstance(config, type)
    hints = get_type_hints(config if is_class else type(config))
    found = {}
    for own in fields(config):
        if own.init:
            default = own.default if is_class else getattr(config, own.name)
            default = None if default is MISSING else default
            found[own.name] = Setting(table, own.name, hints[own.name], default, own.metadata)
    return found


LEARNER: Settings = settings_of(LearnerConfig, "learner")
MODEL: Settings = settings_of(ModelTable, "model")


def objective_settings() -> dict[str, Setting]:
    """Return the settings of an objective; data, dev and loss are files and names in a configuration."""
    from treetune.learning.objectives import Objective

    found = settings_of(Objective, "objective")
    for key in ("data", "dev"):
        metadata = {**found[key].metadata, "path": True}
        found[key] = replace(found[key], hint=str, default=None, metadata=metadata)
    return {**found, "loss": replace(found["loss"], hint=str | dict)}


def model_options(name: str) -> dict[str, Setting] | None:
    """Return the options of a named parser or tagger, but those its name stands for; None if it declares none."""
    config = getattr(make_model(name), "config", None)
    if config is None:
        return None
    fixed = preset(name).fixed
    return {key: setting for key, setting in settings_of(config, "model").items() if key not in fixed}


def owners_of(key: str) -> list[str]:
    """Return the kinds of models that have an option, in the plural."""
    kinds = [preset(name).kind for name in (*PARSERS, *TAGGERS) if key in (model_options(name) or {})]
    kinds += LEARNER[key].metadata.get("kinds", ()) if key in LEARNER else ()
    return ["taggers" if kind == "tagger" else f"{kind} parsers" for kind in dict.fromkeys(kinds)]


def all_settings() -> list[Setting]:
    """Return all settings, table by table; an option that several models have with one default is listed once."""
    options: dict[tuple[Any, ...], Setting] = {}
    for name in (*PARSERS, *TAGGERS):
        for setting in (model_options(name) or {}).values():
            same = (setting.key, setting.type, setting.default, setting.metadata["help"])
            known = options.get(same, setting)
            options[same] = replace(known, models=(*known.models, name))
    learner = (replace(one, models=tuple(one.metadata.get("kinds", ()))) for one in LEARNER.values())
    tables = (TrainTable, "train"), (PipelineTable, "pipeline"), (RunTable, "run")
    others = (setting for table, name in tables for setting in settings_of(table, name).values())
    return [*MODEL.values(), *options.values(), *learner, *others, *objective_settings().values()]


class Kind(NamedTuple):
    """What a value must be, in words and as a test; `convert` makes it what Python code expects."""

    short: str
    title: str
    fits: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value


def _texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list, or those between the commas of a text."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else tuple(value)


_KINDS: dict[Any, Kind] = {
    str: Kind("text", "a text", lambda value: isinstance(value, str)),
    bool: Kind("true/false", "true or false", lambda value: isinstance(value, bool)),
    int: Kind("integer", "a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: Kind(
        "number",
        "a number",
        # Not a number is none.
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == value,
        float,
    ),
    tuple: Kind(
        "list",
        "a list of texts",
        lambda value: isinstance(value, str | list | tuple) and all(isinstance(part, str) for part in value),
        _texts,
    ),
    dict: Kind("table", "a table", lambda value: isinstance(value, dict)),
}


def checked(
    content: Mapping[str, Any], settings: Settings, *, table: str, source: Source, known: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the values of a table, each of the type of its setting.

    An unknown key is a ConfigError that names the `known` ones, by default those of `settings`.
    """
    for key in content:
        if key not in settings:
            with source.within(table):
                raise unknown_name(f"key of [{table}]" if source.flags else "key", key, known or settings)
    return {key: _checked(value, settings[key], table=table, source=source) for key, value in content.items()}


def _checked(value: Any, setting: Setting, *, table: str, source: Source) -> Any:
    minimum = setting.metadata.get("minimum")
    kinds = list(_kinds_of(setting.hint))
    for kind in kinds:
        if kind.fits(value) and (minimum is None or value >= minimum):
            return kind.convert(value)
    wanted = " or ".join(kind.title for kind in kinds) + ("" if minimum is None else f" of at least {minimum}")
    raise source.error(table, setting.key, f"expected {wanted}, found {value_text(value)}")


def _kinds_of(hint: Any) -> Iterable[Kind]:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        for part in get_args(hint):
            if part is not NoneType:
                yield from _kinds_of(part)
    else:
        # Which of some names it is, is for whoever knows them to say.
        yield _KINDS[str if origin is Literal else origin or hint]
