"""Runs go in; means and spreads, tests of significance, and whether the expected relations hold come out."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

import outcomes
from runs import Record
from treetune import Example
from treetune.evaluation import Counts, McNemar, Scores, mcnemar, paired_bootstraps

SIGNIFICANT = 0.05
SUMMARISED = (*outcomes.METRICS, "crossing_UAS", "crossing_LAS", "words_per_cpu_second")


# What a loss says, and of a loss over word orders its score and how many sentences are in the very order.
PRICED = ("cost", "reorder", "exact")

# As claims call them.
_IN_WORDS = {
    "root": "root accuracy",
    "UCM": "share of complete trees",
    "crossing_UAS": "UAS in sentences with crossing arcs",
}


class NotMeasuredError(Exception):
    """A row, or a score of it, is not there; what was said about it can be neither true nor false."""


class Results:
    """The finished runs of an experiment, by row; `gold` are the test files by name."""

    def __init__(self, runs: Sequence[Record], gold: Mapping[str, Sequence[Example]]) -> None:
        self._runs: dict[str, list[Record]] = {}
        for run in sorted(runs, key=lambda run: int(run["settings"]["seed"])):
            self._runs.setdefault(run["row"], []).append(run)
        self._gold = gold
        self.scores = cache(self._scores)
        self.compare = cache(self._compare)

    def runs(self, row: str) -> list[Record]:
        """Return the runs of a row in order of seeds."""
        if row not in self._runs:
            raise NotMeasuredError(f"no run of {row!r} yet")
        return self._runs[row]

    def values(self, row: str, test: str, metric: str) -> list[float]:
        """Return a score of each seed."""
        if metric in outcomes.DERIVED:
            return [100 * scores[metric] for scores in self.scores(row, test).values()]
        found = [run["tests"][test][metric] for run in self.runs(row)]
        if None in found:
            raise NotMeasuredError(f"nothing to count for {metric} in {test}")
        return found

    def mean(self, row: str, test: str, metric: str) -> float:
        """Return the mean of a score over seeds."""
        return statistics.fmean(self.values(row, test, metric))

    def cpu_seconds(self, row: str) -> float:
        """Return the mean CPU time of training."""
        return statistics.fmean(run["cpu_seconds"] for run in self.runs(row))

    def summary(self, row: str) -> Record:
        """Return mean and standard deviation of all that was measured of a row."""
        runs = self.runs(row)
        chosen = [max(run["epochs"], key=lambda epoch: float(epoch["LAS"])) for run in runs if run["epochs"]]
        dev = {metric: spread([epoch[metric] for epoch in chosen]) for metric in ("UAS", "LAS") if chosen}
        tests = {
            test: {
                **{metric: spread([run["tests"][test][metric] for run in runs]) for metric in SUMMARISED},
                **{metric: spread(self.values(row, test, metric)) for metric in outcomes.DERIVED},
                **{one: spread(self.values(row, test, one)) for one in PRICED if one in runs[0]["tests"][test]},
            }
            for test in runs[0]["tests"]
        }
        return {
            "seeds": [run["settings"]["seed"] for run in runs],
            "cpu_seconds": spread([run["cpu_seconds"] for run in runs]),
            # Without dev data no epoch was chosen.
            "dev": dev or None,
            "tests": tests,
        }

    def _scores(self, row: str, test: str) -> dict[int, Scores]:
        found = {run["settings"]["seed"]: run["tests"][test]["outcomes"] for run in self.runs(row)}
        return {seed: outcomes.unpack(packed, self._gold[test]) for seed, packed in found.items()}

    def _compare(self, better: str, worse: str, test: str) -> Record:
        """Test one row against another on the seeds that both have.

        The bootstrap draws sentences and takes the runs of all seeds along, so that it speaks of the mean over
        seeds. McNemar's test looks at heads, seed by seed; pooled, it counts a word once for every seed, which
        are not independent, so its p-value is too small: the median over seeds is what claims are judged by.
        """
        first, second = self.scores(worse, test), self.scores(better, test)
        seeds = sorted(first.keys() & second.keys())
        if not seeds:
            raise NotMeasuredError(f"{better!r} and {worse!r} have no seed in common")
        by_seed = [mcnemar(first[seed].right("UAS"), second[seed].right("UAS")) for seed in seeds]
        tested = paired_bootstraps(
            _together(first, seeds), _together(second, seeds), (*outcomes.METRICS, *outcomes.DERIVED)
        )
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
            "mcnemar_heads": {
                "median_p_value": statistics.median(one.p_value for one in by_seed),
                "by_seed": list(map(_split, by_seed)),
                "pooled": _split(mcnemar(_pooled(first, seeds), _pooled(second, seeds))),
            },
            **({"reorder": self._compare_orders(better, worse, test)} if self._has_orders(better, test) else {}),
        }

    def _has_orders(self, row: str, test: str) -> bool:
        return all("reorder" in run["tests"][test] for run in self.runs(row))

    def _compare_orders(self, better: str, worse: str, test: str) -> Record:
        """Return the difference in reorder-score, which is that in cost turned round, and its p-value."""
        found = self.compare_costs(better, worse, test)
        return {"score": -found["difference"], "p_value": found["p_value"]}

    def compare_costs(self, better: str, worse: str, test: str) -> Record:
        """Test the mean cost of one row against another: the paired bootstrap over sentences, all seeds together."""
        first, second = (
            np.mean([outcomes.unpack_numbers(run["tests"][test]["costs"]) for run in self.runs(row)], axis=0)
            for row in (worse, better)
        )
        difference = second - first
        draw = np.random.default_rng(0)
        sampled = np.array([draw.choice(difference, len(difference)).mean() for _ in range(10_000)])
        extreme = np.abs(sampled - difference.mean()) >= abs(difference.mean())
        return {"difference": float(difference.mean()), "p_value": float((1 + extreme.sum()) / (1 + len(sampled)))}


def spread(values: Sequence[float | None]) -> Record:
    """Return mean, standard deviation (0 of a single value) and the values; no mean where one is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return {"mean": None, "sd": None, "raw": list(values)}
    sd = statistics.stdev(known) if len(known) > 1 else 0.0
    return {"mean": statistics.fmean(known), "sd": sd, "raw": known}


