"""Which treebank files are learned from, chosen by and tested on: a folder of data goes in, examples come out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import treetune
from treetune import Example
from treetune.corpus.orders import WordOrder, read_orders


@dataclass(frozen=True)
class Limits:
    """How many sentences of each file are read; None is all."""

    train: int | None = None
    dev: int | None = None
    test: int | None = None


QUICK = Limits(train=300, dev=100, test=200)


@dataclass(frozen=True)
class Data:
    """The examples of one corpus; `tests` and `others`, for further objectives, by the name of their file.

    `orders` has the word orders of those files that have some beside them.
    """

    train: list[Example]
    dev: list[Example]
    tests: dict[str, list[Example]]
    others: dict[str, list[Example]] = field(default_factory=dict)
    orders: dict[str, list[WordOrder]] = field(default_factory=dict)

    def ordered(self, name: str) -> Iterator[tuple[Example, WordOrder]]:
        """Yield the examples of one of the `others` with their word orders."""
        return zip(self.others[name], self.orders[name], strict=True)


@dataclass(frozen=True)
class Corpus:
    """Names of files in a folder, ``ud/`` or another, and the options that all parsers for them are given.

    A name such as ``reorder/en-ja-test`` is that of a file in another folder.

    Without `dev` the last epoch counts. `others` are files for objectives besides the treebank. `most` is how many
    sentences of the training files are used, None is all; those in another folder are used whole. With `predicted` the
    tags are those of taggers (see `predicted.py`), not gold.
    """

    name: str
    train: tuple[str, ...]
    dev: str | None
    tests: tuple[str, ...]
    options: Mapping[str, Any]
    folder: str = "ud"
    others: tuple[str, ...] = ()
    most: int | None = None
    predicted: bool = False

    def files(self, folder: Path) -> dict[str, Path]:
        """Return where each file should be, by its name."""
        dev = () if self.dev is None else (self.dev,)
        names = (*self.train, *dev, *self.tests, *self.others)
        return {name: folder / ("" if "/" in name else self.folder) / f"{name}.conllu" for name in names}

    def missing(self, folder: Path) -> list[Path]:
        """Return the files that are not there."""
        return [path for path in self.files(folder).values() if not path.is_file()]

    def read(self, folder: Path, limits: Limits) -> Data:
        """Read all files, or the first sentences of each."""
        files = self.files(folder)

        def part(name: str, limit: int | None) -> list[Example]:
            return list(itertools.islice(treetune.read_trees(files[name]), limit))

        def orders(name: str, limit: int | None) -> list[WordOrder]:
            beside = files[name].with_suffix(".jsonl")
            found = read_orders(beside, beside=False) if beside.is_file() else iter(())
            return [item.order for item in itertools.islice(found, limit)]

        def most(name: str) -> int | None:
            return limits.train if limits.train is not None or "/" in name else self.most

        found = {name: orders(name, limits.test) for name in self.tests}
        found |= {name: orders(name, limits.train) for name in self.others}
        return Data(
            train=[example for name in self.train for example in part(name, most(name))],
            dev=[] if self.dev is None else part(self.dev, limits.dev),
            tests={name: part(name, limits.test) for name in self.tests},
            others={name: part(name, limits.train) for name in self.others},
            orders={name: one for name, one in found.items() if one},
        )


# No FEATS: so the figures stand beside those of the benchmarks, whose peers do not see them either.
ENGLISH = Corpus("English", ("en_ewt-train",), "en_ewt-dev", ("en_ewt-test",), {"inputs": ["upos", "xpos"]})

# CLTT is legal text and small, and of FicTree (fiction) only dev and test are at hand; so its dev part is
# learned from and the epoch is chosen by CLTT's. Figures on FicTree are therefore not those of its usual
# split. PUD (news and encyclopedia) is neither kind of text. There is so little to learn from that by
# default most marks of lifted arcs would be too rare to learn.
CZECH = Corpus(
    "Czech",
    ("cs_cltt-train", "cs_fictree-dev"),
    "cs_cltt-dev",
    ("cs_cltt-test", "cs_fictree-test", "cs_pud-test"),
    {"inputs": ["upos", "xpos", "feats"], "min_lifted": 5},
)
