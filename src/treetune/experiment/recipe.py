"""Which parser to make, or from which to go on, and how it learns: the tables [model] and [learner]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from treetune.build import PARSERS, make_parser, parser_kind
from treetune.errors import ConfigError
from treetune.experiment.keys import LEARNER_HINTS, checked, hints_of
from treetune.experiment.source import Source
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.learning.progress import Progress
    from treetune.models.base import Parser

DEFAULT_PARSER = "transition"

# The kind of parser an option is for; what is not here is for all kinds.
OWNERS = {
    "beam": "transition",
    "update": "transition",
    "decoder": "graph",
    "labels": "graph",
    "max_memory": "graph",
    "cost_augmented": "graph",
}
# The learners an option is for.
LEARNER_OWNERS = {"k": "mira", "clip": "mira and factored-mira"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which parser to make, with the options given for it and for its learner.

    With `start_from`, a model file, it is that parser, trained as it is; only options of its search can be given.
    `parser` is then its kind, and `is_guided` says whether it looks at guides; a new parser does if it is given some.
    """

    source: Source
    parser: str
    options: Mapping[str, Any]
    learning: Mapping[str, Any]
    start_from: str | None = None
    is_guided: bool = True

    @classmethod
    def checked(cls, model: Mapping[str, Any], learner: Mapping[str, Any], source: Source) -> Recipe:
        """Return the recipe that two tables ask for; whatever is wrong with them is a `ConfigError`."""
        learning = checked(learner, LEARNER_HINTS, table="learner", source=source)
        own = {key: value for key, value in model.items() if key in _OWN}
        own = checked(own, _OWN, table="model", source=source)
        options = {key: value for key, value in model.items() if key not in own}
        if "start_from" in own:
            return cls._going_on(own, options, learning, source)
        parser = own.get("parser", DEFAULT_PARSER)
        with source.within("model"):
            kind = parser_kind(parser)
        check_kind((("model", options), ("learner", learning)), kind, name=parser, source=source)
        hints = _option_hints(parser, options)
        options = checked(options, hints, table="model", source=source, known={**_OWN, **hints})
        recipe = cls(source, parser, options, learning)
        with source.within("model"):
            made = recipe.make()
        with source.within("learner"):
            made.check_learning(**recipe.learning)
        return recipe

    @classmethod
    def _going_on(
        cls, own: Mapping[str, Any], options: Mapping[str, Any], learning: Mapping[str, Any], source: Source
    ) -> Recipe:
        if "parser" in own:
            raise ConfigError(
                f"{source.key('model', 'start_from')} goes on with the parser of that model; "
                f"leave {'--parser' if source.flags else 'parser'} out"
            )
        start = own["start_from"]
        trained = load(source.placed(start))
        check_kind((("model", options), ("learner", learning)), trained.kind, name=trained.kind, source=source)
        hints = _search_hints(trained, options)
        options = checked(options, hints, table="model", source=source)
        recipe = cls(source, trained.kind, options, learning, start_from=start, is_guided=trained.is_guided)
        with source.within("model"):
            recipe.make()
        with source.within("learner"):
            trained.check_learning(**recipe.learning)
            _check_learner_to_go_on(trained, recipe.learning)
        return recipe

    def make(self) -> Parser:
        """Return an untrained parser, or the trained one to go on with."""
        if self.start_from is not None:
            trained: Parser = load(self.source.placed(self.start_from))
            return trained.with_options(**self.options)
        features = self.options.get("features")
        if features is not None and features.endswith(".txt"):
            return make_parser(self.parser, **{**self.options, "features": self.source.placed(features)})
        return make_parser(self.parser, **self.options)

    def check_used(self, step: Progress) -> None:
        """Raise ConfigError for an option that the learner of this step has no use for."""
        for name, owners in LEARNER_OWNERS.items():
            if name in self.learning and name not in step.settings:
                key = self.source.key("learner", name)
                raise ConfigError(f"{key} is an option of {owners}; the learner is {step.settings['learner']}")

    def resolved(self, parser: Parser) -> dict[str, Any]:
        """Return the table [model] with every option of the parser that was made."""
        from treetune.models.guided import GuidedParser
        from treetune.models.parsing import TreeParser

        main = parser.main if isinstance(parser, GuidedParser) else parser
        found: dict[str, Any] = dict(self.options)
        if isinstance(main, TreeParser):
            fixed = () if self.start_from is not None else PARSERS[self.parser][1]
            kept = main.search_options if self.start_from is not None else asdict(main.config)
            # Options as they were written go first: a path is relative to the file.
            found = {key: value for key, value in asdict(main.config).items() if key in kept and key not in fixed}
            found |= self.options
        start = {"parser": self.parser} if self.start_from is None else {"start_from": self.start_from}
        return {**start, **{key: list(v) if isinstance(v, tuple) else v for key, v in found.items()}}


_OWN = {"parser": str, "start_from": str}


def _option_hints(name: str, options: Iterable[str]) -> dict[str, Any]:
    """Return the types of the options of the parsers called `name`, but for those that the name stands for."""
    from treetune.models.parsing import TreeParser

    parser = make_parser(name)
    if not isinstance(parser, TreeParser):
        return dict.fromkeys(options, Any)
    return {key: hint for key, hint in hints_of(type(parser.config)).items() if key not in PARSERS[name][1]}


def _search_hints(trained: Parser, options: Iterable[str]) -> dict[str, Any]:
    """Return the types of the options by which a trained parser can search otherwise."""
    from treetune.models.guided import GuidedParser
    from treetune.models.parsing import TreeParser

    main = trained.main if isinstance(trained, GuidedParser) else trained
    if not isinstance(main, TreeParser):
        return dict.fromkeys(options, Any)
    # The others are refused by the parser itself, which has a better word for them.
    return {**dict.fromkeys(options, Any), **{key: hints_of(type(main.config))[key] for key in main.search_options}}


def _check_learner_to_go_on(trained: Parser, learning: Mapping[str, Any]) -> None:
    """Raise ConfigError for a learner that cannot go on from the weights; the trainer would, but only later."""
    from treetune.models.learners import learner_to_go_on
    from treetune.models.parsing import TreeParser

    if isinstance(trained, TreeParser):
        learner_to_go_on(learning.get("learner"), learning.get("clip"), trained.learned_by)


def check_kind(tables: Iterable[tuple[str, Iterable[str]]], kind: str, *, name: str, source: Source) -> None:
    """Raise ConfigError for an option of another kind of parser; `name` is what the user calls the parser."""
    if kind not in OWNERS.values():
        return
    for table, options in tables:
        for option in options:
            if OWNERS.get(option, kind) != kind:
                raise ConfigError(
                    f"{source.key(table, option)} is an option of {OWNERS[option]} parsers; the parser is {name}"
                )
