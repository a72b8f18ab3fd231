"""``treetune calibrate``: a model and development data in; out, the model with calibrated confidence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from treetune.cli.console import note
from treetune.cli.input import load_pipeline
from treetune.config.reading import fingerprint, read_data
from treetune.corpus.files import check_kept
from treetune.errors import ConfigError
from treetune.storage import check_target, inspect, save


def calibrate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A parser, or a pipeline with one.")],
    dev: Annotated[str, typer.Argument(metavar="DEV", help="Trees that the parser was not trained on.")],
    output: Annotated[str, typer.Option("--model", metavar="OUT", help="File to write the calibrated model to.")],
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")] = False,
) -> None:
    """Calibrate the confidence of a parser, so that 'treetune parse --confidence' writes probabilities."""
    check_target(output)
    check_kept(output, (dev,), flag="--model")
    pipeline = load_pipeline(model)
    parser: Any = pipeline.parser
    if not hasattr(parser, "calibration"):
        found = "no parser" if parser is None else f"a parser of the kind {parser.kind}"
        raise ConfigError(f"{model} has {found}, expected one that keeps a calibration")
    from treetune.evaluation.reliability import reliability
    from treetune.learning.calibration import calibrate as fitted

    examples = read_data(dev, lenient=False, say=partial(note, quiet=quiet))
    # As the parser will see them when the pipeline is used.
    sentences = pipeline.tag([example.sentence for example in examples], threads=threads)
    examples = [replace(example, sentence=new) for example, new in zip(examples, sentences, strict=True)]
    parser.calibration, probabilities, right = fitted(parser, examples, threads=threads)
    error = reliability(probabilities.tolist(), right.tolist()).error
    info = {**inspect(model).info, "calibration": {"dev": fingerprint(dev), "ECE": error}}
    save(pipeline.simplest, output, info)
    note(f"wrote {output}, expected calibration error on {dev} {100 * error:.2f}", quiet=quiet)
