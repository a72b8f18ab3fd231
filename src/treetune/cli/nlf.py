"""``treetune nlf``: natural logical forms of sentences, converted, encoded as trees, mapped and scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from treetune.cli.compiling import compile_for
from treetune.cli.console import EXIT_CODES, note, write, write_json
from treetune.cli.input import DEFAULT_MODEL, READABLE, ReadHelp, input_format, is_model, load_pipeline
from treetune.cli.nlf_find import draw, find
from treetune.cli.nlf_training import train
from treetune.cli.output import Writing
from treetune.corpus.batches import TextChunk
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, display_name
from treetune.corpus.formats import bare_name, find_format, format_of
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.treebank import read_trees
from treetune.errors import ConfigError, DataError, unknown_name
from treetune.models.file_input import Input
from treetune.semantics.meanings import WRITERS, Meaning, as_text, read_meanings

if TYPE_CHECKING:
    from treetune.models.mapper import Mapper

SUFFIXES = {".conllu": "conllu", ".jsonl": "json", ".json": "json", ".nlf": "text", ".txt": "text"}
TABLE = 256

Output = Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"Of OUT: {', '.join(WRITERS)} (conllu: encoded trees); without it the suffix of OUT decides, else text.",
    ),
]
Covered = Annotated[bool, typer.Option("--covered", help="Leave out sentences in which % stands: not covered.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


def _writer(name: str | None, output: str, default: str = "text") -> Callable[[Meaning], str]:
    """Return the function that writes a meaning: as named, else by the suffix of the output."""
    if name is None:
        suffix = next((one for one in SUFFIXES if bare_name(output).endswith(one)), "")
        name = SUFFIXES.get(suffix, default)
    if name not in WRITERS:
        raise unknown_name("format of expressions", name, WRITERS)
    return WRITERS[name]


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="A UD treebank, or constituency trees of the Penn Treebank (.mrg).")
    ],
    output: Output = STANDARD_STREAM,
    file_format: FormatName = None,
    covered: Covered = False,
    quiet: Quiet = False,
) -> None:
    """Convert trees to natural logical forms, by rules."""
    form = _writer(file_format, output)
    check_kept(output, (source,))
    _write(read_meanings(source), output, form, "converted", covered=covered, quiet=quiet)


def encode(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", help='JSON lines with "words" and "nlf", an expression; words without position are aligned.'
        ),
    ],
    output: Output = STANDARD_STREAM,
    covered: Covered = False,
    quiet: Quiet = False,
) -> None:
    """Encode sentences with expressions as labelled trees, in CoNLL-U."""
    check_kept(output, (source,))
    _write(read_meanings(source), output, WRITERS["conllu"], "encoded", covered=covered, quiet=quiet)


def decode(
    source: Annotated[str, typer.Argument(metavar="IN", help="Encoded trees, CoNLL-U; any labels make expressions.")],
    output: Output = STANDARD_STREAM,
    file_format: FormatName = None,
    quiet: Quiet = False,
) -> None:
    """Decode labelled trees to natural logical forms."""
    from treetune.semantics.encoding import decode as decode_tree
    from treetune.semantics.encoding import is_label

    form = _writer(file_format, output)
    check_kept(output, (source,))
    labels: Counter[str] = Counter()

    def decoded(example: Example) -> Meaning:
        labels.update(example.gold.labels[1:])
        return Meaning(example.sentence, decode_tree(example.gold, example.sentence.forms))

    _write(map(decoded, read_trees(source)), output, form, "decoded", covered=False, quiet=quiet)
    others = Counter({label: count for label, count in labels.items() if not is_label(label)})
    if others:
        note(
            f"warning: {others.total():,} of {labels.total():,} words have labels that no expression is encoded by, as "
            f"{others.most_common(1)[0][0]!r}, and are joined by %; UD trees are converted by 'treetune nlf convert'"
        )


def _write(
    meanings: Iterator[Meaning],
    output: str,
    form: Callable[[Meaning], str],
    done: str,
    *,
    covered: bool,
    quiet: bool,
) -> None:
    writing = Writing(output, done, quiet)
    uncovered = 0

    def chunks() -> Iterator[TextChunk]:
        nonlocal uncovered
        for meaning in meanings:
            is_covered = meaning.expression.is_covered
            uncovered += not is_covered
            if is_covered or not covered:
                yield (form(meaning),), 1, len(meaning.sentence), 0

    writing.write_chunks(chunks())
    writing.report(SkipReport(), done, f", {uncovered:,} with %" + (" left out" if covered else ""))


def map_text(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] IN",
            help="A model made by 'treetune nlf train', or any pipeline with a UD parser, whose trees are "
            "converted by rules, en by default; and text or sentences, - is stdin.",
        ),
    ],
    output: Output = STANDARD_STREAM,
    read: Annotated[str | None, typer.Option("--read", metavar="NAME", help=ReadHelp)] = None,
    file_format: FormatName = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="The pipeline whose tokenizer splits raw text, for a model without one; en."
        ),
    ] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Another beam than that of the model, a transition parser.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Map text or sentences to natural logical forms."""
    from treetune.models.mapper import Mapper

    if len(paths) > 2:
        raise ConfigError(f"expected MODEL and IN, or IN alone, found {len(paths)} arguments: {' '.join(paths)}")
    if len(paths) == 1 and is_model(paths[0]):
        raise ConfigError(f"{paths[0]} is a model, and there is nothing to map; add a file or -")
    model, source = (DEFAULT_MODEL, *paths)[-2:]
    form = _writer(file_format, output)
    check_kept(output, paths)
    mapper = Mapper(load_pipeline(model).with_options(**({} if beam is None else {"beam": beam})))
    splitter = mapper.pipeline
    found = format_of(source) if read is None else find_format(read, READABLE)
    if tokenizer is not None and splitter.tokenizer is not None:
        raise ConfigError(f"--tokenizer is for a model without a tokenizer, and {model} has one; leave it out")
    if splitter.tokenizer is None and (found is None or not found.reader):
        splitter = load_pipeline(tokenizer or DEFAULT_MODEL)
        if splitter.tokenizer is None:
            raise ConfigError(f"--tokenizer: {tokenizer} has no tokenizer; name a pipeline with one")
    reads = input_format(source, read, splitter)
    compile_for(mapper.pipeline, model, text="text" in reads.holds and splitter is mapper.pipeline, quiet=quiet)
    writing = Writing(output, "mapping", quiet, source=source, reads=reads)
    report = SkipReport()
    taken = Input(source, reads)
    if taken.is_text or reads.name == "conllu":
        tables = taken.tables(splitter, report, size=TABLE)
        writing.write_chunks(
            (_texts(mapper, table, form, threads), len(table), table.ends[-1], table.starts[-1] if table.starts else 0)
            for table in tables
        )
    else:
        examples = taken.examples(splitter, report)
        writing.write(
            examples, lambda chunk: _texts(mapper, [one.sentence for one in chunk], form, threads)
        )  # fmt: skip
    writing.report(report, "mapped")


