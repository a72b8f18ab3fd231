"""What annotators said of sentences, answer by answer, and trees that contain it.

An answer is what is given for one word: a head, a label or both (``_`` is open), or heads that it does not have
(``NotHead=2,5`` in MISC). The mark of a main verb is a word with head 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD, UNKNOWN_LABEL, Example, Sentence, Tree, name_sentence
from treetune.corpus.wellformed import find_cycle
from treetune.errors import DataError
from treetune.models.base import Candidate, Parser

NOT_HEAD = "NotHead"
# How long the list is in which a tree is sought without the heads that a word does not have.
K = 8


@dataclass(frozen=True)
class Answers:
    """The answers about one sentence.

    Attributes:
        sentence: The words.
        known: The heads and labels that are given.
        excluded: Heads that words do not have.
    """

    sentence: Sentence
    known: Tree
    excluded: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, example: Example) -> Answers:
        """Return the answers that a sentence of an annotation file has."""
        excluded = {}
        for word, cell in enumerate(example.sentence.misc):
            if word and NOT_HEAD in cell:
                found = dict(part.partition("=")[::2] for part in cell.split("|"))
                if NOT_HEAD in found:
                    excluded[word] = _heads(found[NOT_HEAD], word, len(example.sentence))
        return cls(example.sentence, example.gold, excluded)

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self.words) + len(self.excluded)

    @property
    def words(self) -> list[int]:
        """The words whose head or label is given."""
        pairs = enumerate(zip(self.known.heads, self.known.labels, strict=True))
        return [word for word, cell in pairs if word and cell != (UNKNOWN_HEAD, UNKNOWN_LABEL)]

    @property
    def main_verb(self) -> int:
        """The word that is marked as the root; 0 if there is none."""
        return next(iter(self.known.roots), 0)

    def wrong(self, tree: Tree) -> int:
        """Return how many answers a tree contradicts."""
        return sum(not self.is_right(word, tree) for word in self.words) + sum(
            tree.heads[word] in heads for word, heads in self.excluded.items()
        )

    def is_right(self, word: int, tree: Tree) -> bool:
        """Whether a tree has the head and label that are given for a word."""
        head, label = self.known.heads[word], self.known.labels[word]
        return head in (UNKNOWN_HEAD, tree.heads[word]) and label in (UNKNOWN_LABEL, tree.labels[word])

    def to_example(self) -> Example:
        """Return what annotation files hold, as `of` reads it: excluded heads stand in MISC."""
        misc = list(self.sentence.misc)
        for word, heads in self.excluded.items():
            cell = f"{NOT_HEAD}={','.join(map(str, sorted(heads)))}"
            misc[word] = cell if misc[word] == ABSENT else f"{misc[word]}|{cell}"
        return Example(replace(self.sentence, misc=tuple(misc)), self.known)

    def without(self, word: int) -> Answers:
        """Return all answers but those about one word."""
        heads, labels = list(self.known.heads), list(self.known.labels)
        heads[word], labels[word] = UNKNOWN_HEAD, UNKNOWN_LABEL
        return replace(self, known=Tree(tuple(heads), tuple(labels)))

    def with_main_verb(self, word: int) -> Answers:
        """Return the answers with another word as the root; what was said of its head is dropped."""
        moved = self.without(self.main_verb)
        heads, labels = list(moved.known.heads), list(moved.known.labels)
        heads[word], labels[word] = 0, self.known.labels[self.main_verb]
        return replace(moved, known=Tree(tuple(heads), tuple(labels)))

    def check(self) -> None:
        """Raise DataError for answers that contradict each other."""
        roots = self.known.roots
        if len(roots) > 1:
            raise DataError(f"words {roots[0]} and {roots[1]} are both marked as the main verb, expected one")
        if cycle := find_cycle(self.known.heads):
            raise DataError(f"the heads that are given form a cycle: {' -> '.join(map(str, (*cycle, cycle[0])))}")
        for word, heads in self.excluded.items():
            if self.known.heads[word] in heads:
                raise DataError(f"word {word} has the head {self.known.heads[word]}, which {NOT_HEAD} excludes")


def _heads(text: str, word: int, length: int) -> frozenset[int]:
    heads = [int(part) if part.isascii() and part.isdigit() else -1 for part in text.split(",")]
    if not all(0 <= head <= length and head != word for head in heads):
        raise DataError(
            f"word {word}: expected {NOT_HEAD}=HEAD,… with other words from 0 to {length}, found {NOT_HEAD}={text}"
        )
    return frozenset(heads)


def read_answers(examples: Iterable[Example]) -> list[Answers]:
    """Return the answers about each sentence that has any; DataError, naming the sentence, for impossible ones."""
    found = []
    for number, example in enumerate(examples, start=1):
        try:
            answers = Answers.of(example)
            answers.check()
        except DataError as error:
            raise DataError(f"{name_sentence(number, example.sentence)}: {error.problem}") from None
        if len(answers):
            found.append(answers)
    if not found:
        raise DataError(
            "expected answers to learn from (a main verb has HEAD 0, what is open has _), found none in any sentence"
        )
    return found


def complete(parser: Parser, answers: Sequence[Answers], *, threads: int = 1) -> list[Tree | None]:
    """Return for each sentence the best tree that contains the answers (forced decoding), None if the parser has none.

    Labels that the parser does not know, or not at this place, are put into the tree if it can learn them.
    """
    plain = [not one.excluded for one in answers]
    trees: list[Tree | None] = [None] * len(answers)
    known = [index for index in range(len(answers)) if plain[index]]
    for index, tree in zip(known, _forced(parser, [answers[index] for index in known], threads), strict=True):
        trees[index] = tree
    for index in (index for index in range(len(answers)) if not plain[index]):
        trees[index] = _without_excluded(parser, answers[index])
    return trees


def _forced(parser: Parser, answers: Sequence[Answers], threads: int) -> list[Tree | None]:
    """Decode all at once; where that is refused, halves, until the sentences are found that are the reason."""
    if not answers:
        return []
    sentences, known = [one.sentence for one in answers], [one.known for one in answers]
    try:
        trees = parser.predict_batch(sentences, threads=threads, constraints=known)
        return [_with_labels(parser, tree, one) for tree, one in zip(trees, answers, strict=True)]
    except DataError:
        if len(answers) == 1:
            tree = _by_heads(parser, answers[0])
            return [None if tree is None else _with_labels(parser, tree, answers[0])]
    middle = len(answers) // 2
    return [tree for part in (answers[:middle], answers[middle:]) for tree in _forced(parser, part, threads)]


def _by_heads(parser: Parser, answers: Answers) -> Tree | None:
    """Return the best tree with the heads that are given, whatever its labels."""
    heads = Tree(answers.known.heads, (UNKNOWN_LABEL,) * len(answers.known.heads))
    try:
        return parser.predict(answers.sentence, constraint=heads)
    except DataError:
        return None


def _without_excluded(parser: Parser, answers: Answers) -> Tree | None:
    """Return a tree without the excluded heads: one of the k best, or with the best other heads, word after word."""
    known = answers.known
    for word in (0, *sorted(answers.excluded)):
        if word and known.heads[word] == UNKNOWN_HEAD:
            heads = set(range(len(answers.sentence) + 1)) - {word} - answers.excluded[word]
            forced = (with_head(known, word, head) for head in sorted(heads))
            scored = [(one[0].score, tree) for tree in forced if (one := _k_best(parser, answers.sentence, tree, 1))]
            if not scored:
                return None
            known = max(scored, key=lambda pair: pair[0])[1]
        for candidate in _k_best(parser, answers.sentence, known, K):
            if not any(candidate.output.heads[word] in heads for word, heads in answers.excluded.items()):
                return _with_labels(parser, candidate.output, answers)
    return None


def _k_best(parser: Parser, sentence: Sentence, known: Tree, k: int) -> Sequence[Candidate[Tree]]:
    try:
        return parser.k_best(sentence, k, constraint=known)
    except DataError:
        return ()


def with_head(tree: Tree, word: int, head: int) -> Tree:
    """Return a tree in which a word has another head."""
    return Tree((*tree.heads[:word], head, *tree.heads[word + 1 :]), tree.labels)


def _with_labels(parser: Parser, tree: Tree, answers: Answers) -> Tree:
    """Return a tree with the labels that are given, of which it has all that the parser can give."""
    if not getattr(parser, "learns_labels", False):
        return tree
    pairs = zip(tree.labels, answers.known.labels, strict=True)
    return Tree(tree.heads, tuple(own if given == UNKNOWN_LABEL else given for own, given in pairs))
