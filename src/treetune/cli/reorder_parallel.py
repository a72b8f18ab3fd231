"""``treetune reorder parallel``: parallel text in, the same lines in the order of the other language out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated

import typer

from treetune.cli.compiling import compile_for
from treetune.cli.input import DEFAULT_MODEL, load_parser
from treetune.cli.output import Writing
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept
from treetune.corpus.formats import bare_name
from treetune.corpus.pairs import Pair, read_pairs
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, unknown_name
from treetune.models.pipeline import Pipeline
from treetune.reorder import Reorderer, load_rules
from treetune.reorder.k_best import ScoredOrder, distinct_orders, joined_orders

# Lines that are parsed together.
BATCH = 1000
# The score of an order where only the best tree is looked for.
UNSCORED = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its words, its orders (from 1, best first) and its translation."""

    number: int
    words: Sequence[str]
    orders: Sequence[ScoredOrder]
    target: str | None
    k_best: bool

    def text(self, order: Sequence[int]) -> str:
        """Return the words in an order."""
        return " ".join([self.words[word - 1] for word in order])


def _as_tokens(line: Line) -> str:
    if not line.k_best:
        return f"{line.text(line.orders[0][0])}\n"
    return "".join(f"{line.number} ||| {line.text(order)} ||| {score!r}\n" for order, score in line.orders)


def _as_tsv(line: Line) -> str:
    return f"{line.text(line.orders[0][0])}\t{line.target}\n"


def _as_orders(line: Line) -> str:
    def from_0(order: Sequence[int]) -> list[int]:
        return [word - 1 for word in order]

    content: dict[str, object] = {"tokens": list(line.words), "order": from_0(line.orders[0][0])}
    if line.k_best:
        content["k_best"] = [{"order": from_0(order), "score": score} for order, score in line.orders]
    if line.target is not None:
        content["target"] = line.target
    return json.dumps(content, ensure_ascii=False) + "\n"


# The reordered words, with the translation as it was, or the permutation.
FORMATTERS: dict[str, Callable[[Line], str]] = {"tokens": _as_tokens, "tsv": _as_tsv, "orders": _as_orders}
_SUFFIXES = {".tsv": "tsv", ".jsonl": "orders", ".json": "orders"}


def parallel(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Text, a line each; with a tab and the translation behind it, or without translations. - is stdin.",
        ),
    ],
    target: Annotated[str | None, typer.Argument(metavar="[TARGET]", help="The translations, line by line.")] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="RULES", help="A rule set (ja, ko, hi, ur, tr, …) or a .toml file.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    model: Annotated[str, typer.Option("--model", metavar="MODEL", help="A parser or pipeline.")] = DEFAULT_MODEL,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="Each line is a sentence of words between spaces already.")
    ] = False,
    k_best: Annotated[
        int | None,
        typer.Option("--k-best", metavar="K", min=1, help="The distinct orders of the K best trees, with scores."),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Of OUT: {', '.join(FORMATTERS)}; without it the suffix decides, else tsv if there are translations.",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Put the source side of parallel text into the order of the other language, line by line."""
    check_kept(output, (source, target, to, model))
    if to is None:
        raise ConfigError("expected a rule set, as in --to ja; 'treetune reorder rules' lists them")
    if file_format is not None and file_format not in FORMATTERS:
        raise unknown_name("file format", file_format, FORMATTERS)
    reorderer, pipeline = Reorderer(load_rules(to)), load_parser(model)
    if not tokenized and pipeline.tokenizer is None:
        raise ConfigError(f"{model} has no tokenizer; give it words between spaces with --tokenized")
    pairs = read_pairs(source, target)
    first = list(islice(pairs, 1))
    has_target = bool(first) and first[0].target is not None
    form = file_format or _SUFFIXES.get(output_suffix(output)) or ("tsv" if has_target else "tokens")
    if form == "tsv" and first and not has_target:
        raise ConfigError("expected translations to write tsv, found none; give them, or choose --format tokens")
    if form == "tsv" and k_best is not None:
        raise ConfigError("--k-best writes tokens or orders; choose --format")
    compile_for(pipeline, model, text=not tokenized, quiet=quiet)
    job = _Job(reorderer, pipeline, tokenized, k_best, threads)
    writing = Writing(output, "reordering", quiet)
    writing.write_chunks(job.chunks(chain(first, pairs), FORMATTERS[form]))
    writing.report(SkipReport(), f"reordered {job.moved:,} of", f", by {reorderer.rules.name}", what="lines")


def output_suffix(path: str) -> str:
    """Return the suffix of a path, without that of its compression."""
    name = bare_name(path)
    return name[name.rfind(".") :] if "." in name else ""


@dataclass(slots=True)
class _Job:
    """How lines are reordered, and how many were not in that order before."""

    reorderer: Reorderer
    pipeline: Pipeline
    tokenized: bool
    k_best: int | None
    threads: int
    moved: int = 0

    def chunks(
        self, pairs: Iterator[Pair], form: Callable[[Line], str]
    ) -> Iterator[tuple[Iterable[str], int, int, int]]:
        """Yield the texts of a thousand lines with the numbers of lines and words."""
        done = 0
        while batch := list(islice(pairs, BATCH)):
            lines = list(self._lines(batch, done))
            done += len(batch)
            self.moved += sum(line.orders[0][0] != tuple(range(1, len(line.words) + 1)) for line in lines)
            yield map(form, lines), len(lines), sum(len(line.words) for line in lines), 0

    def _lines(self, batch: Sequence[Pair], done: int) -> Iterator[Line]:
        split = [self._sentences(pair.source) for pair in batch]
        orders = self._orders([sentence for sentences in split for sentence in sentences])
        for number, (pair, sentences) in enumerate(zip(batch, split, strict=True), start=done):
            found = joined_orders(list(islice(orders, len(sentences))), self.k_best or 1)
            words = [word for sentence in sentences for word in sentence.forms[1:]]
            yield Line(number, words, found, pair.target, self.k_best is not None)

    def _sentences(self, text: str) -> list[Sentence]:
        if self.tokenized:
            return [Sentence.of(words)] if (words := text.split()) else []
        return list(self.pipeline.split(text, line_sentences=False)) if text else []

    def _orders(self, sentences: Sequence[Sentence]) -> Iterator[list[ScoredOrder]]:
        parser = self.pipeline.parser
        assert parser is not None
        tagged = self.pipeline.tag(sentences, threads=self.threads)
        if self.k_best is None:
            trees = parser.predict_batch(tagged, threads=self.threads)
            for sentence, tree in zip(tagged, trees, strict=True):
                yield [(self._order(sentence, tree), UNSCORED)]
            return
        lists = parser.k_best_batch(tagged, self.k_best, threads=self.threads)
        for sentence, candidates in zip(tagged, lists, strict=True):
            yield distinct_orders((self._order(sentence, one.output), one.score) for one in candidates)

    def _order(self, sentence: Sentence, tree: Tree) -> tuple[int, ...]:
        return self.reorderer.order(sentence, tree)
