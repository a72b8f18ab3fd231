"""Losses for taggers that look at what tags are used for (Hall et al. 2011, "Extrinsic Loss Functions").

Outputs are `Tags`, of joint ones any part will do. What is known of a sentence is not its tags: which word is the main
verb (section 3.2), or where its entities are (section 3.3).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.spans import spans_of
from treetune.corpus.tags import SEPARATOR, Tags, with_tags
from treetune.errors import ConfigError, DataError
from treetune.evaluation.entities import entity_counts
from treetune.losses.base import Loss

Reference = TypeVar("Reference", Tree, Tags)

VERBS = ("VERB", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
AUXILIARIES = ("AUX", "MD")
PROPER_NOUNS = ("PROPN", "NNP", "NNPS")


class TagLoss(Loss[Tags, Reference], Generic[Reference]):
    """A loss over tags; a subclass computes the costs of a list of outputs in `tag_costs`."""

    output = "tags"

    def __call__(self, sentence: Sentence, output: Tags, reference: Reference) -> float:
        """Return the cost of one output."""
        return self.costs(sentence, (output,), reference)[0]

    def costs(self, sentence: Sentence, outputs: Sequence[Tags], reference: Reference) -> list[float]:
        """Return the cost of each output; a DataError if one has not as many tags as the sentence has words."""
        for output in outputs:
            if not isinstance(output, Tags):
                raise DataError(f"loss {self.name} expects tags as output, found {type(output).__name__}")
            if len(output) != len(sentence):
                raise DataError(f"expected predicted tags of {len(sentence)} words, found {len(output)}")
        return self.tag_costs(sentence, outputs, reference)

    @abstractmethod
    def tag_costs(self, sentence: Sentence, outputs: Sequence[Tags], reference: Reference) -> list[float]:
        """Return the cost of each output, which has as many tags as the sentence has words."""


@dataclass(frozen=True, kw_only=True)
class MainVerb(TagLoss[Tree]):
    """0 if the tags make the annotated word the main verb, 1 otherwise.

    The reference is a tree of which only the root need be known: it is the annotated word. Tags make it the main verb
    if it is tagged as a verb, or as an auxiliary ("What is that?"), and no word before it is tagged as a verb. With
    `first` false, words before it do not matter.
    """

    name: ClassVar[str] = "main-verb"
    reference = "tree"
    verbs: tuple[str, ...] = VERBS
    auxiliaries: tuple[str, ...] = AUXILIARIES
    first: bool = True

    def __post_init__(self) -> None:
        _set_names(self, "verbs", "auxiliaries")

    def tag_costs(self, sentence: Sentence, outputs: Sequence[Tags], reference: Tree) -> list[float]:
        """Return 0 for each output whose main verb is the annotated word, 1 for the others."""
        word = _annotated(reference, self.name)
        return [float(not self._is_main_verb(output, word)) for output in outputs]

    def _is_main_verb(self, tags: Tags, word: int) -> bool:
        verbs = _tagged(tags, self.verbs)
        if self.first and verbs and verbs[0] < word:
            return False
        return word in verbs or word in _tagged(tags, self.auxiliaries)

    def check(self, sentence: Sentence, reference: Tree) -> None:
        """Raise DataError unless the reference names one root."""
        if not isinstance(reference, Tree):
            raise DataError(f"loss {self.name} expects a tree as reference, found {type(reference).__name__}")
        if len(reference) != len(sentence):
            raise DataError(f"expected a reference tree of {len(sentence)} words, found {len(reference)}")
        _annotated(reference, self.name)

    def settings(self) -> dict[str, Any]:
        """Return name and options."""
        return {
            "name": self.name,
            "verbs": list(self.verbs),
            "auxiliaries": list(self.auxiliaries),
            "first": self.first,
        }


class EntityLoss(TagLoss[Tags]):
    """A loss whose reference are the entities of a sentence, as IOB2 tags."""

    reference = "entities"

    def check(self, sentence: Sentence, reference: Tags) -> None:
        """Raise DataError unless the reference are tags of this sentence's words."""
        if not isinstance(reference, Tags):
            raise DataError(f"loss {self.name} expects entity tags as reference, found {type(reference).__name__}")
        if len(reference) != len(sentence):
            raise DataError(f"expected reference tags of {len(sentence)} words, found {len(reference)}")


