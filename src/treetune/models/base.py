"""The contract between models and everything that trains, scores or runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from treetune.corpus.sentence import Example, Sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


class Learner(Protocol):
    """A model's weights while they move, with the gold examples they learn from.

    A trainer decides the order of examples; the learner makes the updates. `snapshot` returns the averaged
    weights so far in a form that only the learner's own kind of model understands, and `install` puts such
    weights into a model.
    """

    def __len__(self) -> int:
        """Return the number of examples."""
        ...

    def words(self, order: NDArray[np.int64]) -> int:
        """Return the number of words in the examples numbered `order`."""
        ...

    def learn(self, order: NDArray[np.int64]) -> int:
        """Learn from the examples numbered `order`, in that order; return how many led to an update."""
        ...

    def snapshot(self) -> Any:
        """Return the averaged weights."""
        ...

    def install(self, model: Any, weights: Any) -> None:
        """Let `model` predict with the weights of a snapshot."""
        ...


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

    def learner(self, treebank: Sequence[Example], *, update: str | None = None, seed: int = 0) -> Learner:
        """Return what learns from gold examples, by the named update or the one that suits the model."""
        ...
