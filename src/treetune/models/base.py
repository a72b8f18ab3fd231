"""The contract between models and everything that trains, scores or runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from treetune.corpus.sentence import Sentence

Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Output]):
    """One entry of a k-best list.

    `score` is exact under the current weights, higher is better. `derivation` is the way the search took
    to `output` (a transition parser's actions), for models in which several ways lead to one output.
    """

    output: Output
    score: float
    derivation: tuple[int, ...] = ()


class Model(Protocol[Output]):
    """What a parser or tagger must offer; it knows nothing of losses.

    `k_best` is sorted best first, its outputs are distinct, and it holds fewer than `k` candidates only
    when the search space has no more.
    """

    def predict(self, sentence: Sentence) -> Output:
        """Return the best output."""
        ...

    def predict_batch(self, sentences: Sequence[Sentence], *, threads: int = 1) -> list[Output]:
        """Return the best output of each sentence; the same for any number of threads."""
        ...

    def k_best(self, sentence: Sentence, k: int) -> list[Candidate[Output]]:
        """Return up to `k` distinct outputs, best first."""
        ...
