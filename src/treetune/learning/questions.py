"""What to ask annotators next: the sentences, and the questions about them, of which a parser would learn most."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import ABSENT, Sentence, Tree
from treetune.errors import ConfigError, check_minimum, unknown_name
from treetune.models.base import Candidate
from treetune.models.confidence import CONFIDENCE_K, Calibration, logistic, margin_features
from treetune.models.pipeline import Pipeline

Kind = Literal["head", "yes-no", "trees"]
KINDS: tuple[Kind, ...] = ("head", "yes-no", "trees")
ASK = "Ask"
MAIN_VERB = "main-verb"
# Estimates, not measurements: what one answer takes an annotator who knows the guidelines.
SECONDS = {MAIN_VERB: 5, "head": 10, "yes-no": 4, "trees": 8}
# Without calibration, a margin of MIRA is worth as much as a unit of log odds.
_UNCALIBRATED = np.array([0.0, 1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Question:
    """One question: about the main verb (`word` 0), or about a word.

    Attributes:
        kind: "main-verb"; "head": which are its head and label; "yes-no": has it this head; "trees": which of two.
        word: The word; 0 for the main verb.
        heads: What to choose from: the head by the model, and for "trees" that of the other tree.
        probability: Of the model's answer.
    """

    kind: str
    word: int
    heads: tuple[int, ...]
    probability: float


@dataclass(frozen=True)
class AskedSentence:
    """A sentence with questions, and the tree of the model; `value` is the expected number of wrong answers."""

    sentence: Sentence
    tree: Tree
    questions: tuple[Question, ...]
    value: float

    @property
    def seconds(self) -> int:
        """An estimate of how long the answers take."""
        return sum(SECONDS[question.kind] for question in self.questions)

    def to_annotate(self) -> Sentence:
        """Return the sentence with its questions in MISC, ``Ask=…``, to be written without heads and labels."""
        misc = list(self.sentence.misc)
        comments = [f"# answers = {len(self.questions)}"]
        for question in self.questions:
            if question.kind == MAIN_VERB:
                guess = question.heads[0]
                comments.append(f"# main_verb = give HEAD 0 to one word; the model takes {guess} {self._form(guess)}")
                continue
            cell = f"{ASK}={question.kind}:{'/'.join(map(str, question.heads))}"
            misc[question.word] = cell if misc[question.word] == ABSENT else f"{misc[question.word]}|{cell}"
        return replace(self.sentence, misc=tuple(misc), comments=(*self.sentence.comments, *comments))

    def _form(self, word: int) -> str:
        return self.sentence.forms[word]


def ask(
    pipeline: Pipeline,
    sentences: Sequence[Sentence],
    *,
    count: int = 50,
    answers: int = 4,
    kind: Kind = "head",
    threads: int = 1,
) -> list[AskedSentence]:
    """Return the sentences, and the questions about them, that are worth most; the most valuable first.

    The value of a question is the probability that the model is wrong. That of a sentence is the sum over its
    questions, times the share of its words and pairs of words that no sentence chosen before has, frequent ones
    counting more: the hardest sentences alone would be odd ones, of which little can be learned about the others.

    Args:
        pipeline: A model with a parser; calibrated confidence makes the values probabilities.
        sentences: Sentences to choose from; copies are left out.
        count: How many sentences to choose.
        answers: Questions a sentence: the main verb, then the words that are least certain.
        kind: What is asked about words.
        threads: For parsing; the result does not depend on it.
    """
    check_minimum("count", count, 1)
    distinct = list({sentence.forms: sentence for sentence in sentences if len(sentence)}.values())
    asked = questions_about(pipeline, distinct, answers=answers, kind=kind, threads=threads)
    return [asked[index] for index in _diverse(asked, count)]


def questions_about(
    pipeline: Pipeline, sentences: Sequence[Sentence], *, answers: int = 4, kind: Kind = "head", threads: int = 1
) -> list[AskedSentence]:
    """Return questions about each of the sentences, in their order; the arguments are those of `ask`."""
    check_minimum("answers", answers, 1)
    if kind not in KINDS:
        raise unknown_name("kind of question", kind, KINDS)
    parser = pipeline.parser
    if parser is None:
        raise ConfigError("expected a model with a parser, found one without")
    tagged = list(pipeline.tag(sentences, threads=threads))
    found = getattr(parser, "calibration", None)
    calibration = found if isinstance(found, Calibration) else Calibration(tuple(_UNCALIBRATED), CONFIDENCE_K)
    lists = parser.k_best_batch(tagged, calibration.k, threads=threads)
    pairs = zip(tagged, lists, strict=True)
    return [_questions(sentence, candidates, calibration, answers, kind) for sentence, candidates in pairs]


def _questions(
    sentence: Sentence, candidates: Sequence[Candidate[Tree]], calibration: Calibration, answers: int, kind: Kind
) -> AskedSentence:
    tree = candidates[0].output
    right = logistic(margin_features(candidates) @ np.array(calibration.parameters))
    root = tree.roots[0]
    questions = [Question(MAIN_VERB, 0, (root,), float(right[root - 1]))]
    for word in (np.argsort(right, kind="stable") + 1).tolist():
        if len(questions) == answers:
            break
        if word == root:
            continue
        heads: tuple[int, ...] = (tree.heads[word],)
        if kind == "trees":
            others = [one.output.heads[word] for one in candidates if one.output.heads[word] != heads[0]]
            if not others:
                continue
            heads = (*heads, others[0])
        questions.append(Question(kind, word, heads, float(right[word - 1])))
    return AskedSentence(sentence, tree, tuple(questions), sum(1 - one.probability for one in questions))


def _diverse(asked: Sequence[AskedSentence], count: int) -> Iterator[int]:
    """Yield the sentences of the greatest value times what is new in them and frequent in all of them together."""
    parts = [_parts(one.sentence) for one in asked]
    counts = Counter(part for own in parts for part in own)
    weights = {part: math.log1p(number) for part, number in counts.items()}
    values: NDArray[np.float64] = np.array([one.value for one in asked])
    left = np.ones(len(asked), np.bool_)
    for _ in range(min(count, len(asked))):
        new = np.array([sum(weights.get(part, 0.0) for part in own) / len(own) for own in parts])
        best = int(np.argmax(np.where(left, values * new, -1.0)))
        left[best] = False
        for part in parts[best]:
            weights.pop(part, None)
        yield best


def _parts(sentence: Sentence) -> set[object]:
    forms = [form.lower() for form in sentence.forms]
    return {*forms[1:], *itertools.pairwise(forms)}
