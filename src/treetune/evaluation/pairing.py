"""Gold and predicted sentences in pairs, or an error that says where the two corpora differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from treetune.corpus.document import ParsedSentence
from treetune.corpus.sentence import Example, Sentence, Tree, name_sentence, tree_of
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import DataError


def pair_sentences(
    gold: Iterable[Example], predicted: Iterable[Tree | Example | ParsedSentence]
) -> Iterator[tuple[Example, Tree]]:
    """Yield each gold example with the predicted tree of the same sentence.

    Raises:
        DataError: the corpora differ in the number of sentences, or two sentences in their words.
    """
    for number, example, answer in _side_by_side(gold, predicted):
        if not isinstance(answer, Tree):
            _check_words(number, example.sentence, answer.sentence)
            answer = tree_of(answer)
        _check_length(number, example.sentence, len(answer), "a tree")
        yield example, answer


def pair_tagged(gold: Iterable[Tagged], predicted: Iterable[Tags | Tagged]) -> Iterator[tuple[Tagged, Tags]]:
    """Yield each gold sentence with the predicted tags of the same sentence; the errors are those of trees."""
    for number, tagged, answer in _side_by_side(gold, predicted):
        if isinstance(answer, Tagged):
            _check_words(number, tagged.sentence, answer.sentence)
            answer = answer.gold
        _check_length(number, tagged.sentence, len(answer), "tags")
        yield tagged, answer


class _HasSentence(Protocol):
    @property
    def sentence(self) -> Sentence: ...


Gold = TypeVar("Gold", bound=_HasSentence)
Answer = TypeVar("Answer")


def _side_by_side(gold: Iterable[Gold], predicted: Iterable[Answer]) -> Iterator[tuple[int, Gold, Answer]]:
    """Yield (number, gold, answer), or raise if one side ends before the other."""
    gold_left, predicted_left = iter(gold), iter(predicted)
    number = 0
    for example in gold_left:
        number += 1
        answer = next(predicted_left, None)
        if answer is None:
            total = number + sum(1 for _ in gold_left)
            raise DataError(
                f"{name_sentence(number, example.sentence)}: no prediction for it; "
                f"expected {_sentences(total)}, as in gold, found {number - 1}"
            )
        yield number, example, answer
    surplus = sum(1 for _ in predicted_left)
    if surplus:
        raise DataError(
            f"sentence {number + 1}: predicted but not in gold; "
            f"expected {_sentences(number)}, as in gold, found {number + surplus}"
        )


def _check_words(number: int, gold: Sentence, predicted: Sentence) -> None:
    if gold.forms == predicted.forms:
        return
    place = name_sentence(number, gold)
    for word, (expected, found) in enumerate(zip(gold.forms[1:], predicted.forms[1:], strict=False), start=1):
        if expected != found:
            raise DataError(
                f"{place}: expected {expected!r} as word {word}, as in gold, found {found!r}; "
                "score predictions for the same words in the same order"
            )
    raise DataError(
        f"{place}: expected {len(gold)} words, as in gold, found {len(predicted)}; "
        "score predictions for the same words in the same order"
    )


def _check_length(number: int, gold: Sentence, found: int, what: str) -> None:
    if len(gold) != found:
        raise DataError(
            f"{name_sentence(number, gold)}: expected {what} of {len(gold)} words, as in gold, "
            f"found {'one' if what == 'a tree' else 'those'} of {found}; "
            "score predictions for the same words in the same order"
        )


def _sentences(number: int) -> str:
    return "1 sentence" if number == 1 else f"{number} sentences"
