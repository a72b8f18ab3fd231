"""Viterbi search and forward-backward over many sentences: working memory and its bounds, threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from treetune.errors import DataError
from treetune.models.feature_model import run_chunks
from treetune.models.sequence import _crf_kernels as crf
from treetune.models.sequence import _kernels as kernels
from treetune.models.sequence._kernels import SearchResult, SearchSetup
from treetune.weights.store import make_update

# A thread takes this many sentences at a time.
CHUNK = 64
NO_GOLD = np.empty(0, np.int32)


def count_states(setup: SearchSetup, sentences: kernels.Sentences) -> NDArray[np.int64]:
    """Return how many states the search meets in each sentence."""
    sizes = np.diff(setup.sets.starts).astype(np.int64)[sentences.sets]
    if setup.second_order:
        before = np.ones_like(sizes)
        before[1:] = sizes[:-1]
        # Nothing stands before the root but the boundary.
        before[sentences.offsets[:-1]] = 1
        sizes = sizes * before
    totals = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=totals[1:])
    return totals[sentences.offsets[1:]] - totals[sentences.offsets[:-1]]


def check_memory(states: NDArray[np.int64], *, k: int, allowed: float) -> None:
    """Raise DataError, naming the sentence, if one needs more than `allowed` GB."""
    if len(states) and (need := int(states.max()) * k * 12) > allowed * 1e9:
        raise DataError(
            f"sentence {int(np.argmax(states)) + 1} needs {need / 1e9:.1f} GB of working memory, and max_memory allows "
            f"{allowed:g}; ask for fewer candidates, take order 1, split the sentence or allow more"
        )


def make_workspace(
    setup: SearchSetup, sentences: kernels.Sentences, *, k: int, states: NDArray[np.int64]
) -> kernels.Workspace:
    """Return working memory for these sentences."""
    templates = setup.templates
    longest = int(np.diff(sentences.offsets).max(initial=1))
    widest = int(np.diff(setup.sets.starts).max(initial=1))
    ways = (int(states.max(initial=1)) + 1) * k
    # One of each template; behind them, those with the last tag for each tag that may be the last.
    room = len(templates.seeds) + widest * int(templates.bounds[1] - templates.bounds[0])
    outputs = 1 + int(setup.parts.outputs.max(initial=setup.outputs - 1))
    return kernels.Workspace(
        atoms=np.empty(len(templates.atom_seed), np.uint64),
        parts=np.empty(len(templates.seeds), np.uint64),
        features=np.empty(room, np.uint64),
        rows=np.empty(room, np.int64),
        sums=np.zeros(outputs, np.float64),
        needed=np.zeros(outputs + 1, np.int32),
        is_needed=np.zeros(outputs, np.bool_),
        emissions=np.zeros(widest, np.float64),
        bigrams=np.zeros(widest * widest, np.float64),
        moves=np.zeros(max(widest, setup.beam), np.float64),
        is_open=np.zeros(widest, np.bool_),
        scores=np.empty(ways, np.float64),
        back=np.empty(ways, np.int32),
        layers=np.zeros(longest + 2, np.int64),
        best=np.empty(k, np.float64),
        ends=np.empty(k, np.int64),
        paths=np.empty((k, longest + 1), np.int32),
    )


def make_marginals(setup: SearchSetup, states: NDArray[np.int64]) -> crf.Marginals:
    """Return working memory for forward-backward."""
    widest = int(np.diff(setup.sets.starts).max(initial=1))
    ways = int(states.max(initial=1)) + 1
    return crf.Marginals(
        betas=np.empty(ways, np.float64),
        gaps=np.empty(ways, np.float64),
        tags=np.empty(widest, np.float64),
        pairs=np.empty(widest * widest, np.float64),
        states=np.empty(widest, np.float64),
        indices=np.full(setup.outputs + 1, -1, np.int32),
    )


def run_marginals(
    setup: SearchSetup, sentences: kernels.Sentences, *, unit: float, threads: int, max_memory: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability of each tag of each token, and the log partition function of each sentence.

    Scores are multiplied by `unit`.
    """
    count, tokens = len(sentences.offsets) - 1, int(sentences.offsets[-1])
    states = count_states(setup, sentences)
    # Forward and backward scores, and the sums of both.
    check_memory(states, k=3, allowed=max_memory)
    probabilities, log_sums = np.zeros((tokens, setup.outputs)), np.zeros(count)

    def make_worker() -> Callable[[int, int], None]:
        work = make_workspace(setup, sentences, k=1, states=states)
        marginals, update = make_marginals(setup, states), make_update(0)
        return lambda first, last: crf.marginal_range(
            work, marginals, setup, sentences, unit, update, first, last, probabilities, log_sums
        )

    run_chunks(count, CHUNK, threads, make_worker)
    return probabilities, log_sums


def run(
    setup: SearchSetup,
    sentences: kernels.Sentences,
    *,
    k: int = 1,
    exact: bool = True,
    threads: int = 1,
    max_memory: float,
) -> SearchResult:
    """Search all sentences; without `exact` there is one output each, and its score means nothing."""
    count, tokens = len(sentences.offsets) - 1, int(sentences.offsets[-1])
    states = count_states(setup, sentences)
    check_memory(states, k=k, allowed=max_memory)
    result = SearchResult(
        tags=np.full((k, tokens), setup.outputs, np.int32),
        scores=np.zeros((count, k), np.float64),
        counts=np.zeros(count, np.int64),
    )

    def make_worker() -> Callable[[int, int], None]:
        work = make_workspace(setup, sentences, k=k, states=states)
        return lambda first, last: kernels.tag_range(work, setup, sentences, k, exact, NO_GOLD, first, last, result)

    run_chunks(count, CHUNK, threads, make_worker)
    return result


def collect(
    setup: SearchSetup, sentences: kernels.Sentences, tags: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Return the (feature, tag) pairs of tags of the only sentence."""
    states = count_states(setup._replace(second_order=False), sentences)
    work = make_workspace(setup, sentences, k=1, states=states)
    pairs = len(tags) - 1 + int(np.diff(setup.parts.starts)[tags[1:]].sum())
    size = pairs * len(setup.templates.seeds)
    features, outputs = np.empty(size, np.uint64), np.empty(size, np.uint16)
    kernels.collect_features(work, setup, sentences.columns, 0, len(tags) - 1, tags, features, outputs)
    return features, outputs
