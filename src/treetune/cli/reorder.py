"""``treetune reorder``: sentences in, the same words in the order of another language out, a thousand at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Annotated

import typer

from treetune.cli.chunks import Writing
from treetune.cli.console import note
from treetune.cli.sentences import KINDS, load_pipeline, read_sentences
from treetune.corpus.conllu import read_conllu
from treetune.corpus.document import ParsedSentence
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, display_name, open_output
from treetune.corpus.sentence import ABSENT, Example, Sentence, Tree, name_sentence, tree_of
from treetune.errors import ConfigError, DataError, unknown_name
from treetune.models.pipeline import Pipeline
from treetune.reorder import Reorderer, load_rules
from treetune.reorder.drawing import draw_order
from treetune.reorder.kept import keep_order, order_line, restore_order

Form = Callable[[Sentence, Tree, Sequence[int]], str]


def _as_tokens(sentence: Sentence, tree: Tree, order: Sequence[int]) -> str:
    return " ".join([sentence.forms[word] for word in order]) + "\n"


def _as_conllu(sentence: Sentence, tree: Tree, order: Sequence[int]) -> str:
    kept = keep_order(sentence, tree, order)
    return kept.to_conllu()


def _as_lines(sentence: Sentence, tree: Tree, order: Sequence[int]) -> str:
    return order_line(sentence, order)


FORMS: dict[str, Form] = {"tokens": _as_tokens, "conllu": _as_conllu, "jsonl": _as_lines}


def reorder(
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
    write: Annotated[
        str | None,
        typer.Option("--write", help="tokens, conllu or jsonl; without it the suffix of OUT decides, else tokens."),
    ] = None,
    read: Annotated[
        str | None,
        typer.Option("--read", help=f"{', '.join(KINDS)}; without it MODEL and the suffix of IN decide."),
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
    if restore:
        _restore(source, output, unused={"MODEL": len(paths) > 1, "--to": to, "--draw": draw, "--write": write})
        return
    if to is None:
        raise ConfigError("expected a rule set, as in --to ja, or --restore; 'treetune reorder rules' lists them")
    form = FORMS[_written_as(write, output)]
    reorderer = Reorderer(load_rules(to))
    pipeline = load_pipeline(paths[0] if len(paths) == 2 else None, source, read)
    report = SkipReport()
    job = _Job(reorderer, pipeline, source, threads)
    examples = read_sentences(source, kind=read, pipeline=pipeline, lenient=lenient, report=report)
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
        parsed: Sequence[Example | ParsedSentence] = chunk
        if self.pipeline is not None:
            sentences = [example.sentence for example in chunk]
            parsed = list(self.pipeline.parse(sentences, threads=self.threads, keep_tags=True))
        self._check_tags(parsed)
        for number, example in enumerate(parsed, start=done + 1):
            try:
                order = self.reorderer.order(example.sentence, tree_of(example))
            except DataError as error:
                place = name_sentence(number, example.sentence)
                raise DataError(f"{place}: {error}", path=display_name(self.source)) from None
            self.moved += any(after < before for before, after in pairwise(order))
            yield example.sentence, tree_of(example), order

    def _check_tags(self, chunk: Sequence[Example | ParsedSentence]) -> None:
        rules = self.reorderer.rules
        if all(rule.heads == ("*",) for rule in rules.rules):
            return
        column = (getattr(example.sentence, rules.tags) for example in chunk)
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
        out.write(draw_order(sentence, tree, order, title=job.reorderer.rules.title))


def _restore(source: str, output: str, *, unused: dict[str, object]) -> None:
    for name, value in unused.items():
        if value:
            raise ConfigError(f"--restore needs only IN and -o; leave {name} out")
    examples = read_conllu(source, partial=True)
    with open_output(output) as out:
        for number, example in enumerate(examples, start=1):
            try:
                restored = restore_order(example)
            except DataError as error:
                place = name_sentence(number, example.sentence)
                raise DataError(f"{place}: {error.problem}", path=display_name(source)) from None
            out.write(restored.to_conllu())


def _written_as(name: str | None, output: str) -> str:
    if name is not None:
        if name not in FORMS:
            raise unknown_name("form of output", name, FORMS)
        return name
    suffix = output.removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
    return suffix if suffix in FORMS else "tokens"
