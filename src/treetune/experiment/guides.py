"""Where the trees come from that guide a parser: files, or a parser that is trained for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treetune.build import PARSERS
from treetune.errors import ConfigError
from treetune.experiment.keys import TrainTable
from treetune.experiment.recipe import Recipe
from treetune.experiment.source import Source

FOLDS = 10


@dataclass(frozen=True, slots=True)
class Guide:
    """Files with the trees of the treebank and of dev, or a recipe for a parser; without either there is no guide."""

    train: str | None = None
    dev: str | None = None
    recipe: Recipe | None = None
    folds: int = FOLDS


def choose_guide(recipe: Recipe, train: TrainTable, source: Source) -> Guide:
    """Return the guide that [train] asks for; a wrong combination is a `ConfigError`.

    The name of a parser goes before a file of the same name. A parser that is trained as a guide has its
    own defaults, except that it looks at the same `inputs` as the parser of the recipe.
    """

    def key(name: str) -> str:
        return source.key("train", name)

    guide = train.guide
    is_parser = guide in PARSERS
    if train.folds is not None and not is_parser:
        example = "--guide transition" if source.flags else 'guide = "transition"'
        raise ConfigError(f"{key('folds')} is for a guide that is trained here; name its parser, as in {example}")
    if guide is None:
        if train.dev_guide is not None:
            raise ConfigError(f"{key('dev_guide')} belongs to a {_bare('guide', source)} file; give both or none")
        return Guide()
    if recipe.is_tagger:
        raise ConfigError(f"{key('guide')} is for parsers; a tagger looks at no trees")
    if is_parser:
        if train.dev_guide is not None:
            raise ConfigError(
                f"{key('dev_guide')} belongs to a {_bare('guide', source)} file; the {guide} parser parses DEV itself"
            )
        inputs = {"inputs": recipe.options["inputs"]} if "inputs" in recipe.options else {}
        return Guide(
            recipe=Recipe.checked({"parser": guide, **inputs}, {}, source),
            folds=FOLDS if train.folds is None else train.folds,
        )
    placed = source.placed(guide)
    if not Path(placed).is_file():
        raise ConfigError(
            f"expected a file or the name of a parser as {key('guide')}, found {guide!r}; parsers: {', '.join(PARSERS)}"
        )
    if not recipe.is_guided:
        raise ConfigError(
            f"{recipe.start_from} was trained without a guide and would not look at {key('guide')}; leave it out"
        )
    if (train.dev is None) != (train.dev_guide is None):
        dev, dev_guide = _bare("dev", source), _bare("dev_guide", source)
        raise ConfigError(f"with a {key('guide')} file, {dev} and {dev_guide} go together; give both or none")
    check_strict(lenient=train.lenient, source=source)
    return Guide(train=placed, dev=None if train.dev_guide is None else source.placed(train.dev_guide))


def check_strict(*, lenient: bool, source: Source) -> None:
    """Refuse to skip sentences when another file is read beside them."""
    if lenient:
        raise ConfigError(
            f"{source.key('train', 'lenient')} skips sentences, and the trees of {_bare('guide', source)} "
            "would no longer fit; leave one of them"
        )


def _bare(key: str, source: Source) -> str:
    """Return a key without the name of file and table, for the second time in a sentence."""
    return source.key("train", key).rpartition(" ")[2]
