"""Search over many sentences: working memory and its bounds, threads, trees out of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.errors import DataError
from treetune.filters.roles import make_work
from treetune.models.feature_model import run_chunks
from treetune.models.graph import _arc_kernels as scoring
from treetune.models.graph import _sentence_kernels as kernels
from treetune.models.graph._sentence_kernels import SearchResult, SearchSetup
from treetune.models.graph._sibling_kernels import LAYOUT
from treetune.models.graph.charts import make_charts, projective_bytes, spanning_bytes

# Scores of triples remembered within a sentence, 4 bytes each.
MEMO = 1 << 20
# A thread takes this many sentences at a time.
CHUNK = 16
# In third order, more words would make more vertices than 32 bits can name.
LONGEST_THIRD = 800
NOTHING_FIXED = np.empty((2, 0), np.int32)
NO_BASE_TREES = np.empty(0, np.int32)
NO_COLUMNS = np.empty((0, 0), np.int32)


class Batch(NamedTuple):
    """Encoded sentences: columns and tags over all tokens, offsets of sentences, heads of base trees, constraints.

    `filter_columns` are what an arc filter reads, which may be the same columns; it has no rows if there is none.
    """

    columns: NDArray[np.int32]
    offsets: NDArray[np.int64]
    tags: NDArray[np.int32]
    base_heads: NDArray[np.int32]
    fixed: NDArray[np.int32]
    filter_columns: NDArray[np.int32]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of words of each sentence."""
        return np.diff(self.offsets) - 1

    def one(self, index: int) -> Batch:
        """Return one sentence alone, nothing fixed."""
        start, end = self.offsets[index], self.offsets[index + 1]
        columns = np.ascontiguousarray(self.columns[:, start:end])
        base_heads = self.base_heads[start:end] if len(self.base_heads) else self.base_heads
        read = columns
        if self.filter_columns is not self.columns:
            read = np.ascontiguousarray(self.filter_columns[:, start:end])
        offsets = np.array([0, end - start], np.int64)
        return Batch(columns, offsets, self.tags[start:end], base_heads, NOTHING_FIXED, read)


def memo_cells(size: int, groups: int) -> int:
    """Return how many scores of triples there is room for.

    Those of one head in any case; with groups of siblings, a table of pairs of words and one row for each group.
    """
    cells = max(MEMO, (size + 1) ** 2)
    return cells + groups * size + (max(3 * MEMO, 4 * size**2) if groups else 0)


def grand_cells(size: int, groups: int) -> int:
    """Return how many scores of grandparents there is room for: for either side of a head as many as of siblings."""
    return 2 * (groups * size + max(3 * MEMO, 4 * size**2)) if groups else 0


def sibling_groups(setup: SearchSetup) -> int:
    """Return how many groups of templates look at siblings; none if the search does not."""
    kinds = setup.templates.group_kind
    return int(np.count_nonzero(kinds == scoring.SIBLING)) if setup.options.second_order else 0


def grand_groups(setup: SearchSetup) -> int:
    """Return how many groups of templates look at grandparents; none if the search does not."""
    kinds = setup.templates.group_kind
    return int(np.count_nonzero(kinds == scoring.GRANDPARENT)) if setup.options.third_order else 0


def bytes_needed(
    longest: int, templates: int, options: kernels.Options, *, groups: int = 0, grand: int = 0, k: int = 1
) -> int:
    """Return the working memory that a sentence of `longest` words takes, with groups of siblings and grandparents."""
    size = longest + 2
    # For each word: its part of every feature, three numbers of a batch of look-ups, its scores in every kind of arc.
    need = 8 * size * ((len(scoring.ADDRESSES) + 3) * templates + 2 * scoring.KINDS)
    need += 21 * size**2 + 4 * k * size + 4 * memo_cells(size, groups)
    # The last are the scores of roles and the tags of an arc filter.
    need += (8 * LAYOUT + 12 * size) * (groups + grand) + 16 * size + 68 * size + 4 * grand_cells(size, grand)
    if options.second_order or not options.crossing:
        need += projective_bytes(longest, k=k, third_order=options.third_order)
    if options.crossing:
        need += spanning_bytes(longest, k=k)
    return need


def check_memory(lengths: NDArray[np.int64], setup: SearchSetup, *, k: int, allowed: float, more: int = 0) -> None:
    """Raise DataError, naming the sentence, if the longest needs more than `allowed` GB; `more` bytes come on top."""
    if not len(lengths):
        return
    index = int(np.argmax(lengths))
    longest = int(lengths[index])
    if setup.options.third_order and longest > LONGEST_THIRD:
        raise DataError(
            f"sentence {index + 1}: it has {longest:,} words, and a third-order graph parser takes up to "
            f"{LONGEST_THIRD}; split the sentence, or use another parser"
        )
    groups, grand = sibling_groups(setup), grand_groups(setup)
    need = bytes_needed(longest, len(setup.templates.starts), setup.options, groups=groups, grand=grand, k=k) + more
    if need <= allowed * 1e9:
        return
    order = "third" if setup.options.third_order else "second" if setup.options.second_order else "first"
    lists = f" with lists of {k:,} trees" if k > 1 else ""
    raise DataError(
        f"sentence {index + 1}: it has {longest:,} words, for which a {order}-order graph parser{lists} "
        f"needs {need / 1e9:,.1f} GB of working memory, and {allowed:g} GB are allowed; allow more with max_memory "
        "(--max-memory), split the sentence, or use a transition parser"
    )


