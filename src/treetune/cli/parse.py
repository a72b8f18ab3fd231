"""``treetune parse``: text or sentences in, sentences with trees out, a thousand at a time."""

from __future__ import annotations

from typing import Annotated

import typer

from treetune.cli.cluster import PARQUET, ClusterOptions, parse_on_cluster
from treetune.cli.compiling import compile_for
from treetune.cli.console import note
from treetune.cli.input import (
    DEFAULT_MODEL,
    Entities,
    FormatHelp,
    ReadHelp,
    check_only,
    input_format,
    is_model,
    load_pipeline,
    with_entities,
)
from treetune.cli.output import Writing, output_format
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept
from treetune.corpus.formats import FORMATS, Format, find_format, format_of, names
from treetune.errors import ConfigError
from treetune.models.file_input import Input
from treetune.models.file_parsing import FileParsing
from treetune.models.pipeline import KeepTags, Pipeline


def parse(
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]", help="A model made by 'treetune train', or the name of one ('treetune models'), en."
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Argument(metavar="IN", help="Raw text, or sentences in CoNLL-U, CoNLL-X or JSON lines; - is stdin."),
    ] = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[IN]…", help="With --cluster, more files, or folders of them.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="FILE", help="Raw text to parse, in place of IN.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    read: Annotated[str | None, typer.Option("--read", metavar="NAME", help=ReadHelp)] = None,
    file_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help=f"Of OUT: conllu, conllx, json, tree, …; {FormatHelp}"),
    ] = None,
    keep_tags: Annotated[
        bool, typer.Option("--keep-tags", help="Keep the tags that IN has; a tagger fills in the others.")
    ] = False,
    retag: Annotated[
        bool, typer.Option("--retag", help="Keep the tags of IN that the tagger knows; it replaces all others.")
    ] = False,
    tagger: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Tag IN by this tagger or pipeline, not by that of MODEL."),
    ] = None,
    entities: Entities = None,
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Note the character offsets of each token, TokenRange in MISC.")
    ] = False,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Another beam than that of the model, a transition parser.")
    ] = None,
    decoder: Annotated[str | None, typer.Option(help="Another decoder than that of the model, a graph parser.")] = None,
    margin: Annotated[
        float | None, typer.Option(min=0, help="Drop states this far behind the best of the beam; 1 suits MIRA.")
    ] = None,
    max_memory: Annotated[
        float | None, typer.Option(metavar="GB", help="Memory a graph parser may take for one sentence, 2.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Another parser's trees of IN, for a model trained with a --base file."),
    ] = None,
    k_best: Annotated[
        int | None, typer.Option("--k-best", min=1, help="Write the K best trees of each sentence.")
    ] = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Write into MISC how probable each arc is ('treetune calibrate').")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    constrained: Annotated[
        bool,
        typer.Option("--constrained", help="Forced decoding: keep the heads and labels that IN has; _ is unknown."),
    ] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Parse on a Ray cluster, local for this machine; OUT is a folder."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers; by default as many as there is room for.")
    ] = None,
    shard_size: Annotated[
        float | None, typer.Option("--shard-size", metavar="MB", min=0.001, help="Input of one task, 16.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of rows, Parquet or JSON lines: which has the text, text.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id-column", metavar="NAME", help="Of rows: what to write to '# newdoc id'.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Parse text or sentences; HEAD and DEPREL of the input are ignored unless --constrained.

    Without MODEL the English model of the package is taken: echo "Time flies." | treetune parse -
    """
    model, source = _model_and_source(first, second, text)
    on_cluster = ClusterOptions(cluster, workers, shard_size, column, id_column)
    on_cluster.check(more or (), output, refused={"--base": base is not None, "--text": text is not None})
    files = [] if cluster is None else on_cluster.files([source, *(more or ())])
    has_rows = on_cluster.has_rows(files)
    source = files[0] if files else source
    check_kept(output, (source, model, base, tagger, entities))
    if file_format is not None and not (files and file_format == PARQUET):
        find_format(file_format, names("formatter"))
    if base is not None:
        if lenient:
            raise ConfigError(
                "--lenient skips sentences, and the base trees of --base would no longer fit; leave one out"
            )
        if base == source == STANDARD_STREAM:
            raise ConfigError("only one of IN and --base can be read from stdin")
    if text is not None and read not in (None, "text", "lines", "wrapped"):
        raise ConfigError(f"--text and --read {read} contradict each other; leave one of them out")
    pipeline = _with_tagger(load_pipeline(model), model, tagger, retag=retag, keep_tags=keep_tags)
    pipeline = with_entities(pipeline, entities)
    reads = input_format(source, "text" if has_rows or (text is not None and read is None) else read, pipeline)
    check_only({"--lenient": lenient}, bool(reads.holds - {"text", "tokens"}), "treebanks", reads)
    check_only({"--constrained": constrained, "--base": base is not None}, "trees" in reads.holds, "treebanks", reads)
    check_only({"--ranges": ranges}, "text" in reads.holds, "raw text", reads)
    writes = output_format(None if file_format == PARQUET else file_format, output, _default_format(source, output))
    if k_best is not None and not writes.k_best_formatter and "comments" not in writes.holds:
        raise ConfigError(f"--k-best writes ranks as comments, and {writes.title} has none; write CoNLL-U instead")
    if confidence and "comments" not in writes.holds:
        raise ConfigError(f"--confidence needs MISC, and {writes.title} has none; write CoNLL-U instead")
    if confidence and k_best is not None:
        raise ConfigError("--confidence is about the best tree, --k-best writes others too; leave one of them out")
    for_parser = {"--k-best": k_best is not None, "--constrained": constrained, "--confidence": confidence}
    _check_parts(pipeline, model, for_parser=for_parser, keep_tags=keep_tags, base=base)
    if pipeline.parser is None:
        note(f"{model} has no parser; what is written has no trees", quiet=quiet)
    compile_for(pipeline, model, text="text" in reads.holds, quiet=quiet)
    search = {"beam": beam, "margin": margin, "decoder": decoder, "max_memory": max_memory}
    pipeline = pipeline.with_options(**{name: value for name, value in search.items() if value is not None})
    report = SkipReport()
    kept: KeepTags = "known" if retag else keep_tags
    job = FileParsing(pipeline, source, writes, k_best=k_best, threads=threads, constrained=constrained, keep_tags=kept)
    if confidence:
        from treetune.models.confidence import calibration_of

        job.calibration = calibration_of(pipeline.parser)
    if files:
        parse_on_cluster(job, on_cluster, files, output, read=read, file_format=file_format, ranges=ranges, quiet=quiet)
        return
    writing = Writing(output, "parsing", quiet, source=source, reads=reads)
    taken = Input(source, reads, lenient=lenient, trees=constrained, partial=constrained)
    writing.write_chunks(job.chunks(taken, report, ranges=ranges, base=base))
    writing.report(report, "parsed")


def _model_and_source(first: str | None, second: str | None, text: str | None) -> tuple[str, str]:
    """Tell model and input from one another: a name alone is an input, unless --text has one."""
    if text is not None:
        if second is not None:
            raise ConfigError("IN and --text FILE both name what to parse; leave one of them out")
        return first or DEFAULT_MODEL, text
    if first is None:
        raise ConfigError("Missing argument 'IN': a file to parse, or - for stdin (see 'treetune parse --help')")
    if second is not None:
        return first, second
    if is_model(first):
        raise ConfigError(
            f"{first} is a model, and there is nothing to parse; add a file or -: treetune parse {first} IN"
        )
    return DEFAULT_MODEL, first


def _with_tagger(pipeline: Pipeline, model: str, tagger: str | None, *, retag: bool, keep_tags: bool) -> Pipeline:
    """Return the pipeline with the tagger that is to replace the tags of the input."""
    if keep_tags and retag:
        raise ConfigError("--keep-tags keeps all tags of IN, --retag those that are known; leave one of them out")
    if tagger is not None:
        taggers = load_pipeline(tagger).word_taggers
        if not taggers:
            raise ConfigError(f"--tagger: {tagger} has no tagger; name a tagger or a pipeline with one")
        return pipeline.with_taggers(taggers)
    if retag and not pipeline.taggers:
        raise ConfigError(f"{model} has no tagger to replace the tags of IN; name one: --tagger MODEL")
    return pipeline


def _default_format(source: str, output: str) -> Format:
    """Return what is written where nothing says otherwise: on stdout the format of the input."""
    found = format_of(source) if output == STANDARD_STREAM else None
    return FORMATS["conllu"] if found is None or "trees" not in found.holds else found


def _check_parts(
    pipeline: Pipeline, model: str, *, for_parser: dict[str, bool], keep_tags: bool, base: str | None
) -> None:
    """Refuse options for a part that the model has not."""
    if pipeline.parser is None:
        for flag, is_given in for_parser.items():
            if is_given:
                raise ConfigError(f"{model} has no parser, and no use for {flag}; leave it out")
    if keep_tags and not pipeline.taggers:
        raise ConfigError(f"{model} has no tagger and keeps the tags of IN anyway; leave --keep-tags out")
    if base is not None and (pipeline.parser is None or not pipeline.parser.is_stacked):
        raise ConfigError(f"{model} was trained without base trees and would not look at --base; leave it out")
