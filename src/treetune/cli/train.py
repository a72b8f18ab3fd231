"""``treetune train``: a treebank and other objectives in, by options or by an experiment file; a model file out."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from treetune.cli import options
from treetune.cli.also import objective_tables
from treetune.cli.console import Interrupted, note, write_json
from treetune.cli.options import given, tables_of
from treetune.cli.plots import check_plot, draw_curves
from treetune.cli.runfiles import RunFiles
from treetune.cli.train_text import PARSER, TEXT_TASKS, TOKENIZER, TextPlan, check_task, folds_of, train_text
from treetune.cli.training import Job
from treetune.config import Experiment, Task
from treetune.config.keys import SEED
from treetune.config.recipe import Recipe
from treetune.config.source import FLAGS
from treetune.config.toml_text import value_text
from treetune.corpus.files import STANDARD_STREAM
from treetune.errors import ConfigError, TreetuneError
from treetune.storage import save

EXPERIMENT_SUFFIX = ".toml"
CHECKPOINT_SUFFIX = ".checkpoint"


def train(
    treebank: Annotated[
        str | None,
        typer.Argument(metavar="TRAIN", help="What to learn from: CoNLL-U, CoNLL-X, IOB; or an experiment, .toml."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="OUT", help="Where to write the model.")] = None,
    dev: Annotated[str | None, typer.Option("--dev", metavar="DEV", help="What the best epoch is chosen by.")] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            metavar="LOSS:FILE[@RATE]",
            help="What else to learn, and how many steps for each on TRAIN, 1; repeat it for more.",
            rich_help_panel=options.OBJECTIVES,
        ),
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            "--start-from",
            metavar="MODEL",
            help="A trained model to go on from; of a pipeline the parser goes on.",
            rich_help_panel=options.OBJECTIVES,
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change a key of the experiment; repeat it for more."),
    ] = None,
    task: options.TaskName = None,
    jackknife: Annotated[
        int | None,
        typer.Option(
            "--jackknife",
            min=0,
            metavar="N",
            help="Train a tagger too, and the parser on the tags of N taggers that have not seen them.",
        ),
    ] = None,
    column: options.Column = None,
    order: options.Order = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="With --task pipeline or --jackknife: a smaller file, slightly worse.")
    ] = False,
    parser: options.Name = None,
    beam: options.Beam = None,
    decoder: options.Decoder = None,
    labels: options.Labels = None,
    max_memory: options.MaxMemory = None,
    features: options.Features = None,
    inputs: options.Inputs = None,
    clusters: options.ClusterFile = None,
    tagger: options.TaggerFile = None,
    epochs: options.Epochs = None,
    learner: options.LearnerName = None,
    update: options.Update = None,
    k: options.K = None,
    clip: options.Clip = None,
    cost_augmented: options.CostAugmented = False,
    base: options.BaseName = None,
    dev_base: options.DevBase = None,
    folds: options.Folds = None,
    choose_by: Annotated[
        str | None, typer.Option("--choose-by", metavar="METRIC", help="The score by which, LAS for parsers.")
    ] = None,
    seed: options.Seed = None,
    projectivize: Annotated[
        bool | None,
        typer.Option(
            "--projectivize/--no-projectivize", help="Learn crossing arcs by lifting them, or leave such sentences out."
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads to parse DEV with, 1.")] = None,
    licence: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Licence of the data, to be noted in the model.")
    ] = None,
    lenient: options.Lenient = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a training that was interrupted.", rich_help_panel=options.RUN)
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="What to resume from, OUT.checkpoint; removed at the end.", rich_help_panel=options.RUN
        ),
    ] = None,
    no_checkpoint: Annotated[
        bool, typer.Option("--no-checkpoint", help="Write nothing to resume from.", rich_help_panel=options.RUN)
    ] = False,
    log: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write a line of JSON for each epoch, at its end.", rich_help_panel=options.RUN
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw learning curves: .svg, .png or .pdf (extra 'plots').",
            rich_help_panel=options.RUN,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write a JSON report to stdout.")] = False,
) -> None:
    """Train a parser or a tagger; OUT appears, or is replaced, only when training is complete.

    TRAIN may be an experiment file, in which all this is written down.
    """
    # Whatever can be wrong about the options is found before any data is read.
    check_task(task)
    is_text = jackknife is not None or task in TEXT_TASKS
    tables: dict[str, Any] = {
        **tables_of(
            task=None if is_text or task == PARSER else task,
            columns=options.columns(column),
            order=order,
            parser=parser,
            beam=beam,
            decoder=decoder,
            labels=labels,
            max_memory=max_memory,
            features=features,
            inputs=options.columns(inputs),
            clusters=clusters,
            start_from=start_from,
            learner=learner,
            update=update,
            k=k,
            clip=clip,
            cost_augmented=cost_augmented or None,
        ),
        "train": given(
            {
                "dev": dev,
                "base": base,
                "dev_base": dev_base,
                "tagger": tagger,
                "folds": folds,
                "epochs": epochs,
                "seed": seed,
                "threads": threads,
                "choose_by": choose_by,
                "projectivize": projectivize,
                "lenient": lenient or None,
                "licence": licence,
            }
        ),
    }
    if is_text:
        run_options = {
            "resume": resume or None,
            "checkpoint": checkpoint,
            "no_checkpoint": no_checkpoint or None,
            "log": log,
            "plot": plot,
            "also": also,
            "set": changes,
        }
        folds_wanted = folds_of(task or PARSER, jackknife)
        plan = _text_plan(task or PARSER, treebank, model, tables, folds_wanted, run_options, compact=compact)
        train_text(plan, quiet=quiet, json=json)
        return
    if compact:
        raise ConfigError("--compact is for --task pipeline and --jackknife; leave it out")
    if treebank is not None and treebank.endswith(EXPERIMENT_SUFFIX):
        _refuse_options(tables, also or [])
        experiment = Experiment.read(treebank, changes=changes or [])
    else:
        tables["train"] |= given({"treebank": treebank})
        tables["objective"] = objective_tables(also or [])
        experiment = Experiment.of(tables, changes=changes or [], source=FLAGS)
    out = model or experiment.model_path
    if out is None:
        raise ConfigError(_no_model(treebank, experiment))
    files = _run_files(
        experiment, out, checkpoint=checkpoint, no_checkpoint=no_checkpoint, resume=resume, log=log, plot=plot
    )
    prepared = Task.prepare(experiment, say=partial(note, quiet=quiet))
    info = _run(prepared, files, quiet=quiet)
    note(f"wrote {out}, {Path(out).stat().st_size / 1e6:.1f} MB", quiet=quiet)
    if plot is not None and files.records:
        draw_curves(files.records, plot, best_epoch=info["training"]["best_epoch"])
        note(f"wrote {plot}", quiet=quiet)
    if json:
        write_json({"model": out, "epochs": files.records, "info": info})


# Keys of [model] that a training from text has no use for, and by which of them an option is called otherwise.
_NOT_OF_TEXT = ("start_from", "columns", "order")
_FLAGS = {"columns": "column"}


def _text_plan(
    task: str,
    treebank: str | None,
    model: str | None,
    tables: dict[str, Any],
    folds: int,
    run_options: dict[str, Any],
    *,
    compact: bool,
) -> TextPlan:
    """Return the plan of a training that is not of a parser alone; what it has no use for is refused."""
    what = "--jackknife" if task == PARSER else f"--task {task}"
    train_table = dict(tables["train"])
    own = {
        "dev": train_table.pop("dev", None),
        "epochs": train_table.pop("epochs", None),
        "seed": train_table.pop("seed", SEED),
        "threads": train_table.pop("threads", 1),
        "licence": train_table.pop("licence", None),
        "lenient": train_table.pop("lenient", False),
    }
    unused = {**given(run_options), **train_table, **{key: True for key in tables["model"] if key in _NOT_OF_TEXT}}
    if task == TOKENIZER:
        unused |= {**tables["model"], **tables["learner"], **({"compact": True} if compact else {})}
    for name in unused:
        flag = _FLAGS.get(name, name).replace("_", "-")
        raise ConfigError(f"--{flag} cannot be given with {what}; leave it out")
    if treebank is None or treebank.endswith(EXPERIMENT_SUFFIX):
        raise ConfigError(f"expected a treebank to train on with {what}, found {treebank or 'none'}")
    if STANDARD_STREAM in (treebank, own["dev"]):
        raise ConfigError("expected files to train on, whose hashes the model notes, found - (stdin)")
    if model is None:
        raise ConfigError("Missing option '--model'; give the name of the file to write (see 'treetune train --help')")
    recipe = Recipe.checked(tables["model"], tables["learner"], FLAGS)
    return TextPlan(task=task, treebank=treebank, model=model, recipe=recipe, folds=folds, compact=compact, **own)


def _refuse_options(tables: dict[str, Any], also: list[str]) -> None:
    """Refuse options that an experiment file has keys for: there is one way to change those."""
    if also:
        raise ConfigError("--also cannot be given with an experiment file; write an [[objective]] into it")
    for table, content in tables.items():
        for key, value in content.items():
            flag = FLAGS.key(table, key) if value is not False else FLAGS.key(table, f"no_{key}")
            change = shlex.quote(f"{table}.{key}={value_text(value)}")
            raise ConfigError(f"{flag} cannot be given with an experiment file; use --set {change}")


def _no_model(treebank: str | None, experiment: Experiment) -> str:
    if experiment.source.flags:
        return "Missing option '--model'; give the name of the file to write (see 'treetune train --help')"
    return f'{treebank}: expected model = "OUT" in [train], or the option --model OUT, found neither'


def _run_files(
    experiment: Experiment,
    model: str,
    *,
    checkpoint: str | None,
    no_checkpoint: bool,
    resume: bool,
    log: str | None,
    plot: str | None,
) -> RunFiles:
    if no_checkpoint and (resume or checkpoint is not None):
        raise ConfigError(f"--no-checkpoint contradicts {'--resume' if resume else '--checkpoint'}; leave one of them")
    is_stacked = experiment.stacking.recipe is not None
    if is_stacked and (resume or checkpoint is not None):
        raise ConfigError(
            f"a training with a base parser that is trained here has no checkpoints; "
            f"leave {'--resume' if resume else '--checkpoint'} out"
        )
    if checkpoint is None and not (no_checkpoint or is_stacked):
        checkpoint = model + CHECKPOINT_SUFFIX
    files = RunFiles(model, checkpoint, resume, log)
    start, source = experiment.recipe.start_from, experiment.source
    inputs = [source.placed(path) for path in experiment.paths()]
    if source.name:
        inputs.append(source.name)
    files.check(start_from=None if start is None else source.model(start), plot=plot, inputs=inputs)
    if plot is not None:
        check_plot(plot)
    return files


def _run(task: Task, files: RunFiles, *, quiet: bool) -> dict[str, Any]:
    """Train, write the model and return what it notes; what is left of a training that does not end can go on."""
    try:
        info = task.info(Job(task, files, quiet).run())
        save(task.stored, files.model, info)
    except KeyboardInterrupt:
        files.end(done=False)
        how = files.how_to_go_on(task.experiment.train.epochs)
        raise Interrupted(f"{files.model} was not written" + (f"; {how}" if how else "")) from None
    except TreetuneError as error:
        files.end(done=False)
        how = files.how_to_go_on(task.experiment.train.epochs)
        # With wrong options, or from a checkpoint that did not lead any further, it would not go on.
        if how and files.came_further and not isinstance(error, ConfigError):
            note(how)
        raise
    files.end(done=True)
    return info
