"""``treetune reorder``: sentences in, the same words in the order of another language out, a thousand at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from treetune.cli.compiling import compile_for
from treetune.cli.console import EXIT_CODES, for_terminal, note
from treetune.cli.input import (
    DEFAULT_MODEL,
    READABLE,
    FormatHelp,
    ReadHelp,
    input_format,
    load_parser,
    parse_sentences,
)
from treetune.cli.orders import align, evaluate, learn, rules
from treetune.cli.output import Writing, check_picture
from treetune.cli.reorder_parallel import parallel
from treetune.corpus.conllu import format_conllu, read_conllu
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, display_name, open_output
from treetune.corpus.formats import FORMATS, bare_name, find_format, format_of
from treetune.corpus.orders import Ordered, WordOrder, format_order_json
from treetune.corpus.sentence import ABSENT, Example, Sentence, Tree, name_sentence
from treetune.errors import ConfigError, DataError
from treetune.models.file_input import Input
from treetune.models.pipeline import Pipeline
from treetune.reorder import Reorderer, load_rules
from treetune.reorder.drawing import draw_order
from treetune.reorder.reversible import reorder_sentence, restore_order

Formatter = Callable[[Sentence, Tree, Sequence[int]], str]


def _as_tokens(sentence: Sentence, tree: Tree, order: Sequence[int]) -> str:
    return " ".join([sentence.forms[word] for word in order]) + "\n"


def _as_conllu(sentence: Sentence, tree: Tree, order: Sequence[int]) -> str:
    return format_conllu(*reorder_sentence(sentence, tree, order))


def _as_orders(sentence: Sentence, tree: Tree, order: Sequence[int]) -> str:
    return format_order_json(Ordered(sentence, WordOrder(tuple(order)), tree))


# The formats that show a new order: the words alone, the reordered tree, or the permutation.
FORMATTERS: dict[str, Formatter] = {"tokens": _as_tokens, "conllu": _as_conllu, "orders": _as_orders}


def apply(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] IN",
            help="A parser or pipeline, and text or sentences; without MODEL the trees of IN are used, and text is "
            "parsed by the model of the package. - is stdin.",
        ),
    ],
    to: Annotated[
        str | None, typer.Option("--to", metavar="RULES", help="A rule set (ja, ko, hi, ur, tr, …) or a .toml file.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    read: Annotated[str | None, typer.Option("--read", metavar="NAME", help=ReadHelp)] = None,
    file_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help=f"Of OUT: {', '.join(FORMATTERS)}; {FormatHelp}"),
    ] = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="Undo it: IN is CoNLL-U that this command has written.")
    ] = False,
    draw: Annotated[
        str | None, typer.Option("--draw", metavar="SVG", help="Draw a sentence, its tree and its new order.")
    ] = None,
    sentence: Annotated[int, typer.Option("--sentence", min=1, help="Which sentence to draw.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Put the words of sentences into the order of another language, by rules over their trees."""
    if len(paths) > 2:
        raise ConfigError(f"expected MODEL and IN, or IN alone, found {len(paths)} arguments: {' '.join(paths)}")
    source = paths[-1]
    check_kept(output, (*paths, to))
    if draw is not None:
        check_kept(draw, (*paths, to), flag="--draw")
        check_picture(draw, "--draw")
    if restore:
        _restore(source, output, unused={"MODEL": len(paths) > 1, "--to": to, "--draw": draw, "--format": file_format})
        return
    if to is None:
        raise ConfigError("expected a rule set, as in --to ja, or --restore; 'treetune reorder rules' lists them")
    form = _formatter(file_format, output)
    reorderer = Reorderer(load_rules(to))
    pipeline = _pipeline(paths[0] if len(paths) == 2 else None, source, read)
    reads = input_format(source, read, pipeline)
    if read is None and not reads.holds & {"text"} and bare_name(source).endswith(".txt"):
        reads = FORMATS["tokens"]
    if pipeline is not None:
        model = paths[0] if len(paths) == 2 else DEFAULT_MODEL
        compile_for(pipeline, model, text="text" in reads.holds, quiet=quiet)
    report = SkipReport()
    job = _Job(reorderer, pipeline, source, threads)
    taken = Input(source, reads, lenient=lenient, trees=pipeline is None)
    examples = taken.examples(pipeline, report)
    if draw is not None:
        _draw(job, examples, sentence, draw)
        note(f"drew sentence {sentence} of {source}: {draw}", quiet=quiet)
        return
    writing = Writing(output, "reordering", quiet)
    writing.write(examples, lambda chunk: (form(*one) for one in job.reorder(chunk, done=writing.sentences)))
    writing.report(report, f"reordered {job.moved:,} of", f", by {reorderer.rules.name}")


