"""``treetune uptrain``: text or parsed files in; out, a model that has learned from the trees of a base parser."""

from __future__ import annotations

import re
import shlex
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetune.cli import options
from treetune.cli.input import is_model, load_pipeline
from treetune.cli.options import given
from treetune.cli.parsed_data import ParsedData
from treetune.cli.runfiles import RunFiles, check_writable
from treetune.cli.train import objective_tables, run_training
from treetune.config import Config
from treetune.config.reading import fingerprint, make_reader, silent
from treetune.config.schema import EPOCHS, PIPELINE, TAGGER_EPOCHS
from treetune.config.tables import FLAGS
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, check_readable
from treetune.corpus.formats import FORMATS, format_of
from treetune.corpus.selection import Selection, fingerprints
from treetune.corpus.selection import fingerprint as fingerprint_of_words
from treetune.errors import ConfigError
from treetune.model_names import find_model
from treetune.models.file_input import Input
from treetune.models.pipeline import Pipeline

if TYPE_CHECKING:
    from treetune.learning.uptraining import BaseParser

PARSED_SUFFIX = ".parsed.conllu"
# The name of the parsed data among the objectives.
PARSED = "parsed"
# Which share of the sentences of a test set a treebank may have by chance; of EWT, GUM and ATIS it is 3 %.
LARGEST_OVERLAP = 0.1
_WEIGHT = re.compile(r"@([0-9]*\.?[0-9]+)$")


def uptrain(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="IN…", help="Text or sentences to parse; without --base, files that are parsed."),
    ],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="File to write the model to.")],
    base: Annotated[
        str | None,
        typer.Option(metavar="MODEL|COMMAND", help="Base parser: a model, or a program from stdin to CoNLL-U, quoted."),
    ] = None,
    second: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Another base parser: keep trees on which both agree.")
    ] = None,
    gold: Annotated[
        list[str] | None,
        typer.Option("--gold", metavar="FILE[@WEIGHT]", help="Treebank seen WEIGHT times in an epoch, 1; repeatable."),
    ] = None,
    dev: Annotated[
        str | None, typer.Option("--dev", metavar="DEV", help="Development data, to choose the best epoch on.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Leave the sentences of FILE out, a test set; DEV always; repeatable."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Take the first N sentences kept.")] = None,
    min_length: Annotated[int, typer.Option(min=1, help="Least number of words of a sentence.")] = 1,
    max_length: Annotated[int, typer.Option(min=1, help="Largest number of words of a sentence.")] = 100,
    duplicates: Annotated[bool, typer.Option("--duplicates", help="Keep sentences that were met before.")] = False,
    agreement: Annotated[
        float | None, typer.Option(min=0, max=1, help="With --second, least share of equal arcs in a sentence, 1.")
    ] = None,
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Least mean confidence of a tree, by a calibrated base.")
    ] = None,
    min_margin: Annotated[
        float | None, typer.Option(min=0, help="Least lead of the best tree over the next, in the score of the base.")
    ] = None,
    constrained: Annotated[
        bool, typer.Option("--constrained", help="Forced decoding: keep the heads and labels that IN has; _ is open.")
    ] = False,
    parsed: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep the sentences that are trained on in FILE, CoNLL-U.")
    ] = None,
    read: Annotated[str | None, typer.Option("--read", metavar="NAME", help="Format of IN; else its suffix.")] = None,
    task: options.TaskName = None,
    parser: options.Name = None,
    beam: options.Beam = None,
    features: options.Features = None,
    epochs: Annotated[int | None, typer.Option("--epochs", min=1, help="Passes over the parsed sentences, 10.")] = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="LOSS:FILE[@RATE]", help="Another objective, as in train; repeatable."),
    ] = None,
    start_from: Annotated[
        str | None, typer.Option("--start-from", metavar="MODEL", help="Trained model to fine-tune.")
    ] = None,
    seed: options.Seed = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    changes: options.Changes = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume what was interrupted.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write a JSON report to stdout.")] = False,
) -> None:
    """Parse text by a base parser, slow and accurate, and train a student on its trees beside gold ones.

    Base and student of one kind: self-training. The student is chosen by the same options as in treetune train.
    """
    kept = f"{model}{PARSED_SUFFIX}" if parsed is None else parsed
    golds = [_weighted(text) for text in gold or []]
    tables = _tables(kept, golds, epochs=epochs, is_pipeline=task == PIPELINE)
    tables["model"] = given(task=task, parser=parser, beam=beam, features=features, start_from=start_from)
    tables["train"] |= given(dev=dev, seed=seed)
    tables["run"] = {"model": model, "threads": threads}
    taken = {one["name"] for one in tables["objective"]}
    tables["objective"] += objective_tables(also or [], taken)
    # Whatever can be wrong about the settings is found before hours of parsing.
    config = Config.of(tables, changes=changes or [], source=FLAGS)
    others = [path for path, _ in golds] + [path for path in (dev, *(exclude or ())) if path is not None]
    RunFiles.of(config, resume=resume)
    _check_files(sources, others, model, kept, "--model" if parsed is None else "--parsed")
    check_kept(model, (base, second), flag="--model")
    held_out = {path: fingerprints([path]) for path in (*(exclude or ()), *([dev] if dev else ()))}
    excluded = frozenset[bytes]().union(*held_out.values())
    selection = Selection(min_length, max_length, duplicates, excluded)
    checks = given(second=second, agreement=agreement, min_confidence=min_confidence, min_margin=min_margin)
    data = ParsedData(sources, kept, selection, limit, read, constrained, not config.model.is_tagger, quiet)
    data.settings = [base, checks, constrained, read, limit, min_length, max_length, data.trees]
    with data.held():
        if base is not None and _is_model(base):
            data.base = _base_parser(base, threads, checks)
            selection.excluded |= _sentences_of_text(exclude or (), data.base.pipeline)
            data.settings += [fingerprint(str(find_model(name))) for name in (base, second) if name is not None]
        else:
            for name in (*checks, *(["constrained"] if constrained else [])):
                flag = f"--{name.replace('_', '-')}"
                raise ConfigError(f"{flag} is for a base parser that is a model; give one: --base MODEL")
            if base is not None and read is not None:
                raise ConfigError("--read is for a base parser that is a model; a program is given IN as it is")
            data.program = None if base is None else _command(base)
        _check_data(config, kept)
        _warn_of_leakage([path for path, _ in golds], held_out)
        data.run(resume=resume)
        run_training(config, resume=resume, quiet=quiet, json=json)
        data.remove(keep=parsed is not None)


