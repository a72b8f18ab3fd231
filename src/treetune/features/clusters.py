"""Word clusters: a bit string for each word, from files and to files; what similar words share is a prefix.

The file is the one that Liang's `wcluster` writes and many others publish: ``bitstring TAB word TAB count``, a word a
line. `features.brown` learns clusters from text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from treetune.checked_state import Fields
from treetune.corpus.files import StrPath, display_name, open_output, read_lines
from treetune.errors import DataError

# The prefixes of bit strings that feature templates can look at; `c` is the whole.
PREFIXES: dict[str, int | None] = {"c4": 4, "c6": 6, "c10": 10, "c12": 12, "c": None}
CLUSTER_COLUMNS = tuple(PREFIXES)


@dataclass(frozen=True)
class Clusters:
    """The bit string of each word, and how often the word was seen where the clusters were learned."""

    paths: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.paths)

    @property
    def classes(self) -> int:
        """The number of different bit strings."""
        return len(set(self.paths.values()))

    def find(self, names: Iterable[str]) -> str:
        """Return the bit string of the first of these names that has one, else an empty text."""
        return next((self.paths[name] for name in names if name in self.paths), "")

    @classmethod
    def read(cls, path: StrPath) -> Clusters:
        """Read a file of lines ``bitstring TAB word TAB count``; the count may be left out.

        Raises:
            DataError: a line is not like that, or a word stands on two lines with different bit strings.
        """
        name = display_name(path)
        paths: dict[str, str] = {}
        counts: dict[str, int] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line:
                continue
            bits, word, count = _cells(line, name, number)
            if paths.setdefault(word, bits) != bits:
                problem = f"expected each word once, found {word!r} again with another bit string"
                raise DataError(problem, path=name, line=number)
            counts[word] = count
        if not paths:
            raise DataError("expected lines of a bit string, a tab and a word, found none", path=name)
        return cls(paths, counts)

    def write(self, path: StrPath) -> int:
        """Write the file, clusters in the order of their bit strings, frequent words first; return its words."""
        order = sorted(self.paths, key=lambda word: (self.paths[word], -self.counts.get(word, 0), word))
        with open_output(path) as out:
            for word in order:
                out.write(f"{self.paths[word]}\t{word}\t{self.counts.get(word, 0)}\n")
        return len(order)

    def state(self) -> dict[str, Any]:
        """Return what a model keeps: the words of each cluster, as plain JSON values."""
        members: dict[str, list[str]] = {}
        for word in sorted(self.paths):
            members.setdefault(self.paths[word], []).append(word)
        return dict(sorted(members.items()))

    @classmethod
    def from_state(cls, state: Mapping[str, Any] | Clusters) -> Clusters:
        """Rebuild clusters from `state()`; the counts are gone. Those of another part of a model stay as they are."""
        if isinstance(state, Clusters):
            return state
        members = Fields(state, "clusters")
        return cls({word: path for path in members for word in members.texts(path)})


def _cells(line: str, path: str, number: int) -> tuple[str, str, int]:
    cells = line.split("\t")
    if len(cells) not in (2, 3):
        problem = f"expected a bit string, a word and a count separated by tabs, found {len(cells)} columns"
        raise DataError(problem, path=path, line=number)
    if not cells[0] or set(cells[0]) - {"0", "1"}:
        raise DataError(f"expected a bit string of 0 and 1, found {cells[0]!r}", path=path, line=number)
    if not cells[1]:
        raise DataError("expected a word, found nothing", path=path, line=number)
    if len(cells) == 3 and not (cells[2].isascii() and cells[2].isdigit()):
        raise DataError(f"expected a count, found {cells[2]!r}", path=path, line=number)
    return cells[0], cells[1], int(cells[2]) if len(cells) == 3 else 0
