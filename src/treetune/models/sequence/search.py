"""Run a tagger over many sentences: working memory and its bounds, threads, tags out of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetune.errors import DataError
from treetune.models.feature_model import run_chunks
from treetune.models.sequence import _kernels as kernels
from treetune.weights._kernels import Store

# A thread takes this many sentences at a time.
CHUNK = 64
NO_GOLD = np.empty(0, np.int32)


@dataclass(frozen=True)
class Task:
    """Everything a search needs besides sentences; `outputs` is the number of tags."""

    templates: kernels.Templates
    store: Store
    outputs: int
    second_order: bool


@dataclass(frozen=True)
class Found:
    """The best tags of each sentence: rank by token, scores and numbers of outputs by sentence."""

    tags: NDArray[np.int32]
    scores: NDArray[np.float64]
    counts: NDArray[np.int64]


def count_states(sets: kernels.Sets, sentences: kernels.Sentences, *, second_order: bool) -> NDArray[np.int64]:
    """Return how many states the search meets in each sentence."""
    sizes = np.diff(sets.starts).astype(np.int64)[sentences.sets]
    if second_order:
        before = np.ones_like(sizes)
        before[1:] = sizes[:-1]
        # Nothing stands before the root's place but the boundary.
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


def make_space(
    task: Task, sets: kernels.Sets, sentences: kernels.Sentences, *, k: int, states: NDArray[np.int64]
) -> kernels.Space:
    """Return working memory for these sentences."""
    templates = task.templates
    longest = int(np.diff(sentences.offsets).max(initial=1))
    widest = int(np.diff(sets.starts).max(initial=1))
    ways = (int(states.max(initial=1)) + 1) * k
    # One of each template; behind them, those with the last tag for each tag that may be the last.
    room = len(templates.seeds) + widest * int(templates.bounds[1] - templates.bounds[0])
    return kernels.Space(
        atoms=np.empty(len(templates.atom_seed), np.uint64),
        parts=np.empty(len(templates.seeds), np.uint64),
        features=np.empty(room, np.uint64),
        rows=np.empty(room, np.int64),
        sums=np.zeros(task.outputs, np.float64),
        emissions=np.zeros(widest, np.float64),
        bigrams=np.zeros(widest * widest, np.float64),
        moves=np.zeros(widest, np.float64),
        scores=np.empty(ways, np.float64),
        back=np.empty(ways, np.int32),
        layers=np.zeros(longest + 2, np.int64),
        best=np.empty(k, np.float64),
        ends=np.empty(k, np.int64),
        paths=np.empty((k, longest + 1), np.int32),
    )


def make_update(room: int) -> kernels.Update:
    """Return room for changes of weights."""
    return kernels.Update(
        features=np.empty(room, np.uint64),
        outputs=np.empty(room, np.uint16),
        deltas=np.empty(room, np.float32),
        counters=np.zeros(2, np.int64),
    )


def make_chances(task: Task, sets: kernels.Sets, states: NDArray[np.int64]) -> kernels.Chances:
    """Return working memory for probabilities."""
    widest = int(np.diff(sets.starts).max(initial=1))
    ways = int(states.max(initial=1)) + 1
    return kernels.Chances(
        betas=np.empty(ways, np.float64),
        gaps=np.empty(ways, np.float64),
        tags=np.empty(widest, np.float64),
        pairs=np.empty(widest * widest, np.float64),
        states=np.empty(widest, np.float64),
        places=np.full(task.outputs + 1, -1, np.int32),
    )


def run_chances(
    task: Task, sets: kernels.Sets, sentences: kernels.Sentences, *, unit: float, threads: int, max_memory: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability of each tag of each token, and the logarithm of the summed exponentials of all scores.

    A score counts `unit` times.
    """
    count, tokens = len(sentences.offsets) - 1, int(sentences.offsets[-1])
    states = count_states(sets, sentences, second_order=task.second_order)
    # Ways there and ways back, and the sums of both.
    check_memory(states, k=3, allowed=max_memory)
    found, sums = np.zeros((tokens, task.outputs)), np.zeros(count)

    def make_worker() -> Callable[[int, int], None]:
        space = make_space(task, sets, sentences, k=1, states=states)
        chances, update = make_chances(task, sets, states), make_update(0)

        def work(first: int, last: int) -> None:
            kernels.chance_range(
                space, chances, task.templates, task.store, sets, sentences, task.second_order, unit, update, first,
                last, found, sums,
            )  # fmt: skip

        return work

    run_chunks(count, CHUNK, threads, make_worker)
    return found, sums


def run(
    task: Task,
    sets: kernels.Sets,
    sentences: kernels.Sentences,
    *,
    k: int = 1,
    exact: bool = True,
    threads: int = 1,
    max_memory: float,
) -> Found:
    """Search all sentences; without `exact` there is one output each, and its score means nothing."""
    count, tokens = len(sentences.offsets) - 1, int(sentences.offsets[-1])
    states = count_states(sets, sentences, second_order=task.second_order)
    check_memory(states, k=k, allowed=max_memory)
    found = Found(
        tags=np.full((k, tokens), task.outputs, np.int32),
        scores=np.zeros((count, k), np.float64),
        counts=np.zeros(count, np.int64),
    )

    def make_worker() -> Callable[[int, int], None]:
        space = make_space(task, sets, sentences, k=k, states=states)

        def work(first: int, last: int) -> None:
            kernels.tag_range(
                space, task.templates, task.store, sets, sentences, task.second_order, k, exact, NO_GOLD, first, last,
                found.tags, found.scores, found.counts,
            )  # fmt: skip

        return work

    run_chunks(count, CHUNK, threads, make_worker)
    return found
