"""What a paper claims of a table: a relation between rows, checked on the results of all seeds."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from experiments.results import NotMeasuredError, Results

SIGNIFICANT = 0.05
Verdict = tuple[bool, dict[str, Any]]
"""Whether a claim holds, and the numbers that say so."""

_IN_WORDS = {
    "root": "root accuracy",
    "UCM": "share of complete trees",
    "crossing_UAS": "UAS on non-projective sentences",
    "cpu_seconds": "training time",
    "reorder": "reorder score",
    "words_per_cpu_second": "speed",
}
_TESTS = {"bootstrap": " (paired bootstrap, p < 0.05)", "mcnemar": " (McNemar, p < 0.05)", "mean": ""}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A relation that is claimed of the rows of a table, on one test set.

    Attributes:
        better: The row that is claimed to be better in `metric`; `better_of` stands for the best of several.
        worse: The row it is compared with; `worse_of` stands for the best of several.
        by: "mean" compares means over seeds, "bootstrap" and "mcnemar" (heads) also ask for p < 0.05.
        margin: Instead of a test: the mean must be at least that of `worse` plus this; negative for "at most below".
        times: Instead of a test: the mean must be at least so many times that of `worse`.
        at_least: Instead of a comparison: the smallest mean.
        above: With `better` and `worse`: the share `gap` of the way from `worse` to `above` is reached.
        group, other_group: What `better_of` and `worse_of` are called in words.
        rises: Rows whose mean rises from one to the next; with `linear`, the numbers they stand for, the metric lies on
            a line over them with at least this R².
    """

    on: str
    metric: str = "UAS"
    better: str = ""
    worse: str = ""
    by: str = "mean"
    better_of: tuple[str, ...] = ()
    worse_of: tuple[str, ...] = ()
    margin: float | None = None
    times: float | None = None
    at_least: float | None = None
    above: str = ""
    gap: float = 0.5
    rises: tuple[str, ...] = ()
    linear: tuple[float, ...] = ()
    r_squared: float = 0.95
    group: str = ""
    other_group: str = "the others"

    @property
    def text(self) -> str:
        """The claim in words."""
        metric = _IN_WORDS.get(self.metric, self.metric)
        better = self.better or f"the best of {self.group or ', '.join(self.better_of)}"
        worse = self.worse or f"the best of {self.other_group}"
        if self.rises:
            line = f", on a line (R² of at least {self.r_squared})" if self.linear else ""
            says = f"the {metric} rises from {self.rises[0]} to {self.rises[-1]}{line}"
        elif self.above:
            says = (
                f"{better} closes at least {100 * self.gap:.0f} % of the gap in {metric} from {worse} to {self.above}"
            )
        elif self.at_least is not None:
            says = f"{better} has a {metric} of at least {self.at_least}"
        elif self.times is not None:
            says = f"{better} has {self.times:g} times the {metric} of {worse}, or more"
        elif self.margin is not None:
            says = f"{better} has a {metric} of at least that of {worse} {self._signed_margin}".rstrip()
        else:
            more = "lower" if self.metric == "cost" else "higher"
            says = f"{better} has a {more} {metric} than {worse}{_TESTS[self.by]}"
        return f"{self.on}: {says}"

    @property
    def _signed_margin(self) -> str:
        return f"{'+' if (self.margin or 0) > 0 else '−'} {abs(self.margin or 0)}" if self.margin else ""

    def check(self, results: Results) -> dict[str, Any]:
        """Return the claim with its verdict; `holds` is None while something of it is not measured."""
        try:
            holds, evidence = self._checked(results)
        except NotMeasuredError as reason:
            return {"claim": self.text, "holds": None, "evidence": {"missing": str(reason)}}
        return {"claim": self.text, "holds": holds, "evidence": evidence}

    def _checked(self, results: Results) -> Verdict:
        if self.rises:
            return self._rises(results)
        better = self.better or self._best(results, self.better_of)
        if self.at_least is not None:
            mean = results.mean(better, self.on, self.metric)
            return mean >= self.at_least, {better: mean}
        worse = self.worse or self._best(results, self.worse_of)
        if self.by != "mean":
            return self._tested(results, better, worse)
        rows = [row for row in (better, worse, self.above) if row]
        means = {row: results.mean(row, self.on, self.metric) for row in rows}
        if self.above:
            share = (means[better] - means[worse]) / (means[self.above] - means[worse])
            return share >= self.gap, {**means, "share of the gap": share}
        if self.times is not None:
            return means[better] >= self.times * means[worse], means
        if self.margin is not None:
            return means[better] >= means[worse] + self.margin, means
        return means[better] > means[worse], means

    def _best(self, results: Results, rows: tuple[str, ...]) -> str:
        return max(rows, key=lambda row: results.mean(row, self.on, self.metric))

    def _rises(self, results: Results) -> Verdict:
        means = {row: results.mean(row, self.on, self.metric) for row in self.rises}
        values = list(means.values())
        holds = values == sorted(values)
        if not self.linear:
            return holds, means
        explained = statistics.correlation(self.linear, values) ** 2
        slope, start = statistics.linear_regression(self.linear, values)
        evidence = {**means, "r_squared": explained, "slope": slope, "intercept": start}
        return holds and explained >= self.r_squared, evidence

    def _tested(self, results: Results, better: str, worse: str) -> Verdict:
        evidence: dict[str, Any] = {"better": better, "worse": worse} if self.better_of or self.worse_of else {}
        if self.metric == "cost":
            found = results.compare_costs(better, worse, self.on)
            return found["difference"] < 0 and found["p_value"] < SIGNIFICANT, {**evidence, **found}
        compared = results.compare(better, worse, self.on)
        if self.by == "mcnemar":
            difference = compared["bootstrap"]["UAS"]["score"]
            p_value = compared["mcnemar_heads"]["median_p_value"]
            evidence |= {"difference": difference, "median_mcnemar_p_value": p_value}
            return difference > 0 and p_value < SIGNIFICANT, evidence
        found = compared["bootstrap"][self.metric]
        return found["score"] > 0 and found["p_value"] < SIGNIFICANT, {**evidence, **found}