def pairs_of_arc(templates: scoring.Templates, longest: int) -> int:
    """Return how many (feature, output) pairs a word can have with its arc, label, sibling and grandparent."""
    sizes = templates.group_last - templates.group_first
    between = int(sizes[templates.group_kind == scoring.BETWEEN].sum())
    other = int(sizes[templates.group_kind != scoring.BETWEEN].sum())
    return int(templates.bounds[1]) + other + between * longest


def make_workspace(setup: SearchSetup, longest: int, *, k: int) -> scoring.Workspace:
    """Return working memory for the scores of sentences of up to `longest` words."""
    size, total = longest + 2, len(setup.templates.starts) - 1
    labels = setup.masks.shape[2]
    pairs, groups, grand = pairs_of_arc(setup.templates, longest), sibling_groups(setup), grand_groups(setup)
    return scoring.Workspace(
        parts=np.empty((len(scoring.ADDRESSES), size, total), np.uint64),
        marks=np.empty((2, size), np.int32),
        features=np.empty(total, np.uint64),
        indices=np.empty(total, np.int64),
        words=np.empty(2 * size * scoring.KINDS),
        scores=np.empty((longest + 1) ** 2),
        allowed=np.empty((longest + 1) ** 2, np.uint8),
        filtering=make_work(longest, len(setup.filter.templates.template_seed)),
        best_labels=np.empty((longest + 1) ** 2, np.int32),
        label_gaps=np.zeros(size),
        sums=np.empty(labels, np.float32),
        memo=np.empty(memo_cells(size, groups), np.float32),
        classes=np.empty((3, size), np.int32),
        members=np.empty((3, size), np.int32),
        sibling_layout=np.empty((groups, LAYOUT), np.int64),
        sibling_classes=np.empty((groups, 3, size), np.uint32),
        sibling_rows=np.zeros((2, size)),
        grand_layout=np.empty((grand, LAYOUT), np.int64),
        grand_classes=np.empty((grand, 3, size), np.uint32),
        grand_memo=np.empty(grand_cells(size, grand), np.float32),
        thirds=np.empty(size, np.int32),
        seen=np.empty(6 * size, np.int32),
        met=np.empty(size, np.int32),
        reach=np.empty(size, np.int32),
        running=np.empty(size),
        batch_features=np.empty(size * total, np.uint64),
        batch_targets=np.empty(size * total, np.int64),
        batch_indices=np.empty(size * total, np.int64),
        family=np.empty((3, size), np.int32),
        heads=np.empty(k * size, np.int32),
        labels=np.empty(size, np.int32),
        out=np.empty(k),
        gold_heads=np.empty(size, np.int32),
        gold_labels=np.empty(size, np.int32),
        pair_features=np.empty(pairs, np.uint64),
        pair_outputs=np.empty(pairs, np.uint16),
        gold_features=np.empty(pairs, np.uint64),
        gold_outputs=np.empty(pairs, np.uint16),
        steps=np.empty(size * size),
    )


class Room(NamedTuple):
    """Working memory of one thread."""

    work: scoring.Workspace
    charts: kernels.Charts


def make_room(setup: SearchSetup, longest: int, *, k: int) -> Room:
    """Return working memory for k-best lists of sentences of up to `longest` words."""
    return Room(make_workspace(setup, longest, k=k), make_charts(setup.options, longest, k=k))


def run(setup: SearchSetup, batch: Batch, *, k: int = 1, threads: int = 1, room: Room | None = None) -> SearchResult:
    """Search all sentences; working memory that is given is for one thread."""
    count, tokens = len(batch.offsets) - 1, int(batch.offsets[-1])
    result = SearchResult(
        heads=np.full((k, tokens), -1, np.int32),
        labels=np.full((k, tokens), scoring.NO_LABEL, np.int32),
        scores=np.zeros((count, k)),
        counts=np.zeros(count, np.int64),
    )
    longest = max(1, int(batch.lengths.max(initial=0)))

    def make_worker() -> Callable[[int, int], None]:
        work, charts = make_room(setup, longest, k=k) if room is None else room
        return lambda first, last: kernels.parse_range(setup, batch, work, charts, first, last, k, result)

    run_chunks(count, CHUNK, threads, make_worker)
    return result


def collect(
    setup: SearchSetup,
    batch: Batch,
    heads: NDArray[np.int32],
    labels: NDArray[np.int32],
    work: scoring.Workspace | None = None,
) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Return the (feature, output) pairs of a tree of the only sentence of a batch."""
    n = len(heads) - 1
    room = n * pairs_of_arc(setup.templates, n)
    features, outputs = np.empty(room, np.uint64), np.empty(room, np.uint16)
    work = make_workspace(setup, n, k=1) if work is None else work
    count = kernels.collect_tree(setup, batch, n, heads, labels, work, features, outputs)
    return features[:count], outputs[:count]


def label_scores(setup: SearchSetup, batch: Batch, heads: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the scores of all labels of the words of the only sentence under these heads (joint labels)."""
    n = len(heads) - 1
    scores = np.empty((n, setup.masks.shape[2]))
    kernels.score_labels_of(setup, batch, n, heads, make_workspace(setup, n, k=1), scores)
    return scores
