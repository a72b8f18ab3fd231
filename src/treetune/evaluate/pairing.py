"""Two corpora go in, pairs of the same sentence come out, or an error that says where they part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treetune.corpus.sentence import Example, Sentence, Tree, name_sentence
from treetune.errors import DataError


def pair_sentences(gold: Iterable[Example], predicted: Iterable[Tree | Example]) -> Iterator[tuple[Example, Tree]]:
    """Yield each gold example with the predicted tree of the same sentence.

    Raises:
        DataError: the corpora differ in the number of sentences, or two sentences in their words.
    """
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
        if isinstance(answer, Example):
            _check_words(number, example.sentence, answer.sentence)
            answer = answer.gold
        _check_length(number, example.sentence, answer)
        yield example, answer
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
    for word, (expected, found) in enumerate(zip(gold.words, predicted.words, strict=False), start=1):
        if expected != found:
            raise DataError(
                f"{place}: expected {expected!r} as word {word}, as in gold, found {found!r}; "
                "score predictions for the same words in the same order"
            )
    raise DataError(
        f"{place}: expected {len(gold)} words, as in gold, found {len(predicted)}; "
        "score predictions for the same words in the same order"
    )


def _check_length(number: int, gold: Sentence, predicted: Tree) -> None:
    if len(gold) != len(predicted):
        raise DataError(
            f"{name_sentence(number, gold)}: expected a tree of {len(gold)} words, as in gold, "
            f"found one of {len(predicted)}; score predictions for the same words in the same order"
        )


def _sentences(number: int) -> str:
    return "1 sentence" if number == 1 else f"{number} sentences"
