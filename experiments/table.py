"""A TOML file goes in; a table comes out: its rows with their settings, its comparisons, claims and page layout."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from experiments.claims import Claim

HERE = Path(__file__).resolve().parent
TABLES, DATASETS = HERE / "tables", HERE / "datasets.toml"

Config = Mapping[str, Any]

TEXTS = ("title", "paper", "question", "answer", "setup", "figure")
CONFIG = (
    "data", "model", "learner", "train", "objective", "self_training", "uptrain", "fine_tune", "base", "reranker",
    "loss", "step",
)  # fmt: skip
# What rows and variants may say besides: a data set by name, and options for each of their objectives.
MERGED = (*CONFIG, "dataset", "each_objective")
LAYOUT = ("rows", "compare", "claims", "vary", "columns", "summary", "labels")
SUMMARY = ("rows", "columns")
PARSER_COLUMNS = {
    "UAS": "UAS", "LAS": "LAS", "root": "root", "complete": "UCM", "complete, labelled": "LCM",
    "UAS, non-projective sentences": "crossing_UAS",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of a table: how a model is trained, and on which data it is trained and evaluated."""

    name: str
    config: Config


@dataclass(frozen=True)
class Table:
    """The rows of a table of a paper, the pairs (better, worse) that are tested, and what the paper claims.

    `columns` are the scores that its page shows, by their heads; `summary` the rows and (test, metric) columns of the
    small table at the top of it; `labels` the rows whose F1 by label is shown, and the test set.
    """

    name: str
    texts: Mapping[str, str]
    rows: tuple[Row, ...]
    pairs: tuple[tuple[str, str], ...]
    claims: tuple[Claim, ...]
    columns: Mapping[str, str]
    summary: Mapping[str, Any]
    epochs: int
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The heading of its page."""
        return self.texts["title"]


def names() -> list[str]:
    """Return the names of all tables."""
    return sorted(path.stem for path in TABLES.glob("*.toml"))


def load(name: str) -> Table:
    """Read a table by name; an unknown name ends the program with the list of names."""
    path = TABLES / f"{name}.toml"
    if not path.is_file():
        raise SystemExit(f"no table {name!r}; the tables are: {', '.join(names())}")
    return read(path)


def read(path: Path) -> Table:
    """Read a table from a file; what is wrong with it is said in one sentence."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    _check(content, (*TEXTS, *MERGED, *LAYOUT), path.name)
    for key in ("title", "paper", "question", "answer"):
        if not content.get(key):
            raise SystemExit(f"{path.name}: expected a {key}")
    base = {key: content[key] for key in MERGED if key in content}
    variants = Variants(content.get("vary", {}))
    rows = [row for entry in content["rows"] for row in _rows(entry, base, variants, path.name)]
    repeated = {row.name for row in rows if sum(other.name == row.name for other in rows) > 1}
    if repeated:
        raise SystemExit(f"{path.name}: several rows are called {', '.join(sorted(repeated))}")
    tests = {row.name: tuple(row.config["data"]["tests"]) for row in rows}
    pairs = [
        (one["better"], one["worse"])
        for entry in content.get("compare", ())
        for one in _expanded(entry, variants, tests, path.name, ("better", "worse"))
    ]
    return Table(
        name=path.stem,
        texts={key: content.get(key, "").strip() for key in TEXTS},
        rows=tuple(rows),
        pairs=tuple(dict.fromkeys(pairs)),
        claims=tuple(claim for entry in content.get("claims", ()) for claim in _claims(entry, variants, tests, path)),
        columns=content.get("columns", PARSER_COLUMNS),
        summary=_summary(content.get("summary", {}), variants, tests, path.name),
        labels=content.get("labels", {}),
        epochs=content["train"]["epochs"],
    )


