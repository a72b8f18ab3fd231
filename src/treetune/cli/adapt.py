"""``treetune adapt``: a model and a few answers in; out, the model adapted to them, or as it was if that is better."""

from __future__ import annotations

import json as json_format
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetune.cli.console import note, progress_bar, write
from treetune.cli.input import input_format, load_pipeline
from treetune.config.reading import fingerprint
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, check_readable, display_name, open_output
from treetune.corpus.formats import FORMATS
from treetune.corpus.sentence import Example
from treetune.errors import ConfigError, DataError
from treetune.models.file_input import Input
from treetune.storage import check_target, inspect, save

if TYPE_CHECKING:
    from treetune.models.pipeline import Pipeline

TITLE = "Adaptation"
# Of the bar.
PARTS = 1000


def adapt(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Trained model with a parser, such as en.")],
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Answers as CoNLL-U: main verbs, heads, labels; _ is open.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="File to write the model to.")],
    treebank: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Treebank or text (.txt) of the home domain, against forgetting."),
    ] = None,
    convention: Annotated[
        str,
        typer.Option("--main-verb-convention", metavar="NAME", help="What marks of main verbs mean: auto, ud, verb."),
    ] = "auto",
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="Folds of the cross-validation.")] = 4,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report as one HTML page.")] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report as JSON; - is stdout.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn at random.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Trials side by side; the result is the same.")] = 2,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Adapt a parser to your text by a few answers; it stays as it was unless held-out answers are better by it.

    A main verb is a word with HEAD 0, the others have _. NotHead=3 in MISC says that 3 is not the head of a word.
    """
    check_target(output)
    sources = [*files, *([] if treebank is None else [treebank])]
    check_kept(output, sources)
    named = [("--output", output)]
    for flag, path in (("--html", html), ("--json", json)):
        if path is not None and path != STANDARD_STREAM:
            check_kept(path, sources, flag=flag)
            same = [other for other, name in named if Path(name).resolve() == Path(path).resolve()]
            if same:
                raise ConfigError(f"{same[0]} and {flag} name the same file, {path}; give another name")
            if not Path(path).parent.is_dir():
                raise ConfigError(f"{flag}: cannot write {path}: there is no folder {Path(path).parent}; create it")
            named.append((flag, path))
    for path in sources:
        check_readable(path)
    if sources.count(STANDARD_STREAM) > 1:
        raise ConfigError("stdin (-) can be read once; give the name of a file")
    pipeline = load_pipeline(model)
    from treetune.evaluation.sections import as_html, as_text
    from treetune.learning.adaptation import adapt as adapted
    from treetune.learning.adaptation_report import decision, report_sections
    from treetune.learning.answers import read_answers

    answers = [one for path in files for one in read_answers(_examples(Input(path, FORMATS["conllu"]), pipeline))]
    say = partial(note, quiet=quiet)
    chosen: Any = convention
    home = _home(treebank, pipeline)
    with progress_bar("adapting", total=PARTS, quiet=quiet) as advance:
        found = adapted(
            pipeline, answers, home=home, convention=chosen, folds=folds, seed=seed, threads=threads, say=say,
            watch=lambda trial: advance(PARTS // trial.total, 0),
        )  # fmt: skip
    info = {**inspect(model).info, "adaptation": {"answers": [fingerprint(path) for path in files], **found.to_dict()}}
    save(found.pipeline.simplest, output, info)
    if html is not None:
        with open_output(html) as out:
            out.write(as_html(TITLE, report_sections(found)))
    if json is not None:
        with open_output(json) as out:
            out.write(json_format.dumps(found.to_dict(), indent=2) + "\n")
    elif not quiet:
        write(as_text(TITLE, report_sections(found, examples=2)))
    say(f"wrote {output}: {decision(found)}")


def _home(path: str | None, pipeline: Pipeline) -> list[Any]:
    """Return the examples of a treebank, or the sentences of a text."""
    if path is None:
        return []
    source = Input(path, input_format(path, None, pipeline))
    examples = _examples(source, pipeline)
    if not examples:
        raise DataError("expected sentences of the home domain, found none", path=display_name(path))
    return [example.sentence for example in examples] if source.is_text else examples


def _examples(source: Input, pipeline: Pipeline) -> list[Example]:
    return list(replace(source, trees=True, partial=True).examples(pipeline, SkipReport()))
