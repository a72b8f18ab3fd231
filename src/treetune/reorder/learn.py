"""Learn precedence rules from trees and word orders.

For each tag of heads, children and head are partitioned into groups of one weight, each NORMAL or REVERSE, so that as
many sibling pairs as possible come out in target order. Pair counts are smoothed by those of the labels without tags,
and these by the counts over all heads. The partition is found by hill climbing (`ordered_groups`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from treetune.corpus.orders import Ordered
from treetune.corpus.sentence import Sentence
from treetune.errors import ConfigError, DataError
from treetune.reorder.ordered_groups import Grouping, group
from treetune.reorder.precedence import SELF, TAG_COLUMNS, Precedence, Rule, RuleSet, TagColumn
from treetune.reorder.sibling_pairs import ANY, Family, Item, PairTable, collect, families

# Never moved, whatever the data say: punctuation is hardly ever aligned.
PUNCTUATION = ("punct", "p")
_WALLS = ("cc", "conj", "parataxis")


@dataclass(frozen=True, kw_only=True)
class LearnOptions:
    """How rules are learned.

    Attributes:
        tags: The column of tags that the rules look at.
        smoothing: The weight of the next coarser count, in pairs.
        min_count: Count cut-off for tags of heads and for labels of children with tags, such as ``advmod/PART``.
        prior: A rule set that adds `prior_weight` to each pair in the order it gives.
        prior_weight: The weight of the prior.
    """

    tags: TagColumn = "upos"
    smoothing: float = 2.0
    min_count: int = 60
    prior: RuleSet | None = None
    prior_weight: float = 0.2

    def __post_init__(self) -> None:
        if self.tags not in TAG_COLUMNS:
            raise ConfigError(f"tags must be one of {', '.join(TAG_COLUMNS)}, found {self.tags!r}")
        if not self.smoothing >= 0:
            raise ConfigError(f"smoothing must be a number of at least 0, found {self.smoothing}")
        if self.min_count < 1:
            raise ConfigError(f"min_count must be at least 1, found {self.min_count}")
        if not self.prior_weight >= 0:
            raise ConfigError(f"prior_weight must be a number of at least 0, found {self.prior_weight}")
        if self.prior is not None and self.prior.tags != self.tags:
            raise ConfigError(f"the prior {self.prior.name} looks at {self.prior.tags}, expected {self.tags}")


def learn_rules(items: Sequence[Ordered], *, name: str = "learned", options: LearnOptions | None = None) -> RuleSet:
    """Return the rule set that agrees best with the orders of sentences, given their trees.

    Raises:
        DataError: a tree is not complete, or there is no sentence with two words to order.
    """
    options = options or LearnOptions()
    found: list[Family] = []
    for number, item in enumerate(items, start=1):
        if not item.tree.is_complete:
            raise DataError(f"sentence {number}: expected a complete tree to train on; parse the sentences first")
        found += families(item, _tags(item.sentence, options.tags))
    if not any(family.preferences for family in found):
        raise DataError("expected at least one sentence with two aligned words to train on, found none")
    by_tag: dict[str, list[Family]] = {}
    for family in found:
        by_tag.setdefault(family.tag, []).append(family)
    # "_" is no tag but the absence of tags.
    frequent = sorted(tag for tag, group in by_tag.items() if len(group) >= options.min_count and set(tag) - set("_*"))
    everywhere = {item: item[0] for family in found for item in family.items}
    table, _ = collect(found, everywhere, walls=frozenset(PUNCTUATION), prior=options.prior, prior_weight=0.0)
    rules = [_learn_rule(tag, by_tag[tag], table, options) for tag in frequent]
    title = f"learned from {len(items)} sentences"
    if options.prior is not None:
        # Heads below the count cut-off keep the rules of the prior.
        return RuleSet(name, tuple(rules), options.tags, f"{title}, and {options.prior.name}").over(options.prior)
    rules.append(_learn_rule(ANY, found, table, options))
    return RuleSet(name, tuple(rules), options.tags, title)


def _tags(sentence: Sentence, column: TagColumn) -> tuple[str, ...]:
    return sentence.upos if column == "upos" else sentence.xpos


def _learn_rule(tag: str, found: Sequence[Family], everywhere: PairTable, options: LearnOptions) -> Rule:
    """Return the rule for heads of one tag; walls are added as long as more pairs agree with them."""
    names = _names(found, options.min_count)
    present = {item[0] for family in found for item in family.items}
    walls = frozenset(PUNCTUATION) & present
    best = _grouped(found, names, walls, everywhere, options)
    for wall in _WALLS:
        if wall in present:
            tried = _grouped(found, names, walls | {wall}, everywhere, options)
            if tried.agreement > best.agreement:
                best, walls = tried, walls | {wall}
    return Rule(tag if tag != ANY else "other", (tag,), tuple(_precedence(best)), tuple(sorted(walls)))


def _names(found: Sequence[Family], min_count: int) -> dict[Item, str]:
    """Return the label of each child, by frequency: with its tag, with its subtype or without either."""
    seen = Counter(item for family in found for item in family.items if item[0] != SELF)
    labels: Counter[str] = Counter()
    for (label, _), count in seen.items():
        labels[label] += count
    names: dict[Item, str] = {}
    for item, count in seen.items():
        label, tag = item
        if count >= min_count and count < labels[label] and set(tag) - set("_/"):
            names[item] = f"{label}/{tag}"
        elif labels[label] >= min_count:
            names[item] = label
        else:
            names[item] = label.partition(":")[0]
    return names


def _grouped(
    found: Sequence[Family],
    names: dict[Item, str],
    walls: frozenset[str],
    everywhere: PairTable,
    options: LearnOptions,
) -> Grouping:
    prior = {"prior": options.prior, "prior_weight": options.prior_weight}
    table, fixed = collect(found, names, walls=walls, **prior)  # type: ignore[arg-type]
    labels = {item: item[0] for item in names}
    coarse, _ = collect(found, labels, walls=walls, **prior)  # type: ignore[arg-type]
    units = sorted({name for pair in table.masses for name in pair} | {SELF})

    def masses(a: str, b: str) -> list[float]:
        outer = _backed_off(coarse, everywhere, a, b, options.smoothing)
        own = table.of(a, b)
        return _smoothed(own, outer, options.smoothing)

    return group(units, masses, fixed)


def _backed_off(coarse: PairTable, everywhere: PairTable, a: str, b: str, smoothing: float) -> list[float]:
    one, other = _bare(a), _bare(b)
    return _smoothed(coarse.of(one, other), everywhere.of(one, other), smoothing)


def _smoothed(own: list[float], outer: list[float], smoothing: float) -> list[float]:
    total = sum(outer)
    return own if not total else [mass + smoothing * share / total for mass, share in zip(own, outer, strict=True)]


def _bare(name: str) -> str:
    return name.partition("/")[0]


def _precedence(found: Grouping) -> list[Precedence]:
    """Return the tuples; the group of the head has weight 0, as have children without a tuple."""
    own = next(number for number, (names, _) in enumerate(found.groups) if SELF in names)
    result = []
    for number, (names, reverse) in enumerate(found.groups):
        for name in sorted(names):
            result.append(Precedence(name, float(own - number), "REVERSE" if reverse else "NORMAL"))
    return result
