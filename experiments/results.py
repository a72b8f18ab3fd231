"""Runs of all seeds go in; means with standard deviations, paired bootstraps and McNemar's tests come out."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from experiments.store import Array, Record
from treetune import Example, Tree
from treetune.evaluation import Counts, McNemar, Metric, Scores, mcnemar, paired_bootstraps
from treetune.evaluation.scores import LABELLED, RIGHT_HEAD, RIGHT_LABEL

TREE_METRICS = ("UAS", "LAS", "root", "UCM", "LCM", "UALS", "LALS", "UALS_mean", "LALS_mean")
# Told from what was right of each word, together with gold, and not stored.
DERIVED = ("UALS", "LALS", "UALS_mean", "LALS_mean")
SAMPLES = 10_000
_RIGHT_ARC = LABELLED | RIGHT_HEAD | RIGHT_LABEL


class NotMeasuredError(Exception):
    """A row, or a score of it, is not there; what was claimed of it can be neither true nor false."""


class Results:
    """The finished runs of a table, by row; `gold` are the test sets of parsers, `metrics` those of other steps."""

    def __init__(
        self, runs: Sequence[Record], gold: Mapping[str, Sequence[Example]], metrics: Sequence[Metric] = ()
    ) -> None:
        self._runs: dict[str, list[Record]] = {}
        for run in sorted(runs, key=lambda run: int(run["settings"]["seed"])):
            self._runs.setdefault(run["row"], []).append(run)
        self._gold, self._metrics = gold, metrics
        self.compare = cache(self._compare)
        self.compare_costs = cache(self._compare_costs)
        self._counts = cache(self._counts_of)

    def runs(self, row: str) -> list[Record]:
        """Return the runs of a row in order of seeds."""
        if row not in self._runs:
            raise NotMeasuredError(f"no run of {row!r} yet")
        return self._runs[row]

    def values(self, row: str, test: str, metric: str) -> list[float]:
        """Return a score of each seed, per cent."""
        runs = self.runs(row)
        if metric == "cpu_seconds":
            return [run["cpu_seconds"] for run in runs]
        if metric in DERIVED:
            return [100 * _scores(counts)[metric] for counts in self._counts(row, test).values()]
        found = [run["tests"][test][metric] for run in runs]
        if None in found:
            raise NotMeasuredError(f"nothing to count for {metric} in {test}")
        return found

    def mean(self, row: str, test: str, metric: str) -> float:
        """Return the mean of a score over seeds."""
        return statistics.fmean(self.values(row, test, metric))

    def summary(self, row: str) -> Record:
        """Return mean and standard deviation of all that was measured of a row."""
        runs = self.runs(row)
        chosen = [max(run["epochs"], key=lambda epoch: float(epoch["LAS"])) for run in runs if run.get("epochs")]
        tests = {}
        for test, found in runs[0]["tests"].items():
            stored = [metric for metric, value in found.items() if not isinstance(value, dict | int)]
            derived = [] if self._metrics else DERIVED
            tests[test] = {
                **{metric: spread([run["tests"][test][metric] for run in runs]) for metric in stored},
                **{metric: spread(self.values(row, test, metric)) for metric in derived},
                **(
                    {"labels": label_means([run["tests"][test]["labels"] for run in runs])}
                    if _has_labels(runs, test)
                    else {}
                ),
            }
        return {
            "seeds": [run["settings"]["seed"] for run in runs],
            "cpu_seconds": spread([run["cpu_seconds"] for run in runs]),
            # Without dev data no epoch was chosen.
            "dev": {metric: spread([epoch[metric] for epoch in chosen]) for metric in ("UAS", "LAS") if chosen} or None,
            "tests": tests,
        }

    def _counts_of(self, row: str, test: str) -> dict[int, list[Any]]:
        """Return the counts of each sentence, by seed."""
        by_seed = {run["settings"]["seed"]: run["tests"][test]["outcomes"] for run in self.runs(row)}
        if self._metrics:
            return {seed: [tuple(one) for one in found["counts"].tolist()] for seed, found in by_seed.items()}
        gold = self._gold[test]
        return {seed: tree_counts(found["words"], found["roots"], gold) for seed, found in by_seed.items()}

    def _compare(self, better: str, worse: str, test: str) -> Record:
        """Test one row against another on the seeds that both have.

        The bootstrap resamples sentences and takes the runs of all seeds along, so that it speaks of the mean over
        seeds. McNemar's test looks at heads, seed by seed; pooled, it counts a word once for every seed, which
        are not independent, so its p-value is too small: claims are checked by the median over seeds.
        """
        first, second = self._counts(worse, test), self._counts(better, test)
        seeds = sorted(first.keys() & second.keys())
        if not seeds:
            raise NotMeasuredError(f"{better!r} and {worse!r} have no seed in common")
        total = _sums if self._metrics else Counts.total
        sums = [list(map(total, zip(*(one[seed] for seed in seeds), strict=True))) for one in (first, second)]
        tested = paired_bootstraps(sums[0], sums[1], self._metrics or TREE_METRICS, samples=SAMPLES)
        return {
            "better": better,
            "worse": worse,
            "test": test,
            "seeds": seeds,
            "bootstrap": {
                one.metric: {
                    **{name: 100 * value for name, value in asdict(one.difference).items()},
                    "p_value": one.p_value,
                }
                for one in tested
            },
            **({} if self._metrics else {"mcnemar_heads": self._mcnemar(better, worse, test, seeds)}),
            **({"reorder": self._compare_orders(better, worse, test)} if self._has_orders(better, test) else {}),
        }

    def _mcnemar(self, better: str, worse: str, test: str, seeds: Sequence[int]) -> Record:
        right = [
            {
                run["settings"]["seed"]: run["tests"][test]["outcomes"]["words"] & RIGHT_HEAD > 0
                for run in self.runs(row)
            }
            for row in (worse, better)
        ]
        by_seed = [mcnemar(right[0][seed].tolist(), right[1][seed].tolist()) for seed in seeds]
        pooled = [np.concatenate([one[seed] for seed in seeds]).tolist() for one in right]
        return {
            "median_p_value": statistics.median(one.p_value for one in by_seed),
            "by_seed": list(map(_split, by_seed)),
            "pooled": _split(mcnemar(pooled[0], pooled[1])),
        }

    def _has_orders(self, row: str, test: str) -> bool:
        return not self._metrics and all("reorder" in run["tests"][test] for run in self.runs(row))

    def _compare_orders(self, better: str, worse: str, test: str) -> Record:
        """Return the difference in reorder score, which is that in cost with the other sign, and its p-value."""
        found = self.compare_costs(better, worse, test)
        return {"score": -found["difference"], "p_value": found["p_value"]}

    def _compare_costs(self, better: str, worse: str, test: str) -> Record:
        """Test the mean cost of one row against another: the paired bootstrap over sentences, all seeds together."""
        first, second = (
            np.mean([run["tests"][test]["outcomes"]["costs"] for run in self.runs(row)], axis=0)
            for row in (worse, better)
        )
        difference = second - first
        draw = np.random.default_rng(0)
        sampled = np.array([draw.choice(difference, len(difference)).mean() for _ in range(SAMPLES)])
        extreme = np.abs(sampled - difference.mean()) >= abs(difference.mean())
        return {"difference": float(difference.mean()), "p_value": float((1 + extreme.sum()) / (1 + len(sampled)))}


def _has_labels(runs: Sequence[Record], test: str) -> bool:
    # Runs of earlier versions have none.
    return all("labels" in run["tests"][test] for run in runs)


def label_means(runs: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, list[float]]:
    """Return frequency and mean F1 over seeds of the labels of gold, the most frequent first."""
    by_frequency = sorted(runs[0], key=lambda label: -runs[0][label][0])
    return {label: [runs[0][label][0], statistics.fmean(run[label][1] for run in runs)] for label in by_frequency}


def spread(values: Sequence[float | None]) -> Record:
    """Return mean, standard deviation (0 of a single value) and the values; no mean where one is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return {"mean": None, "sd": None, "raw": list(values)}
    sd = statistics.stdev(known) if len(known) > 1 else 0.0
    return {"mean": statistics.fmean(known), "sd": sd, "raw": known}


