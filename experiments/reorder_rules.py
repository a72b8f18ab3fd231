"""Word order by rules: hand-written, learned and both, for six languages, on gold and on predicted trees.

    python experiments/reorder_rules.py --data DIR

The rules are learned from the train part of each language, and all are tested on its test part: from and on gold trees,
and from and on predicted trees. These are of a transition parser that was trained on EWT and GUM, with gold tags; PUD,
to which the sentences belong, is not among them. Expected: learned rules are better than hand-written ones for Japanese
and Korean, and than none for all.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import measuring
import treetune
from common import default_file
from treetune.corpus.orders import Ordered, read_orders
from treetune.evaluation.ordering import ORDER_METRICS, OrderScores, compare_orders, evaluate_orders
from treetune.reorder import Reorderer, RuleSet, load_rules
from treetune.reorder.learn import LearnOptions, learn_rules

NAME = "reorder_rules"
TITLE = "Word order by rules: hand-written, learned, both"
LANGUAGES = ("ja", "ko", "ar", "fr", "ru", "zh")
NONE, HAND, LEARNED, BOTH = "no reordering", "hand-written", "learned", "both"
EPOCHS, SEED, SIGNIFICANT = 4, 0, 0.05
QUICK = 60
SAMPLES = 10_000

Record = dict[str, Any]


def rules_of(language: str, train: Sequence[Ordered]) -> dict[str, RuleSet]:
    """Return all rule sets that are compared."""
    hand = load_rules(language)
    return {
        NONE: RuleSet("none", ()),
        HAND: hand,
        LEARNED: learn_rules(train),
        BOTH: learn_rules(train, options=LearnOptions(prior=hand)),
    }


def scored(rules: RuleSet, items: Sequence[Ordered]) -> OrderScores:
    """Score what a rule set makes of sentences and their trees."""
    reorderer = Reorderer(rules)
    orders = (reorderer.order(item.sentence, item.gold) for item in items)
    return evaluate_orders((item.order for item in items), orders)


def measure(language: str, kinds: Mapping[str, tuple[Sequence[Ordered], Sequence[Ordered]]]) -> Record:
    """Return the scores of all rule sets on all kinds of trees, and what differs significantly.

    `kinds` has sentences to learn from and to test on, by the kind of their trees.
    """
    found: Record = {}
    for kind, (train, items) in kinds.items():
        rules = rules_of(language, train)
        scores = {name: scored(one, items) for name, one in rules.items()}
        pairs = [(LEARNED, HAND), (BOTH, HAND), (BOTH, LEARNED), (LEARNED, NONE), (HAND, NONE)]
        found[kind] = {
            "scores": {
                name: {metric: one[metric] for metric in ORDER_METRICS}
                | {"interval": [getattr(one.interval("reorder", samples=SAMPLES), end) for end in ("low", "high")]}
                for name, one in scores.items()
            },
            "comparisons": [compared(scores, better, worse) for better, worse in pairs],
        }
    return found


def compared(scores: Mapping[str, OrderScores], better: str, worse: str) -> Record:
    """Return the difference of two rule sets with its p-value."""
    tested = compare_orders(scores[worse], scores[better], samples=SAMPLES)
    return {
        "better": better,
        "worse": worse,
        **{
            metric: {"difference": tested[metric].difference.score, "p_value": tested[metric].p_value}
            for metric in ("reorder", "exact")
        },
    }


def parser_of(data: Path, limit: int | None) -> treetune.TransitionParser:
    """Return a parser that has not seen the sentences."""
    files = [data / "ud" / f"en_{name}-train.conllu" for name in ("ewt", "gum")]
    treebank = [one for path in files for one in itertools.islice(treetune.read_trees(path), limit)]
    parser = treetune.TransitionParser(beam=8, inputs=("upos", "xpos"))
    for progress in treetune.train(parser, treebank, epochs=EPOCHS, seed=SEED):
        if progress.is_epoch_end:
            measuring.say(f"  epoch {progress.epoch} of {progress.epochs}")
    return parser


def parsed(parser: treetune.TransitionParser, items: Sequence[Ordered]) -> list[Ordered]:
    """Return sentences with the trees that a parser gives them."""
    trees = parser.predict_batch([item.sentence for item in items])
    return [replace(item, gold=tree) for item, tree in zip(items, trees, strict=True)]


def parts(data: Path, language: str, part: str, limit: int | None) -> list[Ordered]:
    """Return sentences with gold trees and orders."""
    path = data / "reorder" / f"en-{language}-{part}.jsonl"
    if not path.is_file():
        raise SystemExit(f"{path} is missing; name the folder that holds reorder/ with --data")
    return list(itertools.islice(read_orders(path), limit))


def run(data: Path, out: Path, *, part: str, quick: bool, most: int | None) -> Record:
    """Measure all languages and write the result."""
    limit = QUICK if quick else None
    start = time.process_time()
    parser = parser_of(data, QUICK if quick else most)
    languages: Record = {}
    for language in LANGUAGES:
        train, test = (parts(data, language, name, limit) for name in ("train", part))
        predicted = parsed(parser, train), parsed(parser, test)
        languages[language] = measure(language, {"gold trees": (train, test), "predicted trees": predicted})
        measuring.say(f"{language}: done")
    record = {
        "experiment": NAME,
        "title": TITLE,
        **measuring.provenance(["numpy", "numba"]),
        "settings": {"epochs": EPOCHS, "seeds": [SEED], "quick": quick, "part": part, "most": most},
        "cpu_seconds": time.process_time() - start,
        "languages": languages,
        "tables": tables(languages),
        "pattern": pattern(languages),
        "runs": [],
    }
    measuring.write_json(out, record)
    measuring.say(f"wrote {out}; show it with: python experiments/tables.py {out}")
    return record


def tables(languages: Record) -> list[Record]:
    """Return what the docs show."""
    names = [f"{name}: {metric}" for name in (NONE, HAND, LEARNED, BOTH) for metric in ("reorder", "exact")]
    header = ["English to", *names, "learned − hand-written", "p"]
    found = []
    for kind in ("gold trees", "predicted trees"):
        rows = []
        for language, measured in languages.items():
            scores, comparison = measured[kind]["scores"], measured[kind]["comparisons"][0]["reorder"]
            cells = [f"{100 * one[metric]:.1f}" for one in scores.values() for metric in ("reorder", "exact")]
            rows.append([language, *cells, f"{100 * comparison['difference']:+.1f}", f"{comparison['p_value']:.2g}"])
        found.append({"title": kind, "header": header, "rows": rows})
    return found


def pattern(languages: Record) -> list[Record]:
    """Return what is expected, and whether it holds on gold and on predicted trees."""
    found = []
    for kind in ("gold trees", "predicted trees"):
        for language, measured in languages.items():
            by_pair = {(one["better"], one["worse"]): one["reorder"] for one in measured[kind]["comparisons"]}
            worse = HAND if language in ("ja", "ko") else NONE
            one = by_pair[LEARNED, worse]
            found.append(
                {
                    "claim": f"{language}, {kind}: learned rules have a significantly higher reorder-score than "
                    f"{worse} (bootstrap, p < 0.05)",
                    "holds": one["difference"] > 0 and one["p_value"] < SIGNIFICANT,
                    "evidence": one,
                }
            )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiment with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measuring.data_option(parser)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} sentences of each file, to try it out")
    parser.add_argument("--part", default="test", choices=("dev", "test"), help="which part to score (default: test)")
    parser.add_argument(
        "--most", type=int, help="train the parser on so many sentences of each treebank (default: all)"
    )
    parser.add_argument("--out", type=Path, help="result file (default: experiments/results/NAME.json)")
    options = parser.parse_args(arguments)
    out = options.out or default_file(NAME, quick=options.quick)
    run(options.data, out, part=options.part, quick=options.quick, most=options.most)


if __name__ == "__main__":
    main()