def _sentences_of_text(paths: Sequence[str], pipeline: Pipeline) -> frozenset[bytes]:
    """Return the fingerprints of the sentences that a tokenizer finds in raw text, as it will in IN."""
    texts = [path for path in paths if path != STANDARD_STREAM and not getattr(format_of(path), "reader", None)]
    if pipeline.tokenizer is None:
        return frozenset()
    found = (Input(path, FORMATS["text"]).examples(pipeline, SkipReport()) for path in texts)
    return frozenset(fingerprint_of_words(one.sentence.forms[1:]) for examples in found for one in examples)


def _check_files(sources: Sequence[str], others: Sequence[str], model: str, kept: str, flag: str) -> None:
    """Refuse files that cannot be read or written, or would be replaced."""
    check_writable(kept, "parsed data")
    if kept.endswith((".gz", ".zst")) or format_of(kept) not in (None, FORMATS["conllu"]):
        raise ConfigError(f"{flag}: expected a name that ends with .conllu, found {kept}")
    if Path(kept).resolve() == Path(model).resolve():
        raise ConfigError(f"--model and --parsed name the same file, {model}; give another name")
    if [*sources, *others].count(STANDARD_STREAM) > 1:
        raise ConfigError("stdin (-) can be read once; give the name of a file")
    check_kept(kept, [*sources, *others], flag=flag)
    check_kept(model, [*sources, *others], flag="--model")
    for path in (*sources, *others):
        check_readable(path)


def _check_data(config: Config, kept: str) -> None:
    """Read treebanks, development data and objectives once: their faults are found before hours of parsing too."""
    reader = make_reader(config, silent)
    reader.dev()
    if config.model.task == PIPELINE:
        from treetune.config.text_run import PipelineRun

        PipelineRun.make(config, reader.treebank())
    elif config.train.treebank != kept:
        reader.treebank()
    for one in config.objectives:
        if one.data != kept:
            reader.objective(one)


def _warn_of_leakage(golds: Sequence[str], held_out: Mapping[str, frozenset[bytes]]) -> None:
    """Warn if a treebank has more sentences of a file to exclude than any two samples of one language have."""
    for gold in golds:
        own = fingerprints([gold])
        for path, sentences in held_out.items():
            both = len(own & sentences)
            if both > LARGEST_OVERLAP * len(sentences):
                warnings.warn(
                    f"{gold} has {both:,} of {len(sentences):,} sentences of {path}; they are trained on, and scores "
                    f"on {path} say nothing about new text; leave them out of {gold}",
                    stacklevel=2,
                )


def _base_parser(base: str, threads: int, checks: dict[str, Any]) -> BaseParser:
    from treetune.learning.uptraining import BaseParser

    second = checks.get("second")
    if second is None and "agreement" in checks:
        raise ConfigError("--agreement is between two base parsers; name the other one: --second MODEL")
    loaded = {} if second is None else {"second": load_pipeline(second)}
    return BaseParser(load_pipeline(base), threads=threads, **{**checks, **loaded})


def _weighted(text: str) -> tuple[str, float]:
    found = _WEIGHT.search(text)
    path, weight = (text[: found.start()], float(found[1])) if found else (text, 1.0)
    if not weight:
        raise ConfigError(f"--gold {text}: expected a weight above 0, found 0")
    return path, weight


def _tables(kept: str, golds: Sequence[tuple[str, float]], *, epochs: int | None, is_pipeline: bool) -> dict[str, Any]:
    """Return the tables [train], [pipeline] and [[objective]]: the first treebank, and all else beside it.

    An epoch of the training is a pass over the treebank, of which there are `weight` in one over the parsed sentences.
    """
    if not golds:
        if is_pipeline:
            raise ConfigError("a pipeline needs a treebank with text and lemmas besides parsed sentences; give --gold")
        return {"train": {"treebank": kept, **given(epochs=epochs)}, "objective": []}
    (first, weight), *others = golds
    passes = epochs or EPOCHS
    rounds = max(1, round(passes * weight))
    named = [(PARSED, kept, 1.0), *((f"gold{number}", *one) for number, one in enumerate(others, start=2))]
    tables: dict[str, Any] = {
        "train": {"treebank": first, "epochs": rounds},
        "objective": [
            {"name": name, "data": path, "weight": own * passes / rounds, "start": 1} for name, path, own in named
        ],
    }
    if is_pipeline:
        tables["pipeline"] = {"tagger_epochs": max(1, round((epochs or TAGGER_EPOCHS) * weight))}
    return tables


def _is_model(name: str) -> bool:
    return is_model(name) or not (set(name) & set(" /") or shutil.which(name))


def _command(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"--base: expected a model or a command, found {text!r} ({error})") from None
    if not words or shutil.which(words[0]) is None:
        raise ConfigError(f"--base: expected a model or a program that can be run, found {text!r}")
    return words