class Variants:
    """What the rows of a table vary in: [vary.NAME] has the values by name, each with the settings it stands for.

    A template with ``{NAME}`` in it stands for as many as there are values; a key NAME in it restricts them. `text` of
    a value gives further placeholders.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self.names = tuple(tables)
        self._tables = tables
        self._owners = {name: name for name in tables}
        for name, values in tables.items():
            self._owners |= {word: name for value in values.values() for word in value.get("text", {})}

    def expand(self, template: Config) -> Iterator[tuple[dict[str, Any], list[Config]]]:
        """Yield the template for every combination of values, with their settings."""
        given = {key: value for key, value in template.items() if key not in self._tables}
        words = {self._owners[word] for word in re.findall(r"\{(\w+)\}", json.dumps(given)) if word in self._owners}
        used = [name for name in self._tables if name in words or name in template]
        for chosen in itertools.product(*(template.get(name, list(self._tables[name])) for name in used)):
            values = [self._tables[name][value] for name, value in zip(used, chosen, strict=True)]
            texts = dict(zip(used, chosen, strict=True))
            texts |= {word: text for value in values for word, text in value.get("text", {}).items()}
            settings = [{key: one for key, one in value.items() if key != "text"} for value in values]
            yield _filled(given, texts), [_filled(one, texts) for one in settings]


def _filled(value: Any, texts: Mapping[str, str]) -> Any:
    """Replace the placeholders in all strings; those of nobody stay."""
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda found: str(texts.get(found[1], found[0])), value)
    if isinstance(value, Mapping):
        return {_filled(key, texts): _filled(one, texts) for key, one in value.items()}
    return [_filled(one, texts) for one in value] if isinstance(value, list) else value


def merge(*configs: Config) -> dict[str, Any]:
    """Return the tables with those of later ones on top; everything but tables is replaced whole."""
    merged: dict[str, Any] = {}
    for config in configs:
        for key, value in config.items():
            both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
            merged[key] = merge(merged[key], value) if both else value
    return merged


@cache
def _datasets() -> dict[str, Any]:
    return tomllib.loads(DATASETS.read_text(encoding="utf-8"))


def _rows(entry: Config, base: Config, variants: Variants, where: str) -> Iterator[Row]:
    for filled, settings in variants.expand(entry):
        _check(filled, ("name", *MERGED), f"{where}: row {filled.get('name')!r}")
        for one in settings:
            _check(one, MERGED, f"{where}: row {filled['name']!r}")
        own = {key: value for key, value in filled.items() if key != "name"}
        config = merge(base, *settings, own)
        dataset = config.pop("dataset", None)
        if dataset is not None and dataset not in _datasets():
            raise SystemExit(f"{where}: no data set {dataset!r}; the data sets are: {', '.join(_datasets())}")
        yield Row(filled["name"], _resolved(merge(_datasets().get(dataset, {}), config)))


def _resolved(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as they decide a run: what is empty is left out, shared options stand in each objective."""
    shared = config.pop("each_objective", {})
    if "objective" in config:
        config["objective"] = [{**shared, **one} for one in config["objective"]]
    for name in ("data", "learner"):
        if name in config:
            config[name] = {key: value for key, value in config[name].items() if value not in ("", [], 0)}
    return {key: value for key, value in config.items() if value not in ({}, [], "")}


def _expanded(
    entry: Config, variants: Variants, tests: Mapping[str, tuple[str, ...]], where: str, listed: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a comparison or a claim for every combination of values of which all rows are there.

    Each key of `listed` may hold a list, which stands for one comparison for each.
    """
    found = []
    for filled, _ in variants.expand(entry):
        keys = [key for key in listed if isinstance(filled.get(key), list)]
        for values in itertools.product(*(filled[key] for key in keys)):
            one = {**filled, **dict(zip(keys, values, strict=True))}
            if all(row in tests for row in rows_of(one)):
                found.append(one)
    if not found:
        raise SystemExit(f"{where}: no rows for {json.dumps(entry, ensure_ascii=False)}")
    return found


def rows_of(claim: Config) -> list[str]:
    """Return the rows that a claim or a comparison is about."""
    single = [claim[key] for key in ("better", "worse", "above") if key in claim]
    return single + [row for key in ("better_of", "worse_of", "rises") for row in claim.get(key, ())]


def _claims(entry: Config, variants: Variants, tests: Mapping[str, tuple[str, ...]], path: Path) -> Iterator[Claim]:
    for one in _expanded(entry, variants, tests, path.name, ("better", "worse", "on", "metric")):
        shared = [test for test in tests[rows_of(one)[0]] if all(test in tests[row] for row in rows_of(one))]
        if "on" in one and one["on"] not in shared:
            raise SystemExit(f"{path.name}: not all rows of a claim are evaluated on {one['on']}: {rows_of(one)}")
        for test in [one["on"]] if "on" in one else shared:
            try:
                yield Claim(**{**one, "on": test})
            except TypeError as wrong:
                raise SystemExit(f"{path.name}: a claim has a wrong key: {wrong}") from None


def _summary(
    entry: Config, variants: Variants, tests: Mapping[str, tuple[str, ...]], where: str
) -> dict[str, list[Any]]:
    _check(entry, (*SUMMARY, *variants.names), f"{where}: summary")
    templates = [{**entry, "better": row, "rows": ""} for row in entry.get("rows", ())]
    rows = [one["better"] for template in templates for one in _expanded(template, variants, tests, where, ())]
    return {"rows": list(dict.fromkeys(rows)), "columns": entry.get("columns", [])}


def _check(content: Config, known: Sequence[str], where: str) -> None:
    for key in content:
        if key not in known:
            raise SystemExit(f"{where}: unknown key {key!r}; known: {', '.join(known)}")
