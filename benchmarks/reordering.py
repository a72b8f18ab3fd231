"""Measure what word order costs beside parsing: a parser alone, and the same parser with a rule set after it.

    python benchmarks/reordering.py --model MODEL --data DIR --output benchmarks/results/reordering.json

Both from `Sentence` objects in memory, in one process and one thread, in turn; the rules alone are timed as well. A
new `Reorderer` is made for every repeat, so that nothing is remembered from the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import measure
import treetune
from treetune.reorder import Reorderer, load_rules

TEST = Path("ud", "en_ewt-test.conllu")
PARSE, BOTH, RULES = "parse", "parse and reorder", "reorder"


def main() -> None:
    """Measure and write the result."""
    parser = measure.command_line(__doc__)
    parser.add_argument("--output", type=Path, help="result file (default: standard output)")
    parser.add_argument("--model", type=Path, required=True, help="a model of 'treetune train'")
    parser.add_argument("--rules", default="ja", help="the rule set (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="rounds (default: %(default)s)")
    arguments = parser.parse_args()
    model, rules = treetune.load(arguments.model), load_rules(arguments.rules)
    sentences = [example.sentence for example in treetune.read_trees(arguments.data / TEST, trees=False)]
    trees = model.predict_batch(sentences)

    def both() -> None:
        Reorderer(rules).orders(sentences, model.predict_batch(sentences))

    def alone() -> None:
        Reorderer(rules).orders(sentences, trees)

    def ready(work: Callable[[], object]) -> Callable[[], object]:
        return work

    def parse() -> None:
        model.predict_batch(sentences)

    tasks: dict[str, Callable[[], object]] = {PARSE: parse, BOTH: both, RULES: alone}
    seconds = measure.interleaved({name: partial(ready, work) for name, work in tasks.items()}, arguments.repeats)
    words = sum(map(len, sentences))
    ratios = [parse / whole for parse, whole in zip(seconds[PARSE], seconds[BOTH], strict=True)]
    record = {
        "benchmark": "reordering",
        **measure.provenance(["numpy", "numba"]),
        "settings": {"rules": arguments.rules, "words": words, "repeats": arguments.repeats, "model": model.kind},
        "words_per_cpu_second": {
            name: measure.summary([words / one for one in found]) for name, found in seconds.items()
        },
        "share_of_parsing_speed": measure.summary(ratios),
    }
    measure.finish(record, arguments.output)


if __name__ == "__main__":
    main()
