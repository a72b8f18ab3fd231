"""Errors of two rows of a table by arc length, label and sentence length: ``python -m experiments.error_comparison``.

Reads the outcomes of a result file and the gold trees of a test set in ``TREETUNE_DATA``; trains nothing.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from experiments.results import is_right
from experiments.store import unpacked
from treetune import Example, read_trees
from treetune.evaluation.scores import RIGHT_HEAD

RESULTS = Path(__file__).parent / "results"
TABLE, TEST = "mcdonald_table3", "en_ewt-test"
ROWS = ("transition, beam 8, MIRA", "graph, second order")
LENGTHS = ((1, "1"), (2, "2"), (6, "3 to 6"), (14, "7 to 14"))
SENTENCES = ((9, "up to 9"), (19, "10 to 19"))


def groups(example: Example, word: int) -> Iterator[tuple[str, str]]:
    """Yield the groups that a word of a gold tree belongs to."""
    head = example.gold.heads[word]
    yield "all", ""
    yield "arc length", "root" if head == 0 else _bucket(abs(head - word), LENGTHS, "15 and more")
    yield "words of the sentence", _bucket(len(example.gold), SENTENCES, "20 and more")
    yield "label", example.gold.labels[word].partition(":")[0]


def _bucket(value: int, buckets: tuple[tuple[int, str], ...], rest: str) -> str:
    return next((name for most, name in buckets if value <= most), rest)


def compare(gold: list[Example], path: Path) -> list[tuple[str, str, int, list[float], float]]:
    """Return for each group its words, UAS and LAS of both rows, and what it adds to the difference in LAS."""
    counts: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: {row: [0, 0, 0] for row in ROWS})
    runs = [run for run in unpacked(json.loads(path.read_text(encoding="utf-8"))) if run["row"] in ROWS]
    for run in runs:
        outcomes = iter(run["tests"][TEST]["outcomes"]["words"].tolist())
        for example in gold:
            for word in range(1, len(example.gold) + 1):
                bits = next(outcomes)
                for group in groups(example, word):
                    found = counts[group][run["row"]]
                    found[0] += 1
                    found[1] += bool(bits & RIGHT_HEAD)
                    found[2] += is_right(bits)
    total, seeds = counts["all", ""][ROWS[0]][0], len(runs) // len(ROWS)
    table = []
    for (kind, name), by_row in counts.items():
        scores = [100 * by_row[row][what] / by_row[row][0] for what in (1, 2) for row in ROWS]
        words = by_row[ROWS[0]][0]
        table.append((kind, name, words // seeds, scores, (scores[2] - scores[3]) * words / total))
    return sorted(table, key=lambda one: (one[0], -one[4]))


def main() -> None:
    """Write the table as Markdown."""
    gold = list(read_trees(Path(os.environ["TREETUNE_DATA"]) / "ud" / f"{TEST}.conllu"))
    print(f"| | | words | UAS, {ROWS[0]} | {ROWS[1]} | LAS | | share of the difference |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for kind, name, words, scores, share in compare(gold, RESULTS / f"{TABLE}.json"):
        cells = " | ".join(f"{score:.1f}" for score in scores)
        print(f"| {kind} | {name} | {words:,} | {cells} | {share:.2f} |")


if __name__ == "__main__":
    main()
