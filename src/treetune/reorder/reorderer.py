"""Apply precedence rules to dependency trees: a tree to the order of its words (Xu et al. 2009, section 3)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence

from treetune.corpus.projectivity import is_projective, plain_label, projectivize
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.reorder.precedence import SELF, Ranks, RuleSet

# Heads with more children than this are rare, and their orders are not cached.
_LONGEST_CACHED = 12
_CACHE_SIZE = 200_000


class Reorderer:
    """Applies a rule set to trees; the orders of heads with their children are cached.

    A subtree stays contiguous. Crossing arcs are lifted first (pseudo-projective), so that an empty rule set gives the
    identity. Dependents of the artificial root keep their order.
    """

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self._ranks: dict[str, Ranks | None] = {}
        self._cache: dict[tuple[str, ...], tuple[int, ...] | None] = {}
        self._by_rule: dict[str, Ranks] = {rule.name: Ranks(rule) for rule in rules.rules}
        # Only rule sets that name the tags of children need these in the cache key.
        self._child_tags = any("/" in one.label for rule in rules.rules for one in rule.precedence)

    def order(self, sentence: Sentence, tree: Tree) -> tuple[int, ...]:
        """Return all words, from 1, in their new order.

        Raises:
            DataError: the tree is not complete, or has not as many words as the sentence.
        """
        heads = tree.heads
        if len(heads) != len(sentence.forms):
            raise DataError(f"expected a tree of {len(sentence)} words, found one of {len(tree)}")
        labels: Sequence[str] = tree.labels
        if not is_projective(heads):
            lifted = projectivize(tree)
            heads, labels = lifted.heads, [plain_label(label) for label in lifted.labels]
        children: list[list[int]] = [[] for _ in heads]
        try:
            for word in range(1, len(heads)):
                head = heads[word]
                if head < 0:
                    raise DataError(f"expected a complete tree to reorder by, found no head of word {word}")
                children[head].append(word)
        except IndexError:
            raise DataError(f"expected heads up to {len(sentence)}, found {max(heads)}", column="HEAD") from None
        tags = sentence.upos if self.rules.tags == "upos" else sentence.xpos
        found = self._walk(children, labels, tags)
        if len(found) != len(sentence):
            raise DataError("expected a tree to reorder by, found words in a cycle", column="HEAD")
        return tuple(found)

    def orders(self, sentences: Iterable[Sentence], trees: Iterable[Tree]) -> list[tuple[int, ...]]:
        """Return the orders of many sentences."""
        return [self.order(sentence, tree) for sentence, tree in zip(sentences, trees, strict=True)]

    def _walk(self, children: list[list[int]], labels: Sequence[str], tags: Sequence[str]) -> list[int]:
        result: list[int] = []
        stack = children[0][::-1]
        while stack:
            word = stack.pop()
            if word < 0:
                result.append(-word)
                continue
            below = children[word]
            if not below:
                result.append(word)
                continue
            left = bisect(below, word)
            # The negative number stands for the head itself, without its children.
            items = [*below[:left], -word, *below[left:]]
            arranged = self._arranged(tags[word], items, labels, tags)
            if arranged is not None:
                items = [items[index] for index in arranged]
            items.reverse()
            stack += items
        return result

    def _arranged(
        self, tag: str, items: list[int], labels: Sequence[str], tags: Sequence[str]
    ) -> tuple[int, ...] | None:
        """Return the permutation of a head (negative) and its children, None for the identity."""
        ranks = self._ranks_of(tag)
        if ranks is None:
            return None
        key = [tag]
        for word in items:
            if word < 0:
                key.append(SELF)
            else:
                key.append(labels[word])
                if self._child_tags:
                    key.append(tags[word])
        signature = tuple(key)
        if signature in self._cache:
            return self._cache[signature]
        named = [(SELF, "") if word < 0 else (labels[word], tags[word]) for word in items]
        arranged: tuple[int, ...] | None = ranks.arrange(named)
        if arranged == tuple(range(len(items))):
            arranged = None
        if len(items) <= _LONGEST_CACHED and len(self._cache) < _CACHE_SIZE:
            self._cache[signature] = arranged
        return arranged

    def _ranks_of(self, tag: str) -> Ranks | None:
        if tag not in self._ranks:
            rule = self.rules.rule_for(tag)
            self._ranks[tag] = None if rule is None else self._by_rule[rule.name]
        return self._ranks[tag]


def permuted(sentence: Sentence, tree: Tree, order: Sequence[int]) -> tuple[Sentence, Tree]:
    """Return sentence and tree with the words permuted and heads renumbered; multiword tokens are dropped."""
    if sorted(order) != list(range(1, len(sentence.forms))):
        raise DataError(f"expected every word from 1 to {len(sentence)} once in the order, found {list(order)}")
    words = (0, *order)
    new_index = {word: index for index, word in enumerate(words)}
    new_index[-1] = -1

    def column(values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(values[word] for word in words)

    moved = Sentence(
        forms=column(sentence.forms),
        lemmas=column(sentence.lemmas),
        upos=column(sentence.upos),
        xpos=column(sentence.xpos),
        feats=column(sentence.feats),
        misc=column(sentence.misc),
        comments=sentence.comments,
    )
    heads = tuple(new_index[tree.heads[word]] for word in words)
    return moved, Tree(heads, column(tree.labels))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the inverse permutation, which undoes an order."""
    found = [0] * len(order)
    for index, word in enumerate(order, start=1):
        found[word - 1] = index
    return tuple(found)