def _texts(
    mapper: Mapper, sentences: Sequence[Sentence], form: Callable[[Meaning], str], threads: int
) -> Iterator[str]:
    if form is as_text:
        # No sentence is made where its expression is all that is written.
        return (f"{expression}\n" for expression in mapper.map(sentences, threads=threads))
    return map(form, mapper.meanings(sentences, threads=threads))


def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Sentences with expressions, or a treebank to convert.")],
    predicted: Annotated[
        str,
        typer.Argument(metavar="PREDICTED", help="The same sentences as 'treetune nlf map' wrote them; or a MODEL."),
    ],
    covered: Annotated[
        bool, typer.Option("--covered", help="Score only sentences whose gold expression has no %.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Write a JSON report to stdout.")] = False,
) -> None:
    """Score expressions: words with the right head and label, with the right head, and exact expressions."""
    from treetune.evaluation.meanings import evaluate_meanings

    wanted = list(read_meanings(gold))
    trees = _predicted(predicted, wanted, threads)
    if len(trees) != len(wanted):
        raise DataError(f"expected {len(wanted)} sentences, as in {gold}, found {len(trees)}", path=predicted)
    scores = evaluate_meanings(
        (one.sentence.forms, one.tree(), tree)
        for one, tree in zip(wanted, trees, strict=True)
        if one.expression.is_covered or not covered
    )
    if not scores.sentences:
        raise DataError("expected at least one sentence to score, found none", path=display_name(gold))
    results = {"accuracy": scores.accuracy, "heads": scores.head_accuracy, "exact": scores.exact_match}
    if json:
        write_json({**results, "counts": asdict(scores)})
        return
    for name, value in results.items():
        write(f"{name:<9} {value:6.2f}")
    note(f"{scores.words:,} words, {scores.sentences:,} sentences; punctuation is not counted")


def _predicted(path: str, gold: Sequence[Meaning], threads: int) -> list[Tree]:
    if is_model(path):
        from treetune.models.mapper import Mapper

        mapper = Mapper(load_pipeline(path))
        return [one.tree() for one in mapper.meanings([one.sentence for one in gold], threads=threads)]
    found = list(read_meanings(path))
    for number, (one, wanted) in enumerate(zip(found, gold, strict=False), start=1):
        if one.sentence.forms != wanted.sentence.forms:
            raise DataError(f"sentence {number} has other words than in gold", path=display_name(path))
    return [one.tree() for one in found]


nlf = typer.Typer(
    name="nlf",
    help="Natural logical forms: the meaning of sentences as expressions over their words.",
    epilog=EXIT_CODES,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
for command in (convert, encode, decode, train, evaluate, find, draw):
    nlf.command(epilog=EXIT_CODES)(command)
nlf.command("map", epilog=EXIT_CODES)(map_text)
