"""Count in trees with word orders how often one sibling precedes another: the training data of rules."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from treetune.corpus.orders import Ordered
from treetune.corpus.projectivity import plain_label, projectivize
from treetune.reorder.precedence import SELF, Ranks, RuleSet

# A rule for heads whose tags have none of their own.
ANY = "*"
Item = tuple[str, str]
"""Label and tag of a child; of the head itself, `SELF` and nothing."""
Masses = list[float]
"""Of a pair (a, b): a first in source and target; in the source alone; in the target alone; in neither."""


@dataclass(frozen=True, slots=True)
class Family:
    """A head and its children in source order.

    `preferences` are pairs of items, by index, with the share of their word pairs that keep this order in the target;
    items without aligned words are in none.
    """

    tag: str
    items: tuple[Item, ...]
    preferences: tuple[tuple[int, int, float], ...]


def _preferences(places: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int, float]]:
    """Yield the preferences of items whose words have these positions, sorted, in the target."""
    for first, left in enumerate(places):
        for second in range(first + 1, len(places)):
            right = places[second]
            if left and right:
                kept = sum(len(right) - bisect_right(right, place) for place in left)
                yield first, second, kept / (len(left) * len(right))


def families(item: Ordered, tags: Sequence[str]) -> Iterator[Family]:
    """Yield every head of a sentence with its children, crossing arcs lifted."""
    tree = projectivize(item.tree)
    labels = [plain_label(label) for label in tree.labels]
    place = {word: number for number, word in enumerate(item.order.words)}
    children: list[list[int]] = [[] for _ in tree.heads]
    for word in range(1, len(tree.heads)):
        children[tree.heads[word]].append(word)
    below = _below(children, place)
    for head in range(1, len(tree.heads)):
        if children[head]:
            own = (place[head],) if head in place else ()
            row = [(word, (labels[word], tags[word]), below[word]) for word in children[head]]
            row = sorted([*row, (head, (SELF, ""), own)])
            yield Family(tags[head], tuple(one[1] for one in row), tuple(_preferences([one[2] for one in row])))


def _below(children: list[list[int]], place: dict[int, int]) -> list[tuple[int, ...]]:
    walk, stack = [], [0]
    while stack:
        word = stack.pop()
        walk.append(word)
        stack += children[word]
    found: list[tuple[int, ...]] = [()] * len(children)
    for word in reversed(walk):
        own = (place[word],) if word in place else ()
        found[word] = tuple(sorted(sum((found[child] for child in children[word]), own)))
    return found


@dataclass
class PairTable:
    """Masses of pairs of labels under heads of one tag, and how often each label was seen."""

    masses: dict[tuple[str, str], Masses] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    def add(self, first: str, second: str, kept: float, weight: float) -> None:
        """Count a pair, `first` before `second` in the source, of which the share `kept` keeps that order."""
        if first <= second:
            mass = self.masses.setdefault((first, second), [0.0] * 4)
            mass[0] += weight * kept
            mass[1] += weight * (1 - kept)
        else:
            mass = self.masses.setdefault((second, first), [0.0] * 4)
            mass[3] += weight * kept
            mass[2] += weight * (1 - kept)

    def of(self, a: str, b: str) -> Masses:
        """Return the masses of a pair as seen from `a`."""
        if a <= b:
            return self.masses.get((a, b), [0.0] * 4)
        return self.masses.get((b, a), [0.0] * 4)[::-1]


def collect(
    found: Sequence[Family],
    names: dict[Item, str],
    *,
    walls: frozenset[str],
    prior: RuleSet | None,
    prior_weight: float,
) -> tuple[PairTable, float]:
    """Count the pairs of all families, and the mass that walls keep in source order.

    Pairs with a wall between them, or that are walls, are left out of the table: no rule can move them. A `prior` adds
    `prior_weight` to each pair in the order that its rules give.
    """
    table = PairTable()
    fixed = 0.0
    ranks = {} if prior is None else {rule.name: Ranks(rule) for rule in prior.rules}
    for family in found:
        units = [names.get(item) or item[0] for item in family.items]
        parts, part = [], 0
        for item in family.items:
            # A wall is a part of its own.
            if item[0] in walls or item[0].partition(":")[0] in walls:
                parts.append(part + 1)
                part += 2
            else:
                parts.append(part)
        for first, second, kept in family.preferences:
            table.seen[units[first]] += 1
            table.seen[units[second]] += 1
            if parts[first] == parts[second]:
                table.add(units[first], units[second], kept, 1.0)
            else:
                fixed += kept
        rule = None if prior is None else prior.rule_for(family.tag)
        if prior_weight and rule is not None:
            arranged = ranks[rule.name].arrange(family.items)
            at = {place: number for number, place in enumerate(arranged)}
            for first in range(len(units)):
                for second in range(first + 1, len(units)):
                    if parts[first] == parts[second]:
                        table.add(units[first], units[second], float(at[first] < at[second]), prior_weight)
    return table, fixed