@dataclass(slots=True)
class _Job:
    """What to do with a chunk of sentences, and how many were not in that order before."""

    reorderer: Reorderer
    pipeline: Pipeline | None
    source: str
    threads: int
    moved: int = 0

    def reorder(self, chunk: Sequence[Example], *, done: int = 0) -> Iterator[tuple[Sentence, Tree, tuple[int, ...]]]:
        """Yield each sentence with its tree and its new order; `done` sentences went before."""
        parsed = [(example.sentence, example.gold) for example in chunk]
        if self.pipeline is not None:
            parsed = list(parse_sentences(self.pipeline, [sentence for sentence, _ in parsed], self.threads))
        self._check_tags([sentence for sentence, _ in parsed])
        for number, (sentence, tree) in enumerate(parsed, start=done + 1):
            try:
                order = self.reorderer.order(sentence, tree)
            except DataError as error:
                place = name_sentence(number, sentence)
                raise DataError(f"{place}: {error}", path=display_name(self.source)) from None
            self.moved += any(after < before for before, after in pairwise(order))
            yield sentence, tree, order

    def _check_tags(self, sentences: Sequence[Sentence]) -> None:
        rules = self.reorderer.rules
        if all(rule.heads == ("*",) for rule in rules.rules):
            return
        column = (getattr(sentence, rules.tags) for sentence in sentences)
        if all(tag == ABSENT for tags in column for tag in tags[1:]):
            raise DataError(
                f"expected tags, which the rule set {rules.name} looks at ({rules.tags.upper()}), found none; "
                "tag the sentences first",
                path=display_name(self.source),
            )


def _draw(job: _Job, examples: Iterator[Example], number: int, path: str) -> None:
    example = next(islice(examples, number - 1, number), None)
    if example is None:
        raise DataError(f"expected at least {number} sentences to draw one, found fewer", path=display_name(job.source))
    ((sentence, tree, order),) = job.reorder([example])
    with open_output(path) as out:
        out.write(for_terminal(path)(draw_order(sentence, tree, order, title=job.reorderer.rules.title)))


def _restore(source: str, output: str, *, unused: dict[str, object]) -> None:
    for name, value in unused.items():
        if value:
            raise ConfigError(f"--restore needs only IN and -o; leave {name} out")
    examples, shown = read_conllu(source, partial=True), for_terminal(output)
    with open_output(output) as out:
        for number, example in enumerate(examples, start=1):
            try:
                restored = restore_order(example.sentence, example.gold)
            except DataError as error:
                place = name_sentence(number, example.sentence)
                raise DataError(f"{place}: {error.problem}", path=display_name(source)) from None
            out.write(shown(format_conllu(*restored)))


def _formatter(name: str | None, output: str) -> Formatter:
    if name is not None:
        return FORMATTERS[find_format(name, FORMATTERS).name]
    found = format_of(output, holding="orders")
    return FORMATTERS["tokens" if found is None else found.name]


def _pipeline(model: str | None, source: str, read: str | None) -> Pipeline | None:
    """Return the model that parses the input; None if the input has the trees itself.

    Input without trees is parsed by the model of the package unless another one is named.
    """
    if model is None:
        found = format_of(source) if read is None else find_format(read, READABLE)
        if found is None or "trees" in found.holds:
            return None
    return load_parser(model or DEFAULT_MODEL)


class FirstByDefault(TyperGroup):
    """Commands of which the first is meant where none is named: ``treetune reorder MODEL IN --to ja``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the first command before arguments that begin with no command."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["apply", *args]
        return super().parse_args(ctx, args)


reorder = typer.Typer(
    name="reorder",
    cls=FirstByDefault,
    help="Put words into the order of another language; learn, score and list rules. "
    "'treetune reorder [MODEL] IN --to ja' is 'treetune reorder apply'.",
    epilog=EXIT_CODES,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (apply, parallel, learn, evaluate, align, rules):
    reorder.command(epilog=EXIT_CODES)(command)
