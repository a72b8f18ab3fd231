"""Pairwise precedence counts to an ordered partition of labels into groups, by local search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treetune.reorder.precedence import SELF

# Plain lists: the groups are so small that an array would cost more than it saves.
Table = list[list[float]]

_MOST_ROUNDS = 50
# Smaller gains are rounding errors.
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Grouping:
    """An ordered partition: groups, each with whether it is reversed, and the mass of pairs that agree with it."""

    groups: tuple[tuple[frozenset[str], bool], ...]
    agreement: float


def group(units: Sequence[str], masses: Callable[[str, str], Sequence[float]], fixed: float = 0.0) -> Grouping:
    """Return the ordered partition with which most pairs agree; a group keeps the source order, or reverses it.

    Args:
        units: The labels, `SELF` among them; its group is never reversed.
        masses: Of a pair (a, b): how often a comes first in source and target, in the source alone, in the target
            alone, in neither.
        fixed: The mass of pairs that agree in any case.
    """
    size = len(units)
    first, kept, turned = ([[0.0] * size for _ in units] for _ in range(3))
    for i, a in enumerate(units):
        for j, b in enumerate(units):
            both, a_then_b, b_then_a, b_both = masses(a, b)
            # Two children with one label are one pair; all others are in the tables twice.
            times = 2 if i == j else 1
            first[i][j] = both + b_then_a
            kept[i][j] = times * (both + b_both)
            turned[i][j] = times * (a_then_b + b_then_a)
    # From two starting points, all apart and all together: each ends in a local optimum.
    tried = [_Search(first, kept, turned, units.index(SELF), apart=apart) for apart in (True, False)]
    for search in tried:
        search.run()
    search = max(tried, key=_Search.agreement)
    groups = tuple(
        (frozenset(units[unit] for unit in members), reverse)
        for members, reverse in zip(search.groups, search.reverse, strict=True)
    )
    return Grouping(groups, fixed + search.agreement())


class _Search:
    """Hill climbing over ordered partitions, one label at a time; the agreement never falls."""

    def __init__(self, first: Table, kept: Table, turned: Table, head: int, *, apart: bool) -> None:
        self.first, self.kept, self.turned = first, kept, turned
        self.head = head
        lead = [sum(row) - sum(column) for row, column in zip(first, zip(*first, strict=True), strict=True)]
        # By how much more often a label comes first than last; ties by index.
        order = sorted(range(len(first)), key=lambda unit: (-lead[unit], unit))
        self.groups = [[unit] for unit in order] if apart else [order]
        self.reverse = [False] * len(self.groups)

    def run(self) -> None:
        """Climb until no move improves the agreement."""
        for _ in range(_MOST_ROUNDS):
            gain = sum(self._move(unit) for unit in range(len(self.first))) + self._reverse_groups()
            if gain <= _LEAST_GAIN:
                return

    def agreement(self) -> float:
        """Return the mass of all pairs that agree."""
        total = 0.0
        for number, members in enumerate(self.groups):
            for unit in members:
                later = [other for group in self.groups[number + 1 :] for other in group]
                total += self._ahead(unit, later)
                inside = (self.turned if self.reverse[number] else self.kept)[unit]
                total += sum(inside[other] for other in members if other > unit) + inside[unit] / 2
        return total

    def _move(self, unit: int) -> float:
        """Move one label to its best group, or to a new one between two; return the gain."""
        number = next(index for index, members in enumerate(self.groups) if unit in members)
        before = self._value(unit, number)
        members, reverse = self.groups[number], self.reverse[number]
        members.remove(unit)
        if not members:
            del self.groups[number], self.reverse[number]
        best, index, joins = self._best_group(unit)
        if best <= before + _LEAST_GAIN:
            # Back to where it was.
            if members:
                members.append(unit)
            else:
                self.groups.insert(number, [unit])
                self.reverse.insert(number, reverse)
            return 0.0
        if joins:
            self.groups[index].append(unit)
        else:
            self.groups.insert(index, [unit])
            self.reverse.insert(index, self._alone(unit))
        return best - before

    def _best_group(self, unit: int) -> tuple[float, int, bool]:
        """Return the best agreement of a label, the index of its group, and whether it joins the group there."""
        # With everything after it; each group that is passed changes sides.
        outside = sum(self._ahead(unit, members) for members in self.groups)
        best = (outside + self._inside_alone(unit), 0, False)
        for number, members in enumerate(self.groups):
            ahead, behind = self._ahead(unit, members), self._behind(unit, members)
            joined = outside - ahead + self._inside(unit, members, self.reverse[number])
            if not (unit == self.head and self.reverse[number]):
                best = max(best, (joined, number, True), key=lambda one: one[0])
            outside += behind - ahead
            best = max(best, (outside + self._inside_alone(unit), number + 1, False), key=lambda one: one[0])
        return best

    def _value(self, unit: int, number: int) -> float:
        """Return the agreement of the pairs that a label is part of, where it is."""
        total = self._inside(unit, [other for other in self.groups[number] if other != unit], self.reverse[number])
        for index, members in enumerate(self.groups):
            if index < number:
                total += self._behind(unit, members)
            elif index > number:
                total += self._ahead(unit, members)
        return total

    def _inside(self, unit: int, others: list[int], reverse: bool) -> float:
        inside = (self.turned if reverse else self.kept)[unit]
        return sum([inside[other] for other in others]) + inside[unit] / 2

    def _ahead(self, unit: int, others: list[int]) -> float:
        """Return the agreement if a label comes before others."""
        row = self.first[unit]
        return sum([row[other] for other in others])

    def _behind(self, unit: int, others: list[int]) -> float:
        """Return the agreement if a label comes after others."""
        return sum([self.first[other][unit] for other in others])

    def _alone(self, unit: int) -> bool:
        """Whether a label in a group of its own is reversed."""
        return unit != self.head and self.turned[unit][unit] > self.kept[unit][unit]

    def _inside_alone(self, unit: int) -> float:
        return self._inside(unit, [], self._alone(unit))

    def _reverse_groups(self) -> float:
        """Reverse every group for which that agrees better; return the gain."""
        gain = 0.0
        for number, members in enumerate(self.groups):
            if self.head in members:
                continue
            values = [
                sum(inside[unit][other] for unit in members for other in members) / 2
                for inside in (self.kept, self.turned)
            ]
            better = values[1] > values[0] + _LEAST_GAIN
            if better != self.reverse[number] and abs(values[1] - values[0]) > _LEAST_GAIN:
                gain += abs(values[1] - values[0])
                self.reverse[number] = better
        return gain