def _together(by_seed: Mapping[int, Scores], seeds: Sequence[int]) -> list[Counts]:
    """Return the counts of each sentence, summed over seeds."""
    return list(map(Counts.total, zip(*(by_seed[seed].per_sentence for seed in seeds), strict=True)))


def _pooled(by_seed: Mapping[int, Scores], seeds: Sequence[int]) -> list[bool]:
    return [right for seed in seeds for right in by_seed[seed].right("UAS")]


def _split(found: McNemar) -> Record:
    return {"only_worse_right": found.only_a, "only_better_right": found.only_b, "p_value": found.p_value}


Verdict = tuple[bool, Record]
"""Whether a claim holds, and the numbers that say so."""


@dataclass(frozen=True)
class Claim:
    """A relation that is expected of the results, and how to see whether it is there."""

    text: str
    check: Callable[[Results], Verdict]

    def judge(self, results: Results) -> dict[str, Any]:
        """Return the claim with its verdict; `holds` is None while something of it is not measured."""
        try:
            holds, evidence = self.check(results)
        except NotMeasuredError as reason:
            return {"claim": self.text, "holds": None, "evidence": {"missing": str(reason)}}
        return {"claim": self.text, "holds": holds, "evidence": evidence}


def higher(better: str, worse: str, test: str, metric: str) -> Claim:
    """Claim that one row has the higher mean over seeds."""

    def check(results: Results) -> Verdict:
        means = {row: results.mean(row, test, metric) for row in (better, worse)}
        return means[better] > means[worse], means

    return Claim(f"{test}: {better} has a higher {_IN_WORDS.get(metric, metric)} than {worse}", check)


def more_right_heads(better: str, worse: str, test: str) -> Claim:
    """Claim that one row finds more heads, significantly by McNemar's test."""

    def check(results: Results) -> Verdict:
        found = results.compare(better, worse, test)
        difference, p_value = found["bootstrap"]["UAS"]["score"], found["mcnemar_heads"]["median_p_value"]
        evidence = {"difference": difference, "median_mcnemar_p_value": p_value}
        return difference > 0 and p_value < SIGNIFICANT, evidence

    return Claim(f"{test}: {better} has significantly more right heads than {worse} (McNemar, p < 0.05)", check)


def significantly_higher(better: str, worse: str, test: str, metric: str) -> Claim:
    """Claim that one row has the higher score, significantly by the paired bootstrap."""

    def check(results: Results) -> Verdict:
        found = results.compare(better, worse, test)["bootstrap"][metric]
        return found["score"] > 0 and found["p_value"] < SIGNIFICANT, found

    return Claim(f"{test}: {better} has a significantly higher {metric} than {worse} (bootstrap, p < 0.05)", check)


def significantly_cheaper(better: str, worse: str, test: str) -> Claim:
    """Claim that the trees of one row cost less by the loss of both, significantly by the paired bootstrap."""

    def check(results: Results) -> Verdict:
        found = results.compare_costs(better, worse, test)
        return found["difference"] < 0 and found["p_value"] < SIGNIFICANT, found

    return Claim(f"{test}: {better} costs significantly less than {worse} (bootstrap, p < 0.05)", check)