def tree_outcomes(scores: Scores) -> dict[str, Array]:
    """Return what was right of each word, and whether the root of each sentence was."""
    roots = [counts.right_root_sentences for counts in scores.per_sentence]
    return {"words": np.frombuffer(bytes(scores.outcomes), np.uint8), "roots": np.array(roots, np.uint8)}


def tree_counts(words: Array, roots: Array, gold: Sequence[Example]) -> list[Counts]:
    """Return counts of each sentence that agree with those of `treetune.evaluate` on all `TREE_METRICS`."""
    found, start, content = [], 0, words.tobytes()
    for example, root in zip(gold, roots.tolist(), strict=True):
        end = start + len(example.sentence)
        found.append(_sentence_counts(content[start:end], root, example.gold))
        start = end
    return found


def _sentence_counts(words: bytes, root: int, gold: Tree) -> Counts:
    lengths = [abs(word - head) for word, head in enumerate(gold.heads)][1:]
    labelled = [bits for bits in words if bits & LABELLED]
    heads = sum(bool(bits & RIGHT_HEAD) for bits in words)
    arcs = sum(map(is_right, labelled))
    return Counts(
        sentences=1,
        words=len(words),
        right_heads=heads,
        labelled_words=len(labelled),
        right_arcs=arcs,
        rooted_sentences=1,
        right_root_sentences=root,
        scored_sentences=1,
        complete_heads=int(heads == len(words)),
        labelled_sentences=int(bool(labelled)),
        complete_arcs=int(heads == len(words) and arcs == len(labelled)),
        length=sum(lengths),
        right_length=sum(length for bits, length in zip(words, lengths, strict=True) if bits & RIGHT_HEAD),
        labelled_length=sum(length for bits, length in zip(words, lengths, strict=True) if bits & LABELLED),
        right_labelled_length=sum(length for bits, length in zip(words, lengths, strict=True) if is_right(bits)),
    )


def is_right(bits: int) -> bool:
    """Whether head and label of a word are right."""
    return bits & _RIGHT_ARC == _RIGHT_ARC


def _scores(counts: Sequence[Counts]) -> Scores:
    return Scores(tuple(counts), b"", by_label={}, by_length={}, punct=True, subtypes=True)


def _sums(counts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(sum, zip(*counts, strict=True)))


def _split(found: McNemar) -> Record:
    return {"only_worse_right": found.only_a, "only_better_right": found.only_b, "p_value": found.p_value}
