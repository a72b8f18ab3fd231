"""Word orders from parallel text, to train and evaluate parsers with: what ``treetune reorder align`` does, in bulk.

``python -m experiments.aligned_orders --languages ja tr mr`` writes word orders, and tags and trees beside them, to a
folder outside the repository: ``en-ja-train``, 10,000 pairs, ``en-ja-train-all``, and ``en-ja-test``, 2,000 others. For
these, words are aligned in the order of the hand-written rules, which aligns more of them and better; the test set
``en-ja-test-plain`` has orders of alignments that know nothing of rules and trees. What became of the pairs is in
``results/aligned_orders.json``. Needs ``pip install -e '.[translation]'``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import treetune
from benchmarks.measure import data_option, provenance, say
from experiments.data import KEPT
from experiments.translation import RULES, segmenter, write
from treetune import Example, Pipeline, Sentence
from treetune.corpus.alignments import SentencePair
from treetune.corpus.conllu import write_conllu
from treetune.corpus.orders import Ordered, WordOrder, read_orders, write_orders
from treetune.corpus.pairs import read_pairs
from treetune.evaluation.ordering import evaluate_orders
from treetune.integrations.word_aligner import align_words
from treetune.reorder import Reorderer, RuleSet, load_rules
from treetune.reorder.learn import learn_rules

Words = tuple[str, ...]

RESULT = Path(__file__).resolve().parent / "results" / "aligned_orders.json"
TEST, TRAIN = 2_000, 10_000
MIN_CONFIDENCE = 0.5
# Linked words: with two, the reorder score is 0 or 1.
MIN_WORDS = 3
LONGEST = 60


def distinct_pairs(folder: Path, language: str) -> Iterator[tuple[str, str]]:
    """Yield all pairs of a language, train before dev and test, without those whose English side came before."""
    seen = set()
    for part in ("train", "dev", "test"):
        for pair in read_pairs(folder / f"tatoeba-en-{language}-{part}.tsv"):
            key = "".join(filter(str.isalnum, pair.source.lower()))
            if key and pair.target and key not in seen:
                seen.add(key)
                yield pair.source, pair.target


def single_sentences(pairs: Iterable[tuple[str, str]], pipeline: Pipeline) -> list[tuple[Ordered, str]]:
    """Return the pairs of which the English side is a single sentence, with its tags and tree."""
    split = [(list(pipeline.split(source, line_sentences=False)), target) for source, target in pairs]
    single = [(found[0], target) for found, target in split if len(found) == 1 and len(found[0]) <= LONGEST]
    trees = pipeline.parse(sentence for sentence, _ in single)
    empty = WordOrder(())
    return [
        (Ordered(parsed.sentence, empty, parsed.tree), target)
        for parsed, (_, target) in zip(trees, single, strict=True)
    ]


def align(items: Sequence[tuple[Ordered, Words]], reorderer: Reorderer | None) -> list[Ordered]:
    """Return the sentences with the orders of their translations.

    Args:
        items: Sentences with trees, and the words of their translations.
        reorderer: Puts the sentences into another order for the alignment; None leaves them in theirs.
    """
    pairs = [
        SentencePair(
            item.sentence.forms[1:], target, None if reorderer is None else reorderer.order(item.sentence, item.tree)
        )
        for item, target in items
    ]
    links = align_words([(pair.aligned_words, pair.target) for pair in pairs])
    return [
        replace(item, order=without_punctuation(item.sentence, pair.ordered(*found).order))
        for (item, _), pair, found in zip(items, pairs, links, strict=True)
    ]


def without_punctuation(sentence: Sentence, order: WordOrder) -> WordOrder:
    """Return an order in which marks have no place: rules leave them where they are, and they align badly."""
    return replace(order, words=tuple(word for word in order.words if sentence.upos[word] != "PUNCT"))


def is_usable(item: Ordered) -> bool:
    """Whether an order is trusted, and has enough words to be scored."""
    return (item.order.confidence or 0.0) >= MIN_CONFIDENCE and len(item.order.words) >= MIN_WORDS


def make(language: str, data: Path, out: Path) -> dict[str, Any]:
    """Write the files of a language and return what became of its pairs."""
    split, reorderer = segmenter(language), Reorderer(load_rules(RULES[language]))
    distinct = list(distinct_pairs(data / "parallel", language))
    manual = read_manual(data / "reorder" / f"en-{language}.jsonl")
    single = single_sentences(distinct, treetune.load("en"))
    joint = "" if language == "ja" else " "
    # Pairs with manual links are aligned among the others, to see how good alignments are.
    texts = [*single, *((item, joint.join(item.order.target)) for item in manual)]
    items = [(item, tuple(split(target))) for item, target in texts]
    reordered, plain = align(items, reorderer), align(items, None)
    places = [place for place in range(len(single)) if is_usable(reordered[place])]
    before, held_out = places[:-TEST], places[-TEST:]
    parts = {
        "train": [reordered[place] for place in before[:TRAIN]],
        "train-all": [reordered[place] for place in before],
        "test": [reordered[place] for place in held_out],
        "test-plain": list(filter(is_usable, plain[held_out[0] : len(single)])),
    }
    for part, orders in parts.items():
        write_orders(orders, out / f"en-{language}-{part}.jsonl")
        write_conllu((Example(one.sentence, one.tree) for one in orders), out / f"en-{language}-{part}.conllu")
    return {
        "distinct": len(distinct),
        "single sentences": len(single),
        **{part: len(orders) for part, orders in parts.items()},
        "words": sum(len(one.sentence) for one in parts["train"]) / len(parts["train"]),
        "linked words": sum(len(one.order.words) for one in parts["train"]) / len(parts["train"]),
        "rules": rule_scores(parts["train"], parts["test"], reorderer),
        "rules, plain": rule_scores(parts["train"], parts["test-plain"], reorderer),
        **({"rules, manual": rule_scores(parts["train"], manual, reorderer)} if manual else {}),
        "reordered, against manual orders": agreement(reordered[len(single) :], manual),
        "plain, against manual orders": agreement(plain[len(single) :], manual),
    }


def read_manual(path: Path) -> list[Ordered]:
    """Return sentences with manual word alignments; none of a language that has none."""
    if not path.is_file():
        return []
    parts = [path.with_name(f"{path.stem}-{part}.jsonl") for part in ("train", "dev", "test")]
    return [item for part in parts for item in read_orders(part)]


def rule_scores(train: Sequence[Ordered], test: Sequence[Ordered], hand: Reorderer) -> dict[str, float]:
    """Return the reorder scores of no, hand-written and learned rules, on the trees that the sentences come with."""
    reorderers = {
        "none": Reorderer(RuleSet("none", ())),
        "hand-written": hand,
        "learned": Reorderer(learn_rules(train)),
    }
    gold = [item.order for item in test]
    found = {name: [one.order(item.sentence, item.tree) for item in test] for name, one in reorderers.items()}
    return {name: 100 * evaluate_orders(gold, orders)["reorder"] for name, orders in found.items()}


def agreement(aligned: Sequence[Ordered], manual: Sequence[Ordered]) -> dict[str, float]:
    """Return how many orders are usable, and the reorder score of these, over words that have a manual place too."""
    usable = [
        (one.order.words, other.order.words) for one, other in zip(aligned, manual, strict=True) if is_usable(one)
    ]
    orders = [
        [tuple(word for word in one if word in pair[1 - side]) for side, one in enumerate(pair)] for pair in usable
    ]
    if not orders:
        return {"pairs": len(manual), "usable": 0}
    scores = evaluate_orders((WordOrder(gold) for _, gold in orders), (found for found, _ in orders))
    return {"pairs": len(manual), "usable": len(usable), "reorder": 100 * scores["reorder"], "tau": 100 * scores["tau"]}


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--languages", nargs="+", default=["ja", "tr", "mr"], choices=list(RULES))
    data_option(parser)
    parser.add_argument("--out", type=Path, default=KEPT / "aligned", help="default: %(default)s")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for language in options.languages:
        found = json.loads(RESULT.read_text()) if RESULT.is_file() else {"languages": {}}
        found |= provenance(["sil-thot", "numpy"])
        found["languages"][language] = make(language, options.data, options.out)
        write(RESULT, json.dumps(found, indent=1) + "\n")
        say(f"{language}: {json.dumps(found['languages'][language])}")


if __name__ == "__main__":
    main()
