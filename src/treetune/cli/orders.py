"""``treetune reorder learn``, ``evaluate``, ``align`` and ``rules``: word orders, and rules from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from treetune.cli.console import for_terminal, note, progress_bar, write, write_json
from treetune.cli.input import load_parser, parse_sentences
from treetune.corpus.alignments import Links, SentencePair, coverage, read_links, read_sentence_pairs
from treetune.corpus.conllu import read_conllu
from treetune.corpus.files import STANDARD_STREAM, check_kept, display_name, open_output
from treetune.corpus.formats import bare_name
from treetune.corpus.orders import Ordered, order_format, read_orders, write_orders
from treetune.errors import DataError
from treetune.evaluation.ordering import (
    ORDER_METRICS,
    OrderScores,
    compare_orders,
    comparison_to_dict,
    evaluate_orders,
    shown,
)
from treetune.evaluation.report import format_table
from treetune.reorder import Reorderer, format_rules, load_rules, rule_sets
from treetune.reorder.learn import LearnOptions, learn_rules
from treetune.reorder.reversible import restore_order, source_ids

OrdersHelp = "Sentences with word orders: JSON lines (.jsonl), or CoNLL-U with # order = … ."


def learn(
    orders: Annotated[str, typer.Argument(metavar="ORDERS", help=OrdersHelp)],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write the rules, TOML; - is stdout.")
    ] = STANDARD_STREAM,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="MODEL", help="A parser for sentences that have no trees, or instead of theirs."
        ),
    ] = None,
    prior: Annotated[
        str | None, typer.Option("--prior", metavar="RULES", help="A rule set that holds where the orders say little.")
    ] = None,
    prior_weight: Annotated[
        float, typer.Option("--prior-weight", min=0, help="What the prior counts, in pairs of words.")
    ] = LearnOptions.prior_weight,
    smoothing: Annotated[
        float, typer.Option("--smoothing", min=0, help="What the next coarser count stands for, in pairs.")
    ] = LearnOptions.smoothing,
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="How often a tag or label must be seen to count by itself.")
    ] = LearnOptions.min_count,
    tags: Annotated[str, typer.Option("--tags", help="Tags that the rules look at: upos or xpos.")] = "upos",
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")] = False,
) -> None:
    """Learn rules from sentences with trees and the word orders they should get."""
    check_kept(output, (orders, model, prior))
    column: Any = tags
    options = LearnOptions(
        tags=column,
        smoothing=smoothing,
        min_count=min_count,
        prior=None if prior is None else load_rules(prior),
        prior_weight=prior_weight,
    )
    items = _read(orders)
    if model is not None:
        items = _parsed(items, model, threads)
    elif number := next((number for number, item in enumerate(items, start=1) if not item.tree.is_complete), None):
        problem = f"sentence {number}: expected a complete tree to learn from, found none; name a parser, as --model en"
        raise DataError(problem, path=display_name(orders))
    rules = learn_rules(items, options=options)
    with open_output(output) as out:
        out.write(for_terminal(output)(format_rules(rules)))
    before = _scores(items, (range(1, len(item.sentence) + 1) for item in items))
    after = _scores(items, (Reorderer(rules).order(item.sentence, item.tree) for item in items))
    note(
        f"learned {len(rules.rules)} rules from {len(items):,} sentences; reorder-score on them "
        f"{shown('reorder', before['reorder'])} -> {shown('reorder', after['reorder'])}",
        quiet=quiet,
    )


def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help=OrdersHelp)],
    predicted: Annotated[
        str, typer.Argument(metavar="PRED", help="What 'treetune reorder' wrote, JSON lines or CoNLL-U.")
    ],
    other: Annotated[
        str | None, typer.Argument(metavar="[OTHER]", help="A second system, to compare with the first.")
    ] = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Samples of the bootstrap.")] = 10_000,
    json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Score word orders against those they should be; with OTHER, test whether two systems differ."""
    items = _read(gold)
    paths = [path for path in (predicted, other) if path is not None]
    systems = [_scores(items, _predicted(path, items), path=path) for path in paths]
    tested = compare_orders(systems[0], systems[1], samples=samples) if other is not None else None
    if json:
        names = ("predicted", "other")
        content: dict[str, Any] = {
            name: {**scores.to_dict(), "intervals": _intervals(scores, samples)}
            for name, scores in zip(names, systems, strict=False)
        }
        write_json(content if tested is None else {**content, "comparison": comparison_to_dict(tested)})
        return
    write("\n\n".join(_table(scores, samples) for scores in systems))
    if tested is not None:
        header = ("b - a", "a", "b", "difference", "95 % interval", "p (bootstrap)")
        rows = [
            (
                name,
                shown(name, one.score_a),
                shown(name, one.score_b),
                _signed(name, one.difference.score),
                f"[{_signed(name, one.difference.low)}, {_signed(name, one.difference.high)}]",
                f"{one.p_value:.4f}",
            )
            for name, one in tested.items()
        ]
        write("\n" + format_table(header, rows))


