"""Everything that decides a training, in one object: from a TOML file, from tables, from options of a command."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from treetune.config.changes import Tables, changed, check_shape
from treetune.config.keys import NOT_STORED, TrainTable, checked, hints_of
from treetune.config.objectives import Plan, plan_objectives
from treetune.config.recipe import Recipe
from treetune.config.source import Source
from treetune.config.stacking import Stacking, choose_stacking
from treetune.corpus.files import STANDARD_STREAM, StrPath, read_lines
from treetune.errors import ConfigError

# The kind of models that have a base parser inside.
STACKED = "stacked"


@dataclass(frozen=True, slots=True)
class Experiment:
    """A parser, how it learns, its treebank and its other objectives; names are resolved, no data is read yet.

    Attributes:
        source: Where it was written, for messages and paths.
        recipe: The parser and its learner: [model] and [learner].
        train: [train], as it was written.
        stacking: The base parser, or its trees.
        objectives: What to learn besides the treebank: the [[objective]] tables.
    """

    source: Source
    recipe: Recipe
    train: TrainTable
    stacking: Stacking
    objectives: tuple[Plan, ...]

    @classmethod
    def read(cls, path: StrPath, *, changes: Iterable[str] = ()) -> Self:
        """Read a TOML file; `changes` such as ``train.epochs=5`` are made before it is checked.

        Raises:
            ConfigError: the file is not TOML, or a table, key or value is wrong.
            DataError: the file cannot be read.
        """
        name = str(path)
        try:
            tables = tomllib.loads("\n".join(read_lines(path)))
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{name}: expected a TOML file: {error}") from None
        return cls.of(tables, changes=changes, source=Source(name, Path(path).parent))

    @classmethod
    def of(cls, tables: Tables, *, changes: Iterable[str] = (), source: Source | None = None) -> Self:
        """Check the tables of an experiment, as a TOML file would have them; ConfigError if anything is wrong."""
        source = source or Source()
        check_shape(tables, source)
        tables = changed(tables, changes)
        train = TrainTable(**checked(tables.get("train", {}), hints_of(TrainTable), table="train", source=source))
        recipe = Recipe.checked(tables.get("model", {}), tables.get("learner", {}), source)
        stacking = choose_stacking(recipe, train, source)
        plans = plan_objectives(tables.get("objective", []), source, metrics=recipe.scorer.metrics)
        experiment = cls(source, recipe, train, stacking, tuple(plans))
        experiment._check()
        return experiment

    def _check(self) -> None:
        for path in self.paths():
            if path == STANDARD_STREAM:
                raise self.source.whole("expected files to train on, whose hashes the model notes, found - (stdin)")
        if self.train.treebank is None:
            if self.recipe.start_from is None:
                raise self.source.whole(
                    f"expected a treebank to learn from ({self._treebank_key}), or a trained model to go on from "
                    f"({self._bare('model', 'start_from')})"
                )
            if not self.objectives:
                raise self.source.whole(
                    f"expected a treebank ({self._treebank_key}) or an objective ({self._objective_key}) to learn "
                    "from, found neither"
                )
        if self.stacking.recipe is not None and (self.objectives or self.recipe.start_from is not None):
            raise self.source.whole(
                f"a base parser that is trained here ({self._bare('train', 'base')} {self.train.base}) cannot be combined "
                "with other objectives or a model to start from; train the stacked model first, then go on from it"
            )
        if self.stacking.recipe is not None and self.train.choose_by is not None:
            raise self.source.whole(
                f"with a base parser that is trained here the best epoch is chosen by LAS; leave "
                f"{self._bare('train', 'choose_by')} out"
            )
        # A stacked parser with its base parser inside can parse any sentence.
        if self.stacking.train is not None and self.objectives and self.recipe.parser != STACKED:
            raise self.source.whole(
                f"a file of base trees ({self._bare('train', 'base')}) has no trees for the sentences of other objectives; "
                "train the base parser with the parser first, then go on from that model"
            )
        for plan in self.objectives:
            self._check_loss(plan)
            if plan.start is not None and plan.start > self.train.epochs:
                raise self.source.error(
                    f"objective.{plan.name}",
                    "start",
                    f"expected an epoch up to the last, {self.train.epochs}, found {plan.start}",
                )
        self._check_choice()

    def _check_loss(self, plan: Plan) -> None:
        given = "tags" if self.recipe.is_tagger else "tree"
        if not plan.is_intrinsic and plan.loss.output not in (given, "any"):
            kind, other = ("tagger", "parsers") if self.recipe.is_tagger else ("parser", "taggers")
            raise self.source.whole(f"{plan.name}: the loss {plan.loss.name} is for {other}, and the model is a {kind}")

    def _check_choice(self) -> None:
        name = self.train.choose_by
        if name is None:
            return
        key = self.source.key("train", "choose_by")
        with_dev = [plan.name for plan in self.objectives if plan.dev is not None]
        metrics = self.recipe.scorer.metrics
        if name not in (*metrics, *with_dev):
            raise ConfigError(f"{key}: expected one of {', '.join((*metrics, *with_dev))}, found {name!r}")
        if name in metrics and self.train.dev is None:
            what = "sentences" if self.recipe.is_tagger else "trees"
            raise ConfigError(f"{key}: {name} needs {what} to measure it on; give {self._bare('train', 'dev')}")

    @property
    def _treebank_key(self) -> str:
        return "TRAIN" if self.source.flags else "treebank in [train]"

    @property
    def _objective_key(self) -> str:
        return "--also" if self.source.flags else "[[objective]]"

    def _bare(self, table: str, key: str) -> str:
        return self.source.key(table, key).rpartition(": ")[2]

    @property
    def choose_by(self) -> str:
        """What the best epoch is chosen by."""
        return self.train.choose_by or self.recipe.scorer.usual

    @property
    def model_path(self) -> str | None:
        """Where [train] says that the model is to be written."""
        return None if self.train.model is None else self.source.placed(self.train.model)

    def paths(self) -> Iterator[str]:
        """Yield the paths of all files to read, as they were written."""
        train = self.train
        yield from (path for path in (train.treebank, train.dev, train.dev_base) if path is not None)
        if train.tagger is not None and not self.source.is_embedded(train.tagger):
            yield train.tagger
        if (clusters := self.recipe.options.get("clusters")) is not None:
            yield clusters
        if (features := self.recipe.options.get("features", "")).endswith(".txt"):
            yield features
        if self.stacking.train is not None and self.train.base is not None:
            yield self.train.base
        for plan in self.objectives:
            yield from (path for key in ("data", "dev") if (path := plan.written.get(key)) is not None)

    def tables(
        self, model: Mapping[str, Any], learner: Mapping[str, Any], objectives: Sequence[Mapping[str, Any]]
    ) -> Tables:
        """Return the whole experiment as tables, given those parts that only the trained model knows in full.

        What is not about the model that comes of it is left out: where it is written, how many threads are used.
        """
        train = {key: value for key, value in asdict(self.train).items() if value is not None and key not in NOT_STORED}
        if self.train.dev is not None or self.train.choose_by is not None:
            train["choose_by"] = self.choose_by
        if self.stacking.recipe is not None:
            train["folds"] = self.stacking.folds
        tables: Tables = {"model": dict(model), "learner": dict(learner), "train": train}
        if objectives:
            tables["objective"] = [dict(table) for table in objectives]
        return self._with_stored_paths(tables)

    def _with_stored_paths(self, tables: Tables) -> Tables:
        places = [(tables["train"], key) for key in ("treebank", "dev", "dev_base", "tagger")]
        if self.stacking.train is not None:
            places.append((tables["train"], "base_tree"))
        places += [(tables["model"], "start_from"), (tables["model"], "clusters")]
        if str(tables["model"].get("features", "")).endswith(".txt"):
            places.append((tables["model"], "features"))
        places += [(table, key) for table in tables.get("objective", []) for key in ("data", "dev")]
        places = [(table, key) for table, key in places if key in table and not self._is_name(table, key)]
        stored = self.source.stored(table[key] for table, key in places)
        for table, key in places:
            table[key] = stored[table[key]]
        return tables

    def _is_name(self, table: Mapping[str, Any], key: str) -> bool:
        """Whether a key that may have a path has the name of a model in the package."""
        return key in ("start_from", "tagger") and self.source.is_embedded(table[key])
