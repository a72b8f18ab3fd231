"""Everything that decides a training, in one object: from a TOML file, from tables, from options of a command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from treetune.config.build import ModelConfig, Stacking
from treetune.config.objectives import ObjectiveConfig, check_objectives
from treetune.config.schema import (
    EPOCHS,
    PIPELINE,
    TOKENIZER,
    TOKENIZER_EPOCHS,
    PipelineTable,
    RunTable,
    TrainTable,
    checked,
    settings_of,
)
from treetune.config.tables import Source, Tables, changed, check_shape, merged, path_places, read_toml
from treetune.corpus.files import STANDARD_STREAM, StrPath
from treetune.errors import ConfigError
from treetune.models.quantize import PRUNE

Table = TypeVar("Table")

# The keys of [train] that pipelines and tokenizers have.
_TEXT_KEYS = ("treebank", "dev", "epochs", "seed", "lenient", "licence")


@dataclass(frozen=True, slots=True)
class Config:
    """A model, how it is trained, its treebank and its other objectives; names are resolved, no data is read yet.

    Attributes:
        source: Where it was written, for messages and paths.
        model: The model and its learner: [model] and [learner]; of a pipeline, its parser.
        train: [train], as it was written.
        pipeline: [pipeline].
        run: [run].
        stacking: The base parser, or its trees.
        objectives: The [[objective]] tables.
        written: All tables, as they were written.
    """

    source: Source
    model: ModelConfig
    train: TrainTable
    pipeline: PipelineTable
    run: RunTable
    stacking: Stacking
    objectives: tuple[ObjectiveConfig, ...]
    written: Tables

    @classmethod
    def read(cls, path: StrPath, *, overrides: Tables | None = None, changes: Iterable[str] = ()) -> Self:
        """Read a TOML file; `overrides`, and then `changes` such as ``train.epochs=5``, are made before it is checked.

        Raises:
            ConfigError: the file is not TOML, or a table, key or value is wrong.
            DataError: the file cannot be read.
        """
        source = Source(str(path), Path(path).parent)
        tables = read_toml(path)
        check_shape(tables, source)
        return cls.of(merged(tables, overrides or {}), changes=changes, source=source)

    @classmethod
    def of(cls, tables: Tables, *, changes: Iterable[str] = (), source: Source | None = None) -> Self:
        """Check the tables of a configuration, as a TOML file would have them; ConfigError if anything is wrong."""
        source, changes = source or Source(), list(changes)
        check_shape(tables, source)
        tables = changed(tables, changes)
        source = replace(source, changed=frozenset(change.partition("=")[0].strip() for change in changes))

        def table(kind: type[Table], name: str) -> Table:
            return kind(**checked(tables.get(name, {}), settings_of(kind, name), table=name, source=source))

        train, run = table(TrainTable, "train"), table(RunTable, "run")
        model = ModelConfig.checked(tables.get("model", {}), tables.get("learner", {}), source)
        stacking = Stacking.of(model, train, source)
        output = "tags" if model.is_tagger else "tree"
        objectives = check_objectives(
            tables.get("objective", []), source, metrics=model.scorer.metrics, output=output
        )  # fmt: skip
        config = cls(source, model, train, table(PipelineTable, "pipeline"), run, stacking, objectives, tables)
        config._check_task()
        config._check_data()
        config._check_stacking()
        config._check_shards()
        config._check_epochs()
        return config

    def _check_task(self) -> None:
        """Refuse what the task has no use for."""
        task = self.model.task
        if task != PIPELINE:
            for key in self.written.get("pipeline", {}):
                raise ConfigError(f"{self.source.key('pipeline', key)} is for pipelines; the task is {task}")
        if task not in (PIPELINE, TOKENIZER):
            return
        if self.objectives and (task == TOKENIZER or not all(one.is_gold for one in self.objectives)):
            kind = "other objectives" if task == TOKENIZER else "objectives with a loss"
            raise self.source.whole(f"{kind} ({self._objectives}) are not for the task {task}; leave them out")
        if self.written.get("pipeline", {}).get("prune", PRUNE) != PRUNE and not self.pipeline.quantize:
            raise ConfigError(f"{self.source.key('pipeline', 'prune')} is for quantized models; set quantize = true")
        if self.pipeline.convert and not self.objectives:
            raise self.source.error(
                "pipeline", "convert", f"expected trees to convert ({self._objectives}), found none"
            )
        if self.model.start_from is not None:
            raise ConfigError(f"{self.source.key('model', 'start_from')} is not for the task {task}; leave it out")
        for key in self.written.get("train", {}):
            if key not in _TEXT_KEYS:
                raise ConfigError(f"{self.source.key('train', key)} is not for the task {task}; leave it out")
        if task == TOKENIZER and self.run.plot is not None:
            raise ConfigError(f"{self.source.key('run', 'plot')} is not for the task tokenizer; leave it out")
        if self.pipeline.jackknife == 1:
            raise self.source.error("pipeline", "jackknife", "expected 0 or at least 2 folds, found 1")
        if self.pipeline.entities_dev is not None and not isinstance(self.pipeline.entities, str):
            wanted = self.source.short_key("pipeline", "entities")
            raise self.source.error(
                "pipeline", "entities_dev", f"belongs to a file of entities as {wanted}; leave it out"
            )

    def _check_data(self) -> None:
        if any(path == STANDARD_STREAM for path in self.paths()):
            raise self.source.whole("expected files to train on, whose hashes are stored in the model, found - (stdin)")
        if self.train.treebank is not None:
            return
        if self.model.start_from is None:
            start = (
                "" if self.model.task in (PIPELINE, TOKENIZER) else f", or a model to fine-tune ({self._start_from})"
            )
            raise self.source.whole(f"expected a treebank to train on ({self._treebank}){start}, found none")
        if not self.objectives:
            raise self.source.whole(
                f"expected a treebank ({self._treebank}) or an objective ({self._objectives}), found neither"
            )

    def _check_stacking(self) -> None:
        base = self.source.short_key("train", "base")
        if self.stacking.base is not None and (self.objectives or self.model.start_from is not None):
            raise self.source.whole(
                f"a base parser that is trained ({base} {self.train.base}) cannot be combined with other objectives or "
                "a model to start from; train the stacked parser first, then fine-tune it"
            )
        if self.stacking.base is not None and self.train.choose_by is not None:
            key = self.source.key("train", "choose_by")
            raise ConfigError(
                f"{key}: with a base parser that is trained the best epoch is chosen by LAS; leave it out"
            )
        # A stacked parser with its base parser inside can parse any sentence.
        if self.stacking.train is not None and self.objectives and self.model.name != "stacked":
            raise self.source.whole(
                f"a file of base trees ({base}) has no trees for the sentences of other objectives; train the stacked "
                "parser with its base parser first, then fine-tune it"
            )

    def _check_shards(self) -> None:
        key = self.source.short_key("train", "shards")
        if self.run.cluster is not None and self.train.shards is None:
            cluster = self.source.short_key("run", "cluster")
            raise self.source.whole(
                f"a cluster ({cluster}) trains shards; say into how many to divide the data ({key})"
            )
        if self.train.mixes is not None and self.train.shards is None:
            raise self.source.error("train", "mixes", f"the weights of shards are mixed; set their number ({key})")
        if self.train.shards is not None and (
            self.model.task in (PIPELINE, TOKENIZER) or self.stacking.base is not None
        ):
            raise self.source.whole(
                f"shards ({key}) are for the training of one parser or tagger; train the parts of a pipeline or of a "
                "stacked parser one by one, or leave it out"
            )

    def _check_epochs(self) -> None:
        for one in self.objectives:
            start = one.written.get("start")
            if start is not None and start > self.epochs:
                problem = f"expected an epoch up to the last, {self.epochs}, found {start}"
                raise self.source.error(f"objective.{one.name}", "start", problem)
        chosen, metrics = self.train.choose_by, self.model.scorer.metrics
        if chosen is None:
            return
        known = (*metrics, *(one.name for one in self.objectives if one.dev is not None))
        if chosen not in known:
            problem = f"expected one of {', '.join(known)}, found {chosen!r}"
            raise self.source.error("train", "choose_by", problem)
        if chosen in metrics and self.train.dev is None:
            problem = f"{chosen} is measured on development data; give {self.source.short_key('train', 'dev')}"
            raise self.source.error("train", "choose_by", problem)

    @property
    def _treebank(self) -> str:
        return self.source.short_key("train", "treebank")

    @property
    def _start_from(self) -> str:
        return self.source.short_key("model", "start_from")

    @property
    def _objectives(self) -> str:
        return "--also" if self.source.flags else "[[objective]]"

    @property
    def epochs(self) -> int:
        """The number of epochs; of a pipeline, those of its parser."""
        usual = TOKENIZER_EPOCHS if self.model.task == TOKENIZER else EPOCHS
        return usual if self.train.epochs is None else self.train.epochs

    @property
    def has_stages(self) -> bool:
        """Whether several models are trained one after the other."""
        return self.model.task == PIPELINE or self.stacking.base is not None

    @property
    def choose_by(self) -> str:
        """The metric or objective that the best epoch is chosen by."""
        return self.train.choose_by or self.model.scorer.usual

    def paths(self) -> Iterator[str]:
        """Yield the paths of all files to read but the model to start from, as they were written."""
        for name, table, key in path_places(self.written):
            if name != "run" and key != "start_from":
                yield table[key]

    def stored_tables(
        self, model: Mapping[str, Any], learner: Mapping[str, Any], objectives: Sequence[Mapping[str, Any]] = ()
    ) -> Tables:
        """Return the whole configuration as tables, given those that only the trained model knows in full.

        [run] is left out: it does not change the model.
        """
        train = {key: value for key, value in asdict(self.train).items() if value is not None}
        train["epochs"] = self.epochs
        is_text = self.model.task in (PIPELINE, TOKENIZER)
        if not is_text and (self.train.dev is not None or self.train.choose_by is not None):
            train["choose_by"] = self.choose_by
        if self.stacking.base is not None:
            train["folds"] = self.stacking.folds
        if is_text:
            train = {key: train[key] for key in _TEXT_KEYS if key in train}
        tables: Tables = {"model": dict(model), "learner": dict(learner), "train": train}
        if self.model.task == PIPELINE:
            tables["pipeline"] = {key: value for key, value in asdict(self.pipeline).items() if value is not None}
        if objectives:
            tables["objective"] = [dict(table) for table in objectives]
        tables = {name: content for name, content in tables.items() if content}
        places = list(path_places(tables))
        stored = self.source.stored_paths(table[key] for _, table, key in places)
        for _, table, key in places:
            table[key] = stored[table[key]]
        return tables
