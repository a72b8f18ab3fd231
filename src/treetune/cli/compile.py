"""``treetune compile``: compile kernels before they are needed, for images, shared installations and CI."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from treetune.cli.compiling import command_line, compile_jobs, compiling_bar
from treetune.cli.console import note
from treetune.cli.input import DEFAULT_MODEL, load_pipeline
from treetune.models.kernel_jobs import Job, prediction_jobs

ALL = "--all"


def compile(  # noqa: A001 - the name of the command
    models: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models, or en, which is the default.")
    ] = None,
    everything: Annotated[
        bool, typer.Option(ALL, help="Also what training and the other kinds of models need; takes some minutes.")
    ] = False,
    job: Annotated[list[str] | None, typer.Option("--job", hidden=True)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Compile what models need to predict, with all processors, and keep it on disk."""
    names = models or [DEFAULT_MODEL]
    if job is not None:
        for chosen in _chosen(names[0], everything, job):
            chosen.run()
        return
    start = time.perf_counter()
    batches = [([name], list(prediction_jobs(load_pipeline(name)))) for name in names]
    if everything:
        batches.append(([ALL], list(training_jobs())))
    missing = [(arguments, [job for job in jobs if not job.is_done]) for arguments, jobs in batches]
    with compiling_bar(sum(len(jobs) for _, jobs in missing), quiet=quiet) as advance:
        for arguments, jobs in missing:
            compile_jobs(jobs, partial(command_line, arguments), advance)
        # What others have compiled is only loaded; what they could not compile is compiled, or the reason shown.
        for _, jobs in batches:
            for one in jobs:
                one.run()
    note(f"compiled in {time.perf_counter() - start:.1f} s, kept in {_folder()}", quiet=quiet)


def _chosen(model: str, everything: bool, names: Sequence[str]) -> list[Job]:
    jobs = training_jobs() if everything else prediction_jobs(load_pipeline(model))
    return [job for job in jobs if job.name in names]


def _folder() -> str:
    from treetune.features.kernel_cache import cache_folders

    return str(next((folder for folder in cache_folders() if folder.is_dir()), "memory alone"))


# One model of each kind with every learner that it has: the options under which its kernels differ.
_TRAININGS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "beam, perceptron": ("TransitionParser", {"beam": 2}, {"learner": "perceptron"}),
    "beam, MIRA": ("TransitionParser", {"beam": 2}, {"learner": "mira"}),
    "greedy": ("TransitionParser", {"beam": 1}, {}),
    "graph, perceptron": ("GraphParser", {"order": 1}, {"learner": "perceptron"}),
    "graph, MIRA": ("GraphParser", {"order": 2}, {"learner": "mira"}),
    "tagger, perceptron": ("Tagger", {}, {"learner": "perceptron"}),
    "tagger, MIRA": ("Tagger", {}, {"learner": "mira"}),
    "tagger, CRF": ("Tagger", {}, {"learner": "crf"}),
}


def training_jobs() -> Iterator[Job]:
    """Yield jobs that train a small model each and predict with it; their names are for `--job`."""
    for name, (model, options, learning) in _TRAININGS.items():
        yield Job(name, partial(_train, model, options, learning))
    yield Job("tokenizer", _train_tokenizer)
    yield Job("clusters", _train_clusters)


def _train(name: str, options: dict[str, Any], learning: dict[str, Any]) -> None:
    import treetune
    from treetune.corpus.tags import tagged
    from treetune.sample import generate

    examples: Any = generate(8)
    model = getattr(treetune, name)(**options)
    data = tagged(examples, model.columns) if name == "Tagger" else examples
    for _ in treetune.train(model, data, epochs=1, **learning):
        pass
    model.predict(examples[0].sentence)
    model.k_best(examples[0].sentence, 2)


def _train_tokenizer() -> None:
    from treetune.learning.tokenizer_training import train_tokenizer
    from treetune.models.tokenizer.tokenizer import Tokenizer
    from treetune.sample import generate

    tokenizer = Tokenizer()
    for _ in train_tokenizer(tokenizer, generate(8), epochs=1):
        pass
    list(tokenizer.sentences("Time flies."))


def _train_clusters() -> None:
    from treetune.features.brown import learn_clusters

    learn_clusters([["a", "b", "c", "a"], ["b", "a"]], classes=2, min_count=1)
