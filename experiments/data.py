"""The data of a row: names of files go in; examples to train and evaluate on come out."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import treetune
from benchmarks.measure import sha256
from experiments.unlabelled import read_unlabelled, unlabelled_files
from treetune import Example, Tagger, Tree
from treetune.corpus.orders import WordOrder, read_orders
from treetune.corpus.tags import tagged
from treetune.learning.jackknife import jackknife_tags

KEPT = Path(tempfile.gettempdir()) / "treetune-experiments"
# Word orders that `python -m experiments.aligned_orders` makes of the data; in the data folder, or else in `KEPT`.
ALIGNED = "aligned"
UPOS = ("upos",)
TAG_FOLDS, TAG_EPOCHS = 5, 4


@dataclass(frozen=True)
class Limits:
    """How many sentences of each file are read; None is all."""

    train: int | None = None
    dev: int | None = None
    test: int | None = None


QUICK = Limits(train=300, dev=100, test=200)


@dataclass(frozen=True)
class Data:
    """The examples of one row; `tests` and `others`, for further objectives, by the name of their file.

    `orders` has the word orders of those files that have some beside them. `extra` are the sentences to uptrain on,
    with trees if they come parsed. `copies` says how often each example of `train` is in an uptrained treebank.
    """

    train: list[Example]
    dev: list[Example] = field(default_factory=list)
    tests: dict[str, list[Example]] = field(default_factory=dict)
    others: dict[str, list[Example]] = field(default_factory=dict)
    orders: dict[str, list[WordOrder]] = field(default_factory=dict)
    extra: list[Example] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)

    def ordered(self, name: str) -> Iterator[tuple[Example, WordOrder]]:
        """Yield the examples of one of the `others` with their word orders."""
        return zip(self.others[name], self.orders[name], strict=True)

    def first(self, count: int) -> Data:
        """Return the first sentences to train on, for a warm-up."""
        others = {name: found[:count] for name, found in self.others.items()}
        orders = {name: found[:count] for name, found in self.orders.items()}
        return replace(self, train=self.train[:count], dev=self.dev[:count], others=others, orders=orders)


def objectives(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all objectives of a row: beside the treebank, after it, and for self-training."""
    alone = [config["self_training"]] if "self_training" in config else []
    alone += config.get("uptrain", {}).get("base", {}).get("objective", ())
    return [*config.get("objective", ()), *config.get("fine_tune", {}).get("objective", ()), *alone]


def objective_files(config: Mapping[str, Any]) -> list[str]:
    """Return the files that objectives read and the treebank does not."""
    named = [objective["data"] for objective in objectives(config)]
    uptrain = config.get("uptrain", {})
    named += [*([uptrain["constrained"]] if "constrained" in uptrain else []), *uptrain.get("tags", ())]
    listed = [name for one in named for name in ([one] if isinstance(one, str) else one)]
    return [name for name in dict.fromkeys(listed) if name not in config["data"]["train"]]