def align(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Sentences, a line each, words between spaces; with a tab and the translation behind it if there is "
            "no TARGET. Or JSON lines of 'treetune reorder parallel'.",
        ),
    ],
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="The translations, line by line, words between spaces.")
    ] = None,
    links: Annotated[
        str | None,
        typer.Option(
            "--links", metavar="LINKS", help="What an aligner wrote, lines '0-0 1-2'; without it thot aligns."
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where to write: CoNLL-U if it ends in .conllu, else JSON lines; - is stdout.",
        ),
    ] = STANDARD_STREAM,
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Leave out pairs with a confidence below this.")
    ] = 0.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Make word orders from sentence pairs, by word alignments; links of reordered words are mapped back."""
    check_kept(output, (source, target, links))
    pairs = read_sentence_pairs(source, target)
    items = _aligned(list(pairs), quiet) if links is None else _linked(read_links(links, pairs))
    count = left_out = 0

    def kept() -> Iterator[Ordered]:
        nonlocal count, left_out
        for item in items:
            count += 1
            if item is None or (item.order.confidence or 0.0) < min_confidence:
                left_out += 1
            else:
                yield item

    # JSON lines are what other programs can read.
    write_orders(kept(), output, file_format="conllu" if bare_name(output).endswith(".conllu") else "orders")
    note(f"wrote the orders of {count - left_out:,} of {count:,} sentence pairs", quiet=quiet)


def _aligned(pairs: Sequence[SentencePair], quiet: bool) -> Iterator[Ordered | None]:
    from treetune.integrations.word_aligner import STEPS, align_words  # an extra, which other commands do without

    usable = [pair for pair in pairs if pair.words and pair.target]
    with progress_bar("aligning", total=STEPS, quiet=quiet) as advance:
        found = iter(align_words([(pair.aligned_words, pair.target) for pair in usable], advance=lambda: advance(1, 0)))
    for pair in pairs:
        yield pair.ordered(*next(found)) if pair.words and pair.target else None


def _linked(pairs: Iterator[tuple[SentencePair, Links]]) -> Iterator[Ordered | None]:
    for pair, links in pairs:
        yield pair.ordered(links, coverage(pair, links)) if pair.words and pair.target else None


def rules(
    name: Annotated[
        str | None, typer.Argument(metavar="[RULES]", help="A rule set or a .toml file to show, with its base inside.")
    ] = None,
) -> None:
    """List the rule sets that come with treetune, or show one as TOML, to edit."""
    if name is not None:
        write(format_rules(load_rules(name)).rstrip("\n"))
        return
    write(format_table(("name", "what it is for"), [(one, load_rules(one).title) for one in rule_sets()], left=(0, 1)))


def _read(path: str) -> list[Ordered]:
    items = list(read_orders(path))
    if not items:
        raise DataError("expected at least one sentence, found none", path=display_name(path))
    return items


def _parsed(items: Sequence[Ordered], model: str, threads: int) -> list[Ordered]:
    parsed = parse_sentences(load_parser(model), [item.sentence for item in items], threads)
    return [replace(item, sentence=sentence, tree=tree) for item, (sentence, tree) in zip(items, parsed, strict=True)]


def _predicted(path: str, gold: Sequence[Ordered]) -> Iterator[Sequence[int]]:
    """Yield the orders of a file that 'treetune reorder' wrote; its sentences must be those of gold."""
    if "trees" not in order_format(path).holds:
        pairs = ((item.sentence.forms[1:], item.order.words) for item in read_orders(path, beside=False))
    else:
        pairs = (
            (restore_order(example.sentence, example.gold)[0].forms[1:], source_ids(example.sentence))
            for example in read_conllu(path, partial=True)
        )
    for number, (words, order) in enumerate(pairs, start=1):
        expected = gold[number - 1].sentence.forms[1:] if number <= len(gold) else words
        if words != expected:
            raise DataError(
                f"sentence {number}: expected the words of gold, {' '.join(expected)[:60]!r}, "
                f"found {' '.join(words)[:60]!r}"
            )
        yield order


def _scores(items: Sequence[Ordered], predicted: Any, path: str | None = None) -> OrderScores:
    try:
        return evaluate_orders((item.order for item in items), predicted)
    except DataError as error:
        if error.path is not None or path is None:
            raise
        raise DataError(error.problem, path=display_name(path)) from None


def _table(scores: OrderScores, samples: int) -> str:
    intervals = _intervals(scores, samples)
    rows = [
        (
            name,
            shown(name, scores[name]),
            f"[{shown(name, intervals[name][0])}, {shown(name, intervals[name][1])}]",
            metric.title,
        )
        for name, metric in ORDER_METRICS.items()
    ]
    table = format_table(("score", "", "95 % interval", "what it is"), rows, left=(0, 3))
    return f"{scores.signature('*')}\n{table}"


def _intervals(scores: OrderScores, samples: int) -> dict[str, tuple[float, float]]:
    found = {name: scores.interval(name, samples=samples) for name in ORDER_METRICS}
    return {name: (one.low, one.high) for name, one in found.items()}


def _signed(metric: str, value: float) -> str:
    text = shown(metric, value)
    return text if text.startswith("-") else f"+{text}"
