"""The contract between models and everything that trains, scores or runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar, Unpack

from treetune.corpus.sentence import Sentence, Tree
from treetune.evaluation.scorers import Scorer
from treetune.models.learning_options import DEFAULT_SEED, LearningOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Output]):
    """An output of a k-best list, with its score.

    `score` is exact under the current weights, higher is better. `derivation` is the way the search took
    to `output` (a transition parser's actions), for models in which several ways lead to one output.
    """

    output: Output
    score: float
    derivation: tuple[int, ...] = ()


class OnlineDecoder(Protocol[Output]):
    """Sentences without gold, decoded with the current weights of a learner.

    Whoever knows the costs of the outputs says which is better; `update` corrects the weights by it.
    """

    def __len__(self) -> int:
        """Return the number of sentences."""
        ...

    def k_best(self, index: int, k: int, *, constraint: Output | None = None) -> list[Candidate[Output]]:
        """Return up to `k` distinct outputs of one sentence, best first, as `Predictor.k_best` does.

        Raises DataError if no output has all that is known in `constraint` (forced decoding).
        """
        ...

    def update(self, index: int, better: Candidate[Output], worse: Candidate[Output], *, margin: float | None) -> bool:
        """Update the weights towards the better of two outputs, and tell whether they changed.

        With a `margin` this is a MIRA update: the smallest step after which the better output leads by it, at most the
        learner's clip. Without, it is a perceptron update, unless the better output leads already. The scores of both
        must be those of the current weights.
        """
        ...


class Learner(Protocol[Output]):
    """The live weights of a model in training, and its gold examples.

    A trainer decides the order of examples; the learner makes the updates. `snapshot` returns the averaged weights so
    far in a form that only the learner's own kind of model understands, and `install` puts such weights into a model.
    """

    def __len__(self) -> int:
        """Return the number of examples."""
        ...

    def words(self, order: NDArray[np.int64]) -> int:
        """Return the number of words in the examples numbered `order`."""
        ...

    def learn(self, order: NDArray[np.int64]) -> int:
        """Train on the examples numbered `order`, in that order; return how many led to an update."""
        ...

    def online_decoder(self, sentences: Sequence[Sentence]) -> OnlineDecoder[Output]:
        """Return a decoder of sentences without gold, with the current weights."""
        ...

    def step(self) -> None:
        """Count one example as seen for the average; `learn` does so by itself."""
        ...

    def restart_average(self) -> None:
        """Restart the average of the weights."""
        ...

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all that `restore` needs to continue from here, as arrays; they are not copies."""
        ...

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        """Continue from where `tensors` was taken by a learner with the same examples and options."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return its options, every default filled in, as JSON can hold them; those without effect are left out."""
        ...

    def snapshot(self) -> Any:
        """Return the averaged weights."""
        ...

    def install(self, model: Any, weights: Any) -> None:
        """Install the weights of a snapshot in `model`."""
        ...


class Storable(Protocol):
    """Interface of what a model file can hold: a parser, a tagger, a tokenizer or a pipeline."""

    kind: ClassVar[str]

    @property
    def is_trained(self) -> bool:
        """Whether it can be used."""
        ...

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays), all that `from_state` needs; JSON can hold the configuration."""
        ...

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """Rebuild the object from its `state()`."""
        ...


class Predictor(Protocol[Output]):
    """Interface of a parser or tagger in use: prediction, k-best lists and scores.

    `kind` is its name in `models.registry` and in model files. Predicting before training is a `ModelError`.
    """

    kind: ClassVar[str]

    @property
    def is_trained(self) -> bool:
        """Whether the model can predict."""
        ...

    @property
    def is_stacked(self) -> bool:
        """Whether the trained model looks at the trees of another parser (`Sentence.base_tree`)."""
        ...

    def with_options(self, **options: Any) -> Self:
        """Return a model with the same weights and other options of its search."""
        ...

    def predict(self, sentence: Sentence, *, constraint: Output | None = None) -> Output:
        """Return the best output; it has everything that is known in the partial output `constraint`."""
        ...

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Output] | None = None
    ) -> list[Output]:
        """Return the best output of each sentence; the same for any number of threads.

        Raises DataError, naming the sentence, where what is known in `constraints` fits into no output.
        """
        ...

    def k_best(self, sentence: Sentence, k: int, *, constraint: Output | None = None) -> list[Candidate[Output]]:
        """Return up to `k` distinct outputs, best first; fewer only when the search space has no more."""
        ...

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Output] | None = None,
    ) -> list[list[Candidate[Output]]]:
        """Return the k-best list of each sentence; the same for any number of threads."""
        ...

    def score(self, sentence: Sentence, output: Output | Candidate[Output]) -> float:
        """Return the exact score of an output under the averaged weights."""
        ...


class Model(Predictor[Output], Storable, Protocol[Output]):
    """Interface of a parser or tagger that can be trained; independent of losses.

    Its gold examples have a `sentence` and a `gold` output: `Example` for parsers, `Tagged` for taggers. Whatever can
    be wrong about options is a `ConfigError`, raised before any data is looked at.
    """

    @property
    def scorer(self) -> Scorer:
        """How its outputs are scored against gold examples."""
        ...

    def features(
        self, sentence: Sentence, output: Output | Candidate[Output]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return the (feature, output of the weight rows) pairs whose weights sum to the score of an output."""
        ...

    def check_learning(self, **options: Unpack[LearningOptions]) -> None:
        """Raise ConfigError if `learner` would refuse these options; no data is needed to know."""
        ...

    def learner(
        self,
        treebank: Sequence[Any],
        *,
        seed: int = DEFAULT_SEED,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> Learner[Output]:
        """Return an online learner over gold examples.

        Args:
            treebank: Complete gold examples; may be empty with a warm start.
            seed: For what is drawn at random.
            warm_start: Whether to start from the weights of this trained model, and to keep its words and labels.
            options: Update rule and its parameters.
        """
        ...

    def adopt(self, other: Self) -> None:
        """Take over the weights of another model of the same kind, and all that belongs to them."""
        ...


Parser: TypeAlias = Model[Tree]
