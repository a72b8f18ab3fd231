"""Sentences with trees go in, the order that a rule set gives their words comes out (Xu et al. 2009, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treetune.corpus.projectivity import is_projective, plain_label, projectivize
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.reorder.precedence import SELF, Ranks, RuleSet

# A head with so many children has an order of its own, which is not worth remembering.
_LONGEST_REMEMBERED = 12
_MOST_REMEMBERED = 200_000


class Reorderer:
    """Applies one rule set; what it has found out about heads and their children is remembered.

    A subtree stays together. The arcs of a tree that cross others are lifted first, as for a projective parser, so
    that a set without rules never changes anything. Words below the artificial root keep their order.
    """

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self._ranks: dict[str, Ranks | None] = {}
        self._known: dict[tuple[str, ...], tuple[int, ...] | None] = {}
        self._by_rule: dict[str, Ranks] = {rule.name: Ranks(rule) for rule in rules.rules}
        # Only sets that name tags of children need them in the key of what is remembered.
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
            place = 0
            for child in below:
                if child > word:
                    break
                place += 1
            # The head itself, its children done with, is negative.
            items = [*below[:place], -word, *below[place:]]
            arranged = self._arranged(tags[word], items, labels, tags)
            if arranged is not None:
                items = [items[place] for place in arranged]
            items.reverse()
            stack += items
        return result

    def _arranged(
        self, tag: str, items: list[int], labels: Sequence[str], tags: Sequence[str]
    ) -> tuple[int, ...] | None:
        """Return the new order of a head (negative) and its children, None if it is the old one."""
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
        if signature in self._known:
            return self._known[signature]
        named = [(SELF, "") if word < 0 else (labels[word], tags[word]) for word in items]
        arranged: tuple[int, ...] | None = ranks.arrange(named)
        if arranged == tuple(range(len(items))):
            arranged = None
        if len(items) <= _LONGEST_REMEMBERED and len(self._known) < _MOST_REMEMBERED:
            self._known[signature] = arranged
        return arranged

    def _ranks_of(self, tag: str) -> Ranks | None:
        if tag not in self._ranks:
            rule = self.rules.rule_for(tag)
            self._ranks[tag] = None if rule is None else self._by_rule[rule.name]
        return self._ranks[tag]


def permuted(sentence: Sentence, tree: Tree, order: Sequence[int]) -> tuple[Sentence, Tree]:
    """Return sentence and tree with the words in another order, heads renumbered; multiword tokens are dropped.

    `order` has every word once.
    """
    if sorted(order) != list(range(1, len(sentence.forms))):
        raise DataError(f"expected every word from 1 to {len(sentence)} once in the order, found {list(order)}")
    places = (0, *order)
    new_place = {word: place for place, word in enumerate(places)}
    new_place[-1] = -1

    def column(values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(values[word] for word in places)

    moved = Sentence(
        forms=column(sentence.forms),
        lemmas=column(sentence.lemmas),
        upos=column(sentence.upos),
        xpos=column(sentence.xpos),
        feats=column(sentence.feats),
        misc=column(sentence.misc),
        comments=sentence.comments,
    )
    heads = tuple(new_place[tree.heads[word]] for word in places)
    return moved, Tree(heads, column(tree.labels))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the order that undoes an order."""
    found = [0] * len(order)
    for place, word in enumerate(order, start=1):
        found[word - 1] = place
    return tuple(found)
