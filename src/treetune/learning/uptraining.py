"""Uptraining: the trees of a slower, better parser as training data (Petrov et al. 2010).

Self-training is the case in which base and student are parsers of one kind; with two base parsers that must agree it
is the co-training of Sagae and Tsujii (2007).
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treetune.corpus.batches import take_batch
from treetune.corpus.files import StrPath, display_name, open_atomic, read_chunks
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError
from treetune.models.base import Candidate, Parser
from treetune.models.confidence import calibration_of
from treetune.models.pipeline import Pipeline

DISAGREEMENT, DOUBT, NARROW = "parsers disagree", "low confidence", "small margin"
IMPOSSIBLE = "with constraints that no tree has"


@dataclass(frozen=True)
class BaseParser:
    """Parses sentences for a student to learn from, and says which trees are not worth learning.

    Attributes:
        pipeline: The base parser, with taggers of its own or without.
        second: Another base parser: only trees on which both agree are kept. Without taggers it reads the tags of the
            first.
        agreement: The least share of words that have the same head and label in both trees.
        min_confidence: The least probability that an arc is right, as a mean over the words of a sentence; for
            calibrated parsers.
        min_margin: The least difference in score between the best tree and the next.
        threads: For parsing; the trees do not depend on it.
    """

    pipeline: Pipeline
    second: Pipeline | None = None
    agreement: float = 1.0
    min_confidence: float | None = None
    min_margin: float | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        for one in (self.pipeline, self.second):
            if one is not None and one.parser is None:
                raise ConfigError("expected a base model with a parser, found one without")
        for name, value in (("agreement", self.agreement), ("confidence", self.min_confidence)):
            if value is not None and not 0 <= value <= 1:
                raise ConfigError(f"{name}: expected a share from 0 to 1, found {value}")
        if self.min_confidence is not None:
            calibration_of(self.pipeline.parser)

    def trees(self, sentences: Iterable[Sentence]) -> Iterator[Example]:
        """Yield sentences with tags and trees to train on, as they come; those that are not worth it are left out."""
        left = iter(sentences)
        while batch := take_batch(left):
            found = self.parse([Example(sentence, Tree.unknown(len(sentence))) for sentence in batch])
            yield from (one for one in found if isinstance(one, Example))

    def parse(self, examples: Sequence[Example], *, constrained: bool = False) -> list[Example | str]:
        """Return each sentence with its tags and its tree, or the reason why it is left out.

        With `constrained` the trees contain the heads and labels that the examples have (forced decoding); sentences
        in which that is impossible are left out.
        """
        known = [example.gold for example in examples] if constrained else None
        try:
            return self._parsed(examples, known)
        except DataError:
            if known is None:
                raise
        if len(examples) > 1:
            middle = len(examples) // 2
            return [
                one for part in (examples[:middle], examples[middle:]) for one in self.parse(part, constrained=True)
            ]
        self._parsed(examples, None)  # the fault may be another
        return [IMPOSSIBLE]

    def _parsed(self, examples: Sequence[Example], known: Sequence[Tree] | None) -> list[Example | str]:
        sentences = list(self.pipeline.tag([example.sentence for example in examples], threads=self.threads))
        lists = self._candidates(sentences, known)
        found: list[Example | str] = []
        for sentence, candidates in zip(sentences, lists, strict=True):
            found.append(self._doubt(candidates) or Example(_plain(sentence), candidates[0].output))
        return found if self.second is None else self._agreed(sentences, found, known)

    def _candidates(self, sentences: Sequence[Sentence], known: Sequence[Tree] | None) -> list[list[Candidate[Tree]]]:
        parser = _parser_of(self.pipeline)
        if self.min_confidence is None and self.min_margin is None:
            trees = parser.predict_batch(sentences, threads=self.threads, constraints=known)
            return [[Candidate(tree, 0.0)] for tree in trees]
        k = 2 if self.min_confidence is None else calibration_of(parser).k
        return parser.k_best_batch(sentences, k, threads=self.threads, constraints=known)

    def _doubt(self, candidates: Sequence[Candidate[Tree]]) -> str:
        lead = candidates[0].score - candidates[1].score if len(candidates) > 1 else np.inf
        if self.min_margin is not None and lead < self.min_margin:
            return NARROW
        if self.min_confidence is not None and len(candidates[0].output):
            probabilities = calibration_of(self.pipeline.parser).probabilities(candidates)
            if float(np.mean(probabilities)) < self.min_confidence:
                return DOUBT
        return ""

    def _agreed(
        self, tagged: Sequence[Sentence], found: list[Example | str], known: Sequence[Tree] | None
    ) -> list[Example | str]:
        assert self.second is not None
        # Without taggers of its own the second parser reads the tags of the first.
        sentences = list(self.second.tag(tagged, threads=self.threads))
        others = _parser_of(self.second).predict_batch(sentences, threads=self.threads, constraints=known)
        return [
            DISAGREEMENT if isinstance(one, Example) and agreement(one.gold, other) < self.agreement else one
            for one, other in zip(found, others, strict=True)
        ]


def agreement(tree: Tree, other: Tree) -> float:
    """Return the share of words that have the same head and label in both trees; 1 for no words."""
    pairs = zip(tree.heads[1:], tree.labels[1:], other.heads[1:], other.labels[1:], strict=True)
    same = [head == other_head and label == other_label for head, label, other_head, other_label in pairs]
    return sum(same) / len(same) if same else 1.0


def run_program(command: Sequence[str], source: StrPath, target: StrPath) -> None:
    """Write to `target` what a program makes of `source`, which it reads from its standard input.

    Raises DataError if the program cannot be started or fails; `target` is then not written.
    """
    with open_atomic(target) as out:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out)
        except OSError as error:
            raise ConfigError(f"the base program {command[0]!r} cannot be run: {error.strerror or error}") from error
        assert process.stdin is not None
        try:
            with process.stdin as pipe:
                for chunk in read_chunks(source):
                    pipe.write(chunk)
        except BrokenPipeError:
            pass  # its exit status says why
        except BaseException:
            process.kill()
            raise
        finally:
            status = process.wait()
        if status:
            how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            raise DataError(f"the base program {command[0]!r} {how}", path=display_name(source))


def _parser_of(pipeline: Pipeline) -> Parser:
    assert pipeline.parser is not None
    return pipeline.parser


def _plain(sentence: Sentence) -> Sentence:
    """Return a sentence without the base tree that a stacked parser may have attached."""
    return sentence if sentence.base_tree is None else replace(sentence, base_tree=None)