@dataclass(frozen=True, kw_only=True)
class EntityHamming(EntityLoss):
    """The share of words that are in an entity and not tagged as proper nouns, or the other way round.

    With `outside` false only words in entities count, of the words of entities: names that are no entities (months,
    say) then cost nothing.
    """

    name: ClassVar[str] = "entity-hamming"
    proper: tuple[str, ...] = PROPER_NOUNS
    outside: bool = True

    def __post_init__(self) -> None:
        _set_names(self, "proper")

    def tag_costs(self, sentence: Sentence, outputs: Sequence[Tags], reference: Tags) -> list[float]:
        """Return the share of words that are tagged against the entities."""
        inside = {word for span in spans_of(reference.values) for word in range(span.start, span.end)}
        counted = len(sentence) if self.outside else len(inside)
        if not counted:
            return [0.0] * len(outputs)
        costs = []
        for output in outputs:
            proper = set(_tagged(output, self.proper))
            wrong = inside ^ proper if self.outside else inside - proper
            costs.append(len(wrong) / counted)
        return costs

    def settings(self) -> dict[str, Any]:
        """Return name and options."""
        return {"name": self.name, "proper": list(self.proper), "outside": self.outside}


class Recogniser(Protocol):
    """What finds entities in sentences that have tags: a trained NER model."""

    def predict_batch(self, sentences: Sequence[Sentence]) -> list[Tags]:
        """Return the entity tags of each sentence."""
        ...


class EntityF1(EntityLoss):
    """1 - F1 of the entities that a NER model finds when it is given the tags.

    A sentence without entities in which the model finds none costs 0.

    Args:
        model: A trained NER model that looks at tags. Configuration files name its file.
        columns: The columns that the tags are of, where the model looks for them.

    Raises:
        ConfigError: the model cannot predict.
    """

    name: ClassVar[str] = "entity-f1"

    def __init__(self, *, model: Recogniser | str, columns: Sequence[str] = ("upos",)) -> None:
        if isinstance(model, str) or not hasattr(model, "predict_batch"):
            raise ConfigError(f"loss {self.name} needs a trained NER model, found {model!r}; load it first")
        self._model = model
        self._columns = tuple(columns)

    def tag_costs(self, sentence: Sentence, outputs: Sequence[Tags], reference: Tags) -> list[float]:
        """Let the model find entities with each output, and return 1 - F1 of each."""
        found = self._model.predict_batch([with_tags(sentence, output, self._columns) for output in outputs])
        costs = []
        for tags in found:
            counts = entity_counts(reference, tags)
            whole = counts.gold + counts.predicted
            costs.append(1.0 - 2 * counts.right / whole if whole else 0.0)
        return costs

    def settings(self) -> dict[str, Any]:
        """Return name and options; a loaded model has no name, so a configuration adds its own."""
        return {"name": self.name, "columns": list(self._columns)}


def _tagged(tags: Tags, names: Sequence[str]) -> list[int]:
    """Return the words one of whose tags, the parts of joint ones, is among the names."""
    return [word for word, tag in enumerate(tags.values) if word and not set(names).isdisjoint(tag.split(SEPARATOR))]


def _annotated(reference: Tree, name: str) -> int:
    roots = reference.roots
    if len(roots) != 1:
        raise DataError(f"loss {name} needs a reference with exactly one root (a word with head 0), found {len(roots)}")
    return roots[0]


def _set_names(loss: Any, *fields: str) -> None:
    """Make tuples of lists of tags, as configuration files have them; ConfigError for anything else."""
    for field in fields:
        value = getattr(loss, field)
        if isinstance(value, str) or not all(isinstance(name, str) for name in value) or not value:
            raise ConfigError(f"{field} must be a list of tags, found {value!r}")
        object.__setattr__(loss, field, tuple(value))
