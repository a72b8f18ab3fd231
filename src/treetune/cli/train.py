"""``treetune train``: a treebank and other objectives in, by options or by a configuration file; a model file out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from treetune.cli import options
from treetune.cli.console import Interrupted, note, write, write_json
from treetune.cli.options import given
from treetune.cli.plots import draw_curves
from treetune.cli.runfiles import RunFiles
from treetune.cli.training_progress import follow
from treetune.config import Config, TrainingRun
from treetune.config.objectives import TREEBANK
from treetune.config.schema import all_settings
from treetune.config.tables import FLAGS, TABLES, Tables, objective_name, path_places, value_text
from treetune.errors import ConfigError, TreetuneError, unknown_name
from treetune.evaluation.metrics import METRICS, percent
from treetune.storage import save

CONFIG_SUFFIX = ".toml"
# Gold trees, or gold tags for a tagger, which are learned as the treebank is and have no loss.
GOLD = ("trees", "tags")
_RATE = re.compile(r"@([0-9]*\.?[0-9]+)$")


def train(
    treebank: Annotated[
        str | None,
        typer.Argument(metavar="TRAIN", help="A treebank (CoNLL-U, CoNLL-X, IOB), or a configuration file, .toml."),
    ] = None,
    dev: Annotated[
        str | None, typer.Option("--dev", metavar="DEV", help="Development data, to choose the best epoch on.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="OUT", help="File to write the model to.")] = None,
    task: options.TaskName = None,
    parser: options.Name = None,
    beam: options.Beam = None,
    features: options.Features = None,
    arc_filter: options.Filter = None,
    epochs: options.Epochs = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            metavar="LOSS:FILE[@RATE]",
            help="Another objective, RATE updates per update on TRAIN; repeatable.",
        ),
    ] = None,
    entities: Annotated[
        str | None,
        typer.Option("--entities", metavar="FILE", help="Entities (IOB, CoNLL-U) to train a tagger of a pipeline on."),
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option("--start-from", metavar="MODEL", help="Trained model to fine-tune; of a pipeline, its parser."),
    ] = None,
    seed: options.Seed = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads to parse DEV with, 1.")] = None,
    shards: Annotated[
        int | None, typer.Option(min=2, help="Divide the data; the weights learned on each part are mixed each epoch.")
    ] = None,
    mixes: Annotated[
        int | None, typer.Option(min=1, help="Mix the weights of shards so often in each epoch, 1.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Train shards on a Ray cluster, local for this machine.")
    ] = None,
    changes: options.Changes = None,
    list_settings: Annotated[
        bool, typer.Option("--list-settings", help="List all settings with type and default, and exit.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a training that was interrupted.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write a JSON report to stdout.")] = False,
) -> None:
    """Train a parser, a tagger, a tokenizer or a pipeline; OUT is written when training is complete.

    TRAIN may be a configuration file; options then replace its settings.
    """
    if list_settings:
        show_settings(json=json)
        return
    tables: Tables = {
        "model": given(
            task=task, parser=parser, beam=beam, features=features, filter=arc_filter, start_from=start_from
        ),
        "train": given(dev=dev, epochs=epochs, seed=seed, shards=shards, mixes=mixes),
        "pipeline": given(entities=entities),
        "run": given(model=model, threads=threads, cluster=cluster),
        "objective": objective_tables(also or []),
    }
    # Whatever can be wrong about the settings is found before any data is read.
    config = make_config(treebank, tables, changes or [])
    run_training(config, resume=resume, quiet=quiet, json=json)


def run_training(config: Config, *, resume: bool = False, quiet: bool = False, json: bool = False) -> None:
    """Train as a configuration says, write the model and show what was done."""
    files = RunFiles.of(config, resume=resume)
    with files.held():
        if config.run.cluster is not None:
            from treetune.cluster.session import import_ray

            import_ray()
        run = TrainingRun.prepare(config, say=partial(note, quiet=quiet))
        if config.run.cluster is not None:
            from treetune.cluster.training import ray_pool

            lost = partial(_note_lost, quiet=quiet)
            run.make_pool = ray_pool(config.run.cluster, lost=lost)
        info = _train(run, files, quiet=quiet)
    _show_end(run, files, info, quiet=quiet)
    if json:
        write_json({"model": files.model, "epochs": files.records, "info": info})


def _note_lost(reason: str, *, quiet: bool) -> None:
    note(f"a worker was lost {reason}; its shard is trained again", quiet=quiet)


def _show_end(run: TrainingRun, files: RunFiles, info: dict[str, Any], *, quiet: bool) -> None:
    """Show scores on raw text and the files that were written; draw learning curves."""
    if "text" in info.get("scores", {}):
        line = "  ".join(f"{name} {percent(value)}" for name, value in info["scores"]["text"].items())
        note(f"dev, from raw text  {line}", quiet=quiet)
    note(f"wrote {files.model}, {Path(files.model).stat().st_size / 1e6:.1f} MB", quiet=quiet)
    if files.plot is not None and files.curves:
        draw_curves(files.curves, files.plot, best_epoch=run.last.epoch)
        note(f"wrote {files.plot}", quiet=quiet)


def make_config(treebank: str | None, tables: Tables, changes: Sequence[str]) -> Config:
    """Return the configuration of a file with the settings of `tables` in place of its own, or of `tables` alone."""
    if treebank is None or not treebank.endswith(CONFIG_SUFFIX):
        tables["train"] |= given(treebank=treebank)
        return Config.of(tables, changes=changes, source=FLAGS)
    for _, table, key in path_places(tables):
        table[key] = os.path.relpath(table[key], Path(treebank).parent)
    return Config.read(treebank, overrides=tables, changes=changes)


def _train(run: TrainingRun, files: RunFiles, *, quiet: bool) -> dict[str, Any]:
    """Train, write the model and return what it stores; a training that does not end can be resumed."""
    if files.resume and not files.is_resuming:
        note("there is no checkpoint to resume from; starting from the beginning", quiet=quiet)
    files.begin()
    try:
        reports: Any = run.train(checkpoint=files.checkpoint, resume=files.resume)
        # A training that is interrupted between two reports must release its checkpoint.
        with closing(reports):
            follow(reports, on_epoch=files.add, quiet=quiet)
        info = run.info()
        save(run.stored, files.model, info)
    except KeyboardInterrupt:
        files.end(done=False)
        how = files.how_to_resume(run.config.epochs)
        raise Interrupted(f"{files.model} was not written" + (f"; {how}" if how else "")) from None
    except TreetuneError as error:
        files.end(done=False)
        how = files.how_to_resume(run.config.epochs)
        # With wrong options, or from a checkpoint that did not lead any further, it cannot be resumed.
        if how and files.has_new_epochs and not isinstance(error, ConfigError):
            note(how)
        raise
    files.end(done=True)
    return info


def objective_tables(given_objectives: Sequence[str], others: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the tables of the objectives ``LOSS:FILE@RATE``; each has a name of its own, after its file.

    `others` are names that other objectives have.
    """
    tables: list[dict[str, Any]] = []
    taken = {TREEBANK, *METRICS, *others}
    for text in given_objectives:
        table = _objective_table(text)
        name = wanted = objective_name(table, 1)
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}-{number}"
        taken.add(name)
        tables.append({"name": name, **table})
    return tables