def paths(config: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Return where each file of a row should be, by its name; a name with a folder in it is that of another folder."""
    data = config["data"]
    names = [*data["train"], *([data["dev"]] if "dev" in data else []), *data["tests"], *objective_files(config)]
    found = {name: f"{name}.{data.get('format', 'conllu')}" for name in names}
    found |= {name: name for name in (*data.get("files", ()), *unlabelled_files(config.get("uptrain", {})))}
    return {name: _root(name, folder) / ("" if "/" in name else data["folder"]) / file for name, file in found.items()}


def _root(name: str, folder: Path) -> Path:
    return KEPT if name.startswith(f"{ALIGNED}/") and not (folder / ALIGNED).is_dir() else folder


def digests(config: Mapping[str, Any], folder: Path, *, orders: bool = False) -> dict[str, str]:
    """Return a digest of each file of a row; with `orders` also of the word orders beside it."""
    found = paths(config, folder)
    if orders:
        beside = {f"{name}.jsonl": path.with_suffix(".jsonl") for name, path in found.items()}
        found |= {name: path for name, path in beside.items() if path.is_file()}
    return {name: _digest(path, path.stat().st_mtime_ns) for name, path in found.items()}


@cache
def _digest(path: Path, modified: int) -> str:
    # `modified` is there for the cache.
    return sha256(path)[:16]


def check(config: Mapping[str, Any], folder: Path) -> None:
    """End the program if a file is missing."""
    for path in paths(config, folder).values():
        if not path.is_file() and path.parent.name == ALIGNED:
            raise SystemExit(f"{path} is missing; make it with: python -m experiments.aligned_orders")
        if not path.is_file():
            raise SystemExit(f"{path} is missing; name the folder that holds {path.parent.name}/ with --data")


def read_trees(
    config: Mapping[str, Any], folder: Path, names: Sequence[str], limit: int | None
) -> dict[str, list[Example]]:
    """Return the examples of some files of a row, by name, at most `limit` of each."""
    files = paths(config, folder)
    return {name: list(itertools.islice(treetune.read_trees(files[name]), limit)) for name in names}


def read(config: Mapping[str, Any], folder: Path, limits: Limits) -> Data:
    """Read all files of a row, or the first sentences of each."""
    data, files = config["data"], paths(config, folder)

    def part(name: str, limit: int | None) -> list[Example]:
        return read_trees(config, folder, [name], limit)[name]

    def orders(name: str, limit: int | None) -> list[WordOrder]:
        beside = files[name].with_suffix(".jsonl")
        found = read_orders(beside, beside=False) if beside.is_file() else iter(())
        return [item.order for item in itertools.islice(found, limit)]

    def most(name: str) -> int | None:
        # Files of another folder are used whole.
        return limits.train if limits.train is not None or "/" in name else data.get("limit")

    others = objective_files(config)
    by_name = {name: orders(name, limits.test) for name in data["tests"]}
    by_name |= {name: orders(name, limits.train) for name in others}
    treebanks = {name: part(name, most(name)) for name in data["train"]}
    sizes = {name: len(examples) for name, examples in treebanks.items()}
    found = Data(
        train=[example for examples in treebanks.values() for example in examples],
        dev=part(data["dev"], limits.dev) if "dev" in data else [],
        tests={name: part(name, limits.test) for name in data["tests"]},
        others={name: part(name, limits.train) for name in others},
        orders={name: one for name, one in by_name.items() if one},
    )
    if "uptrain" in config:
        met = [one.sentence for part in (found.dev, *found.tests.values()) for one in part]
        extra = read_unlabelled(config["uptrain"], files, limits.train, exclude=met)
        found = replace(found, copies=_copies(config["uptrain"], sizes), extra=extra)
    if data.get("tags") == "predicted":
        return with_predicted_tags(found)
    return with_tagged_text(found)


def _copies(uptrain: Mapping[str, Any], sizes: Mapping[str, int]) -> list[int]:
    return [uptrain.get("weights", {}).get(name, 1) for name, size in sizes.items() for _ in range(size)]


def keep(examples: Sequence[Example], known: str | int) -> list[Example]:
    """Return the examples with the part of their trees that an annotator is asked for.

    Args:
        examples: Complete trees.
        known: "root" for the main verb alone; a number of arcs a sentence, labels included, of which the root's is
            one and the others are drawn at random, always the same; "everything" for the whole tree.
    """
    if known == "everything":
        return list(examples)
    if known == "root":
        return [_part(example, set(example.gold.roots)) for example in examples]
    return [_part(example, _draw(example, int(known))) for example in examples]


def _draw(example: Example, count: int) -> set[int]:
    roots = set(example.gold.roots)
    others = [word for word in range(1, len(example.gold) + 1) if word not in roots]
    drawn = random.Random(" ".join(example.sentence.forms[1:])).sample(others, min(len(others), count - len(roots)))
    return roots | set(drawn)


def _part(example: Example, words: set[int]) -> Example:
    heads = [head if word in words else -1 for word, head in enumerate(example.gold.heads)]
    labels = [label if word in words else "" for word, label in enumerate(example.gold.labels)]
    return Example(example.sentence, Tree(tuple(heads), tuple(labels)))


def with_predicted_tags(data: Data) -> Data:
    """Return the data with predicted UPOS tags and no others.

    Training sentences are tagged by taggers that have not seen them (jackknifing), all others by one that was trained
    on the treebank.
    """
    columns, tagger = _jackknifed(tuple(data.train)), _tagger(tuple(data.train))

    def part(examples: list[Example]) -> list[Example]:
        sentences = tagger.annotate([example.sentence.without(*UPOS) for example in examples])
        return [_with_tags(example, tagged.upos) for example, tagged in zip(examples, sentences, strict=True)]

    return replace(
        data,
        train=[_with_tags(example, tags) for example, tags in zip(data.train, columns, strict=True)],
        dev=part(data.dev),
        tests={name: part(examples) for name, examples in data.tests.items()},
        others={name: part(examples) for name, examples in data.others.items()},
        extra=part(data.extra),
    )


def with_tagged_text(data: Data) -> Data:
    """Return the data with tags in the text to uptrain on, by a tagger of all sentences whose tags are known."""
    text = [
        example.sentence for example in data.extra if not example.sentence.upos[1:] or example.sentence.upos[1] == "_"
    ]
    if not text:
        return data
    known = dict.fromkeys((*data.train, *(one for found in data.others.values() for one in found)))
    found = iter(_tagger(tuple(known)).annotate(text))
    waiting = {id(sentence) for sentence in text}
    return replace(
        data, extra=[replace(one, sentence=next(found)) if id(one.sentence) in waiting else one for one in data.extra]
    )


@cache
def _jackknifed(examples: tuple[Example, ...]) -> list[tuple[str, ...]]:
    """Return the tags of a treebank by taggers that have not seen them; made once."""
    found = jackknife_tags(lambda: Tagger(columns=UPOS), examples, folds=TAG_FOLDS, seed=0, epochs=TAG_EPOCHS)
    return [example.sentence.upos for example in found]


@cache
def _tagger(examples: tuple[Example, ...]) -> Tagger:
    """Return a tagger that was trained on a treebank; made once."""
    tagger = Tagger(columns=UPOS)
    for _ in treetune.train(tagger, tagged(examples, UPOS), epochs=TAG_EPOCHS, seed=0):
        pass
    return tagger


def _with_tags(example: Example, tags: tuple[str, ...]) -> Example:
    return replace(example, sentence=replace(example.sentence.without("xpos", "feats"), upos=tags))
