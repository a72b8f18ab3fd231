"""``treetune train``: a treebank in, a model file out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetune.cli import guides, options
from treetune.cli.console import Interrupted, note, write_json
from treetune.cli.guides import choose_guide
from treetune.cli.options import Recipe
from treetune.cli.steps import numbers
from treetune.cli.training import Job
from treetune.cli.treebanks import described, projective, read_treebank
from treetune.corpus.files import STANDARD_STREAM
from treetune.errors import ConfigError
from treetune.storage import check_target, save

if TYPE_CHECKING:
    from treetune.learning.progress import Progress


def train(
    treebank: Annotated[str, typer.Argument(metavar="TRAIN", help="Trees to learn from, CoNLL-U or CoNLL-X.")],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="Where to write the model.")],
    dev: Annotated[
        str | None, typer.Option("--dev", metavar="DEV", help="Trees by which the best epoch is chosen.")
    ] = None,
    parser: options.Name = "transition",
    beam: options.Beam = None,
    decoder: options.Decoder = None,
    labels: options.Labels = None,
    max_memory: options.MaxMemory = None,
    features: options.Features = None,
    inputs: options.Inputs = None,
    epochs: options.Epochs = 10,
    learner: options.LearnerName = None,
    update: options.Update = None,
    k: options.K = None,
    clip: options.Clip = None,
    cost_augmented: options.CostAugmented = False,
    guide: guides.GuideName = None,
    dev_guide: guides.DevGuide = None,
    folds: guides.Folds = None,
    seed: options.Seed = 1,
    projectivize: Annotated[
        bool, typer.Option(help="Learn crossing arcs by lifting them, or leave such sentences out.")
    ] = True,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse DEV with.")] = 1,
    licence: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Licence of the data, to be noted in the model.")
    ] = None,
    lenient: options.Lenient = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write a JSON report to stdout.")] = False,
) -> None:
    """Train a parser; OUT appears, or is replaced, only when training is complete."""
    # Whatever can be wrong about the options is found before any data is read.
    recipe = Recipe.checked(
        parser,
        beam=beam,
        decoder=decoder,
        labels=labels,
        max_memory=max_memory,
        features=features,
        inputs=options.columns(inputs),
        learner=learner,
        update=update,
        k=k,
        clip=clip,
        cost_augmented=cost_augmented or None,
    )
    chosen = choose_guide(recipe, guide, dev_guide=dev_guide, folds=folds, has_dev=dev is not None, lenient=lenient)
    for path in (treebank, dev):
        if path == STANDARD_STREAM:
            raise ConfigError("expected files to train on, whose hashes the model notes, found - (stdin)")
    check_target(model)
    examples = read_treebank(treebank, guide=chosen.train, lenient=lenient, quiet=quiet)
    held_out = [] if dev is None else read_treebank(dev, guide=chosen.dev, lenient=lenient, quiet=quiet)
    learned = examples if projectivize else projective(examples, path=treebank, quiet=quiet)
    job = Job(recipe, chosen, learned, held_out, epochs=epochs, seed=seed, threads=threads, quiet=quiet)
    try:
        trained, ends = job.run()
    except KeyboardInterrupt:
        raise Interrupted(f"{model} was not written") from None
    best = _best(ends)
    training = {"epochs": epochs, "best_epoch": best.epoch, **best.settings, "seed": seed, "projectivize": projectivize}
    files = {"train": treebank, "dev": dev, "guide": chosen.train, "dev_guide": chosen.dev}
    noted = {
        name: described(path, held_out if name.startswith("dev") else examples)
        for name, path in files.items()
        if path is not None
    }
    info: dict[str, Any] = {"training": {**training, **noted, **job.noted}}
    if best.dev is not None:
        info["scores"] = {"dev": numbers(best.dev), "signature": best.dev.signature("*")}
    if licence is not None:
        info["licence"] = licence
    save(trained, model, info)
    note(f"wrote {model}, {Path(model).stat().st_size / 1e6:.1f} MB", quiet=quiet)
    if json:
        write_json({"model": model, "epochs": [_content(end) for end in ends], "info": info})


def _best(ends: list[Progress]) -> Progress:
    """Return the epoch whose weights were kept: the last one that was the best so far."""
    return [end for end in ends if end.best or end.dev is None][-1]


def _content(end: Progress) -> dict[str, Any]:
    return {
        "epoch": end.epoch,
        "updated": end.updated,
        "sentences": end.total,
        "cpu_seconds": end.cpu_seconds,
        "best": end.best,
        "dev": None if end.dev is None else numbers(end.dev),
    }