def _objective_table(text: str) -> dict[str, Any]:
    from treetune.losses import LOSSES

    loss, colon, rest = text.partition(":")
    rate = _RATE.search(rest)
    path = rest[: rate.start()] if rate else rest
    if not (loss and colon and path):
        raise ConfigError(f"--also: expected LOSS:FILE or LOSS:FILE@RATE, as in root:questions.conllu, found {text!r}")
    if loss not in (*LOSSES, *GOLD):
        raise ConfigError(f"--also {text}: {unknown_name('loss', loss, (*LOSSES, *GOLD))}")
    return {"data": path, **({} if loss in GOLD else {"loss": loss}), **({"rate": float(rate[1])} if rate else {})}


def show_settings(*, json: bool) -> None:
    """Write all settings, table by table."""
    settings = all_settings()
    if json:
        write_json([setting.as_dict() for setting in settings])
        return
    for table in TABLES:
        rows = [
            (one.key, one.type, "" if one.default is None else value_text(one.default), one.help)
            for one in settings
            if one.table == table
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        write(f"[[{table}]]" if table == "objective" else f"[{table}]")
        for row in rows:
            cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
            write("  " + "  ".join((*cells, row[3])))
        write("")
    write("Set them by --set TABLE.KEY=VALUE, for an objective --set objective.NAME.KEY=VALUE, or in a .toml file.")
