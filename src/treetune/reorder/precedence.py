"""Precedence rules (Xu et al. 2009, section 3): the tag of a head to weights of its children, as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

from treetune.errors import ConfigError, unknown_name

SELF = "self"
TagColumn = Literal["upos", "xpos"]
TAG_COLUMNS: tuple[TagColumn, ...] = get_args(TagColumn)
OrderType = Literal["NORMAL", "REVERSE"]
ORDER_TYPES: tuple[OrderType, ...] = get_args(OrderType)
DEFAULT_WEIGHT = 0.0


@dataclass(frozen=True, slots=True)
class Precedence:
    """The paper's tuple (L, W, O): a label of a child, its weight, and the order of children of equal weight.

    `label` is that of the child or ``self`` for the head. ``nmod`` also stands for ``nmod:poss`` unless that has a
    tuple of its own, and ``advmod/PART`` for an ``advmod`` whose tag is PART.
    """

    label: str
    weight: float
    order: OrderType = "NORMAL"


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of the children of a head whose tag matches.

    Attributes:
        name: What messages call it, and what a set that builds on another replaces it by.
        heads: Patterns of tags, such as ``VB*``.
        precedence: The tuples; children without one have weight 0 and NORMAL order.
        walls: Labels of children that stay where they are and across which nothing moves.
    """

    name: str
    heads: tuple[str, ...]
    precedence: tuple[Precedence, ...]
    walls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.heads or not all(self.heads):
            raise ConfigError(f"rule {self.name}: expected at least one tag of a head, such as VB*, found none")
        orders: dict[float, str] = {DEFAULT_WEIGHT: "NORMAL"}
        seen: set[str] = set()
        for one in self.precedence:
            if not one.label:
                raise ConfigError(f"rule {self.name}: expected a label, found an empty text")
            if one.label in seen:
                raise ConfigError(f"rule {self.name}: the label {one.label} has two weights; give it one")
            seen.add(one.label)
            if not math.isfinite(one.weight):
                raise ConfigError(f"rule {self.name}: the weight of {one.label} must be finite, found {one.weight}")
            if one.order not in ORDER_TYPES:
                raise ConfigError(f"rule {self.name}: {unknown_name('order', one.order, ORDER_TYPES)}")
            if orders.setdefault(one.weight, one.order) != one.order:
                why = " (that of labels not named)" if one.weight == DEFAULT_WEIGHT else ""
                raise ConfigError(
                    f"rule {self.name}: {one.label} has the order {one.order}, but weight {one.weight:g}{why} has "
                    f"{orders[one.weight]}; children of one weight need one order"
                )

    def matches(self, tag: str) -> bool:
        """Whether a head with this tag is reordered by this rule."""
        return any(fnmatchcase(tag, pattern) for pattern in self.heads)


class Ranks:
    """A rule as a table: the label and tag of a child to its weight and order, remembered by what was asked."""

    def __init__(self, rule: Rule) -> None:
        self._table = {one.label: (one.weight, one.order == "REVERSE") for one in rule.precedence}
        self._walls = frozenset(rule.walls)
        self._known: dict[tuple[str, str], tuple[float, bool] | None] = {}

    def arrange(self, items: Sequence[tuple[str, str]]) -> tuple[int, ...]:
        """Return the new order of a head and its children, given as (label, tag) in the order of the text."""
        result: list[int] = []
        open_part: list[tuple[int, float, bool]] = []
        for place, item in enumerate(items):
            rank = self._rank(item)
            if rank is None:
                result += _sorted(open_part)
                result.append(place)
                open_part = []
            else:
                open_part.append((place, *rank))
        return (*result, *_sorted(open_part))

    def _rank(self, item: tuple[str, str]) -> tuple[float, bool] | None:
        """Return weight and order, None for a wall."""
        if item not in self._known:
            self._known[item] = self._look_up(*item)
        return self._known[item]

    def _look_up(self, label: str, tag: str) -> tuple[float, bool] | None:
        names = list(names_of(label, tag))
        # The more special says more: a tuple for advmod/PART holds even where advmod is a wall.
        for name in names:
            if name in self._table:
                return self._table[name]
            if name in self._walls:
                return None
        return DEFAULT_WEIGHT, False


def names_of(label: str, tag: str) -> Iterable[str]:
    """Yield what a rule may call a child, the most special first."""
    bare = label.partition(":")[0]
    yield from (f"{label}/{tag}", label) if bare == label else (f"{label}/{tag}", label, f"{bare}/{tag}", bare)


def _sorted(part: list[tuple[int, float, bool]]) -> list[int]:
    """Return indices by weight from high to low; those of equal weight as they stood, or turned round."""
    return [place for place, _, _ in sorted(part, key=lambda one: (-one[1], -one[0] if one[2] else one[0]))]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules for one kind of target order; of two rules that match a tag, the first holds.

    Attributes:
        name: What it is called.
        rules: The rules.
        tags: Which column of tags the rules look at.
        title: What it is for, in a line.
    """

    name: str
    rules: tuple[Rule, ...]
    tags: TagColumn = "upos"
    title: str = ""

    def __post_init__(self) -> None:
        if self.tags not in TAG_COLUMNS:
            raise unknown_name("column of tags", self.tags, TAG_COLUMNS)
        names = [rule.name for rule in self.rules]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"rule set {self.name}: two rules are called {name}; give them names of their own")

    def rule_for(self, tag: str) -> Rule | None:
        """Return the first rule that matches a tag, None if there is none."""
        return next((rule for rule in self.rules if rule.matches(tag)), None)

    def over(self, base: RuleSet) -> RuleSet:
        """Return this set with the rules of another that it has no rule of the same name for, after its own."""
        if self.tags != base.tags:
            raise ConfigError(
                f"rule set {self.name} looks at {self.tags} and its base {base.name} at {base.tags}; "
                "they must look at the same tags"
            )
        own: Mapping[str, Rule] = {rule.name: rule for rule in self.rules}
        kept = tuple(rule for rule in base.rules if rule.name not in own)
        return RuleSet(self.name, (*self.rules, *kept), self.tags, self.title or base.title)
