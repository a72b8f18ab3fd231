"""The base trees of a stacked parser: from files, or from a base parser that is trained first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treetune.config.keys import TrainTable
from treetune.config.recipe import Recipe
from treetune.config.source import Source
from treetune.errors import ConfigError
from treetune.models.registry import PARSERS

FOLDS = 10


@dataclass(frozen=True, slots=True)
class Stacking:
    """Files with the trees of the treebank and of dev, or a recipe for a parser; without either nothing is stacked."""

    train: str | None = None
    dev: str | None = None
    recipe: Recipe | None = None
    folds: int = FOLDS


def choose_stacking(recipe: Recipe, train: TrainTable, source: Source) -> Stacking:
    """Return the stacking that [train] asks for; a wrong combination is a `ConfigError`.

    The name of a parser goes before a file of the same name. A parser that is trained as base parser has its
    own defaults, except that it looks at the same `inputs` as the parser of the recipe.
    """

    def key(name: str) -> str:
        return source.key("train", name)

    base = train.base
    is_parser = base in PARSERS
    if train.folds is not None and not is_parser:
        example = "--base transition" if source.flags else 'base = "transition"'
        raise ConfigError(f"{key('folds')} is for a base parser that is trained here; name its parser, as in {example}")
    if base is None:
        if train.dev_base is not None:
            raise ConfigError(f"{key('dev_base')} belongs to a {_bare('base', source)} file; give both or none")
        return Stacking()
    if recipe.is_tagger:
        raise ConfigError(f"{key('base')} is for parsers; a tagger looks at no trees")
    if is_parser:
        if train.dev_base is not None:
            raise ConfigError(
                f"{key('dev_base')} belongs to a {_bare('base', source)} file; the {base} parser parses DEV itself"
            )
        inputs = {"inputs": recipe.options["inputs"]} if "inputs" in recipe.options else {}
        return Stacking(
            recipe=Recipe.checked({"parser": base, **inputs}, {}, source),
            folds=FOLDS if train.folds is None else train.folds,
        )
    placed = source.placed(base)
    if not Path(placed).is_file():
        raise ConfigError(
            f"expected a file or the name of a parser as {key('base')}, found {base!r}; parsers: {', '.join(PARSERS)}"
        )
    if not recipe.is_stacked:
        raise ConfigError(
            f"{recipe.start_from} was trained without base trees and would not look at {key('base')}; leave it out"
        )
    if (train.dev is None) != (train.dev_base is None):
        dev, dev_base = _bare("dev", source), _bare("dev_base", source)
        raise ConfigError(f"with a {key('base')} file, {dev} and {dev_base} go together; give both or none")
    check_strict(lenient=train.lenient, source=source)
    return Stacking(train=placed, dev=None if train.dev_base is None else source.placed(train.dev_base))


def check_strict(*, lenient: bool, source: Source) -> None:
    """Refuse to skip sentences when another file is read beside them."""
    if lenient:
        raise ConfigError(
            f"{source.key('train', 'lenient')} skips sentences, and the trees of {_bare('base', source)} "
            "would no longer fit; leave one of them"
        )


def _bare(key: str, source: Source) -> str:
    """Return a key without the name of file and table, for the second time in a sentence."""
    return source.key("train", key).rpartition(" ")[2]
